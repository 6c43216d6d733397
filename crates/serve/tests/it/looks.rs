//! What an onlooker sees of a drive that is served.

use crate::common::drive;
use phelsuma_ftl::BlockState;
use phelsuma_nand::{Geometry, Purpose};
use phelsuma_serve::device::{BlockSeen, Host, MemoryDrive, Served, Serving, State};
use std::time::{Duration, Instant};

struct Alone;

impl Host for Alone {
    fn log(&self, _: &str) {}
    fn drop_connections(&self) {}
    fn exit(&self, _: u8) {}
}

fn served(of: MemoryDrive) -> Served {
    Served::open(of, &Serving::default(), Box::new(Alone)).unwrap()
}

#[test]
fn a_look_counts_what_clients_asked_and_what_that_came_to() {
    let served = served(drive("geckoftl"));
    let connection = served.connect();
    let mut page = [7; 512];
    for at in 0..100 {
        served.write(&connection, at * 512, &page, false).unwrap();
    }
    served.read(&connection, 0, &mut page[..100]).unwrap();
    served.trim(&connection, 0, 1024, false).unwrap();
    served.write_zeroes(&connection, 1024, 512, Default::default()).unwrap();
    served.flush(&connection).unwrap();
    assert!(served.write(&connection, served.size_bytes(), &page, false).is_err());
    let look = served.look();
    let asked = look.requests;
    assert_eq!((asked.reads, asked.writes, asked.trims, asked.zeroes, asked.flushes), (1, 101, 1, 1, 1));
    assert_eq!((asked.read_bytes, asked.trimmed_bytes, asked.zeroed_bytes, asked.failed), (100, 1024, 512, 1));
    assert_eq!((look.state, look.power_ons, look.in_progress), (State::Serving, 1, 0));
    assert_eq!(look.flash.of(Purpose::Host).programs, 101);
    assert!(look.gecko.is_some() && look.counters.iter().any(|counter| counter.name == "free_blocks"));
    let mut blocks = Vec::new();
    assert!(served.look_at_blocks(&mut blocks));
    assert_eq!(blocks.len(), 64);
    let erased: u32 = blocks.iter().map(|block| block.erases).sum();
    assert_eq!(u64::from(erased), look.flash.total().erases);
    assert!(blocks.iter().any(|block| block.look.state == BlockState::Open));
}

#[test]
fn after_a_cut_flash_and_ftl_count_anew_and_requests_do_not() {
    let served = served(drive("page"));
    let connection = served.connect();
    for at in 0..100 {
        served.write(&connection, at * 512, &[1; 512], false).unwrap();
    }
    served.cut(None, true);
    let look = served.look();
    assert_eq!((look.state, look.power_ons, look.requests.writes), (State::Serving, 2, 100));
    assert_eq!(look.flash.of(Purpose::Host).programs, 0);
    assert!(look.flash.of(Purpose::Recovery).spare_reads > 0);
    let mut blocks = Vec::new();
    assert!(served.look_at_blocks(&mut blocks));
    assert!(blocks.iter().map(|block| u64::from(block.erases)).sum::<u64>() > look.flash.total().erases);
    // A drive that is off has nothing to show.
    served.close();
    assert_eq!((served.state(), served.look().state), (State::Off, State::Off));
    assert!(served.look().counters.is_empty() && !served.look_at_blocks(&mut blocks));
}

/// `cargo test --release -p phelsuma-serve --test it -- --ignored --nocapture looks::`
#[test]
#[ignore = "measures: for how long a look holds the lock"]
fn how_long_a_look_takes() {
    for (ftl, blocks) in [("page", 512), ("geckoftl", 512), ("geckoftl", 16_384), ("geckoftl", 1 << 18)] {
        let geometry = Geometry::new(512, 32, blocks, 1, 1).unwrap();
        let mut of = drive(ftl);
        of.config.logical_pages = (blocks * 32 * 7 / 10) as u32;
        of.geometry = geometry;
        let served = served(of);
        let connection = served.connect();
        for at in 0..blocks * 8 {
            served.write(&connection, at * 7919 * 512 % served.size_bytes(), &[1; 512], false).unwrap();
        }
        let mut times: [Vec<Duration>; 2] = Default::default();
        let mut seen = Vec::new();
        for _ in 0..101 {
            let begun = Instant::now();
            let look = served.look();
            times[0].push(begun.elapsed());
            assert_eq!(look.state, State::Serving);
            let begun = Instant::now();
            assert!(served.look_at_blocks(&mut seen));
            times[1].push(begun.elapsed());
        }
        times.iter_mut().for_each(|times| times.sort());
        let holds = blocks.div_ceil(BlockSeen::AT_ONCE as u64) as u32;
        println!(
            "{ftl:9} {blocks:7} blocks: counters {:?} (worst {:?}); all blocks {:?}, in {holds} parts of {:?}",
            times[0][50],
            times[0][100],
            times[1][50],
            times[1][50] / holds
        );
    }
}
