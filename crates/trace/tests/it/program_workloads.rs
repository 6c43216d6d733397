//! Workloads of programs, a flash cache and a key-value store: where they write, with which handles, and how much.

use std::collections::BTreeMap;

use phelsuma_trace::workload::{GenerateOptions, LIST, generate};
use phelsuma_trace::{Op, OpenOptions, PageRequest, Source, Workload, reader_from};
use proptest::prelude::*;

const SPECS: [&str; 6] = [
    "cache",
    "cache:small=10,writes=70.5,region=1048576,zipf=0.9,trim",
    "cache:writes=0",
    "lsm",
    "lsm:full=50",
    "lsm:full=60,no-trim",
];

fn source(spec: &str, pages: u64, page_bytes: u32, seed: u64) -> Box<dyn Source + Send> {
    Workload::parse(spec).unwrap().source(pages, page_bytes, seed)
}

fn draw(spec: &str, pages: u64, page_bytes: u32, seed: u64, count: usize) -> Vec<PageRequest> {
    let mut source = source(spec, pages, page_bytes, seed);
    (0..count).map(|_| source.next_request().unwrap().expect("it never ends")).collect()
}

/// FNV-1a over every field.
fn hash(requests: &[PageRequest]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for r in requests {
        let flags = u64::from(r.partial_first) | u64::from(r.partial_last) << 1 | u64::from(r.op == Op::Trim) << 2;
        for byte in [r.first, u64::from(r.pages), flags, u64::from(r.handle)].into_iter().flat_map(u64::to_le_bytes) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[test]
fn the_same_is_asked_on_every_machine() {
    let hashes = SPECS.map(|spec| format!("{:016x}", hash(&draw(spec, 50_000, 4096, 7, 100_000))));
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 6] = [
    "0bf0898d01c73273",
    "2d69fc2f6aafec5b",
    "95e9b372f8e1fc82",
    "24f484052a38be1f",
    "c1c78b9ab942c5eb",
    "2146fd6d11df6b9c",
];

#[test]
fn another_seed_asks_something_else() {
    for spec in SPECS.iter().filter(|spec| **spec != "cache:writes=0") {
        assert_ne!(draw(spec, 40_000, 4096, 1, 5_000), draw(spec, 40_000, 4096, 2, 5_000), "{spec}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the drive, page and seed.
    #[test]
    fn requests_are_within_the_drive(
        spec in prop::sample::select(&SPECS[..]),
        pages in 1..9_000u64,
        page_bytes in prop::sample::select(&[512u32, 2048, 4096, 16_384, 1 << 20, 4224, 1][..]),
        seed in 0..100u64,
    ) {
        let mut source = source(spec, pages, page_bytes, seed);
        let mut first = true;
        for _ in 0..3_000 {
            let request = match source.next_request() {
                Ok(request) => request.expect("it never ends"),
                // A drive that is too small is refused at once.
                Err(error) => {
                    prop_assert!(first && error.to_string().contains("pages"), "{}", error);
                    break;
                }
            };
            first = false;
            prop_assert!(request.pages > 0 && request.first + u64::from(request.pages) <= pages);
            prop_assert!(request.handle > 0 && request.at_ns == 0);
            prop_assert!(request.op == Op::Write || request.op == Op::Trim);
        }
    }
}

/// Pages written, by handle.
fn written(requests: &[PageRequest]) -> BTreeMap<u8, u64> {
    let mut written = BTreeMap::new();
    for request in requests.iter().filter(|request| request.op == Op::Write) {
        *written.entry(request.handle).or_insert(0) += u64::from(request.pages);
    }
    written
}

#[test]
fn a_cache_has_small_objects_in_their_place_and_large_ones_in_a_ring() {
    let pages = 100_000;
    let requests = draw("cache:region=1048576,trim", pages, 4096, 3, 150_000);
    let written = written(&requests);
    let all: u64 = written.values().sum();
    assert!((written[&1] as f64 / all as f64 - 0.5).abs() < 0.02, "{written:?}");
    let mut at = 4_000;
    for request in &requests {
        match (request.handle, request.op) {
            (1, Op::Write) => assert!(request.first < 4_000 && request.pages == 1),
            (2, Op::Trim) => {
                assert_eq!(request.first, at);
                assert_eq!(u64::from(request.pages), 256.min(pages - at), "a region");
            }
            (2, Op::Write) => {
                assert_eq!(request.first, at, "region after region");
                at += u64::from(request.pages);
                at = if at == pages { 4_000 } else { at };
            }
            _ => panic!("{request:?}"),
        }
    }
    assert!(written[&2] > pages, "the ring went round");
    let trims = requests.iter().filter(|request| request.op == Op::Trim).count() as u64;
    assert!(trims.abs_diff(written[&2] / 256) <= 2, "{trims} regions of 1 MiB");
}

#[test]
fn buckets_are_four_kibibytes_whatever_the_page() {
    let of = |page_bytes: u32| draw("cache:writes=100", 10_000, page_bytes, 1, 1_000);
    assert!(of(512).iter().all(|r| r.pages == 8 && r.first % 8 == 0 && !r.partial_first));
    assert!(of(16_384).iter().all(|r| r.pages == 1 && r.partial_first && !r.partial_last && r.first < 400));
    let popular = draw("cache:writes=100,zipf=1.2", 10_000, 4096, 1, 10_000);
    let mut counts = BTreeMap::new();
    popular.iter().for_each(|request| *counts.entry(request.first).or_insert(0) += 1);
    assert!(*counts.values().max().unwrap() > 1_000, "by Zipf's law the most popular bucket has a fifth");
}

/// What each page holds: a log, or a file of which level.
#[test]
fn a_store_writes_files_where_none_are_and_trims_them_whole() {
    // Files of 100 pages, the first four of them the log.
    let (pages, file) = (102_400, 100);
    let mut holds: Vec<Option<u8>> = vec![None; pages as usize];
    let (mut tables, mut most) = (BTreeMap::new(), BTreeMap::new());
    for request in draw("lsm", pages, 4096, 5, 200_000) {
        if request.handle == 1 {
            assert!(request.op == Op::Write && request.first + u64::from(request.pages) <= 4 * file);
            continue;
        }
        let range = request.first as usize..request.first as usize + request.pages as usize;
        match request.op {
            Op::Trim => {
                assert!(request.first % file == 0 && u64::from(request.pages) == file, "a whole file");
                // What was loaded before the first request has no handle here.
                let of_level = |page: &Option<u8>| page.is_none_or(|level| level == request.handle);
                // A file that was moved to the next level keeps the handle that it was written with.
                let moved = |page: &Option<u8>| page.is_some_and(|level| level + 1 == request.handle);
                assert!(holds[range.clone()].iter().all(|page| of_level(page) || moved(page)), "{request:?}");
                holds[range].fill(None);
            }
            _ => {
                assert!(holds[range.clone()].iter().all(Option::is_none), "written over: {request:?}");
                holds[range].fill(Some(request.handle));
                *tables.entry(request.handle).or_insert(0u64) += u64::from(request.pages);
            }
        }
        let held = holds.iter().step_by(file as usize).filter(|page| page.is_some()).count();
        most.insert(0, held.max(most.get(&0).copied().unwrap_or(0)));
    }
    // Three levels: 716 files, 71, 7.
    assert_eq!(tables.keys().copied().collect::<Vec<u8>>(), [2, 3, 4, 5], "{tables:?}");
    let amplification = tables.values().sum::<u64>() as f64 / tables[&2] as f64;
    assert!((5.0..40.0).contains(&amplification), "{amplification} written for each byte that was flushed");
    assert!(tables[&5] > tables[&2], "the last level is written most");
}

#[test]
fn a_store_goes_on_for_long() {
    let pages = 20_480;
    let written = written(&draw("lsm:full=75", pages, 4096, 1, 2_000_000));
    let all: u64 = written.values().sum();
    assert!(all > 100 * pages, "{written:?}");
    assert!(written[&1].abs_diff(written[&2]) < pages / 100, "each put is in the log and in a file: {written:?}");
}

#[test]
fn specifications_print_as_they_parse_and_wrong_ones_say_what_would_be_right() {
    for spec in SPECS {
        assert_eq!(Workload::parse(spec).unwrap().to_string(), spec);
        let name = spec.split(':').next().unwrap();
        assert!(LIST.iter().any(|(listed, _)| listed.starts_with(name)));
        assert!(!Workload::parse(spec).unwrap().ends());
    }
    assert_eq!(Workload::parse("cache:small=4,region=16MiB").unwrap().to_string(), "cache");
    for (spec, hint) in [
        ("cache:", "is no option; small=P"),
        ("cache:trim=1", "is no option; small=P"),
        ("cache:trim,trim", "says again"),
        ("cache:small=0", "above 0 and below 100"),
        ("cache:small=100", "above 0 and below 100"),
        ("cache:writes=101", "0 to 100 would be right"),
        ("cache:region=1000", "a multiple of 4KiB"),
        ("cache:region=2GiB", "a multiple of 4KiB"),
        ("cache:zipf=0", "above 0 and at most 10"),
        ("lsm:full=76", "1 to 75 percent"),
        ("lsm:trim", "full=P or no-trim"),
        ("mixed:read=30:cache", "cannot be mixed"),
        ("shifting:2:lsm", "cannot shift"),
    ] {
        let error = Workload::parse(spec).unwrap_err().to_string();
        assert!(error.contains(hint) && !error.contains('\n'), "{spec}: {error}");
    }
    let error = source("lsm", 100, 4096, 1).next_request().unwrap_err().to_string();
    assert!(error.contains("70 files of 1 pages in the last level need"), "{error}");
    let error = source("cache", 1, 4096, 1).next_request().unwrap_err().to_string();
    assert!(error.contains("do not fit 1 pages"), "{error}");
}

#[test]
fn a_generated_trace_has_the_handles() {
    for spec in ["cache:trim", "lsm"] {
        let options = GenerateOptions {
            requests: Some(900),
            logical_pages: 1 << 14,
            page_bytes: 4096,
            seed: 1,
            interval_ns: None,
        };
        let mut bytes = Vec::new();
        generate(&Workload::parse(spec).unwrap(), &options, &mut bytes).unwrap();
        assert!(bytes.starts_with(b"time_us,device,op,offset_bytes,size_bytes,handle\n"));
        let read = reader_from(std::io::Cursor::new(bytes), "t", &OpenOptions::default()).unwrap();
        assert!(read.has_handles());
        let handles: Vec<u8> = read.map(|request| request.unwrap().handle).collect();
        let asked: Vec<u8> = draw(spec, 1 << 14, 4096, 1, 900).iter().map(|request| request.handle).collect();
        assert_eq!(handles, asked);
    }
}
