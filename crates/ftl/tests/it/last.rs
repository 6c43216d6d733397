//! LAST++, made by hand on blocks of four pages over four channels, as the paper's figures have them.

use crate::common::{Host, chips, config, parts_of, plugged, small};
use phelsuma_ftl::{Config, FtlError, Step, format, recover};
use phelsuma_nand::{Purpose, Time};

/// Pages of a segment.
const SEGMENT: u32 = 16;

/// A drive of eight segments, all of them written: seven stand in data blocks, the last one in sequential log blocks.
/// There is room for one segment of those, and for three random log blocks on each channel.
fn filled(settings: &[(&str, &str)]) -> Host {
    filled_as(config("last++", 8 * SEGMENT), settings)
}

fn filled_as(mut config: Config, settings: &[(&str, &str)]) -> Host {
    let figures = [("last.threshold", "4"), ("last.summary", "off"), ("last.background", "none")];
    for (name, value) in figures.iter().chain(settings) {
        config.composition.set(name, value).unwrap();
    }
    let mut host = Host::new(chips(small(4, 128, 4, 1)), config, 1);
    (0..8).for_each(|segment| host.write(segment * SEGMENT, SEGMENT, true).unwrap());
    host
}

/// The logical page at an offset of a logical block: number four to a segment, one on each channel (equation 1).
fn page(logical_block: u32, offset: u32) -> u32 {
    logical_block / 4 * SEGMENT + offset * 4 + logical_block % 4
}

/// Counters, and the cost so far: pages copied, blocks given back to be erased, map pages written.
fn cost(host: &mut Host, counters: [&str; 3], act: impl FnOnce(&mut Host)) -> ([u64; 3], [u64; 3]) {
    let all = |host: &mut Host| {
        let map_pages = host.plug.sim().stats().of(Purpose::Map).programs;
        let costs = [host.counter("pages_moved"), host.counter("merge_freed_blocks"), map_pages];
        (counters.map(|counter| host.counter(counter)), costs)
    };
    let before = all(host);
    act(host);
    let after = all(host);
    host.compare_all();
    host.check();
    let less = |a: [u64; 3], b: [u64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    (less(after.0, before.0), less(after.1, before.1))
}

const KINDS: [&str; 3] = ["switch_merges", "partial_merges", "full_merges"];

#[test]
fn the_segment_of_figure_7_is_merged_in_three_ways_with_one_map_page() {
    let mut host = filled(&[]);
    // Pages 1 to 13. The segment that the filling has left is switched; there were no data blocks of it before.
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(1, 13, true).unwrap());
    assert_eq!((kinds, costs), ([4, 0, 0], [0, 0, 1]));
    // Channel 0 lacks page 0 at the beginning, channel 1 nothing, channels 2 and 3 lack pages 14 and 15 at the end.
    // Four data blocks and the log block of channel 0 are given back.
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(SEGMENT, 4, true).unwrap());
    assert_eq!((kinds, costs), ([1, 2, 1], [4 + 2, 5, 1]));
}

#[test]
fn a_sequential_request_goes_to_random_log_blocks_where_its_own_are_written_so_far() {
    let mut host = filled(&[]);
    host.write(0, 8, true).unwrap();
    let (counts, _) =
        cost(&mut host, ["last_sequential_pages", "last_sequential_refused", "last_cold_pages"], |host| {
            // Pages 4 to 7 are written already, and 8 to 11 not.
            host.write(4, 8, true).unwrap();
            // Too short.
            host.write(12, 3, true).unwrap();
        });
    assert_eq!(counts, [4, 4, 3 + 4]);
}

#[test]
fn several_streams_are_switched_where_there_are_log_blocks_for_them() {
    // Figure 6: requests of four pages of two streams in turn. Room for two segments, and none is merged.
    let mut host = filled(&[("log.blocks", "32")]);
    let (kinds, _) = cost(&mut host, KINDS, |host| {
        for n in 0..4 {
            host.write(n * 4, 4, true).unwrap();
            host.write(SEGMENT + n * 4, 4, true).unwrap();
        }
    });
    assert_eq!(kinds, [8, 0, 0], "those that the filling has left");
    // The segment that was allocated least recently goes.
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(4 * SEGMENT, 4, true).unwrap());
    assert_eq!((kinds, costs), ([4, 0, 0], [0, 4, 1]));
}

/// Four victims of figure 10, a random log block on each channel, that are associated with six data blocks; other
/// random log blocks with more each.
fn figure_10(host: &mut Host) {
    let victims = [
        [page(0, 0), page(0, 1), page(1, 0), page(1, 1)],
        [page(1, 2), page(1, 3), page(2, 0), page(2, 1)],
        [page(3, 0), page(3, 1), page(4, 0), page(4, 1)],
        [page(4, 2), page(4, 3), page(5, 0), page(5, 1)],
    ];
    // The channels are written in turn.
    for n in 0..4 {
        victims.iter().for_each(|pages| host.write(pages[n], 1, true).unwrap());
    }
    (0..32).for_each(|n| host.write(page(8 + n % 20, n / 20), 1, true).unwrap());
}

#[test]
fn the_victims_of_figure_10_are_merged_together() {
    let mut host = filled(&[]);
    figure_10(&mut host);
    let degrees = ["log_blocks_fully_merged", "associated_logical_blocks", "full_merges"];
    let (degrees, costs) = cost(&mut host, degrees, |host| host.write(page(20, 3), 1, true).unwrap());
    // Each victim is associated with two data blocks, all with six: 24 pages, 10 blocks. Four at a time are named by
    // one map page.
    assert_eq!((degrees, costs), ([4, 8, 6], [24, 10, 2]));
    // Now each channel has a free one.
    let (degrees, _) = cost(&mut host, ["last_cold_victims"; 3], |host| {
        (0..15).for_each(|n| host.write(page(21 + n % 3, n / 5), 1, true).unwrap());
    });
    assert_eq!(degrees, [0; 3]);
}

/// Forty segments, whose logical blocks are named by four map pages of fifty.
fn of_four_map_pages() -> Host {
    let mut config = config("last++", 40 * SEGMENT);
    for (name, value) in [("last.threshold", "4"), ("last.summary", "off"), ("last.background", "none")] {
        config.composition.set(name, value).unwrap();
    }
    let mut host = Host::new(chips(small(4, 400, 4, 1)), config, 1);
    (0..40).for_each(|segment| host.write(segment * SEGMENT, SEGMENT, true).unwrap());
    host
}

/// Logical blocks of all channels: named by one map page, and by four.
const NAMED_BY_ONE: [u32; 4] = [0, 1, 2, 3];
const NAMED_BY_FOUR: [u32; 4] = [0, 53, 102, 151];

#[test]
fn logical_blocks_of_different_map_pages_are_merged_side_by_side() {
    let took = |merged: [u32; 4]| {
        let mut host = of_four_map_pages();
        // The first log block of each channel has all of one of them, the others a page of each of four.
        (0..16).for_each(|n| host.write(page(merged[n % 4], n as u32 / 4), 1, true).unwrap());
        (0..32).for_each(|n| host.write(page(8 + n, 1), 1, true).unwrap());
        let before = host.at;
        let degrees = ["log_blocks_fully_merged", "full_merges", "map_collections"];
        let (degrees, costs) = cost(&mut host, degrees, |host| host.write(page(45, 3), 1, true).unwrap());
        assert_eq!((degrees[..2].to_vec(), costs[0]), (vec![4, 4], 16), "{merged:?}");
        (host.at.0 - before.0, costs[2], *host.plug.sim().timing())
    };
    let ((one, map_page, timing), (four, map_pages, _)) = (took(NAMED_BY_ONE), took(NAMED_BY_FOUR));
    assert_eq!((map_page, map_pages), (1, 4));
    // A map block has room for four: one more is erased. One after the other each logical block would take another four
    // reads and programs.
    let more = 3 * (timing.program_ns + timing.read_ns) + timing.erase_ns;
    assert!(four <= one + more, "{one} and {four} ns");
}

#[test]
fn a_recovery_merges_logical_blocks_of_different_map_pages_side_by_side() {
    let mended = |written: [u32; 4]| {
        let mut host = of_four_map_pages();
        // These may have been in flight.
        (0..4).for_each(|n| host.write(page(written[n], n as u32), 1, true).unwrap());
        host.plug.pull(host.at);
        host.power_back();
        let (ftl, report) = recover(&mut host.plug, &host.config, Time::ZERO).unwrap();
        host.ftl = Some(ftl);
        host.at = report.done;
        host.compare_all();
        host.check();
        let step = *report.steps.iter().find(|step| step.name.starts_with("write anew")).unwrap();
        (step.programs, step.nanos, *host.plug.sim().timing())
    };
    let ((one, side_by_side, timing), (four, of_four, _)) = (mended(NAMED_BY_ONE), mended(NAMED_BY_FOUR));
    assert!(four >= 16 + 4 && one >= 16, "{one} and {four} programs");
    let more = 3 * (timing.program_ns + timing.read_ns) + timing.erase_ns;
    assert!(of_four <= side_by_side + more, "{side_by_side} and {of_four} ns");
    // One after the other they take three times as long.
    assert!(of_four < four * timing.program_ns * 2 / 3, "{four} programs, {of_four} ns");
}

#[test]
fn the_newest_of_a_random_and_a_sequential_log_block_is_read() {
    let mut host = filled(&[]);
    written_both_ways(&mut host);
    host.check();
    host.restart(|_| ()).unwrap();
    host.compare_all();
}

fn written_both_ways(host: &mut Host) {
    // Corner: section 4.8 looks into random log blocks first. Pages written there and then sequentially would be read
    // old.
    host.write(5, 1, true).unwrap();
    host.write(0, SEGMENT, true).unwrap();
    host.compare_all();
    // Corner: the reverse. A page was rewritten in a random log block, and is merged from there. It would be read old
    // where the sequential log block's page status table answers before the data block.
    host.write(6, 1, true).unwrap();
    figure_10(host);
    host.write(page(20, 3), 1, true).unwrap();
    host.compare_all();
}

#[test]
fn a_sequential_log_block_with_a_newer_version_in_a_random_one_is_merged_in_full() {
    // Corner: a switch merge would make the old version the data block's.
    let mut host = filled(&[]);
    host.write(0, SEGMENT, true).unwrap();
    host.write(6, 1, true).unwrap();
    let (kinds, _) = cost(&mut host, KINDS, |host| host.write(SEGMENT, 4, true).unwrap());
    assert_eq!(kinds, [3, 0, 1]);
    host.restart(|_| ()).unwrap();
    host.compare_all();
}

/// Skipped pages are copied.
const COPIED: [(&str, &str); 1] = [("last.skipped", "copied")];

/// Pages 1 to 13 of the filled drive: the sequential log block of logical block 0 begins with a copy of page 0.
fn begun_behind(settings: &[(&str, &str)]) -> Host {
    let mut host = filled(&[&COPIED, settings].concat());
    host.write(1, 13, true).unwrap();
    assert_eq!((host.counter("last_sequential_begun_behind"), host.counter("last_skipped_copies")), (1, 1));
    host
}

/// Merges the segment that [`begun_behind`] has begun, for another one.
fn merge_it(host: &mut Host) {
    host.write(SEGMENT, 4, true).unwrap();
}

#[test]
fn where_skipped_pages_are_copied_the_segment_of_figure_7_needs_no_full_merge() {
    let mut host = begun_behind(&[]);
    let (kinds, costs) = cost(&mut host, KINDS, merge_it);
    // Pages 14 and 15 are copied now, page 0 was before; the log block of channel 0 need not be given back.
    assert_eq!((kinds, costs), ([1, 3, 0], [2, 4, 1]));
}

#[test]
fn what_is_copied_is_the_newest_wherever_it_stands() {
    for cut in [false, true] {
        let mut host = filled(&COPIED);
        host.write(0, 1, true).unwrap();
        host.write(1, 13, true).unwrap();
        // A recovery finds the random log block's page, and a copy that is as new.
        if cut {
            host.restart(|_| ()).unwrap();
            host.compare_all();
        }
        let (kinds, _) = cost(&mut host, KINDS, merge_it);
        assert!(cut || kinds == [1, 3, 0], "{kinds:?}");
    }
}

/// A page is copied, and then written to a random log block.
fn a_copy_outdated(host: &mut Host) {
    host.write(0, 1, true).unwrap();
    merge_it(host);
    host.compare_all();
}

#[test]
fn a_log_block_with_a_copy_that_is_outdated_is_merged_in_full() {
    let mut host = begun_behind(&[]);
    let (kinds, _) = cost(&mut host, KINDS, a_copy_outdated);
    assert_eq!(kinds, [1, 2, 1]);
    host.restart(|_| ()).unwrap();
    host.compare_all();
}

#[test]
fn a_recovery_takes_no_log_block_for_complete_that_has_copies_in_it() {
    let mut host = begun_behind(&[]);
    // Random log blocks take the newest of page 0, and others, so that nothing here is suspect.
    host.write(0, 1, true).unwrap();
    (0..24).for_each(|n| host.write(4 * SEGMENT + n, 1, true).unwrap());
    host.restart(|_| ()).unwrap();
    host.compare_all();
    let (kinds, _) = cost(&mut host, KINDS, merge_it);
    // Channel 1 has all of its pages from the host.
    assert_eq!(kinds, [1, 0, 3]);
}

#[test]
fn a_copy_of_a_page_that_is_trimmed_does_not_come_back() {
    let mut host = begun_behind(&[]);
    host.trim(0, 1).unwrap();
    let (kinds, _) = cost(&mut host, KINDS, merge_it);
    assert_eq!(kinds, [1, 2, 1]);
    host.flush().unwrap();
    host.restart(|_| ()).unwrap();
    host.compare_all();
}

#[test]
fn a_segment_is_copied_on_all_channels_together() {
    let took = |settings: &[(&str, &str)]| {
        let mut host = filled(settings);
        let before = host.at;
        // Two pages are skipped on channels 2 and 3, and three on the others.
        host.write(10, 6, true).unwrap();
        assert_eq!(
            (host.counter("last_sequential_pages"), host.counter("last_sequential_begun_behind")),
            (8 * 16 + 6, 4)
        );
        (host.at.0 - before.0, host.counter("last_skipped_copies"), host.plug.sim().timing().program_ns)
    };
    let ((holes, none, program), (copies, copied, _)) = (took(&[]), took(&COPIED));
    assert_eq!((none, copied), (0, 2 + 2 + 3 + 3));
    // Three copies take longer than the zeros that there are otherwise, and not ten.
    assert!(copies < holes + 3 * program, "{copies} and {holes} ns");
}

#[test]
fn copies_do_not_outlive_a_trim_of_the_logical_block() {
    // All of it is copied in front of pages that are written behind the trim.
    let mut host = filled(&COPIED);
    host.write(8, 4, true).unwrap();
    host.trim(0, SEGMENT).unwrap();
    host.write(12, 4, true).unwrap();
    let (kinds, _) = cost(&mut host, KINDS, merge_it);
    assert_eq!(kinds, [0, 0, 4]);
}

/// Nothing is there to be copied: a page that is written in its place later is the only one.
fn written_where_nothing_was(config: Config) {
    let mut config = config;
    for (name, value) in [("last.threshold", "4"), ("last.background", "none"), COPIED[0]] {
        config.composition.set(name, value).unwrap();
    }
    let mut host = Host::new(chips(small(4, 128, 4, 1)), config, 1);
    host.write(8, 8, true).unwrap();
    assert_eq!(host.counter("last_skipped_copies"), 0);
    host.write(4, 1, true).unwrap();
    merge_it(&mut host);
    host.compare_all();
    host.check();
}

#[test]
fn what_was_written_where_there_was_nothing_to_copy_is_kept() {
    written_where_nothing_was(config("last++", 8 * SEGMENT));
}

#[test]
fn the_fourth_update_of_a_page_goes_to_the_hot_partition() {
    let mut host = filled(&[]);
    let (counts, _) = cost(&mut host, ["last_cold_pages", "last_hot_pages", "last_hot_log_blocks"], |host| {
        (0..4).for_each(|_| host.write(9, 1, true).unwrap());
    });
    assert_eq!(counts, [4, 0, 0]);
    let (counts, _) = cost(&mut host, ["last_cold_pages", "last_hot_pages", "last_hot_log_blocks"], |host| {
        (0..3).for_each(|_| host.write(9, 1, true).unwrap());
    });
    // Each goes to another channel.
    assert_eq!(counts, [0, 3, 3]);
    let mut host = filled(&[("last.partitions", "one")]);
    (0..9).for_each(|_| host.write(9, 1, true).unwrap());
    assert_eq!(host.counter("last_hot_pages"), 0);
}

#[test]
fn dead_blocks_of_the_hot_partition_are_erased_and_nothing_is_copied() {
    let mut host = filled(&[]);
    let counts = ["last_dead_victims", "last_cold_victims", "full_merges"];
    let ([dead, _, merges], [copies, ..]) =
        cost(&mut host, counts, |host| (0..400).for_each(|n| host.write(40 + n % 3, 1, true).unwrap()));
    assert!(dead > 80, "{dead}");
    assert_eq!((merges, copies), (0, 0));
}

#[test]
fn what_was_hot_once_leaves_the_hot_partition() {
    let mut host = filled(&[]);
    (0..40).for_each(|n| host.write(40 + n % 4, 1, true).unwrap());
    assert!(host.counter("last_hot_log_blocks") > 0);
    // Pages that are written once each. Where there is nothing dead in the hot partition and it is as large as its
    // share of the valid pages, it gives a block.
    (0..8).for_each(|n| (0..SEGMENT).for_each(|p| host.write((n * SEGMENT + p * 5) % 128, 1, true).unwrap()));
    // The blocks that are left are open: one on each channel.
    assert!(host.counter("last_hot_log_blocks") <= 4);
    assert!(host.counter("last_hot_victims") > 0);
    host.compare_all();
    host.check();
}

/// A drive of one channel and 32 logical blocks, all of them written, with so many random log blocks.
fn of_one_channel(random: u32, settings: &[(&str, &str)]) -> Host {
    let mut config = config("last++", 128);
    let log_blocks = (random + random / 3).to_string();
    let always = [("last.threshold", "4"), ("last.summary", "off"), ("log.blocks", log_blocks.as_str())];
    for (name, value) in always.iter().chain(settings) {
        config.composition.set(name, value).unwrap();
    }
    let mut host = Host::new(chips(small(4, 128, 1, 1)), config, 1);
    (0..32).for_each(|logical_block| host.write(4 * logical_block, 4, true).unwrap());
    host
}

const FIGURE_11: [&str; 3] = ["last_hot_victims", "last_cold_victims", "full_merges"];

/// Twelve random log blocks. Of the cold partition there are eight dead ones, of the hot one two with a page each of
/// four logical blocks.
fn two_hot_log_blocks() -> Host {
    let mut host = of_one_channel(12, &[("last.background", "none")]);
    (0..5).for_each(|_| (0..8).for_each(|n| host.write(4 * n, 1, true).unwrap()));
    assert_eq!(FIGURE_11.map(|counter| host.counter(counter)), [0; 3]);
    assert_eq!(host.counter("last_hot_log_blocks"), 2);
    host
}

#[test]
fn figure_11_a_partition_that_needs_a_block_gets_a_dead_one_of_the_hot_partition() {
    for hot in [true, false] {
        let mut host = two_hot_log_blocks();
        // The first of them is dead then; and a cold one, so that there are twelve.
        (0..4).chain(16..20).for_each(|n| host.write(4 * n, 1, true).unwrap());
        let (counts, [copies, ..]) =
            cost(&mut host, FIGURE_11, |host| host.write(if hot { 16 } else { 4 * 20 }, 1, true).unwrap());
        // The hot partition stays as large as it is, or gets smaller by one.
        assert_eq!((counts, copies), ([1, 0, 0], 0), "hot {hot}");
        assert_eq!(host.counter("last_hot_log_blocks"), if hot { 3 } else { 2 });
    }
}

#[test]
fn figure_11_where_none_is_dead_the_cold_partition_gives_the_cheapest_and_the_hot_one_grows() {
    let mut host = two_hot_log_blocks();
    // Two more of the cold partition, so that there are twelve: the hot one has two, and half of the valid pages.
    (16..24).for_each(|n| host.write(4 * n, 1, true).unwrap());
    let (counts, [copies, ..]) = cost(&mut host, FIGURE_11, |host| host.write(0, 1, true).unwrap());
    // One of the eight dead ones.
    assert_eq!((counts, copies), ([0, 1, 0], 0));
    assert_eq!(host.counter("last_hot_log_blocks"), 3);
    // As long as it is, the cold partition helps itself as well.
    let (counts, [copies, ..]) = cost(&mut host, FIGURE_11, |host| host.write(4 * 24, 1, true).unwrap());
    assert_eq!((counts, copies), ([0, 1, 0], 0));
    assert_eq!(host.counter("last_hot_log_blocks"), 3);
}

#[test]
fn figure_11_a_hot_partition_at_its_largest_gives_up_what_is_not_dead() {
    let mut host = two_hot_log_blocks();
    // Forty more valid pages in the cold partition: eight of 48 are hot, so two of the twelve log blocks may be.
    (0..40).for_each(|n| host.write(4 * (n % 20 + 8) + 1 + n / 20, 1, true).unwrap());
    assert_eq!(host.counter("last_hot_log_blocks"), 2);
    let (counts, [copies, ..]) = cost(&mut host, FIGURE_11, |host| host.write(4 * 31, 1, true).unwrap());
    // Four logical blocks.
    assert_eq!((counts, copies), ([1, 0, 4], 16));
    assert_eq!(host.counter("last_hot_log_blocks"), 1);
}

#[test]
fn figure_11_a_hot_partition_at_its_largest_gives_up_nothing_where_the_cold_one_is_cheaper() {
    for write in [4 * 31, 0] {
        let mut host = two_hot_log_blocks();
        // As many valid pages as above, but each log block has all pages of a logical block.
        (0..40).for_each(|n| host.write(4 * (n / 4 + 8) + n % 4, 1, true).unwrap());
        assert_eq!(host.counter("last_hot_log_blocks"), 2);
        let (counts, [copies, ..]) = cost(&mut host, FIGURE_11, |host| host.write(write, 1, true).unwrap());
        assert_eq!((counts, copies), ([0, 1, 1], 4), "page {write}");
    }
}

#[test]
fn a_page_that_the_merge_for_it_evicts_begins_in_the_cold_partition_again() {
    let mut host = two_hot_log_blocks();
    (0..40).for_each(|n| host.write(4 * (n % 20 + 8) + 1 + n / 20, 1, true).unwrap());
    // The hot partition is at its largest, and the page that it needs a block for is in its own victim.
    let counters = ["last_hot_victims", "last_hot_pages", "last_cold_pages"];
    let (counts, _) = cost(&mut host, counters, |host| host.write(0, 1, true).unwrap());
    assert_eq!(counts, [1, 0, 1]);
}

/// The log blocks of figures 13 and 14, one channel's. Foreground merges take two, of which one is Z here so that the
/// merge sequence ID is far enough on. Then come B, and C, D and E, whose merge costs are 2, 3 and 3 when the host is
/// idle. D's has not become smaller since it was written.
fn figure_14(background: &str) -> Host {
    let mut host = of_one_channel(8, &[("last.background", background), ("last.idle", "5")]);
    let log_blocks = [
        [0, 1, 2, 3],
        [4, 5, 6, 8],
        [12, 13, 16, 20],
        [24, 25, 28, 32],
        [36, 37, 40, 44],
        [48, 52, 56, 60],
        [64, 68, 72, 76],
        [80, 84, 88, 92],
        // Z is merged for this one. A is merged for the next, in which a page of B and one of E are written again. B is
        // merged for the last, with one of C.
        [96, 100, 104, 108],
        [20, 60, 112, 116],
        [32, 120, 124, 65],
    ];
    log_blocks.iter().flatten().for_each(|page| host.write(*page, 1, true).unwrap());
    assert_eq!(host.counter("last_cold_victims"), 3);
    host
}

#[test]
fn conservative_background_merges_take_log_block_d_of_figure_14_and_then_none() {
    let counters = ["last_background_merges", "associated_logical_blocks", "full_merges"];
    for (background, degree) in [("conservative", 3), ("aggressive", 2)] {
        let mut host = figure_14(background);
        // A logical block with each step: the log block is given back with its last.
        for step in 1..=degree {
            let merged = u64::from(step == degree);
            let (counts, [copies, ..]) = cost(&mut host, counters, merge_a_step);
            assert_eq!((counts, copies), ([merged, merged * degree, 1], 4), "{background}, step {step}");
        }
    }
    let mut host = figure_14("conservative");
    let mut at = host.at;
    while let Step::Did(done) = host.ftl.as_mut().unwrap().background_step(&mut host.plug, at).unwrap() {
        at = done;
    }
    host.at = at;
    assert_eq!(host.counter("last_background_merges"), 1);
}

/// A step of the background merges that are due.
fn merge_a_step(host: &mut Host) {
    let at = host.at;
    let Step::Did(done) = host.ftl.as_mut().unwrap().background_step(&mut host.plug, at).unwrap() else {
        panic!("there is something to merge");
    };
    host.at = done;
}

#[test]
fn a_request_that_ends_the_idle_time_waits_for_one_logical_block() {
    let steps = |host: &mut Host| -> Vec<u64> {
        let merged = host.counter("last_background_merges");
        let mut took = Vec::new();
        while host.counter("last_background_merges") == merged {
            let before = host.at;
            merge_a_step(host);
            took.push(host.at.0 - before.0);
        }
        took
    };
    let timing = *figure_14("none").plug.sim().timing();
    // A block for its four pages is erased, and one for the map page.
    let one = 2 * timing.erase_ns + 4 * (timing.read_ns + timing.program_ns) + timing.program_ns;
    let took = steps(&mut figure_14("conservative"));
    assert_eq!(took.len(), 3);
    assert!(took.iter().all(|step| *step <= one), "{took:?}, and {one} ns for one");
    // On four channels those of a segment, side by side: the first victim is associated with two.
    let mut host = filled(&[("last.background", "aggressive"), ("last.idle", "5")]);
    figure_10(&mut host);
    let took = steps(&mut host);
    assert_eq!(took.len(), 1);
    assert!(took[0] <= one + 2 * (timing.read_ns + timing.program_ns), "{took:?}, and {one} ns for one");
}

#[test]
fn what_idle_time_has_begun_goes_on_in_the_next_or_is_taken_by_the_host_or_the_power() {
    // The next idle time.
    let mut host = figure_14("conservative");
    merge_a_step(&mut host);
    host.write(1, 1, true).unwrap();
    let due = host.ftl.as_ref().unwrap().due().unwrap();
    assert_eq!(due, Time(host.at.0 + 5_000_000));
    host.at = due;
    let (counts, _) = cost(&mut host, ["last_background_merges", "full_merges", "last_cold_victims"], |host| {
        merge_a_step(host);
        merge_a_step(host);
    });
    assert_eq!(counts, [1, 2, 1], "two logical blocks were left");
    // A foreground merge: two steps have made it the cheapest.
    let mut host = figure_14("conservative");
    (0..2).for_each(|_| merge_a_step(&mut host));
    let counters = ["last_cold_victims", "full_merges", "associated_logical_blocks"];
    let (counts, _) = cost(&mut host, counters, |host| (0..4).for_each(|n| host.write(4 * n + 1, 1, true).unwrap()));
    assert_eq!(counts, [1, 1, 3], "one was left of three");
    // The power fails behind each step.
    for steps in 1..=3 {
        let mut host = figure_14("conservative");
        (0..steps).for_each(|_| merge_a_step(&mut host));
        host.restart(|_| ()).unwrap();
        host.compare_all();
        host.check();
        (0..40).for_each(|n| host.write(n * 3, 1, true).unwrap());
        host.compare_all();
    }
}

#[test]
fn a_recovery_reads_one_page_of_a_log_block_that_has_a_summary() {
    let reads = |summary| {
        let mut host = filled(&[("last.summary", summary)]);
        (0..30).for_each(|n| host.write(n * 4 % 120, 1, true).unwrap());
        let of = |host: &mut Host| host.plug.sim().stats().of(Purpose::Recovery);
        let before = of(&mut host);
        host.restart(|_| ()).unwrap();
        host.compare_all();
        let after = of(&mut host);
        (after.reads - before.reads, after.spare_reads - before.spare_reads)
    };
    let (with, without) = (reads("on"), reads("off"));
    // Blocks of four pages: three for the host and a summary. Of 30 pages 24 are in eight blocks with one, and two in
    // each of four others. There a summary is looked for before the last page is read. Without, all are in eight
    // blocks.
    assert_eq!(without.1 - with.1, (8 - 4) * 4);
    assert_eq!(with.0 - without.0, (8 + 4 * 2) - 8);
}

#[test]
fn sequential_log_blocks_are_found_and_become_data_blocks_after_a_power_cut() {
    let mut host = filled(&[]);
    // So that nothing of the last segment is suspect.
    (0..9).for_each(|n| host.write(n * 3, 1, true).unwrap());
    host.restart(|_| ()).unwrap();
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(SEGMENT, 4, true).unwrap());
    assert_eq!((kinds, costs), ([4, 0, 0], [0, 0, 1]));
}

#[test]
fn aggressive_background_merges_leave_nothing_to_the_foreground() {
    let mut host = filled(&[("last.background", "aggressive"), ("last.idle", "5")]);
    figure_10(&mut host);
    let ftl = host.ftl.as_mut().unwrap();
    assert_eq!(ftl.due(), Some(Time(host.at.0 + 5_000_000)));
    let mut at = host.at;
    while let Step::Did(done) = ftl.background_step(&mut host.plug, at).unwrap() {
        at = done;
    }
    assert_eq!((ftl.due(), host.counter("last_background_merges")), (None, 12));
    host.at = at;
    let (victims, _) = cost(&mut host, ["last_cold_victims"; 3], |host| host.write(page(20, 3), 1, true).unwrap());
    assert_eq!(victims, [0; 3]);
}

#[test]
fn a_drive_without_a_sequential_and_two_random_log_blocks_on_each_channel_is_refused() {
    let mut composition = parts_of("last++");
    composition.set("log.blocks", "11").unwrap();
    let refused = composition.check_on(&small(4, 128, 4, 1), 64).unwrap_err().to_string();
    assert!(refused.contains("12 or more"), "{refused}");
    assert!(composition.set("log.instances", "per-channel").is_err());
    assert!(composition.set("last.threshold", "0").is_err());
    // A logical block takes a whole one, and a segment one on each channel.
    let config = config("last++", u32::MAX);
    let fits = format(&mut plugged(small(4, 128, 4, 1)), &config, Time::ZERO).err().unwrap();
    assert!(matches!(fits, FtlError::DoesNotFit { usable_pages, .. } if usable_pages % 16 == 0), "{fits}");
}

/// A drive of one channel, whose logical blocks 0 and 1 are written and in data blocks. Nothing of it is in log blocks.
fn in_data_blocks() -> Host {
    let mut host = of_one_channel(12, &[("last.background", "none")]);
    // So that the sequential log blocks of the filling are merged.
    (8..32).for_each(|logical_block| host.write(4 * logical_block, 4, true).unwrap());
    host
}

#[test]
fn trims_survive_map_pages_that_know_no_merge_version_any_more() {
    // RAM has no merge version of a logical block without live pages in log blocks. The map page is written anew for
    // others: what it says of this one must be older than its trims on flash, however often it is trimmed.
    for again in [false, true] {
        let mut host = in_data_blocks();
        host.trim(1, 1).unwrap();
        host.flush().unwrap();
        if again {
            host.trim(2, 1).unwrap();
        }
        // Two segments are written, and merged: the same map page. Log blocks take all pages of each.
        (8..20).for_each(|logical_block| host.write(4 * logical_block, 4, true).unwrap());
        host.step(&crate::common::Step::Cut).unwrap();
        host.compare_all();
        assert_eq!(host.read(1, 1), [0]);
        // A page of it is written, and the trim is of what was written before.
        host.write(3, 1, true).unwrap();
        (8..20).for_each(|logical_block| host.write(4 * logical_block, 4, true).unwrap());
        host.step(&crate::common::Step::Cut).unwrap();
        host.compare_all();
        host.check();
    }
}

#[test]
fn ram_has_merge_versions_for_what_log_blocks_can_hold() {
    let versions = |blocks: u64, ftl: &str| {
        let geometry = small(16, blocks, 1, 1);
        let host = Host::with_share(ftl, geometry, 0.9);
        let ram = host.ftl.as_ref().unwrap().ram();
        ram.papers().find(|(name, _)| *name == "data.merge_versions").unwrap().1
    };
    // Six bytes for each logical block were 24 KiB. FAST has 128 log blocks of 16 pages, BAST one for each of as many.
    assert!(versions(4096, "fast") <= 2100 * 8, "{}", versions(4096, "fast"));
    assert!(versions(4096, "last++") <= 1600 * 8, "{}", versions(4096, "last++"));
    assert!(versions(4096, "bast") <= 131 * 8, "{}", versions(4096, "bast"));
}

#[test]
fn the_table_of_trims_is_as_large_as_the_drive_and_an_older_drive_keeps_its_own() {
    let entries = |blocks: u64, trims: &str| {
        let mut config = config("last++", 16 * 64);
        config.composition.set("last.trims", trims).unwrap();
        let mut host = Host::new(chips(small(16, blocks, 2, 1)), config, 1);
        host.write(0, 16 * 64, false).unwrap();
        // A page of each logical block of the first channel.
        let before = host.counter("full_merges");
        (0..32).for_each(|segment| host.trim(32 * segment, 1).unwrap());
        let merges = host.counter("full_merges") - before;
        host.flush().unwrap();
        host.restart(|_| ()).unwrap();
        host.compare_all();
        host.check();
        let ram = host.ftl.as_ref().unwrap().ram();
        (ram.papers().find(|(name, _)| *name == "trims.table").unwrap().1, merges, host)
    };
    let (one, _, mut old) = entries(4096, "one-page");
    let (four, ..) = entries(4096, "by-size");
    assert_eq!((four, entries(512, "by-size").0), (4 * one, one));
    // The description says so: a drive is not taken for one of the other kind.
    let mut config = old.config.clone();
    config.composition.set("last.trims", "by-size").unwrap();
    let error = recover(&mut old.plug, &config, Time::ZERO).err().unwrap().to_string();
    assert!(error.contains("trims(4)"), "{error}");
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    fn forgetful(rule: Barrier) -> Config {
        Config { forgets: Some(rule), ..config("last++", 8 * SEGMENT) }
    }

    #[test]
    fn outdated_copies_get_into_data_blocks() {
        let forgetful = || forgetful(Barrier::PartialMergesOfNewest);
        let goes_wrong = |act: fn(&mut Host)| {
            let run = || {
                let mut host = filled_as(forgetful(), &COPIED);
                host.write(1, 13, true).unwrap();
                act(&mut host);
            };
            std::panic::catch_unwind(run).is_err()
        };
        assert!(goes_wrong(a_copy_outdated));
        assert!(!goes_wrong(merge_it), "nothing is outdated");
        assert!(std::panic::catch_unwind(|| written_where_nothing_was(forgetful())).is_err());
    }

    #[test]
    fn what_is_in_random_and_in_sequential_log_blocks_is_read_old() {
        let goes_wrong = |act: fn(&mut Host)| {
            let run = || act(&mut filled_as(forgetful(Barrier::OneLogPlace), &[]));
            std::panic::catch_unwind(run).is_err()
        };
        assert!(goes_wrong(written_both_ways));
        assert!(goes_wrong(|host| {
            host.write(0, SEGMENT, true).unwrap();
            host.write(6, 1, true).unwrap();
            figure_10(host);
            host.write(page(20, 3), 1, true).unwrap();
            host.compare_all();
        }));
    }
}
