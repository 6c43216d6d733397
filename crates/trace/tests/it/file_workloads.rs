//! Workloads of files: what any of them must hold, whatever its size, page and seed.
//!
//! What holds of the volumes inside (no cluster twice, none lost) is tested beside them.

use std::collections::BTreeSet;

use phelsuma_trace::workload::{GenerateOptions, LIST, generate};
use phelsuma_trace::{Op, OpenOptions, PageRequest, Source, Workload, reader_from};
use proptest::prelude::*;

const SPECS: [&str; 6] =
    ["media:pic", "media:mp3,trim", "media:mov", "media:mov,trim,rounds=3", "desktop", "desktop:trim"];

fn source(spec: &str, pages: u64, page_bytes: u32, seed: u64) -> Box<dyn Source + Send> {
    Workload::parse(spec).unwrap().source(pages, page_bytes, seed)
}

fn draw(spec: &str, pages: u64, page_bytes: u32, seed: u64, most: usize) -> Vec<PageRequest> {
    let mut source = source(spec, pages, page_bytes, seed);
    std::iter::from_fn(|| source.next_request().unwrap()).take(most).collect()
}

/// FNV-1a over every field.
fn hash(requests: &[PageRequest]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for r in requests {
        let flags = u64::from(r.partial_first) | u64::from(r.partial_last) << 1 | u64::from(r.op == Op::Trim) << 2;
        for byte in [r.at_ns, r.first, u64::from(r.pages), flags].into_iter().flat_map(u64::to_le_bytes) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// In debug and release builds, on 64 and on 32 bits.
#[test]
fn the_same_is_asked_on_every_machine() {
    let hashes = SPECS.map(|spec| format!("{:016x}", hash(&draw(spec, 50_000, 4096, 7, 100_000))));
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 6] = [
    "0322317913a29d4c",
    "8fa8f4e2f219175d",
    "9945de49b95011e2",
    "b05d3f19a47f61c5",
    "5ecc73badc0c33b1",
    "23f074d0f5f391d5",
];

#[test]
fn the_same_seed_asks_the_same_and_another_does_not() {
    for spec in SPECS {
        let (one, two) = (draw(spec, 40_000, 4096, 1, 20_000), draw(spec, 40_000, 4096, 2, 20_000));
        assert_eq!(one, draw(spec, 40_000, 4096, 1, 20_000), "{spec}");
        assert_ne!(one, two, "{spec}");
    }
}

#[test]
fn media_ends_and_desktop_does_not() {
    for spec in SPECS {
        let ends = Workload::parse(spec).unwrap().ends();
        let requests = draw(spec, 1 << 13, 4096, 1, 300_000);
        assert_eq!(requests.len() < 300_000, ends, "{spec}: {} requests", requests.len());
        let mut ended = source(spec, 1 << 13, 4096, 1);
        if ends {
            while ended.next_request().unwrap().is_some() {}
            assert_eq!(ended.next_request().unwrap(), None, "{spec}: an end is an end");
        }
    }
}

#[test]
fn rounds_are_as_many_as_asked_for() {
    let written = |spec: &str| {
        let writes = draw(spec, 1 << 14, 4096, 1, usize::MAX).into_iter().filter(|request| request.op == Op::Write);
        writes.map(|request| u64::from(request.pages)).sum::<u64>() as f64 / f64::from(1 << 14)
    };
    for (rounds, right) in [(0, 0.75), (1, 1.0), (8, 2.75)] {
        let pages = written(&format!("media:pic,rounds={rounds}"));
        assert!((pages / right - 1.0).abs() < 0.1, "{rounds} rounds: {pages} of the drive");
    }
}

#[test]
fn files_are_written_in_whole_pages_but_for_their_ends() {
    for spec in ["media:pic", "media:mp3", "media:mov"] {
        // Behind the tables, which are written in sectors, all that is long are files.
        let long = draw(spec, 1 << 16, 4096, 1, usize::MAX).into_iter().filter(|r| r.first >= 140 && r.pages >= 8);
        let (inside, whole): (Vec<_>, Vec<_>) = long.partition(|request| request.partial_first);
        assert!(inside.is_empty() && whole.len() > 10_000, "{spec}: {} of {}", inside.len(), whole.len());
    }
}

#[test]
fn only_what_is_written_and_deleted_is_trimmed_and_only_if_asked() {
    for spec in SPECS {
        let mut written = BTreeSet::new();
        let (mut trims, mut of_unwritten) = (0u64, 0u64);
        for request in draw(spec, 1 << 14, 4096, 3, 100_000) {
            for page in request.first..request.first + u64::from(request.pages) {
                if request.op == Op::Trim {
                    trims += 1;
                    of_unwritten += u64::from(!written.remove(&page));
                } else {
                    written.insert(page);
                }
            }
        }
        assert_eq!(trims > 0, spec.contains("trim"), "{spec}");
        // Documents and downloads of a desktop are there before its first request, or deleted half-written.
        assert!(of_unwritten * 50 <= trims, "{spec}: {of_unwritten} of {trims} pages trimmed were not written");
    }
}

#[test]
fn a_desktop_has_bursts_with_idle_times_between_them() {
    let requests = draw("desktop", 1 << 18, 4096, 1, 100_000);
    let writes = requests.windows(2).map(|pair| pair[1].at_ns.checked_sub(pair[0].at_ns).expect("times never go back"));
    let mut idle: Vec<u64> = writes.filter(|&ns| ns > 400_000_000).collect();
    idle.sort_unstable();
    let at = |percent: usize| idle[idle.len() * percent / 100] as f64 / 1e9;
    assert!(idle.len() > 3000, "{} bursts", idle.len());
    assert!((0.8..1.0).contains(&at(50)) && (3.0..3.7).contains(&at(90)), "{} {}", at(50), at(90));
    assert!((15.0..26.0).contains(&at(99)) && at(100 - 1) <= 60.1, "{}", at(99));
    assert!(draw("media:mov", 1 << 18, 4096, 1, 1000).iter().all(|request| request.at_ns == 0));
}

#[test]
fn drives_that_are_too_small_are_refused_in_one_line() {
    for (spec, pages, page_bytes, right) in [
        ("media:mov", 1023, 4096, "1024 would be right"),
        ("media:pic", 63, 1 << 20, "64 would be right"),
        ("desktop", 8191, 4096, "8192 would be right"),
        ("desktop", 0, 4096, "1 or more would be right"),
        ("media:mp3", 1 << 20, 1000, "power of two"),
    ] {
        let error = source(spec, pages, page_bytes, 1).next_request().unwrap_err().to_string();
        assert!(error.contains(right) && !error.contains('\n'), "{error}");
    }
    for (spec, pages, page_bytes) in [("media:mov", 1024, 4096), ("media:pic", 64, 1 << 20), ("desktop", 8192, 4096)] {
        assert!(!draw(spec, pages, page_bytes, 1, 50_000).is_empty());
    }
}

#[test]
fn specifications_print_as_they_parse_and_wrong_ones_say_what_would_be_right() {
    for spec in SPECS {
        assert_eq!(Workload::parse(spec).unwrap().to_string(), spec);
        let name = spec.split(':').next().unwrap();
        assert!(LIST.iter().any(|(listed, _)| listed.starts_with(name)));
    }
    assert_eq!(Workload::parse("media:mov,rounds=10").unwrap().to_string(), "media:mov");
    for (spec, hint) in [
        ("media", "as in media:mov"),
        ("media:", "as in media:mov"),
        ("media:avi", "pic, mp3 or mov"),
        ("media:mov,", "trim, rounds=N or delete=ORDER"),
        ("media:mov,trim=1", "trim, rounds=N or delete=ORDER"),
        ("media:mov,rounds=x", "0 to 1000000 rounds"),
        ("media:mov,delete=any", "random, oldest or folders"),
        ("media:mov,rounds=1000001", "0 to 1000000 rounds"),
        ("media:mov,trim,trim", "says again"),
        ("desktop:", "`desktop:trim`"),
        ("desktop:40", "`desktop:trim`"),
        ("mixed:read=30:desktop", "cannot be mixed"),
        ("mixed:read=30:media:mov", "cannot be mixed"),
    ] {
        let error = Workload::parse(spec).unwrap_err().to_string();
        assert!(error.contains(hint) && !error.contains('\n'), "{spec}: {error}");
    }
}

#[test]
fn a_trace_of_a_desktop_has_its_times_and_one_of_media_its_end() {
    let options =
        GenerateOptions { requests: Some(500), logical_pages: 1 << 14, page_bytes: 4096, seed: 1, interval_ns: None };
    let generated = |spec: &str, options: &GenerateOptions| {
        let mut bytes = Vec::new();
        generate(&Workload::parse(spec).unwrap(), options, &mut bytes)?;
        let read = reader_from(std::io::Cursor::new(bytes), "t", &OpenOptions::default()).unwrap();
        let read = read.map(|request| request.unwrap()).collect();
        Ok::<Vec<_>, phelsuma_trace::TraceError>(crate::samples::since_earliest(read))
    };
    let asked = draw("desktop", 1 << 14, 4096, 1, 500);
    let times: Vec<u64> = asked.iter().map(|request| request.at_ns - asked[0].at_ns).collect();
    let read: Vec<u64> = generated("desktop", &options).unwrap().iter().map(|request| request.time_ns).collect();
    assert_eq!(read, times);
    let spaced = GenerateOptions { interval_ns: Some(1000), ..options };
    assert_eq!(generated("desktop", &spaced).unwrap()[499].time_ns, 499_000);

    let all = GenerateOptions { requests: None, ..options };
    let whole = generated("media:mp3", &all).unwrap();
    assert_eq!(whole.len(), draw("media:mp3", 1 << 14, 4096, 1, usize::MAX).len());
    assert_eq!(whole[3].time_ns, 300_000);
    let error = generated("desktop", &all).unwrap_err().to_string();
    assert_eq!(error, "desktop never ends, a number of requests would be right");
    let too_many = GenerateOptions { requests: Some(1 << 30), ..options };
    let error = generated("media:mp3", &too_many).unwrap_err().to_string();
    assert!(error.starts_with(&format!("media:mp3 ends after {} requests", whole.len())), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_request_is_on_the_drive(
        which in 0..SPECS.len(),
        page_log2 in 9u32..=20,
        extra in 0u64..5000,
        seed in any::<u64>(),
    ) {
        let page_bytes = 1u32 << page_log2;
        let least = (32u64 << 20 >> page_log2).max(64);
        let pages = least + extra % (4 * least);
        for request in draw(SPECS[which], pages, page_bytes, seed, 20_000) {
            prop_assert!(request.pages > 0 && request.first + u64::from(request.pages) <= pages, "{:?}", request);
            prop_assert!(request.pages > 1 || !request.partial_last);
            prop_assert!(request.op == Op::Write || (request.op == Op::Trim && !request.partial_first && !request.partial_last));
        }
    }
}
