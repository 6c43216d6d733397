//! Saved runs of which bytes were changed: an error in one line, or a run that can be checked.
//!
//! It changes what is inside of the compression; a changed compressed file is caught by its checksum (`raw.rs`).

use crate::model::small_run;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use phelsuma_torture::model::{Cursor, Depth, Plan, Policy, Run, moments};
use phelsuma_torture::saved::{self, Made};
use proptest::prelude::*;
use std::io::{Read, Write};

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// All that a check would ask of it.
fn used(run: &Run) {
    let depth = Depth { subsets: 3, samples: 2, seed: 1 };
    let mut cursor = Cursor::new(run, Policy::Subset);
    for moment in moments(run, Policy::Subset) {
        let plan = Plan::new(run, Policy::Subset, moment, depth);
        for state in (0..plan.len().min(20)).filter_map(|index| plan.state(index)) {
            cursor.set(&state);
            let given: Result<(), ()> = cursor.each(|offset, bytes| {
                assert!(offset + bytes.len() as u64 <= run.shape.size);
                Ok(())
            });
            given.unwrap();
        }
    }
}

#[test]
fn what_was_saved_is_read() {
    let run = small_run();
    let mut bytes = Vec::new();
    let made = Made { are_marks_synced: true, ..Made::default() };
    saved::write(&mut bytes, &run, &made).unwrap();
    let (read, as_made) = saved::read(bytes.as_slice(), 1 << 20).unwrap();
    assert_eq!((read.events, read.base, read.shape, read.end), (run.events, run.base, run.shape, run.end));
    assert_eq!(as_made, made);
}

#[test]
fn a_small_file_of_a_large_drive_is_refused_before_it_takes_memory() {
    let mut run = small_run();
    run.shape.size = 1 << 30;
    run.base.write(0, &vec![7; 66 << 20]);
    let mut bytes = Vec::new();
    saved::write(&mut bytes, &run, &Made::default()).unwrap();
    assert!(bytes.len() < 1 << 20);
    let error = saved::read(bytes.as_slice(), 1 << 20).unwrap_err();
    assert!(error.to_string().contains("--log-limit"), "{error}");
    assert!(saved::read(bytes.as_slice(), 1 << 30).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_garbled_run_is_an_error_or_a_run(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = Vec::new();
        saved::write(&mut bytes, &small_run(), &Made::default()).unwrap();
        let mut inside = Vec::new();
        GzDecoder::new(bytes.as_slice()).read_to_end(&mut inside).unwrap();
        // Most of what decides is in front of the data.
        let records = inside.iter().position(|byte| *byte == b'w').unwrap();
        for (at, value, is_early) in edits {
            let at = if is_early { at.index(records + 64) } else { at.index(inside.len()) };
            inside[at] = value;
        }
        if let Some(cut) = cut {
            inside.truncate(cut.index(inside.len()));
        }
        match saved::read(packed(&inside).as_slice(), 1 << 20) {
            Ok((run, _)) if run.shape.size <= 1 << 24 => used(&run),
            Ok(_) => {}
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
