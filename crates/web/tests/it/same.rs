//! A page shows what the command does: the same flash operations, and the same branch of the laboratory.

use crate::{Page, presets, small, trace};
use phelsuma_drive::lab::{Fault, LabConfig, Points, Sweep, Workload as Script};
use phelsuma_drive::{FoldChoice, Input, RunConfig, run};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, TIMINGS};
use phelsuma_trace::{Filters, OpenOptions, TraceOrigin, Workload};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn flash_operations_are_those_of_a_run() {
    // The future that an oracle of a page sees ends sooner.
    for ftl in presets().into_iter().filter(|ftl| ftl != "oracle") {
        let settings = small(&ftl);
        let mut page = Page::open(settings.clone());
        let state = page.run(3_000);
        let settings =
            page.ask(&json!({ "do": "open", "settings": settings, "fit": true }))["drive"]["settings"].clone();
        let workload = Workload::parse(settings["workload"].as_str().unwrap()).unwrap();
        let mut config = RunConfig::new(&ftl, Input::Workload(workload)).unwrap();
        if config.composition.has_cache() {
            config.composition.set("mapping.cache", "64").unwrap();
        }
        config.shape.page_bytes = 512;
        config.shape.pages_per_block = 16;
        config.shape.capacity_bytes = Some(96 * 16 * 512);
        config.shape.channels = settings["channels"].as_u64().unwrap() as u32;
        config.shape.ratio = settings["ratio"].as_f64().unwrap();
        config.warmup = 0.0;
        let logical = (96.0 * 16.0 * config.shape.ratio) as u32;
        config.passes = 3_000.5 / f64::from(logical);
        are_same(&ftl, &config, &state);
    }
}

/// A run comes to the flash operations that a page shows.
fn are_same(ftl: &str, config: &RunConfig, state: &Value) {
    let result = serde_json::to_value(run(config, &|_| true).unwrap()).unwrap();
    let measured = result["flash"].as_object().unwrap();
    let shown = state["flash"].as_object().unwrap();
    for (purpose, counts) in measured {
        let of = |n: usize| shown.get(purpose).map_or(json!(0), |shown| shown[n].clone());
        for (n, what) in ["reads", "spare_reads", "programs", "erases"].iter().enumerate() {
            assert_eq!(counts[what], of(n), "{ftl}: {what} of {purpose}");
        }
    }
    assert!(measured.len() >= shown.len() && !shown.is_empty(), "{ftl}");
}

#[test]
fn a_trace_on_the_page_is_the_run_that_its_command_names() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web trace.csv");
    std::fs::write(&path, trace()).unwrap();
    for (ftl, steps) in [("page", 3_000), ("geckoftl", 1_501), ("fast", 100_000)] {
        let mut page = Page::default();
        let told = page.drop_trace("web trace.csv", trace().as_bytes(), small(ftl));
        assert_eq!((&told["requests"], &told["format"]), (&json!(4_008), &json!("csv")));
        let state = page.run(steps);
        assert_eq!(state["ended"], steps == 100_000);
        let command = page.ask(&json!({ "do": "command" }))["command"].as_str().unwrap().to_string();
        assert!(command.contains("--trace 'web trace.csv' ") && command.contains(" --fold wrap"), "{command}");
        let first = command.split(" --first ").nth(1).map(|first| first.parse().unwrap());
        assert_eq!(first.is_none(), steps == 100_000, "{command}");
        let filters = Filters { first, ..Filters::default() };
        let options = OpenOptions { filters, ..OpenOptions::default() };
        let trace = TraceOrigin::Files { paths: vec![path.clone()], options };
        let mut config = RunConfig::new(ftl, Input::Trace { trace, fold: FoldChoice::Wrap, loops: 1 }).unwrap();
        if config.composition.has_cache() {
            config.composition.set("mapping.cache", "64").unwrap();
        }
        config.shape.page_bytes = 512;
        config.shape.pages_per_block = 16;
        config.shape.capacity_bytes = Some(96 * 16 * 512);
        config.shape.ratio = 0.6;
        are_same(ftl, &config, &state);
    }
}

#[test]
fn a_cut_is_the_branch_that_its_command_names() {
    for (ftl, moment, fault) in [
        ("page", "moved", "torn-seen"),
        ("geckoftl", "metadata", "unstable"),
        ("fast", "erase", "partial-mixed"),
        ("page", "host", "looks-erased"),
        ("dftl", "", "announced"),
    ] {
        let mut settings = small(ftl);
        settings["workload"] = json!("lab:mixed");
        let mut page = Page::open(settings);
        if fault == "announced" {
            page.run(80);
            page.act("pull");
        } else {
            page.ask(&json!({ "do": "act", "act": "arm", "moment": moment, "skip": 20, "fault": fault }));
            assert_eq!(page.run(5_000)["is_on"], false, "{ftl}");
        }
        let command = page.ask(&json!({ "do": "command" }))["command"].as_str().unwrap().to_string();
        let id = command.split(" --replay ").nth(1).unwrap();
        assert!(id.ends_with(fault), "{command}");
        let writes = command.split(" --writes ").nth(1).unwrap().split(' ').next().unwrap();
        let geometry = Geometry::new(512, 16, 96, 1, 1).unwrap();
        let mut composition = Preset::named(ftl).unwrap().composition;
        if composition.has_cache() {
            composition.set("mapping.cache", "64").unwrap();
        }
        let config = LabConfig {
            geometry,
            timing: TIMINGS[0].2,
            ftl: Config::new(ftl, composition, (96.0 * 16.0 * 0.6) as u32, 1),
            workload: Script::Mixed,
            writes: writes.parse().unwrap(),
            points: Points::Replay(id.parse().unwrap()),
            faults: if fault == "announced" { vec![Fault::Announced] } else { Fault::all() },
            depth: 1,
            seed: 1,
            threads: 1,
        };
        let report = Sweep::new(&config).run().unwrap();
        assert!(report.cuts == 1 && !report.failed(), "{command}");
        page.act("recover");
        assert_eq!(page.run(10)["wrong"], Value::Null);
        page.act("pull");
        let later = page.ask(&json!({ "do": "command" }))["command"].as_str().unwrap().to_string();
        assert!(!later.contains("--replay"), "{later}");
    }
}
