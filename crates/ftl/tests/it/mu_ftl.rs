//! µ-FTL by hand: the fate of extents, stale pages and partitions, and of a tree that goes bad.

use crate::common::{Host, chips, config, plugged, small};
use phelsuma_ftl::{Config, FtlError};
use phelsuma_nand::{Kind, Nand, Op, Purpose, SpareRead, Time};
use std::collections::BTreeSet;

const PAGES: u32 = 640;

/// A drive of blocks of 32 pages with nothing on it.
fn blank(settings: &[(&str, &str)]) -> Host {
    let mut config = config("mu-ftl", PAGES);
    config.composition.set_all(settings).unwrap();
    Host::new(chips(small(32, 64, 1, 1)), config, 1)
}

/// All of it written in requests of a block.
fn filled(settings: &[(&str, &str)]) -> Host {
    let mut host = blank(settings);
    (0..PAGES / 32).for_each(|n| host.write(n * 32, 32, true).unwrap());
    host
}

fn lengths(host: &mut Host) -> Vec<u64> {
    ["1", "2_to_3", "4_to_7", "8_to_15", "16_to_31", "32_to_63"]
        .map(|length| host.counter(&format!("extents_of_{length}")))
        .to_vec()
}

fn look_at_all(host: &mut Host) {
    host.compare_all();
    host.check();
}

#[test]
fn what_is_written_in_order_is_an_extent_a_block_whatever_the_size_of_requests() {
    for pages in [1, 2, 8, 32] {
        let mut host = blank(&[]);
        (0..PAGES / pages).for_each(|n| host.write(n * pages, pages, true).unwrap());
        assert_eq!(lengths(&mut host), [0, 0, 0, 0, 0, 20], "requests of {pages} pages");
        assert_eq!(host.counter("extents_put"), u64::from(PAGES / pages));
        assert_eq!(host.counter("extents_merged"), u64::from(PAGES / pages - PAGES / 32));
        look_at_all(&mut host);
    }
}

#[test]
fn extents_are_cut_in_each_of_the_four_ways() {
    let mut host = filled(&[]);
    let cases = |host: &Host| {
        ["deleted", "split", "cut_right", "cut_left"].map(|case| host.counter(&format!("extents_{case}")))
    };
    assert_eq!(cases(&host), [0; 4]);
    host.write(10, 4, true).unwrap();
    assert_eq!(cases(&host), [0, 1, 0, 0]);
    // The rest of the first extent is 0 to 9 and 14 to 31.
    host.write(28, 8, true).unwrap();
    assert_eq!(cases(&host), [0, 1, 1, 1]);
    host.write(10, 4, true).unwrap();
    assert_eq!(cases(&host), [1, 1, 1, 1]);
    look_at_all(&mut host);
    // 0 to 9, 10 to 13, 14 to 27, 28 to 35, 36 to 63, and 18 as they were.
    assert_eq!(lengths(&mut host), [0, 0, 1, 3, 1, 18]);
}

#[test]
fn extents_end_with_their_partition_and_each_partition_has_blocks_of_its_own() {
    let mut host = blank(&[("partitions.pages", "100")]);
    (0..PAGES / 8).for_each(|n| host.write(n * 8, 8, true).unwrap());
    look_at_all(&mut host);
    let geometry = *host.plug.geometry();
    for block in (0..geometry.blocks()).map(phelsuma_nand::Block) {
        let mut partitions = BTreeSet::new();
        for page in (0..32).map(|index| geometry.page(block, index)) {
            if let SpareRead::Written(spare) = host.plug.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0
                && spare.kind == Kind::User
            {
                partitions.insert(spare.key / 100);
            }
        }
        assert!(partitions.len() <= 1, "{block}: {partitions:?}");
    }
}

#[test]
fn an_onlooker_sees_the_extents_that_are_in_the_tree() {
    let mut host = filled(&[]);
    host.write(10, 4, true).unwrap();
    host.write(62, 4, true).unwrap();
    let counters = lengths(&mut host);
    let ftl = host.ftl.as_ref().unwrap();
    let looks = ftl.look_at_extents(&mut host.plug).unwrap();
    let seen: Vec<(u32, u32)> = looks.iter().map(|look| (look.first.0, look.pages)).collect();
    assert_eq!(seen[..6], [(0, 10), (10, 4), (14, 18), (32, 30), (62, 4), (66, 30)]);
    assert_eq!(seen.iter().map(|(_, pages)| pages).sum::<u32>(), PAGES);
    let of_class = |class| seen.iter().filter(|(_, pages)| pages.ilog2() == class).count() as u64;
    assert_eq!((0..6).map(of_class).collect::<Vec<_>>(), counters);
    look_at_all(&mut host);
    let mut page = Host::new(chips(small(32, 64, 1, 1)), config("page", PAGES), 1);
    assert!(page.ftl.as_ref().unwrap().look_at_extents(&mut page.plug).is_none(), "it has none");
}

#[test]
fn a_block_whose_last_page_becomes_stale_is_given_back_at_once_and_nothing_goes_to_the_tree() {
    let mut host = filled(&[]);
    let free = host.counter("free_blocks");
    host.write(64, 32, true).unwrap();
    assert_eq!(host.counter("switch_merges"), 1);
    assert_eq!(host.counter("free_blocks"), free, "one for one");
    assert_eq!((host.counter("invalid_extents_dropped"), host.counter("invalid_extents_flushed")), (1, 0));
    assert_eq!((host.counter("invalid_pages_cached"), host.counter("invalid_extents")), (32, 0));
    look_at_all(&mut host);
}

#[test]
fn a_block_whose_last_page_is_trimmed_is_given_back_when_the_trim_is_written() {
    let mut host = filled(&[]);
    let free = host.counter("free_blocks");
    host.trim(64, 64).unwrap();
    assert_eq!(
        (host.counter("switch_merges"), host.counter("free_blocks")),
        (2, free + 1),
        "a tombstone page opens one"
    );
    assert_eq!((host.counter("collections"), host.counter("invalid_extents")), (0, 0));
    look_at_all(&mut host);
    host.cut_and_damage(|_| ()).unwrap();
    look_at_all(&mut host);
}

#[test]
fn invalid_extents_leave_the_cache_when_it_is_full_and_when_their_bucket_has_a_victim() {
    let mut host = filled(&[("validity.bitmap-cache", "4")]);
    for page in [3, 40, 70, 100] {
        host.write(page, 2, true).unwrap();
    }
    assert_eq!((host.counter("invalid_extents"), host.counter("bitmap_cache_flushes")), (4, 0));
    host.write(130, 2, true).unwrap();
    assert_eq!((host.counter("invalid_extents"), host.counter("bitmap_cache_flushes")), (1, 1));
    assert_eq!(host.counter("invalid_extents_flushed"), 4);
    // An entry for each of four blocks; the fifth is in the cache alone.
    assert_eq!((host.counter("bitmap_entries"), host.counter("partly_stale_blocks")), (4, 5));
    look_at_all(&mut host);
    while host.counter("collections") == 0 {
        host.write(host.counter("invalid_pages_cached") as u32 * 7 % PAGES, 1, true).unwrap();
    }
    look_at_all(&mut host);
}

#[test]
fn what_is_trimmed_page_by_page_gathers_in_extents_also_over_a_cut() {
    let mut host = filled(&[]);
    (0..PAGES).for_each(|page| host.trim(page, 1).unwrap());
    host.flush().unwrap();
    // Five, and the stale pages in twenty blocks: a leaf holds twice as many.
    assert_eq!(host.counter("mu_tree_height"), 1);
    host.cut_and_damage(|_| ()).unwrap();
    assert_eq!(host.counter("mu_tree_height"), 1);
    look_at_all(&mut host);
}

#[test]
fn what_is_stale_is_known_after_cuts_as_before() {
    let mut host = filled(&[]);
    for round in 0..6 {
        (0..PAGES / 8).for_each(|n| host.write((n * 56 + round) % (PAGES - 8), 5, true).unwrap());
        let stale = |host: &Host| host.counter("partly_stale_blocks");
        let before = stale(&host);
        host.cut_and_damage(|_| ()).unwrap();
        assert!(before > 0 && stale(&host) > 0, "{before}, {}", stale(&host));
        look_at_all(&mut host);
    }
}

#[test]
fn a_drive_whose_records_have_40_bits_holds_its_data_over_cuts_as_well() {
    let settings = [("mapping.record-bits", "40"), ("validity.bitmap-cache", "4"), ("mapping.write-pages", "0")];
    let mut host = filled(&settings);
    for round in 0..4 {
        (0..PAGES / 8).for_each(|n| host.write((n * 56 + round) % (PAGES - 8), 5, true).unwrap());
        look_at_all(&mut host);
        assert!(host.counter("invalid_extents_flushed") > 0);
        host.cut_and_damage(|_| ()).unwrap();
        look_at_all(&mut host);
    }
}

#[test]
fn a_page_of_the_tree_that_goes_bad_costs_no_data() {
    for nth in 0..12 {
        let mut host = filled(&[("mapping.read-pages", "1"), ("mapping.write-pages", "1")]);
        (0..PAGES).for_each(|n| host.write(n * 77 % PAGES, 1, true).unwrap());
        let (newest, _) = host.plug.newest_and_older(Kind::Tree);
        let page = newest[nth % newest.len()];
        host.plug.spoiled.insert(page);
        let counters = |host: &Host| host.ftl.as_ref().unwrap().counters();
        let before = counters(&host);
        host.compare_all();
        (0..PAGES).for_each(|n| host.write(n * 99 % PAGES, 1, true).unwrap());
        for (before, now) in before.iter().zip(counters(&host)).filter(|(before, _)| !before.is_level) {
            assert!(now.name == before.name && now.value >= before.value, "{before:?}, {now:?}");
        }
        assert!(host.counter("mu_trees_written_anew") > 0, "page {nth}");
        look_at_all(&mut host);
    }
}

#[test]
fn without_caches_each_update_of_the_tree_is_programmed_once_and_each_split() {
    let mut host = filled(&[("mapping.write-pages", "0"), ("validity.bitmap-cache", "0")]);
    (0..2 * PAGES).for_each(|n| host.write(n * 77 % PAGES, 1, true).unwrap());
    let [updates, splits, programs] =
        ["updates", "splits", "programs"].map(|name| host.counter(&format!("mu_tree_{name}")));
    assert_eq!(programs, updates + splits);
    look_at_all(&mut host);
    let mut cached = filled(&[]);
    (0..2 * PAGES).for_each(|n| cached.write(n * 77 % PAGES, 1, true).unwrap());
    assert!(cached.counter("mu_tree_programs") <= cached.counter("mu_tree_updates"));
    assert!(cached.counter("mu_tree_programs") < programs / 2);
}

/// The pages that a collection moves leave as many stale pages of the tree behind the blocks that are written first.
#[test]
fn collections_in_the_order_of_writing_come_to_an_end() {
    let geometry = phelsuma_nand::Geometry::new(4096, 128, 128, 1, 1).unwrap();
    let mut config = config("mu-ftl", 8_192);
    config.composition.set("victim", "fifo").unwrap();
    let mut host = Host::new(chips(geometry), config, 1);
    host.plug.operations_max = Some(1_000_000);
    (0..14_000u32).for_each(|n| host.write(n.wrapping_mul(2_654_435_761) % 8_192, 1, false).unwrap());
    assert!(host.counter("collections") > 0);
    look_at_all(&mut host);
}

#[test]
fn a_drive_has_no_more_pages_than_its_tree_has_room_for_however_they_come() {
    let geometry = small(32, 1600, 1, 1);
    let format = |pages| phelsuma_ftl::format(&mut plugged(geometry), &config("mu-ftl", pages), Time::ZERO).map(drop);
    let Err(FtlError::DoesNotFit { usable_pages, .. }) = format(3_000) else { panic!("a tree of pages of 512 bytes") };
    // Half-full nodes of 15, 7 and 3 entries below a root of 7, and an entry for the stale pages of each block.
    assert_eq!(usable_pages, 15 * 7 * 3 * 6 - 1600);
    assert!(matches!(format(usable_pages as u32 + 1), Err(FtlError::DoesNotFit { .. })));
    format(usable_pages as u32).unwrap();
}

/// Where extents are counted on to be long, more of the flash is logical pages. A host that writes page after page at
/// random has the tree outgrow its room. Then its writes are refused: what is there is kept, and trims make room.
#[test]
fn a_tree_that_outgrows_its_room_ends_the_writes_and_loses_nothing() {
    // Small pages, so a large tree; and few enough of them for it to have room at all.
    let geometry = phelsuma_nand::Geometry::new(1024, 32, 512, 1, 1).unwrap();
    let counted_on = |extent_pages: &str| {
        let mut config = config("mu-ftl", u32::MAX);
        config.composition.set("mapping.extent-pages", extent_pages).unwrap();
        config
    };
    let fits = |extent_pages| match phelsuma_ftl::format(&mut plugged(geometry), &counted_on(extent_pages), Time::ZERO)
    {
        Err(FtlError::DoesNotFit { usable_pages, .. }) => usable_pages as u32,
        _ => panic!("all pages fit"),
    };
    let (worst, long) = (fits("1"), fits("32"));
    assert!(long > worst + 8 * 32, "{worst} and {long} pages");
    let mut host = Host::new(chips(geometry), Config { logical_pages: long, ..counted_on("32") }, 1);
    host.plug.operations_max = Some(5_000_000);
    let pages_of = |n: u32| n.wrapping_mul(2_654_435_761) % long;
    for round in 0..2 {
        // In order it is as full as it goes, any number of times.
        (0..2 * long / 32).for_each(|n| host.write(n * 32 % (long / 32 * 32), 32, false).unwrap());
        let refused = (0..20 * long).find_map(|n| host.write(pages_of(n), 1, false).err()).unwrap();
        assert!(matches!(refused, FtlError::Full { .. }), "{refused}");
        host.forgive_refused();
        look_at_all(&mut host);
        // It stays so, over a power cut or without one.
        if round == 0 {
            host.restart(|_| ()).unwrap();
            look_at_all(&mut host);
        }
        host.trim(0, long).unwrap();
        host.flush().unwrap();
        look_at_all(&mut host);
    }
}
