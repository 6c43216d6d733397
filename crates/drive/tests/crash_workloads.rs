//! Every workload of the crash laboratory with every FTL that survives power cuts, and the proof that each workload
//! notices what it is there for.

#![allow(clippy::unwrap_used)]

use phelsuma_drive::lab::{CrashReport, Fault, LabConfig, LabError, Points, Sweep, Workload};
use phelsuma_ftl::{Barrier, Config, PRESETS, Preset};
use phelsuma_nand::{Geometry, Timing};

fn config(name: &str, workload: Workload, writes: u32, depth: u32, dies: (u32, u32)) -> LabConfig {
    let several = dies.0 * dies.1 > 1;
    let (blocks, ratio) = match (name, several) {
        ("geckoftl", false) => (128, 0.6),
        ("geckoftl" | "mu-ftl-pvb", true) => (256, 0.4),
        ("mu-ftl-pvb", false) => (128, 0.4),
        ("lazyftl" | "dftl", true) => (128, 0.4),
        ("lazyftl" | "dftl", false) => (64, 0.5),
        (_, true) => (64, 0.25),
        _ => (64, 0.6),
    };
    let geometry = Geometry::new(512, 32, blocks, dies.0, dies.1).unwrap();
    let mut composition = Preset::named(name).unwrap().composition;
    if composition.cache_entries().is_some() {
        // Small for the drive, so that entries are evicted.
        composition.set("mapping.cache", "64").unwrap();
    }
    LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, (geometry.pages() as f64 * ratio) as u32, 1),
        workload,
        writes,
        points: Points::Every,
        faults: Fault::all(),
        depth,
        seed: 1,
        threads: 2,
    }
}

fn run(config: &LabConfig) -> CrashReport {
    Sweep::new(config).run().unwrap_or_else(|e| panic!("{} {:?}: {e}", config.ftl.name, config.workload))
}

#[test]
fn explore_sound() {
    for preset in PRESETS.iter().filter(|p| p.composition.why_not_survivable().is_none()) {
        for workload in Workload::ALL.into_iter().filter(|w| std::env::var("WL").map_or(true, |n| n == w.name())) {
            for (dies, depth, points) in [((1, 1), 2, 12), ((2, 2), 1, 20)] {
                let begun = std::time::Instant::now();
                let c = LabConfig { points: Points::Some(points), ..config(preset.name, workload, 400, depth, dies) };
                match Sweep::new(&c).run() {
                    Ok(r) => println!(
                        "{} {:?} {dies:?}: restarts {} ops {} pre {} cuts {} nested {} failed {:?} {:.2}s {:?}",
                        r.ftl,
                        workload,
                        r.restarts,
                        r.operations,
                        r.preconditioning_operations,
                        r.cuts,
                        r.nested_cuts,
                        (r.lost, r.corrupt, r.stuck, r.panics),
                        begun.elapsed().as_secs_f64(),
                        r.failures.first().map(|f| (&f.id, &f.message))
                    ),
                    Err(e) => println!("{} {:?} {dies:?}: ERR {e}", preset.name, workload),
                }
            }
        }
    }
}

#[test]
fn explore_mutants() {
    let mut all: Vec<(&str, Barrier)> = Vec::new();
    all.extend(Barrier::OF_SCANNING.iter().map(|b| ("page", *b)));
    all.extend(Barrier::OF_SYNCHRONIZING.iter().map(|b| ("lazyftl", *b)));
    all.extend(Barrier::OF_GECKO_REC.iter().map(|b| ("geckoftl", *b)));
    all.extend(Barrier::OF_GECKO_REC_IN_THE_LONG_RUN.iter().map(|b| ("geckoftl", *b)));
    all.extend(Barrier::OF_LAZINESS.iter().map(|b| ("geckoftl", *b)));
    all.push(("geckoftl", Barrier::FallbacksHeld));
    all.push(("geckoftl", Barrier::MetadataBounded));
    all.push(("dftl", Barrier::BatterySaves));
    all.push(("mu-ftl-pvb", Barrier::BatterySaves));
    let n: u32 = std::env::var("N").map_or(60, |n| n.parse().unwrap());
    let writes: u32 = std::env::var("W").map_or(400, |n| n.parse().unwrap());
    for (name, barrier) in all {
        print!("{name} {barrier:?}:");
        for workload in Workload::ALL {
            let mut c = LabConfig { points: Points::Some(n), ..config(name, workload, writes, 1, (1, 1)) };
            c.ftl.forgets = Some(barrier);
            match std::panic::catch_unwind(|| Sweep::new(&c).run()) {
                Ok(Ok(r)) => print!(
                    " {}={}{}",
                    workload.name(),
                    r.lost + r.corrupt + r.stuck + r.panics,
                    if r.replay.as_deref() == Some("uncut") { "u" } else { "" }
                ),
                Ok(Err(e)) => print!(" {}=ERR({e})", workload.name()),
                Err(_) => print!(" {}=PANIC", workload.name()),
            }
        }
        println!();
    }
    let _ = |e: LabError| e;
}
