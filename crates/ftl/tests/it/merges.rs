//! The merges of LAST++'s figure 1, made by hand on blocks of four pages, with what each costs.

use crate::common::{Host, Step, chips, config, small};
use phelsuma_ftl::{Config, HostPage};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{LogicalPage, Purpose};

/// A drive of 16 logical blocks of four pages, all written in order: everything stands in data blocks.
fn filled(ftl: &str) -> Host {
    let geometry = small(4, 64, 1, 1);
    let mut host = Host::new(chips(geometry), config(ftl, 64), 1);
    (0..64).for_each(|page| host.write(page, 1, true).unwrap());
    host
}

/// The cost of a merge: pages copied, blocks given back to be erased, map pages written.
fn cost(host: &mut Host, counters: [&str; 3], act: impl FnOnce(&mut Host)) -> ([u64; 3], [u64; 3]) {
    let map_pages = |host: &mut Host| host.plug.sim().stats().of(Purpose::Map).programs;
    let all = |host: &mut Host| {
        let costs = [host.counter("pages_moved"), host.counter("merge_freed_blocks"), map_pages(host)];
        (counters.map(|counter| host.counter(counter)), costs)
    };
    let before = all(host);
    act(host);
    let after = all(host);
    let less = |a: [u64; 3], b: [u64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    host.compare_all();
    host.check();
    (less(after.0, before.0), less(after.1, before.1))
}

const KINDS: [&str; 3] = ["switch_merges", "partial_merges", "full_merges"];

#[test]
fn a_switch_merge_copies_nothing_and_erases_one_block() {
    // Figure 1(a): pages 0 to 3 are written in order. The log block is merged when its logical block is written again.
    let mut host = filled("bast");
    (0..4).for_each(|page| host.write(page, 1, true).unwrap());
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(0, 1, true).unwrap());
    assert_eq!((kinds, costs), ([1, 0, 0], [0, 1, 1]));
}

#[test]
fn a_partial_merge_copies_what_is_missing() {
    // Figure 1(b): pages 0 to 2 are written in order, page 3 is copied. Four log blocks, and a fifth logical block is
    // written: the one written least recently goes.
    let mut host = filled("bast");
    for first in [0, 4, 8, 12] {
        (first..first + 3).for_each(|page| host.write(page, 1, true).unwrap());
    }
    // What stood in log blocks of the filling was merged on the way.
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(16, 1, true).unwrap());
    assert_eq!((kinds, costs), ([0, 1, 0], [1, 1, 1]));
}

#[test]
fn a_full_merge_of_a_log_block_that_two_share_copies_eight_pages_and_erases_three_blocks() {
    // Figure 1(c): the victim holds valid pages of data blocks 0 and 1, another log block some more of them.
    let mut host = filled("fast");
    // Three random log blocks (the fourth is sequential); none of these pages begins a logical block. The victim will
    // be the first: pages 1, 2, 5 and 6, of which 2 and 5 are stale by then.
    let writes = [1, 2, 5, 6, 2, 5, 9, 10, 13, 14, 17, 18];
    writes.iter().for_each(|page| host.write(*page, 1, true).unwrap());
    let degrees = ["log_blocks_fully_merged", "associated_logical_blocks", "full_merges"];
    let (degree, costs) = cost(&mut host, degrees, |host| host.write(21, 1, true).unwrap());
    // Two logical blocks of four pages each: 8 copies, 2 data blocks and the log block erased, a map page for each.
    assert_eq!((degree, costs), ([1, 2, 2], [8, 3, 2]));
}

#[test]
fn a_sequential_log_block_with_a_newer_version_elsewhere_is_merged_in_full() {
    // Corner: page 1 stands in the sequential log block and, newer, in a random one. A partial merge would make the old
    // one the data block's, and the merge version would make the new one stale.
    let mut host = filled("fast");
    for page in [0, 1, 2, 1] {
        host.write(page, 1, true).unwrap();
    }
    let (kinds, _) = cost(&mut host, KINDS, |host| host.write(8, 1, true).unwrap());
    assert_eq!(kinds, [0, 0, 1]);
}

/// FAST as published merges the sequential log block with the first page of its owner that is not the next one. Here
/// that page goes to a random log block by default, and the sequential one may go on.
#[test]
fn a_page_out_of_order_ends_the_sequential_log_block_of_fast_as_published() {
    for (sequential, ended) in [("kept", 0), ("published", 1)] {
        let mut fast = config("fast", 64);
        fast.composition.set("fast.sequential", sequential).unwrap();
        let mut host = Host::new(chips(small(4, 64, 1, 1)), fast, 1);
        (0..64).for_each(|page| host.write(page, 1, true).unwrap());
        host.write(0, 2, true).unwrap();
        // Page 2 is the next one. Pages 2 and 3 are copied where the log block ends.
        let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(3, 1, true).unwrap());
        assert_eq!((kinds, costs), ([0, ended, 0], [2 * ended, ended, ended]), "{sequential}");
        // Another logical block is written out of order: that is nothing to the sequential log block.
        let (kinds, _) = cost(&mut host, KINDS, |host| host.write(9, 1, true).unwrap());
        assert_eq!(kinds, [0; 3], "{sequential}");
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn plain_block_mapping_copies_the_block_that_is_overwritten() {
    let mut host = filled("block");
    host.write(13, 1, true).unwrap();
    // Page 12 was copied in front; 14 and 15 are copied when the host writes elsewhere, as are 4 to 6 in front of page
    // 7.
    let (kinds, costs) = cost(&mut host, KINDS, |host| host.write(7, 1, true).unwrap());
    assert_eq!((kinds, costs), ([0, 1, 0], [2 + 3, 1, 1]));
    // What goes on in ascending order is not copied again.
    let (kinds, costs) = cost(&mut host, KINDS, |host| {
        (8..12).for_each(|page| host.write(page, 1, true).unwrap());
        host.write(12, 1, true).unwrap();
    });
    // Page 7 was its block's last: a merge with nothing left to copy, after three copies in front of it.
    assert_eq!((kinds, costs), ([1, 1, 0], [0, 2, 2]));
}

/// Zeros stand in the place of pages in front of the first one of a block. They are no data, before and after a start.
#[test]
fn pages_in_front_of_the_first_written_one_are_no_data() {
    for ftl in ["block", "bast", "fast"] {
        let mut host = Host::new(chips(small(4, 64, 1, 1)), config(ftl, 64), 1);
        [7, 13, 2, 22].iter().for_each(|page| host.write(*page, 1, true).unwrap());
        for merge in [false, true, true] {
            // Merges of the logical blocks that were written to, and a block that the power finds open.
            if merge {
                [30, 34, 38, 42, 46, 50, 54, 58, 62, 29].iter().for_each(|page| host.write(*page, 1, true).unwrap());
            }
            let read = |host: &mut Host| {
                let mut zeros = Vec::new();
                let mut sink = |page: LogicalPage, read: HostPage<'_>| {
                    if matches!(read, HostPage::Zeros) {
                        zeros.push(page.0);
                    }
                };
                let ftl = host.ftl.as_mut().unwrap();
                ftl.read(&mut host.plug, LogicalPage(0), 24, Purpose::Host, host.at, &mut sink).unwrap();
                zeros
            };
            let expected: Vec<u32> = (0..24).filter(|page| ![7, 13, 2, 22].contains(page)).collect();
            assert_eq!(read(&mut host), expected, "{ftl}");
            host.step(&Step::Cut).unwrap();
            assert_eq!(read(&mut host), expected, "{ftl}");
        }
    }
}

/// Resurrection: log block A holds an old version of a page, log block B the newest. B is merged and erased, and the
/// power fails. Without a merge version a recovery would take A's version for the newest.
#[test]
fn an_old_version_in_another_log_block_does_not_come_back() {
    let mut host = filled("fast");
    // A: 1 old; B: 1 new. The drive goes on until B was merged, then A's turn has come as well; cut at each step.
    let writes = [1, 5, 9, 13, 1, 6, 10, 14, 17, 21, 25, 29, 18, 22, 26, 30, 33, 37, 41, 45];
    for page in writes {
        host.write(page, 1, true).unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
        host.check();
    }
    // Sequential: an old version of 1 in a random log block, a newer one in the sequential, which becomes the data
    // block.
    host.write(1, 1, true).unwrap();
    (0..4).for_each(|page| host.write(page, 1, true).unwrap());
    host.write(8, 1, true).unwrap();
    host.step(&Step::Cut).unwrap();
    host.compare_all();
    host.check();
}

/// Page 11 stands in a log block with pages of another logical block, and is certain by the next start. It is written
/// again to a log block of its own. That program is cut so that it reads well until the power fails once more. So it
/// does, in the recovery; and again in the next one. The older page counts then, in the older log block.
fn written_again_and_cut_thrice(config: Config, dies: u32, operations: [u64; 3]) {
    let mut host = Host::new(chips(small(16, 40 + 16 * u64::from(dies), 1, dies)), config, 1);
    host.plug.program_faults = vec![ProgramFault::Unstable];
    host.plug.erase_faults = vec![EraseFault::NotStarted];
    for (first, pages) in [(33, 3), (11, 1), (36, 2)] {
        host.write(first, pages, false).unwrap();
    }
    host.plug.pull(host.at);
    host.power_back();
    for (cut, operations) in operations.into_iter().enumerate() {
        host.plug.arm(operations);
        let up = host.recover().is_ok();
        if up && cut == 0 && host.plug.cut_at().is_none() {
            _ = host.write(11, 1, false);
        }
        if host.plug.cut_at().is_none() {
            assert!(up, "a recovery fails with the power on");
            host.plug.pull(host.at);
        }
        host.power_back();
    }
    host.recover().unwrap();
    host.compare_all();
}

#[test]
fn a_log_block_that_counts_again_where_a_newer_page_turns_bad_is_found() {
    for ftl in ["block", "bast", "fast"] {
        for n in 0..400 {
            written_again_and_cut_thrice(config(ftl, 80), 1 + n as u32 % 2, [n / 2 % 20, n / 40 % 3, n / 120]);
        }
    }
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn a_held_log_block_that_the_next_recovery_does_not_scan_is_lost() {
        let goes_wrong = |n: u64| {
            let config = Config { forgets: Some(Barrier::HeldLogBlocksScanned), ..config("fast", 80) };
            let drive = || written_again_and_cut_thrice(config, 2, [n % 20, n / 20 % 3, n / 60]);
            std::panic::catch_unwind(drive).is_err()
        };
        assert!((0..240).any(goes_wrong));
    }
}
