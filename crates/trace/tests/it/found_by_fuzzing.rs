//! What the fuzzers found, one small test each.

use phelsuma_trace::Workload;

/// An exponent with 24 decimals parsed, but printed longer than what the parser accepts.
#[test]
fn every_number_that_a_specification_may_hold_prints_as_one_that_it_may_hold() {
    assert!(Workload::parse("zipf:.0000000000000000000001930733687").is_err());
    for spec in ["zipf:.000000000000001", "zipf:9.999999999999999", "hotcold:99.999999999999999/00.5", "zipf:1."] {
        let workload = Workload::parse(spec);
        if let Ok(workload) = workload {
            assert_eq!(Workload::parse(&workload.to_string()).unwrap(), workload, "{spec}");
        }
    }
    assert!(Workload::parse("mixed:read=33.3,trim=33.3,flush=33.4:uniform").is_ok());
}
