//! The RAM ledger: what an FTL holds is allocated when it is formatted. A controller has nothing to grow into.

use crate::common::{Host, Step, chips, config, most_pages, scaled, small, with_metadata};
use phelsuma_ftl::{PRESETS, RamLedger};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a new drive has nothing in yet. These are counted as far as they are filled, and bounded by the configuration.
const FILLED: &[&str] = &[
    // Lists of what one request makes stale, and of the blocks that it closes and frees.
    "buffer.before",
    "buffer.news",
    // Blocks of metadata that wait, blocks that failed, and those that a flush holds back.
    "index.failing_and_waiting",
    "blocks.held",
    // Directories, and a merge of as many runs as there are.
    "validity.run_directories",
    "index.run_directories_room",
    "validity.merge_buffers",
    "validity.log_directory",
    "validity.erased",
    // The µ-Tree's pages that wait, and the way to them.
    "mu_tree.write_cache",
    "index.mu_tree",
    // Queues of blocks, by length.
    "victim.queue",
    "index.victim_queue_room",
    "blocks.group_limits",
    "scheme.order",
    "index.order",
    // Log blocks, map blocks and caches of maps.
    "index.log_blocks",
    "index.map_blocks",
    "buffer.page",
    "superblock.map_cache",
    "index.map_cache",
    "index.last_merge_costs",
    "index.last_open",
];

fn ledger(host: &Host) -> RamLedger {
    host.ftl.as_ref().unwrap().ram()
}

#[test]
fn nothing_grows_while_a_drive_serves() {
    for preset in PRESETS {
        let geometry = with_metadata(preset.name, small(32, 64, 1, 1));
        let logical_pages = most_pages(preset.name, geometry);
        let mut host = Host::new(chips(geometry), config(preset.name, logical_pages), 1);
        let formatted = ledger(&host);
        host.write(0, logical_pages, false).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(38);
        let mut serve = |host: &mut Host, steps: u32| {
            for _ in 0..steps {
                host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
            }
        };
        serve(&mut host, 400);
        let filled = ledger(&host);
        serve(&mut host, scaled(1_200, 12_000));
        let served = ledger(&host);
        let of = |ledger: &RamLedger, name: &str| ledger.all().find(|(other, _)| *other == name).map_or(0, |(_, b)| b);
        for (name, bytes) in served.all().filter(|(name, _)| !FILLED.contains(name)) {
            let before = of(&formatted, name);
            assert!(bytes <= before, "{}: {name} has grown from {before} to {bytes} bytes", preset.name);
        }
        let most = filled.all_total() + filled.all_total() / 50;
        assert!(
            served.all_total() <= most,
            "{}: {} bytes, then {}",
            preset.name,
            filled.all_total(),
            served.all_total()
        );
    }
}
