//! Several FTLs taken together: their shape, their RAM, their counters, their mounts.

use crate::ftl::Shape;
use crate::{Counter, RamLedger, RecoveryBound, RecoveryReport};
use alloc::vec::Vec;

/// How the flash is divided, all channels together. What bounds a single collection, or a battery, is the largest of
/// them.
pub(super) fn shape(each: impl Iterator<Item = Shape>, logical_pages: u32) -> Shape {
    let mut all = Shape {
        logical_pages,
        reserve_blocks: 0,
        open_blocks: 0,
        log_blocks: 0,
        fixed_blocks: 0,
        metadata_blocks: 0,
        unidentified_blocks: 0,
        metadata_programs_per_collection: 0,
        battery_programs: 0,
    };
    for shape in each {
        all.reserve_blocks += shape.reserve_blocks;
        all.open_blocks += shape.open_blocks;
        all.log_blocks += shape.log_blocks;
        all.fixed_blocks += shape.fixed_blocks;
        all.metadata_blocks += shape.metadata_blocks;
        all.unidentified_blocks += shape.unidentified_blocks;
        all.battery_programs += shape.battery_programs;
        let programs = &mut all.metadata_programs_per_collection;
        *programs = shape.metadata_programs_per_collection.max(*programs);
    }
    all
}

/// Bytes by name.
pub(super) fn ram(each: impl Iterator<Item = RamLedger>) -> RamLedger {
    let mut all = RamLedger::default();
    each.for_each(|ledger| all.add(&ledger));
    all
}

/// Sums and levels by name.
pub(super) fn counters(each: impl Iterator<Item = Vec<Counter>>) -> Vec<Counter> {
    let mut all = Vec::<Counter>::new();
    for counter in each.flatten() {
        match all.iter_mut().find(|of| of.name == counter.name) {
            Some(of) => {
                debug_assert_eq!(of.is_level, counter.is_level, "{} is a level on one channel alone", counter.name);
                of.value += counter.value;
            }
            None => all.push(counter),
        }
    }
    all
}

/// Recoveries side by side after `first`. Operations are sums. Times are those of the recovery that was ready last, so
/// that they add up to the drive's time.
pub(super) fn reports(first: RecoveryReport, each: Vec<RecoveryReport>) -> RecoveryReport {
    debug_assert!(
        each.iter().all(|report| report.done >= first.done),
        "a channel is up before its description is found"
    );
    let done = each.iter().map(|report| report.done).max().unwrap_or(first.done);
    let last = each.iter().position(|report| report.done == done);
    let mut all = RecoveryReport { bound: RecoveryBound { reads: 0, spare_reads: 0, programs: 0 }, done, ..first };
    let described = all.steps.len();
    for (n, report) in each.into_iter().enumerate() {
        for step in report.steps {
            let at = match all.steps.iter().skip(described).position(|of| of.name == step.name) {
                Some(at) => described + at,
                None => {
                    all.steps.push(crate::RecoveryStep { reads: 0, spare_reads: 0, programs: 0, nanos: 0, ..step });
                    all.steps.len() - 1
                }
            };
            if let Some(of) = all.steps.get_mut(at) {
                of.reads += step.reads;
                of.spare_reads += step.spare_reads;
                of.programs += step.programs;
                if last == Some(n) {
                    of.nanos = step.nanos;
                }
            }
        }
        all.bound.reads += report.bound.reads;
        all.bound.spare_reads += report.bound.spare_reads;
        all.bound.programs += report.bound.programs;
        all.scratch_bytes += report.scratch_bytes;
        all.lost_entries += report.lost_entries;
        all.last_pages += report.last_pages;
        all.last_pages_bad += report.last_pages_bad;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecoveryStep;
    use phelsuma_nand::Time;

    #[test]
    fn recoveries_side_by_side_take_as_long_as_the_longest_and_do_what_all_do() {
        let step = |name, reads, nanos| RecoveryStep { name, reads, spare_reads: 2 * reads, programs: 1, nanos };
        let bound = |reads| RecoveryBound { reads, spare_reads: 10 * reads, programs: 100 * reads };
        let report = |reads, nanos: [u64; 2]| RecoveryReport {
            steps: vec![step("map", reads, nanos[0]), step("log", 1, nanos[1])],
            bound: bound(reads + 1),
            done: Time(5 + nanos[0] + nanos[1]),
            scratch_bytes: reads,
            last_pages: 2,
            last_pages_bad: 1,
            lost_entries: 3,
            battery_saved: None,
        };
        let first = RecoveryReport { steps: vec![step("description", 2, 5)], done: Time(5), ..Default::default() };
        let all = reports(first, vec![report(10, [7, 1]), report(20, [6, 4]), report(30, [5, 1])]);
        let map = RecoveryStep { name: "map", reads: 60, spare_reads: 120, programs: 3, nanos: 6 };
        let log = RecoveryStep { name: "log", reads: 3, spare_reads: 6, programs: 3, nanos: 4 };
        assert_eq!(all.steps, [step("description", 2, 5), map, log]);
        assert_eq!((all.done, all.bound), (Time(15), bound(63)));
        assert_eq!(all.steps.iter().map(|step| step.nanos).sum::<u64>(), all.done.0);
        assert_eq!((all.scratch_bytes, all.last_pages, all.last_pages_bad, all.lost_entries), (60, 6, 3, 9));
    }
}
