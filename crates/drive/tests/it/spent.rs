//! Where the time of a drive with buffers, link and firmware goes, and its rates over time.

use phelsuma_drive::{
    Arrival, Fill, Input, Link, RequestTime, RunConfig, RunResult, Saving, TimeSpent, run, run_saving,
};
use phelsuma_nand::Timing;
use phelsuma_trace::Workload;

/// A drive with units of 4 pages, a link and firmware.
fn drive(ftl: &str, workload: &str) -> RunConfig {
    let mut config = RunConfig::new(ftl, Input::Workload(Workload::parse(workload).unwrap())).unwrap();
    config.shape.capacity_bytes = Some(64 << 20);
    (config.shape.pages_per_block, config.shape.channels, config.shape.dies_per_channel) = (32, 2, 2);
    config.timing = Timing {
        transfer_ns: 5_000,
        transfer_spare_ns: 200,
        unit_pages: 4,
        sense_pages: 2,
        cache_program: true,
        suspend_ns: 10_000,
        ..Timing::array(50_000, 50_000, 400_000, 3_000_000)
    };
    config.link = Some(Link { read_ns: 20_000, write_ns: 4_000, write_page_ns: 500, page_ns: 1_200 });
    config.arrival = Arrival::QueueDepth(16);
    config
}

fn done(config: &RunConfig) -> (RunResult, TimeSpent) {
    let result = run(config, &|_| true).unwrap();
    let time = result.time.clone().unwrap();
    (result, time)
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{a} {b}");
}

#[test]
fn shares_add_up_and_none_exceeds_the_measured_time() {
    for ftl in ["page", "dftl", "geckoftl", "fast"] {
        let mut config = drive(ftl, "mixed:read=40,trim=2,pages=1-9:zipf:0.9");
        // Work that is accepted near the end of so short a run is a good part of it.
        for passes in [0.01, 0.5] {
            config.passes = passes;
            let (result, time) = done(&config);
            let d = time.dies;
            let parts = [
                d.host_reads,
                d.host_programs,
                d.collection_reads,
                d.collection_programs,
                d.erases,
                d.translation,
                d.validity,
                d.other,
            ];
            near(d.busy, parts.iter().sum());
            let each = || result.channels.each.iter().map(|channel| channel.busy);
            near(d.busy, each().sum::<f64>() / 2.0);
            near(time.channels.busy, time.channels.each.iter().sum::<f64>() / 2.0);
            let link = time.link.unwrap();
            let shares = each().chain(time.channels.each.iter().copied()).chain([link.busy]);
            assert!(shares.clone().all(|share| share > 0.0 && share <= 1.0), "{ftl}: {:?}", shares.collect::<Vec<_>>());
            assert_eq!(d.translation > 0.0, ftl == "dftl" || ftl == "geckoftl", "{ftl}");
            for (parts, latency) in
                [(time.request_us.read, result.latency_us.read), (time.request_us.write, result.latency_us.write)]
            {
                let RequestTime { firmware, link, link_waiting, flash, waiting } = parts.unwrap();
                near(firmware + link + link_waiting + flash + waiting, latency.unwrap().mean);
                assert!(firmware > 0.0 && link > 0.0 && waiting > 0.0);
            }
        }
    }
}

#[test]
fn the_work_that_is_seen_is_what_the_operations_take() {
    // So long that what spills over at both ends is little.
    let mut config = drive("page", "mixed:read=50:uniform");
    config.timing.suspend_ns = 0;
    config.timing.sense_pages = 1;
    let (result, time) = done(&config);
    let per_die = result.simulated_seconds * 1e9 * 4.0;
    let share = |n: u64, ns: f64| n as f64 * ns / per_die;
    let close = |seen: f64, expected: f64| assert!((seen / expected - 1.0).abs() < 0.01, "{seen} {expected}");
    let (host, gc) = (&result.flash["host"], &result.flash["gc"]);
    close(time.dies.host_programs, share(host.programs, 100_000.0));
    close(time.dies.collection_programs, share(gc.programs, 100_000.0));
    close(time.dies.erases, share(result.erases.total, 3_000_000.0));
    // Reads that meet a buffer take nothing, and these are few.
    assert!(
        time.dies.host_reads <= share(host.reads, 50_000.0) && time.dies.host_reads > 0.9 * share(host.reads, 50_000.0)
    );
    let pages = result.host.read_pages.max(result.host.write_pages) as f64;
    close(time.link.unwrap().busy, pages * 1_200.0 / (result.simulated_seconds * 1e9));
    close(time.request_us.read.unwrap().firmware, 20.0);
    close(time.request_us.write.unwrap().firmware, 4.5);
}

#[test]
fn one_read_at_a_time_waits_for_nothing() {
    let mut config = drive("page", "mixed:read=99:uniform");
    config.arrival = Arrival::QueueDepth(1);
    (config.warmup, config.passes) = (0.0, 0.2);
    config.timing.sense_pages = 1;
    let (result, time) = done(&config);
    let read = time.request_us.read.unwrap();
    assert_eq!(result.latency_us.read.unwrap().p50, 20.0 + 50.0 + 5.0 + 1.2);
    assert!((read.firmware, read.link, read.link_waiting) == (20.0, 1.2, 0.0), "{read:?}");
    // Now and then a read interrupts a program, or meets a buffer.
    assert!((read.flash - 55.0).abs() < 0.5 && read.waiting < 1.0, "{read:?}");
}

#[test]
fn a_series_has_rates_and_percentiles_that_agree_with_the_whole() {
    let mut config = drive("page", "mixed:read=50:uniform");
    config.interval = Some(1_000);
    let (result, _) = done(&config);
    let points: Vec<_> = result.series.iter().map(|point| point.of_drive.unwrap()).collect();
    let mut began = 0.0;
    let mut sums = [0.0; 3];
    for (point, of) in result.series.iter().zip(&points) {
        let seconds = point.simulated_seconds - began;
        began = point.simulated_seconds;
        let t = of.throughput;
        for (sum, rate) in sums.iter_mut().zip([t.read_mb_per_second, t.write_mb_per_second, t.requests_per_second]) {
            *sum += rate * seconds;
        }
        let write = of.latency_us.write.unwrap();
        assert!(write.p50 <= write.p99 && write.p99 <= write.p999 && write.p999 <= write.max);
    }
    let whole = result.throughput;
    let expected = [whole.read_mb_per_second, whole.write_mb_per_second, whole.requests_per_second];
    for (sum, rate) in sums.iter().zip(expected) {
        near(sum / result.simulated_seconds, rate);
    }
    let largest = points.iter().map(|of| of.latency_us.read.unwrap().max).fold(0.0, f64::max);
    assert_eq!(largest, result.latency_us.read.unwrap().max);
    assert!(points.len() > 5);
}

#[test]
fn a_drive_of_flash_alone_has_none_of_it() {
    let mut config = drive("page", "uniform");
    (config.link, config.timing, config.interval, config.fill) =
        (None, Timing::preset("tlc").unwrap(), Some(1_000), Fill::None);
    let result = run(&config, &|_| true).unwrap();
    assert!(result.times_are_of_flash_alone && result.time.is_none());
    assert!(result.series.iter().all(|point| point.of_drive.is_none()));
    let json = serde_json::to_value(&result).unwrap();
    assert!(json.get("time").is_none() && json["series"][0].get("throughput").is_none());
}

#[test]
fn a_drive_from_a_file_says_the_same() {
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("spent.drive");
    let mut config = drive("page", "mixed:read=50:uniform");
    config.passes = 0.05;
    let saving = |from, to| {
        let saving = Saving { build: "spent", from, to };
        let result = run_saving(&config, &saving, &|_| true).unwrap();
        (result.time.unwrap(), result.channels)
    };
    let whole = saving(None, Some(path.as_path()));
    assert_eq!(saving(Some(path.as_path()), None), whole);
    std::fs::remove_file(path).unwrap();
}
