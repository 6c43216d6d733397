//! Wear levelling: how even it makes erase counts, what that costs, and that power cuts leave it its counts.
//!
//! Not tested: timing, and drives that are so large that a scan takes longer than data stay where they are.

#![allow(clippy::unwrap_used, missing_docs)]

use phelsuma_drive::{Arrival, Drive};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Geometry, Nand, SimNand, Timing};
use phelsuma_trace::{Op, PageRequest, Workload};
use std::collections::BTreeMap;

/// What is written after every page was written once.
#[derive(Clone, Copy, Debug)]
enum Writes {
    /// The first half of the logical pages, each equally likely.
    FirstHalf,
    /// A workload.
    Of(&'static str),
}

struct Outcome {
    programs: u64,
    stddev: f64,
    spread: (u32, u32),
    counters: BTreeMap<String, u64>,
}

fn write(first: u64) -> PageRequest {
    PageRequest { at_ns: 0, op: Op::Write, first, pages: 1, partial_first: false, partial_last: false }
}

fn drive(ftl: &str, settings: &[(&str, &str)], pages_per_block: u32, blocks: u64) -> (Drive, u64) {
    let geometry = Geometry::new(4096, pages_per_block, blocks, 1, 1).unwrap();
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set_all(settings).unwrap();
    let logical_pages = geometry.pages() * 7 / 10;
    let config = Config::new(ftl, composition, logical_pages as u32, 1);
    let nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
    (Drive::format(nand, &config, Arrival::QueueDepth(1)).unwrap(), logical_pages)
}

/// Erases of each block but those of the description.
fn erases(drive: &Drive) -> Vec<u32> {
    (2..drive.nand().geometry().blocks()).map(|block| drive.nand().erases_of(Block(block))).collect()
}

fn stddev(counts: &[u32]) -> f64 {
    let n = counts.len() as f64;
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / n;
    (counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / n).sqrt()
}

fn run(ftl: &str, settings: &[(&str, &str)], shape: (u32, u64), writes: Writes, drive_writes: u64) -> Outcome {
    let (mut drive, pages) = drive(ftl, settings, shape.0, shape.1);
    (0..pages).for_each(|page| drive.submit(&write(page)).unwrap());
    let (spec, pages_written) = match writes {
        Writes::FirstHalf => ("uniform", pages / 2),
        Writes::Of(spec) => (spec, pages),
    };
    let mut source = Workload::parse(spec).unwrap().source(pages_written, 4096, 1);
    for _ in 0..drive_writes * pages {
        drive.submit(&source.next_request().unwrap().unwrap()).unwrap();
    }
    let counts = erases(&drive);
    Outcome {
        programs: drive.nand().stats().total().programs,
        stddev: stddev(&counts),
        spread: (*counts.iter().min().unwrap(), *counts.iter().max().unwrap()),
        counters: drive.ftl().counters().into_iter().map(|counter| (counter.name.to_string(), counter.value)).collect(),
    }
}

#[test]
#[ignore = "tuning"]
fn tune() {
    let ftls = std::env::var("FTLS").unwrap_or("page".into());
    let blocks: u64 = std::env::var("BLOCKS").unwrap_or("512".into()).parse().unwrap();
    let ppb: u32 = std::env::var("PPB").unwrap_or("64".into()).parse().unwrap();
    for ftl in ftls.split(',') {
        for writes in
            [Writes::FirstHalf, Writes::Of("hotcold:100/50"), Writes::Of("hotcold:90/10"), Writes::Of("uniform")]
        {
            let off = run(ftl, &[], (ppb, blocks), writes, 50);
            println!("{ftl} {writes:?}: off sd {:.2} {:?} programs {}", off.stddev, off.spread, off.programs);
            let sets = std::env::var("SETS").unwrap();
            for (threshold, looks) in sets.split(',').map(|s| s.split_once('/').unwrap()) {
                let settings = [("wear", "levelling"), ("wear.threshold", threshold), ("wear.looks", looks)];
                let on = run(ftl, &settings, (ppb, blocks), writes, 50);
                println!(
                    "   T {threshold} d {looks}: sd {:.2} ({:.2}) {:?} programs {:+.2} %, wear: {} blocks {} pages, {} scans",
                    on.stddev,
                    on.stddev / off.stddev,
                    on.spread,
                    (on.programs as f64 / off.programs as f64 - 1.0) * 100.0,
                    on.counters["wear_collections"],
                    on.counters["wear_pages_moved"],
                    on.counters["wear_scans"],
                );
            }
        }
    }
}
