//! Temporary.
#![allow(clippy::unwrap_used, missing_docs)]
use phelsuma_drive::lab::{LabError, SoakConfig, SoakState};
use phelsuma_ftl::{Config, FtlError, Preset};
use phelsuma_nand::{Geometry, Timing};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (name, cache, cycles) = (a[1].as_str(), a[2].parse::<u32>().unwrap(), a[3].parse::<u64>().unwrap());
    let seed = std::env::var("SEED").ok().map_or(1, |s| s.parse().unwrap());
    let geometry = Geometry::new(512, 4, 64, 1, 1).unwrap();
    let mut composition = Preset::named(name).unwrap().composition;
    if composition.cache_entries().is_some() && cache > 0 {
        composition.set("mapping.cache", &cache.to_string()).unwrap();
    }
    let of = |logical_pages| SoakConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, logical_pages, seed),
        seed,
        decay: 10,
        bad: 0,
        threads: 2,
    };
    let all = geometry.pages() as u32;
    let config = match of(all * 99 / 100).soak(&mut SoakState::new(&of(all)), 1, &mut |_| false) {
        Err(LabError::Workload(FtlError::DoesNotFit { largest_ratio, .. })) => {
            let mut config = of((f64::from(all) * largest_ratio * 0.75) as u32);
            if config.ftl.composition.cache_entries().is_some_and(|c| c == 64) {
                let most = config.ftl.logical_pages.clamp(16, 64);
                config.ftl.composition.set("mapping.cache", &most.to_string()).unwrap();
            }
            config
        }
        other => panic!("{name}: {other:?}"),
    };
    if let Some(life) = a.get(4) {
        match config.relive(life.parse().unwrap()).unwrap() {
            None => println!("{name}: life {life} holds"),
            Some(f) => {
                println!("{name}: life {}, cycle {}: {}: {}", f.life, f.cycle, f.kind, f.message);
                f.script.iter().for_each(|s| println!("    {s}"));
            }
        }
        return;
    }
    let mut state = SoakState::new(&config);
    config.soak(&mut state, cycles, &mut |_| true).unwrap();
    println!(
        "{name} cache {cache} pages {}: {} cycles {} lives {} decayed {} failed {:.0} s",
        config.ftl.logical_pages, state.cycles, state.lives, state.decayed, state.failed, state.seconds
    );
    for f in &state.found {
        println!("{name}: life {}, cycle {}: {}: {}", f.life, f.cycle, f.kind, f.message);
    }
}
