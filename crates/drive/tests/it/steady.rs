//! Steady-state tests of whole drives: they reach the window, say so if they do not, and agree with plain runs.

use phelsuma_drive::steady::{Length, Load, Measured, Pattern, SteadyConfig, SteadyResult, Test, WINDOW, steady};
use phelsuma_drive::{Arrival, Input, Link, RunConfig, RunError, run};
use phelsuma_nand::Timing;
use phelsuma_trace::Workload;

fn drive(ftl: &str) -> RunConfig {
    let mut config = RunConfig::new(ftl, Input::Workload(Workload::Uniform)).unwrap();
    config.shape.capacity_bytes = Some(64 << 20);
    (config.shape.pages_per_block, config.shape.channels, config.shape.dies_per_channel) = (32, 2, 1);
    config.timing = Timing { transfer_ns: 5_000, unit_pages: 4, ..Timing::array(50_000, 50_000, 400_000, 3_000_000) };
    config.link = Some(Link { read_ns: 20_000, write_ns: 4_000, write_page_ns: 500, page_ns: 1_200 });
    config.arrival = Arrival::QueueDepth(8);
    config
}

fn test(drive: RunConfig, test: Test, share: f64, rounds_max: u32) -> SteadyResult {
    let config = SteadyConfig { drive, test, length: Length::Capacities(share), rounds_max };
    steady(&config, &|_| true).unwrap()
}

const TRACKED: Load = Load { pattern: Pattern::Random, read_percent: 0, block_bytes: 4096 };

fn measured(loads: &[Measured], load: Load) -> &Measured {
    loads.iter().find(|of| of.load == load).unwrap()
}

#[test]
fn a_drive_becomes_steady_and_its_figures_are_those_of_runs() {
    let of = || {
        let mut large = drive("page");
        large.shape.capacity_bytes = Some(256 << 20);
        large
    };
    let result = test(of(), Test::Iops, 0.05, 25);
    let part = &result.parts[0];
    let window = part.window.unwrap();
    assert_eq!(part.steady, Some(true));
    assert_eq!((part.rounds.len(), window.last_round as usize), (part.rounds.len(), part.rounds.len()));
    assert_eq!(window.first_round as usize + WINDOW - 1, part.rounds.len());
    assert!((part.preconditioning_capacities - 2.0).abs() < 0.01);
    // Sizes: 1 MiB to 4 KiB, by seven mixes.
    assert_eq!(part.loads.len(), 7 * 7);
    assert_eq!(result.parts.len(), 1);
    let tracked = measured(&part.loads, TRACKED);
    assert!((tracked.requests_per_second / window.mean - 1.0).abs() < 1e-9);

    // Long runs of two of the loads. In a round random writes of larger blocks go before, which are collected cheaper.
    for (spec, read_percent) in [("uniform", 0), ("mixed:read=50:uniform", 50)] {
        let mut plain = of();
        plain.input = Input::Workload(Workload::parse(spec).unwrap());
        let plain = run(&plain, &|_| true).unwrap();
        let of = measured(&part.loads, Load { read_percent, ..TRACKED });
        let ratio = of.requests_per_second / plain.throughput.requests_per_second;
        assert!((ratio - 1.0).abs() < 0.2, "{spec}: {ratio}");
        let wa = of.write_amplification.unwrap() / plain.write_amplification.unwrap().total;
        assert!((wa - 1.0).abs() < 0.15, "{spec}: WA {wa}");
        let ratio = of.latency_us.write.unwrap().mean / plain.latency_us.write.unwrap().mean;
        assert!((ratio - 1.0).abs() < 0.25, "{spec}: latency {ratio}");
    }
    // The same once more.
    let again = test(of(), Test::Iops, 0.05, 25);
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&result).unwrap());
}

#[test]
fn a_drive_that_has_no_time_to_become_steady_is_said_not_to_be() {
    let few = &test(drive("page"), Test::Latency, 0.02, WINDOW as u32 - 1).parts[0];
    assert_eq!((few.steady, few.window, few.rounds.len()), (Some(false), None, 4));
    // Preconditioning in sequence leaves a drive that collects nothing at first: rates fall while it is written at random.
    let mut full = drive("page");
    full.shape.ratio = 0.9;
    let falling = &test(full, Test::Latency, 0.02, WINDOW as u32).parts[0];
    let window = falling.window.unwrap();
    assert_eq!(falling.steady, Some(false), "{window:?}");
    assert!(window.slope > 0.1 && falling.rounds.len() == WINDOW, "{window:?}");
}

#[test]
fn latencies_are_of_one_request_at_a_time() {
    let result = test(drive("page"), Test::Latency, 0.1, 25);
    assert_eq!((result.queue_depth, result.parts[0].steady), (1, Some(true)));
    let reads = measured(&result.parts[0].loads, Load { read_percent: 100, ..TRACKED });
    let median = reads.latency_us.read.unwrap().p50;
    // Firmware, cells, bus, link; or a program is in the way.
    assert!(reads.latency_us.write.is_none() && (76.0..200.0).contains(&median), "{reads:?}");
}

#[test]
fn sequential_writes_of_large_blocks_are_not_amplified() {
    let result = test(drive("page"), Test::Throughput, 0.25, 25);
    let sizes: Vec<u64> = result.parts.iter().map(|part| part.tracked.block_bytes).collect();
    assert_eq!(sizes, [1 << 20, 128 << 10]);
    for part in &result.parts {
        assert_eq!(part.steady, Some(true));
        assert_eq!(part.preconditioning_block_bytes, Some(part.tracked.block_bytes));
        let writes = measured(&part.loads, part.tracked);
        assert!(writes.write_amplification.unwrap() < 1.1, "{writes:?}");
        // Two dies: a block of 128 KiB takes eight programs with their transfers, and an erase.
        let at_most = 2.0 * 131.072 / (8.0 * 0.42 + 3.0);
        assert!((0.6 * at_most..=1.02 * at_most).contains(&writes.mb_per_second), "{at_most}: {writes:?}");
    }
}

#[test]
fn a_blank_drive_saturates_to_what_a_run_measures() {
    let result = test(drive("page"), Test::WriteSaturation, 0.05, 25);
    let part = &result.parts[0];
    assert_eq!((part.steady, part.window, part.preconditioning_block_bytes), (None, None, None));
    let (first, last) = (&part.rounds[0], part.rounds.last().unwrap());
    assert!(
        (4.0..4.06).contains(&last.capacities_written) && (80..=81).contains(&part.rounds.len()),
        "{}",
        part.rounds.len()
    );
    assert_eq!(first.loads[0].write_amplification, Some(1.0));
    assert!(last.tracked < 0.75 * first.tracked);
    let plain = run(&drive("page"), &|_| true).unwrap();
    let ratio = part.loads[0].requests_per_second / plain.throughput.requests_per_second;
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn rounds_may_be_of_simulated_seconds_and_pages_of_any_size() {
    let mut large = drive("page");
    (large.shape.page_bytes, large.shape.pages_per_block) = (16 << 10, 16);
    let config = SteadyConfig { drive: large, test: Test::Latency, length: Length::Seconds(0.2), rounds_max: 6 };
    let result = steady(&config, &|_| true).unwrap();
    let part = &result.parts[0];
    assert_eq!(part.tracked.block_bytes, 16 << 10, "a page");
    for of in part.rounds.iter().flat_map(|round| &round.loads) {
        assert!(of.simulated_seconds >= 0.2 && of.simulated_seconds < 0.4, "{of:?}");
    }
    assert_eq!((result.load_capacities, result.load_seconds), (None, Some(0.2)));
}

#[test]
fn what_cannot_be_tested_is_refused_and_a_test_can_be_stopped() {
    let mut oracle = drive("oracle");
    oracle.arrival = Arrival::QueueDepth(1);
    let config = SteadyConfig { drive: oracle, test: Test::Iops, length: Length::Capacities(0.1), rounds_max: 5 };
    assert!(matches!(steady(&config, &|_| true), Err(RunError::Input(error)) if error.contains("oracle")));
    let config = SteadyConfig { drive: drive("page"), ..config };
    assert!(matches!(steady(&config, &|_| false), Err(RunError::Stopped)));
}
