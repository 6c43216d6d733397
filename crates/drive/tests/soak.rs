//! Lives of random requests, cuts, decay and blocks that grow bad: nothing is lost that need not be, and every drive can be
//! written in the end.

#![allow(clippy::unwrap_used)]

use phelsuma_drive::lab::{SoakConfig, SoakState};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, Timing};

fn config(name: &str, decay: u32, bad: u32) -> SoakConfig {
    let (blocks, pages, ratio) = match name {
        "page" => (32, 8, 0.5),
        _ => (64, 4, 0.2),
    };
    let blocks = std::env::var("BLOCKS").map_or(blocks, |b| b.parse().unwrap());
    let pages = std::env::var("PAGES").map_or(pages, |b| b.parse().unwrap());
    let ratio = std::env::var("RATIO").map_or(ratio, |b| b.parse().unwrap());
    let geometry = Geometry::new(512, pages, blocks, 1, 1).unwrap();
    let mut composition = Preset::named(name).unwrap().composition;
    if composition.cache_entries().is_some() {
        composition.set("mapping.cache", "16").unwrap();
    }
    let logical = (geometry.pages() as f64 * ratio) as u32;
    SoakConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, logical, 1),
        seed: 1,
        decay,
        bad,
        threads: 1,
    }
}

#[test]
fn soak() {
    let name = std::env::var("FTL").unwrap_or("page".into());
    let number = |name: &str, or: u32| std::env::var(name).map_or(or, |n| n.parse().unwrap());
    let config = config(&name, number("DECAY", 0), number("BAD", 0));
    let mut state = SoakState::new(&config);
    config.soak(&mut state, u64::from(number("CYCLES", 1000)), &mut |s| s.found.len() < 2).unwrap();
    println!("{state:#?}");
    assert!(state.found.is_empty());
}

#[test]
fn relive() {
    let name = std::env::var("FTL").unwrap_or("page".into());
    let number = |name: &str, or: u32| std::env::var(name).map_or(or, |n| n.parse().unwrap());
    let config = config(&name, number("DECAY", 0), number("BAD", 0));
    println!("{:#?}", config.relive(u64::from(number("LIFE", 0))).unwrap().map(|f| (f.cycle, f.message)));
}
