//! Merging: branches with equal flash and equal expectations are checked once.
//!
//! So is what follows once a branch has mounted and shown its pages.
//!
//! A report must not depend on which thread came first. So only one thing depends on the order: whether the work is
//! still to be done. Of the ways to a branch the least is kept. A failure is kept with the state it was found in and
//! not with the branch that happened to be checked. Ids are made of that at the end, when all ways have been found.

use super::failure::Failure;
use super::path::{Cut, Fault, Path};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A key under which equal branches meet: of flash and expectations.
pub(crate) type Key = u128;

/// Where the power was on and nothing was cut yet.
const WORKLOAD: Key = 0;
const SHARDS: usize = 64;

/// The last cut on a way to a branch, and the branch it was made in. Ordered: fewer cuts are less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Step {
    /// How many cuts the way has.
    cuts: u8,
    operation: u32,
    /// A number among the experiment's faults.
    fault: u8,
    beside: u16,
    from: Key,
}

/// A way to a branch while it is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    pub(crate) cuts: u8,
    pub(crate) key: Key,
}

impl Way {
    /// No cut yet.
    pub(crate) const BEGIN: Self = Self { cuts: 0, key: WORKLOAD };

    /// One more cut.
    pub(crate) fn step(self, operation: u32, fault: usize, beside: u16) -> Step {
        Step { cuts: self.cuts + 1, operation, fault: fault as u8, beside, from: self.key }
    }
}

impl Step {
    /// The way that ends with this step, in the branch with this key.
    pub(crate) fn to(self, key: Key) -> Way {
        Way { cuts: self.cuts, key }
    }
}

/// A branch that was reached.
struct Branch {
    least: Step,
    /// Its result when it had mounted and shown its pages.
    settled: Option<Key>,
}

#[derive(Default)]
struct Shard {
    branches: FxHashMap<Key, Branch>,
    /// Branches whose recovery was cut, and how many more cuts that allowed.
    expanded: FxHashSet<(Key, u32)>,
    /// Flash and pages shown of branches that mounted.
    settled: FxHashSet<Key>,
    /// The failure of a branch up to there.
    failed: FxHashMap<Key, Failure>,
    /// The failure from there on.
    failed_settled: FxHashMap<Key, Failure>,
}

/// The work left in a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ToDo {
    pub(crate) check: bool,
    pub(crate) expand: bool,
}

/// All branches so far.
pub(crate) struct Seen(Vec<Mutex<Shard>>);

impl Seen {
    pub(crate) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, Shard> {
        self.0[(key >> 64) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step leads to the branch `key`, in whose recovery `depth` more cuts are allowed.
    pub(crate) fn reach(&self, key: Key, step: Step, depth: u32) -> ToDo {
        let mut shard = self.shard(key);
        let check = !shard.branches.contains_key(&key);
        let branch = shard.branches.entry(key).or_insert(Branch { least: step, settled: None });
        branch.least = branch.least.min(step);
        ToDo { check, expand: depth > 0 && shard.expanded.insert((key, depth)) }
    }

    /// The branch `key` mounted and shows what makes it `settled`; whether another got there before.
    pub(crate) fn settle(&self, key: Key, settled: Key) -> bool {
        if let Some(branch) = self.shard(key).branches.get_mut(&key) {
            branch.settled = Some(settled);
        }
        !self.shard(settled).settled.insert(settled)
    }

    /// The branch `key` failed, before or after it settled.
    pub(crate) fn fail(&self, key: Key, settled: Option<Key>, failure: Failure) {
        let mut shard = self.shard(settled.unwrap_or(key));
        let failed = match settled {
            None => shard.failed.entry(key),
            Some(settled) => shard.failed_settled.entry(settled),
        };
        // Where several fail there it does not depend on threads which of them is reported.
        failed.and_modify(|known| *known = known.clone().min(failure.clone())).or_insert(failure);
    }

    /// The workload failed without any cuts but its own.
    pub(crate) fn fail_uncut(&self, failure: Failure) {
        self.fail(WORKLOAD, None, failure);
    }

    /// What failed, each state once with the least path that leads there: fewest cuts first, then the earliest.
    pub(crate) fn failures(&self, faults: &[Fault]) -> Vec<(Path, Failure)> {
        let mut failed: Vec<(Key, Failure)> = Vec::new();
        let mut failed_settled: FxHashMap<Key, (Failure, Option<(Step, Key)>)> = FxHashMap::default();
        for shard in &self.0 {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            failed.extend(shard.failed.iter().map(|(key, failure)| (*key, failure.clone())));
            failed_settled.extend(shard.failed_settled.iter().map(|(key, failure)| (*key, (failure.clone(), None))));
        }
        if !failed_settled.is_empty() {
            for shard in &self.0 {
                let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
                for (key, branch) in &shard.branches {
                    if let Some((_, least)) = branch.settled.and_then(|settled| failed_settled.get_mut(&settled)) {
                        let way = (branch.least, *key);
                        *least = Some(least.map_or(way, |least| least.min(way)));
                    }
                }
            }
        }
        let settled = failed_settled.into_values().filter_map(|(failure, least)| Some((least?.1, failure)));
        let mut found: Vec<(Path, Failure)> =
            failed.into_iter().chain(settled).map(|(key, failure)| (self.path(key, faults), failure)).collect();
        found.sort_by(|(a, f), (b, g)| (a.0.len(), a, f).cmp(&(b.0.len(), b, g)));
        found
    }

    /// The cuts that lead to a branch, by the least step to each on the way. Each has fewer cuts than the one after it,
    /// so this ends.
    fn path(&self, mut key: Key, faults: &[Fault]) -> Path {
        let mut cuts = Vec::new();
        let mut before = u8::MAX;
        while key != WORKLOAD {
            let Some(step) = self.shard(key).branches.get(&key).map(|b| b.least).filter(|s| s.cuts < before) else {
                debug_assert!(false, "a branch that no way leads to");
                break;
            };
            let fault = faults.get(usize::from(step.fault)).map_or("?", |f| f.name());
            cuts.push(Cut { operation: step.operation, fault, beside: step.beside });
            (key, before) = (step.from, step.cuts);
        }
        cuts.reverse();
        Path(cuts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::FailureKind;
    use super::*;

    fn failure(message: &str) -> Failure {
        Failure { kind: FailureKind::Lost, message: message.into() }
    }

    fn ids(seen: &Seen) -> Vec<String> {
        seen.failures(&Fault::all()).iter().map(|(path, failure)| format!("{path} {}", failure.message)).collect()
    }

    #[test]
    fn a_branch_is_checked_once_and_cut_once_at_each_depth() {
        let seen = Seen::new();
        let todo = |check, expand| ToDo { check, expand };
        assert_eq!(seen.reach(7, Way::BEGIN.step(3, 0, 0), 1), todo(true, true));
        assert_eq!(seen.reach(7, Way::BEGIN.step(2, 0, 0), 1), todo(false, false));
        assert_eq!(seen.reach(7, Way::BEGIN.step(1, 0, 0), 2), todo(false, true));
        assert_eq!(seen.reach(7, Way::BEGIN.step(0, 0, 0), 0), todo(false, false));
    }

    #[test]
    fn a_failure_has_the_least_path_whoever_came_first() {
        let steps = [Way::BEGIN.step(9, 2, 0), Way::BEGIN.step(4, 2, 0), Way { cuts: 1, key: 5 }.step(0, 0, 0)];
        for order in [[0usize, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let seen = Seen::new();
            seen.reach(5, Way::BEGIN.step(1, 0, 0), 1);
            for n in order {
                seen.reach(7, steps[n], 0);
            }
            seen.fail(7, None, failure("gone"));
            assert_eq!(ids(&seen), ["4.torn-seen gone"]);
        }
    }

    #[test]
    fn a_nested_failure_has_the_least_path_to_the_branch_before_it_whoever_came_first() {
        for first in [30, 20] {
            let seen = Seen::new();
            let step = Way::BEGIN.step(first, 0, 0);
            seen.reach(5, step, 1);
            seen.reach(6, step.to(5).step(1, 6, 0), 0);
            seen.reach(5, Way::BEGIN.step(50 - first, 0, 0), 1);
            seen.fail(6, None, failure("gone"));
            assert_eq!(ids(&seen), ["20.not-started/1.unstable gone"]);
        }
    }

    #[test]
    fn a_failure_after_branches_have_joined_has_the_least_path_of_all_that_joined() {
        for order in [[7, 8], [8, 7]] {
            let seen = Seen::new();
            let joined = order.map(|key| {
                seen.reach(key, Way::BEGIN.step(key as u32, 2, 0), 0);
                seen.settle(key, 99)
            });
            assert_eq!(joined, [false, true]);
            seen.fail(order[0], Some(99), failure("gone"));
            assert_eq!(ids(&seen), ["7.torn-seen gone"]);
        }
    }
}
