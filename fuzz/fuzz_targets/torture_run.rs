//! Bytes that are no saved run of `torture`, and runs of which bytes were changed below the compression.
#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use phelsuma_torture::model::{Cursor, Depth, Plan, Policy, State, moments};
use phelsuma_torture::saved;

fuzz_target!(|input: (bool, Vec<u8>)| {
    let (is_packed, bytes) = input;
    let packed = if is_packed {
        bytes
    } else {
        let mut out = GzEncoder::new(Vec::new(), Compression::none());
        out.write_all(&bytes).expect("in memory");
        out.finish().expect("in memory")
    };
    let run = match saved::read(packed.as_slice(), 1 << 20) {
        // A cursor has four bytes for each unit.
        Ok((run, _)) if run.shape.size <= 1 << 24 => run,
        Ok(_) => return,
        Err(error) => return assert!(!error.to_string().contains('\n')),
    };
    let depth = Depth { subsets: 3, samples: 2, seed: 1 };
    for policy in [Policy::Subset, Policy::Lies] {
        let mut cursor = Cursor::new(&run, policy);
        for moment in moments(&run, policy).into_iter().take(20) {
            let plan = Plan::new(&run, policy, moment, depth);
            for state in (0..plan.len().min(20)).filter_map(|index| plan.state(index)) {
                cursor.set(&state);
                let id = state.id(&run, policy);
                assert_eq!(State::of_id(&id, &run, policy).as_ref(), Ok(&state), "{id}");
            }
        }
    }
});
