//! The RAM ledger: what has its size at format keeps it. A controller has nothing to grow into.

use crate::common::{Host, Step, chips, config, most_pages, scaled, small, with_metadata};
use phelsuma_ftl::{PRESETS, RamLedger};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a new drive has nothing in yet. These are counted as far as they are in use; the test does not bound them.
const FILLED: &[&str] = &[
    // Lists of what one request makes stale, and of the blocks that it closes and frees.
    "buffer.before",
    "buffer.log_lists",
    "buffer.news",
    // Blocks of metadata that wait, blocks that failed, and those that a flush holds back.
    "index.failing_and_waiting",
    "blocks.held",
    // Directories, and a merge of as many runs as there are.
    "validity.run_directories",
    "index.run_directories_room",
    "validity.merge_buffers",
    "mapping.log_directories",
    "index.log_directories_room",
    "mapping.log_merge_buffers",
    "mapping.log_filters",
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
        for _ in 0..scaled(600, 6_000) {
            host.step(&Step::by_chance(&mut rng, logical_pages)).unwrap();
        }
        let served = ledger(&host);
        let of = |ledger: &RamLedger, name: &str| ledger.all().find(|(other, _)| *other == name).map_or(0, |(_, b)| b);
        for (name, bytes) in served.all().filter(|(name, _)| !FILLED.contains(name)) {
            let before = of(&formatted, name);
            assert!(bytes <= before, "{}: {name} has grown from {before} to {bytes} bytes", preset.name);
        }
    }
}
