//! A tiny trace of every format runs to its end, and every request of it completes.

#[path = "../../../trace/tests/it/samples/mod.rs"]
mod samples;

use phelsuma_drive::{FoldChoice, Input, RunConfig, run};
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{Format, OpenOptions, PageSource, Source, TraceOrigin};
use std::collections::BTreeSet;
use std::path::PathBuf;

#[test]
fn every_request_of_a_trace_of_every_format_completes() {
    let mut seen = BTreeSet::new();
    for (number, sample) in samples::all().iter().enumerate() {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sample{number}"));
        std::fs::write(&path, &sample.bytes).unwrap();
        let options = OpenOptions { format: Some(sample.format), ..OpenOptions::default() };

        let mut source = PageSource::open(&path, &options, FoldOptions::default()).unwrap();
        while source.next_request().unwrap().is_some() {}
        let counts = source.counts();
        assert_eq!(counts.read, sample.requests.len() as u64, "{}", sample.format);
        assert_eq!(counts.read, counts.emitted + counts.dropped_total(), "{}", sample.format);

        for ftl in ["page", "pl-greedy"] {
            let input = Input::Trace {
                trace: TraceOrigin::Files { paths: vec![path.clone()], options: options.clone() },
                fold: FoldChoice::Compact,
                loops: 1,
            };
            let result = run(&RunConfig::new(ftl, input).unwrap(), &|_| true).unwrap();
            assert_eq!(result.host.requests, counts.page_requests, "{ftl} {}", sample.format);
            assert_eq!(result.host.partial_pages > 0, result.flash["rmw"].reads > 0, "{ftl} {}", sample.format);
        }
        seen.insert(sample.format);
    }
    assert_eq!(seen.len(), Format::all().len(), "a format has no sample");
}
