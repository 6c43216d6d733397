//! The protocol of a run: what is counted, what is refused, and that nothing depends on chance.

use phelsuma_drive::{Arrival, Drive, Fill, FoldChoice, Input, RunConfig, RunError, RunResult, run, settle_capacity};
use phelsuma_ftl::Config;
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Geometry, SimNand};
use phelsuma_trace::{Op, OpenOptions, PageRequest, TraceOrigin, Workload};
use std::path::PathBuf;

fn workload(spec: &str) -> RunConfig {
    let mut config = RunConfig::new("page", Input::Workload(Workload::parse(spec).unwrap())).unwrap();
    config.shape.capacity_bytes = Some(64 << 20);
    config.shape.ratio = 0.6;
    config
}

fn trace(name: &str, text: &str, loops: u64) -> RunConfig {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, format!("time_us,device,op,offset_bytes,size_bytes\n{text}")).unwrap();
    let input = Input::Trace {
        trace: TraceOrigin::Files { paths: vec![path], options: OpenOptions::default() },
        fold: FoldChoice::Compact,
        loops,
    };
    RunConfig::new("page", input).unwrap()
}

fn done(config: &RunConfig) -> RunResult {
    run(config, &|_| true).unwrap()
}

/// Everything but its cost to the machine.
fn but_machine(config: &RunConfig) -> String {
    let mut value = serde_json::to_value(done(config)).unwrap();
    value.as_object_mut().unwrap().remove("machine").unwrap();
    value.to_string()
}

#[test]
fn the_same_run_gives_the_same_bytes_on_any_thread() {
    let mut config = workload("mixed:read=30,trim=5,flush=1,bytes=512-20480:zipf:0.9");
    config.interval = Some(1000);
    config.cut_at_end = true;
    config.arrival = Arrival::QueueDepth(4);
    let first = but_machine(&config);
    let others = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| but_machine(&config))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(others.iter().all(|other| *other == first));
    config.seed = 2;
    assert_ne!(but_machine(&config), first);
}

#[test]
fn a_pass_writes_the_logical_capacity() {
    let mut config = workload("uniform");
    config.passes = 2.0;
    let result = done(&config);
    let pages = result.geometry.logical_bytes / u64::from(result.geometry.page_bytes);
    assert_eq!(result.host.write_pages, 2 * pages);
    assert_eq!(result.flash["host"].programs, 2 * pages, "fill and warm-up are not counted");
}

#[test]
fn the_parts_of_write_amplification_add_up() {
    let result = done(&workload("mixed:trim=20,flush=2,pages=1-4:uniform"));
    let wa = result.write_amplification.unwrap();
    assert!(wa.other > 0.0, "tombstones are programs too");
    assert!((wa.user + wa.translation + wa.validity + wa.other - wa.total).abs() < 1e-12);
    let programs: u64 = result.flash.values().map(|f| f.programs).sum();
    assert_eq!(wa.total, programs as f64 / result.host.write_pages as f64);
}

#[test]
fn without_writes_there_is_no_write_amplification() {
    let result = done(&workload("mixed:read=100:uniform"));
    assert!(result.write_amplification.is_none() && result.steady.is_none());
    assert_eq!(result.host.write_pages, 0);
    let json = serde_json::to_value(&result).unwrap();
    assert!(json["write_amplification"].is_null());
}

#[test]
fn the_series_covers_everything_that_is_counted() {
    let mut config = workload("uniform");
    config.interval = Some(1000);
    let result = done(&config);
    assert_eq!(result.series.last().unwrap().write_pages, result.host.write_pages);
    let mut before = 0;
    let programs: f64 = result
        .series
        .iter()
        .map(|point| {
            let pages = point.write_pages - std::mem::replace(&mut before, point.write_pages);
            point.write_amplification * pages as f64
        })
        .sum();
    assert_eq!(programs.round() as u64, result.flash.values().map(|f| f.programs).sum::<u64>());
}

#[test]
fn a_partial_page_is_read_before_it_is_written() {
    // One page in part; two pages, the second in part; three pages, first and last in part; one whole page.
    let text = "0,0,write,512,512\n1,0,write,8192,4608\n2,0,write,20000,8192\n3,0,write,40960,4096\n";
    let result = done(&trace("partial.csv", text, 1));
    assert_eq!(result.host.partial_pages, 1 + 1 + 2);
    assert_eq!((result.flash["rmw"].reads, result.flash["host"].reads), (4, 0));
    assert_eq!(result.host.write_pages, 1 + 2 + 3 + 1);
    // A page is read in 100 µs and written in 1 ms. The one die reads first and last page one after the other.
    let latency = result.latency_us.write.unwrap();
    assert_eq!((latency.mean, latency.max), ((1100.0 + 2100.0 + 3200.0 + 1000.0) / 4.0, 3200.0));
}

#[test]
fn an_open_loop_counts_from_arrival() {
    // The second write waits 500 µs for the first; the third does not wait.
    let text = "0,0,write,0,4096\n500,0,write,4096,4096\n10000,0,read,0,4096\n";
    let mut config = trace("open.csv", text, 1);
    config.arrival = Arrival::Timestamps;
    let result = done(&config);
    assert_eq!((result.latency_us.write.unwrap().mean, result.latency_us.write.unwrap().max), (1250.0, 1500.0));
    assert_eq!(result.latency_us.read.unwrap().max, 100.0);
    assert_eq!(result.simulated_seconds, 0.0101);
}

#[test]
fn a_closed_loop_keeps_so_many_requests_in_progress_from_the_first_on() {
    let mut config = workload("sequential");
    config.shape.channels = 4;
    config.shape.capacity_bytes = Some(128 << 20);
    config.shape.ratio = 0.3;
    config.warmup = 0.0;
    config.passes = 0.01;
    let serial = done(&config);
    config.arrival = Arrival::QueueDepth(4);
    let parallel = done(&config);
    assert_eq!(serial.latency_us.write.unwrap().max, 1000.0, "alone on an idle drive");
    assert_eq!(parallel.latency_us.write.unwrap().max, 1000.0, "four dies serve four requests at once");
    let pages = parallel.host.write_pages as f64;
    assert_eq!(serial.simulated_seconds, pages / 1000.0);
    assert_eq!(parallel.simulated_seconds, (pages / 4.0).ceil() / 1000.0);
}

#[test]
fn only_the_last_loop_of_a_trace_is_counted() {
    let text = "0,0,write,0,8192\n10,0,read,0,4096\n20,0,flush,0,0\n30,0,trim,4096,4096\n40,0,trim,1000,10\n";
    let result = done(&trace("loops.csv", text, 3));
    let host = result.host;
    assert_eq!((host.requests, host.write_pages, host.read_pages, host.trim_pages), (4, 2, 1, 1));
}

#[test]
fn the_drift_of_a_trace_is_from_loop_to_loop() {
    // All pages in order, then half of them at random: halves that are nothing like each other on any drive.
    let mut text = String::new();
    (0..9000_u64).step_by(50).for_each(|page| text += &format!("0,0,write,{},204800\n", page * 4096));
    let mut random = 1_u64;
    for _ in 0..9000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += &format!("0,0,write,{},4096\n", (random >> 33) % 4500 * 4096);
    }
    let looped = |loops| {
        let mut config = trace(&format!("drift-{loops}.csv"), &text, loops);
        config.shape.capacity_bytes = Some(48 << 20);
        config.shape.ratio = 0.8;
        config.shape.pages_per_block = 16;
        done(&config)
    };
    let wa = |result: &RunResult| result.write_amplification.unwrap().total;
    let (once, twice, thrice, settled) = (looped(1), looped(2), looped(3), looped(8));
    assert_eq!((once.loops, settled.loops), (Some(1), Some(8)));
    assert!(once.drift.unwrap().abs() > 0.05, "{:?}", once.drift);
    assert!((thrice.drift.unwrap() - (wa(&thrice) / wa(&twice) - 1.0)).abs() < 1e-12, "{:?}", thrice.drift);
    assert_eq!(settled.steady, Some(true), "{:?}", settled.drift);
    assert_eq!(done(&workload("uniform")).loops, None);
}

#[test]
fn a_backlog_is_what_an_open_loop_leaves_behind() {
    let text = |apart_us: u64| {
        (0..1000).map(|n| format!("{},0,write,{},4096\n", n * apart_us, n % 7 * 4096)).collect::<String>()
    };
    let backlog = |name: &str, apart_us: u64, arrival| {
        let mut config = trace(name, &text(apart_us), 1);
        config.arrival = arrival;
        let result = done(&config);
        result.backlog_seconds.map(|backlog| backlog / result.simulated_seconds)
    };
    assert!(backlog("at-once.csv", 0, Arrival::Timestamps).unwrap() > 0.99);
    assert!(backlog("seldom.csv", 10_000, Arrival::Timestamps).unwrap() < 0.01);
    assert_eq!(backlog("closed.csv", 0, Arrival::QueueDepth(1)), None);
}

#[test]
fn what_folding_drops_is_in_the_books() {
    // A trim of half a page, one of pages that are never read or written, and one that reaches the drive; twice over.
    let text = "0,0,write,0,8192\n1,0,trim,0,2048\n2,0,trim,40960,4096\n3,0,trim,0,4096\n";
    let host = done(&trace("dropped.csv", text, 2)).host;
    assert_eq!((host.trace_requests, host.requests), (4, 2));
    assert_eq!((host.dropped_trims_without_whole_page, host.dropped_trims_outside_footprint), (1, 1));
    assert_eq!(done(&workload("uniform")).host.trace_requests, 0);
}

#[test]
fn a_random_fill_writes_every_page_once() {
    // Afterwards every page is read: one that the fill left out would cost no flash read.
    let mut config = workload("mixed:read=100:sequential");
    config.fill = Fill::Random;
    config.warmup = 0.0;
    let result = done(&config);
    let pages = result.geometry.logical_bytes / u64::from(result.geometry.page_bytes);
    assert_eq!((result.host.read_pages, result.flash["host"].reads), (pages, pages));
    assert_eq!(but_machine(&config), but_machine(&config));
    // In another order than a sequential fill: pages that are then overwritten in order were not written in order.
    let filled = |fill| {
        let mut config = workload("sequential");
        (config.fill, config.warmup) = (fill, 0.0);
        done(&config).write_amplification.unwrap().total
    };
    assert!(filled(Fill::Random) > filled(Fill::Sequential));
}

#[test]
fn what_did_not_occur_has_no_latency() {
    let result = done(&workload("uniform"));
    assert!(result.latency_us.read.is_none() && result.latency_us.write.is_some());
    assert!(serde_json::to_value(&result).unwrap()["latency_us"]["read"].is_null());
}

#[test]
fn a_trace_beyond_simulated_time_is_refused_where_time_counts() {
    let text = "0,0,write,0,4096\n18446744073709551,0,write,0,4096\n";
    let mut config = trace("late.csv", text, 1);
    assert_eq!(done(&config).host.requests, 2, "a closed loop does not look at times");
    config.arrival = Arrival::Timestamps;
    let error = run(&config, &|_| true).unwrap_err();
    let RunError::Input(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("late.csv: the last request arrives 18446744073709551000 ns"), "{text}");
    // Loops add up.
    let far = "0,0,write,0,4096\n4000000000000000,0,write,0,4096\n";
    for (loops, right) in [(1, true), (2, false), (u64::MAX, false)] {
        let mut config = trace("loops-late.csv", far, loops);
        config.arrival = Arrival::Timestamps;
        assert_eq!(run(&config, &|_| true).is_ok(), right, "{loops} loops");
    }
}

#[test]
fn what_is_wrong_with_a_capacity_is_said_in_bytes() {
    let error = |change: &dyn Fn(&mut RunConfig)| {
        let mut config = workload("uniform");
        change(&mut config);
        run(&config, &|_| true).unwrap_err().to_string()
    };
    let text = error(&|c| c.shape.capacity_bytes = Some(1 << 20));
    assert!(text.contains("1 MiB of flash are 2 blocks of 512 KiB") && text.contains("blocks (2 MiB"), "{text}");
    let text = error(&|c| c.shape.ratio = 0.99);
    assert!(text.contains("63.36 MiB of logical pages") && text.contains("do not fit 64 MiB of flash"), "{text}");
    // The drive that it says would be right is right, and one block less is not.
    let text = error(&|c| c.shape.capacity_bytes = Some(4 << 20));
    let words: Vec<&str> = text.split_whitespace().collect();
    let blocks = words.windows(2).rfind(|w| w[1] == "blocks)").and_then(|w| w[0].parse::<u64>().ok()).unwrap();
    let fits = |blocks: u64| {
        let mut config = workload("uniform");
        config.shape.capacity_bytes = Some(blocks * 512 * 1024);
        run(&config, &|_| true).is_ok()
    };
    assert!(fits(blocks) && !fits(blocks - 1), "{text}");
    let of_trace = |mib: u64| {
        let mut config = trace("footprint.csv", "0,0,write,0,104857600\n", 1);
        config.shape.capacity_bytes = Some(mib << 20);
        run(&config, &|_| true)
    };
    let text = of_trace(64).unwrap_err().to_string();
    assert!(text.contains("touches 100 MiB") && text.contains(": --capacity 143MiB would be right"), "{text}");
    assert!(of_trace(143).is_ok() && of_trace(142).is_err());
}

#[test]
fn a_trace_chooses_a_drive_that_its_footprint_and_the_reserve_fit() {
    let mut config = [trace("capacity.csv", "0,0,write,0,4096\n", 1)];
    settle_capacity(&mut config, |_| Ok(())).unwrap();
    assert_eq!(config[0].shape.capacity_bytes, Some(256 << 20));
    let large: String = (0..200).map(|n| format!("{n},0,write,{},1048576\n", n << 20)).collect();
    let mut config = [trace("capacity200.csv", &large, 1)];
    settle_capacity(&mut config, |_| Ok(())).unwrap();
    assert_eq!(config[0].shape.capacity_bytes, Some(512 << 20), "200 MiB at ratio 0.70");
    // At this ratio 256 MiB have no room for the reserve; FTLs that are compared get the same drive.
    let mut config = trace("capacity.csv", "0,0,write,0,4096\n", 1);
    config.shape.ratio = 0.96;
    let mut both = [config.clone(), RunConfig { ftl: "pl-greedy".into(), ..config }];
    both[1].composition = RunConfig::new("pl-greedy", both[1].input.clone()).unwrap().composition;
    settle_capacity(&mut both[..1], |_| Ok(())).unwrap();
    assert_eq!(both[0].shape.capacity_bytes, Some(256 << 20));
    both[0].shape.capacity_bytes = None;
    settle_capacity(&mut both, |_| Ok(())).unwrap();
    assert_eq!(both[0].shape.capacity_bytes, Some(512 << 20));
    assert_eq!(both[1].shape.capacity_bytes, Some(512 << 20));
    assert_eq!(done(&both[1]).host.write_pages, 1);
}

#[test]
fn a_trace_that_no_drive_holds_says_so() {
    let huge: String = (0..6000u64).map(|n| format!("{n},0,write,{},1073741824\n", n << 30)).collect();
    let error = settle_capacity(&mut [trace("huge.csv", &huge, 1)], |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("touches 5.86 TiB") && error.contains("more than 8 TiB of flash"), "{error}");
    // `affordable` is called before the drive is made.
    let refused = |geometry: &Geometry| Err(RunError::Input(format!("{} bytes", geometry.capacity_bytes())));
    let large: String = (0..3000u64).map(|n| format!("{n},0,write,{},1073741824\n", n << 30)).collect();
    let error = settle_capacity(&mut [trace("large.csv", &large, 1)], refused).unwrap_err().to_string();
    assert_eq!(error, format!("{} bytes", 8u64 << 40));
}

#[test]
fn what_would_measure_nothing_is_refused() {
    let refused = |change: &dyn Fn(&mut RunConfig)| {
        let mut config = workload("uniform");
        change(&mut config);
        match run(&config, &|_| true) {
            Err(RunError::Input(text)) => assert!(!text.contains('\n'), "{text}"),
            other => panic!("{other:?}"),
        }
    };
    for passes in [0.0, -1.0, 1e-9, f64::NAN, f64::INFINITY] {
        refused(&|c| c.passes = passes);
    }
    for ratio in [0.0, 1.0, -1.0, 2.0, 1e-12, 0.9999, f64::NAN] {
        refused(&|c| c.shape.ratio = ratio);
    }
    refused(&|c| c.warmup = f64::NAN);
    refused(&|c| c.arrival = Arrival::Timestamps);
    refused(&|c| c.shape.capacity_bytes = Some(0));
    refused(&|c| c.shape.capacity_bytes = Some(4 << 20));
    refused(&|c| c.shape.capacity_bytes = Some(u64::MAX));
}

#[test]
fn a_drive_too_small_for_any_ratio_says_so() {
    let mut config = workload("uniform");
    config.shape.capacity_bytes = Some(4 << 20);
    let error = run(&config, &|_| true).unwrap_err().to_string();
    assert!(error.contains("no room at any ratio"), "{error}");
}

#[test]
fn the_counters_are_what_happened_while_it_was_measured() {
    let result = done(&workload("uniform"));
    assert_eq!(result.counters["pages_moved"], result.flash["gc"].programs);
    assert_eq!(result.counters["collections"], result.erases.total);
    assert_eq!(result.flash.values().map(|f| f.erases).sum::<u64>(), result.erases.total);
}

#[test]
fn a_result_has_the_keys_that_were_promised() {
    let mut config = workload("mixed:read=20:uniform");
    config.cut_at_end = true;
    let json = serde_json::to_value(done(&config)).unwrap();
    let promised: &[(&str, &[&str])] = &[
        (
            "",
            &[
                "schema",
                "ftl",
                "composition",
                "seed",
                "oracle",
                "geometry",
                "workload",
                "fold",
                "timing",
                "delta",
                "steady",
                "host",
                "flash",
                "write_amplification",
                "ram_bytes",
                "erases",
                "counters",
                "series",
                "latency_us",
                "simulated_seconds",
                "recovery",
                "machine",
            ],
        ),
        ("/composition", &["mapping", "validity", "victim", "placement"]),
        (
            "/geometry",
            &[
                "capacity_bytes",
                "logical_bytes",
                "page_bytes",
                "pages_per_block",
                "blocks",
                "channels",
                "dies",
                "ratio",
                "effective_ratio",
                "reserve_blocks",
                "open_blocks",
            ],
        ),
        ("/host", &["read_pages", "write_pages", "trim_pages", "requests"]),
        ("/flash/gc", &["reads", "spare_reads", "programs", "erases"]),
        ("/write_amplification", &["total", "user", "translation", "validity", "other", "by_reads_weighted"]),
        ("/ram_bytes/papers", &["total"]),
        ("/ram_bytes/all", &["total"]),
        ("/erases", &["total", "min", "max", "mean", "stddev"]),
        ("/latency_us/read", &["mean", "p50", "p99", "p999", "max"]),
        ("/latency_us/write", &["mean", "p50", "p99", "p999", "max"]),
        ("/recovery", &["battery_programs", "simulated_us", "steps"]),
        ("/recovery/steps/0", &["name", "reads", "spare_reads", "programs", "us"]),
        ("/machine", &["wall_seconds", "cpu_seconds", "host_pages_per_second", "peak_rss_bytes", "payload_bytes"]),
    ];
    for (place, keys) in promised {
        let object = json.pointer(place).unwrap().as_object().unwrap();
        for key in *keys {
            assert!(object.contains_key(*key), "{place}/{key}");
        }
    }
    assert_eq!(json["schema"], "phelsuma.run/1");
}

#[test]
fn on_one_die_management_overhead_is_the_time_that_the_hosts_own_pages_do_not_take() {
    for ftl in ["page", "dftl", "geckoftl", "mu-ftl", "fast"] {
        let mut config = workload("uniform");
        config.ftl = ftl.into();
        config.composition = phelsuma_ftl::Preset::named(ftl).unwrap().composition;
        let result = done(&config);
        let management = result.management_seconds;
        // A page of the host's is written in 1 ms, and none is read.
        let hosts = result.flash["host"].programs as f64 / 1000.0;
        let expected = result.simulated_seconds - hosts;
        let off = (management.total - expected).abs();
        assert!(management.total > 0.0 && off < 0.001 * expected, "{ftl}: {} and not {expected} s", management.total);
        let parts = management.user + management.translation + management.validity + management.other;
        assert!((parts - management.total).abs() < 1e-6, "{ftl}: {parts} and not {} s", management.total);
        let has = [("page", [true, false, false]), ("dftl", [true, true, false]), ("mu-ftl", [true, true, true])];
        for (_, expected) in has.iter().filter(|(name, _)| *name == ftl) {
            let parts = [management.user, management.translation, management.validity];
            assert_eq!(parts.map(|part| part > 0.0), *expected, "{ftl}");
        }
    }
}

#[test]
fn a_cut_at_the_end_meets_the_cache_as_the_last_request_left_it() {
    let mut config = workload("uniform");
    config.ftl = "dftl".into();
    config.composition = phelsuma_ftl::Preset::named("dftl").unwrap().composition;
    config.cut_at_end = true;
    let recovery = done(&config).recovery.unwrap();
    assert!(recovery.battery_programs > 0, "nothing was dirty");
    assert_eq!(recovery.steps.iter().map(|step| step.programs).sum::<u64>(), 0);
    config.composition.set("mapping", "ram-table").unwrap();
    config.composition.set("power", "scan").unwrap();
    assert_eq!(done(&config).recovery.unwrap().battery_programs, 0);
}

/// A hundred pages of `dftl`, each written once, and the power cut: how many programs its battery took.
fn cut_after_a_hundred_pages(prepare: impl FnOnce(&mut Config)) -> Result<u64, RunError> {
    let config = workload("uniform");
    let geometry = config.shape.geometry(64 << 20).unwrap();
    let composition = phelsuma_ftl::Preset::named("dftl").unwrap().composition;
    let mut ftl = Config::new("dftl", composition, config.shape.logical_pages(&geometry), 1);
    prepare(&mut ftl);
    let nand = SimNand::new(&SimConfig::new(geometry, config.timing));
    let mut drive = Drive::format(nand, &ftl, Arrival::QueueDepth(1)).unwrap().to_be_cut();
    for first in 0..100 {
        let request = PageRequest {
            at_ns: 0,
            op: Op::Write,
            first,
            pages: 1,
            partial_first: false,
            partial_last: false,
            handle: 0,
        };
        drive.submit(&request).unwrap();
    }
    drive.cut_and_recover().map(|cut| cut.battery_programs)
}

#[test]
fn a_battery_writes_the_one_translation_page_and_what_it_seals() {
    // The one translation page; and its directory, the bitmap, the counters and the seal, a page each.
    assert_eq!(cut_after_a_hundred_pages(|_| {}).unwrap(), 5);
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    /// Without its entry a page that was written once is nowhere.
    #[test]
    fn pages_that_a_cut_takes_are_noticed() {
        let cut = cut_after_a_hundred_pages(|ftl| ftl.forgets = Some(Barrier::BatterySaves));
        assert!(cut.unwrap_err().to_string().contains("100 lost"));
    }
}
