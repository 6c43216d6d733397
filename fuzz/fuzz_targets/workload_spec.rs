//! Arbitrary text as a workload specification, run on a drive of arbitrary size.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phelsuma_trace::{Op, Source, Workload};

fuzz_target!(|input: (&str, u64, u64)| {
    let (spec, logical_pages, seed) = input;
    let logical_pages = logical_pages % (1 << 51);
    match Workload::parse(spec) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(workload) => {
            assert_eq!(Workload::parse(&workload.to_string()).as_ref(), Ok(&workload));
            let mut source = workload.source(logical_pages, 4096, seed);
            for _ in 0..50 {
                let Ok(request) = source.next_request() else { break };
                let Some(request) = request else {
                    assert!(workload.ends());
                    break;
                };
                assert!(request.first + u64::from(request.pages) <= logical_pages);
                assert_eq!(request.pages == 0, request.op == Op::Flush);
            }
        }
    }
});
