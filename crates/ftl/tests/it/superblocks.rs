//! Collections of SUPERBLOCK, made by hand with what each costs.
//!
//! Superblocks have four blocks of four pages.

use crate::common::{Host, chips, config, small};
use phelsuma_nand::{Block, Kind, Nand, Op, Purpose, SpareRead, Time};

/// A drive of four superblocks, all pages written in order: each has four blocks, a logical block in each.
fn filled(settings: &[(&str, &str)]) -> Host {
    let mut config = config("superblock", 64);
    config.composition.set_all(settings).unwrap();
    let mut host = Host::new(chips(small(4, 64, 1, 1)), config, 1);
    (0..64).for_each(|page| host.write(page, 1, true).unwrap());
    host
}

/// What these writes, of a page each, have cost: switch, partial and full merges; pages copied, blocks given back to be
/// erased, map pages written.
fn cost(host: &mut Host, pages: impl IntoIterator<Item = u32>) -> ([u64; 3], [u64; 3]) {
    let all = |host: &mut Host| {
        let map_pages = host.plug.sim().stats().of(Purpose::Map).programs;
        let kinds = ["switch_merges", "partial_merges", "full_merges"].map(|name| host.counter(name));
        (kinds, [host.counter("pages_moved"), host.counter("merge_freed_blocks"), map_pages])
    };
    let before = all(host);
    pages.into_iter().for_each(|page| host.write(page, 1, true).unwrap());
    let after = all(host);
    host.compare_all();
    host.check();
    let less = |a: [u64; 3], b: [u64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    (less(after.0, before.0), less(after.1, before.1))
}

#[test]
fn sequential_writes_copy_nothing() {
    // 16 blocks are filled in place. Each replaces one, which is given back, with a map page, when the superblock's
    // next block is begun: 3 in each of 4 superblocks.
    let mut host = filled(&[]);
    assert_eq!(cost(&mut host, 0..64), ([16, 0, 0], [0, 12, 12]));
}

#[test]
fn a_superblock_that_may_have_no_other_block_collects_its_emptiest_one() {
    // Four blocks and an update block, full by then; one page in each of the four is stale. The fifth write finds the
    // emptiest with three live pages: these are copied to a fresh block, and it goes behind them.
    let mut host = filled(&[("superblock.most", "5")]);
    assert_eq!(cost(&mut host, [0, 4, 8, 12]), ([0, 0, 0], [0, 0, 0]));
    assert_eq!(cost(&mut host, [1]), ([0, 0, 1], [3, 1, 1]));
    assert_eq!(host.counter("association_1"), 1);
}

#[test]
fn live_pages_of_two_blocks_that_fit_into_one_are_put_apart_from_what_the_host_writes() {
    // Two live pages are left in each of two blocks: both go to one, which is full with them, and the host has another.
    let mut host = filled(&[("superblock.most", "5")]);
    cost(&mut host, [0, 1, 4, 5]);
    assert_eq!(cost(&mut host, [8]), ([0, 1, 1], [4, 2, 2]));
    // There it goes on.
    assert_eq!(cost(&mut host, [8, 8, 8]), ([0, 0, 0], [0, 0, 0]));
}

#[test]
fn the_superblock_written_least_recently_gives_up_its_update_block() {
    // Two update blocks are taken, with a page in each. Page 32 needs a third: three live pages of the first
    // superblock's emptiest block go behind the page in its update block.
    let mut host = filled(&[("log.blocks", "2")]);
    assert_eq!(cost(&mut host, [0, 16]), ([0, 0, 0], [0, 0, 0]));
    assert_eq!(cost(&mut host, [32]), ([0, 1, 0], [3, 1, 1]));
    assert_eq!(host.counter("superblock_updates_taken"), 1);
}

#[test]
fn a_map_that_is_not_in_ram_is_made_of_its_page_and_of_younger_spare_areas() {
    let mut host = filled(&[("superblock.maps", "2")]);
    for round in 0..40 {
        host.write((round * 29) % 64, 1, true).unwrap();
    }
    let misses = host.counter("superblock_map_misses");
    cost(&mut host, [0, 16, 32, 48]);
    assert!(host.counter("superblock_map_misses") >= misses + 4);
}

#[test]
fn trims_are_on_flash_at_once_with_a_map_page_for_each_superblock() {
    let mut host = filled(&[]);
    let before = host.plug.sim().stats().of(Purpose::Map).programs;
    host.trim(2, 30).unwrap();
    assert_eq!(host.plug.sim().stats().of(Purpose::Map).programs - before, 2);
    host.compare_all();
    host.check();
}

/// Found by the laboratory's defects: the copy in front of it was taken for newer than what counts.
#[test]
fn a_page_of_which_nothing_can_be_read_is_not_held_against_its_older_copies() {
    let mut host = filled(&[]);
    for _ in 0..3 {
        host.write(5, 1, false).unwrap();
    }
    let geometry = *host.plug.geometry();
    let mut copies = Vec::new();
    for page in (0..64).flat_map(|block| (0..4).map(move |index| geometry.page(Block(block), index))) {
        if let SpareRead::Written(spare) = host.plug.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0
            && (spare.kind, spare.key) == (Kind::User, 5)
        {
            copies.push((spare.version, page));
        }
    }
    let (_, newest) = copies.into_iter().max().unwrap();
    host.plug.spoiled.insert(newest);
    let findings = host.ftl.as_mut().unwrap().check(&mut host.plug);
    assert!(findings.len() == 1 && findings[0].is_of_unreadable_pages(), "{findings:#?}");
}
