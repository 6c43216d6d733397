//! Where the power is cut, and which thread cuts it there.

use super::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// At how many operations of the preconditioning the power is cut, at the most: the sweep is of the workload.
const PRECONDITIONING_POINTS_MAX: u32 = 32;
/// And at no more than one in so many of a given number of cut points.
const PRECONDITIONING_SHARE: u32 = 8;

/// Where the power is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Points {
    /// At every program and erase of the workload, and at a few of the preconditioning.
    Every,
    /// At so many, spread evenly over the workload, an eighth of them over the preconditioning (but 32 at the most).
    Some(u32),
    /// In this branch alone.
    Replay(Path),
}

/// How many programs and erases there are to cut at. They are numbered from 0, the preconditioning first.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Operations {
    pub(crate) preconditioning: u32,
    pub(crate) workload: u32,
}

/// The operations at which the power is cut, in order, with the first that no thread has taken yet.
///
/// Every thread runs the whole workload and so comes by every operation in order. The first to come by takes it.
#[derive(Debug)]
pub(crate) struct CutPoints {
    points: Vec<u32>,
    preconditioning: u32,
    next: AtomicUsize,
}

impl CutPoints {
    pub(crate) fn new(points: &Points, operations: Operations) -> Self {
        let Operations { preconditioning: before, workload } = operations;
        let (sparse, of_workload) = match points {
            Points::Every => (PRECONDITIONING_POINTS_MAX.min(before), workload),
            Points::Some(n) => {
                let sparse = (n / PRECONDITIONING_SHARE).min(PRECONDITIONING_POINTS_MAX).min(before);
                (sparse, (n - sparse).min(workload))
            }
            Points::Replay(path) => {
                let point = path.0.first().map(|cut| cut.operation).filter(|o| *o < before + workload);
                let preconditioning = u32::from(point.is_some_and(|o| o < before));
                return Self { points: point.into_iter().collect(), preconditioning, next: AtomicUsize::new(0) };
            }
        };
        let points = spread(0, before, sparse).chain(spread(before, workload, of_workload)).collect();
        Self { points, preconditioning: sparse, next: AtomicUsize::new(0) }
    }

    /// At these.
    pub(crate) fn at(operations: std::ops::Range<u32>) -> Self {
        Self { points: operations.collect(), preconditioning: 0, next: AtomicUsize::new(0) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.points.len() as u32
    }

    /// How many of them lie in the preconditioning.
    pub(crate) fn of_preconditioning(&self) -> u32 {
        self.preconditioning
    }

    /// Whether the thread that comes by `operation` is to cut there.
    pub(crate) fn take(&self, operation: u32) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        // What lies before `operation` is taken: this thread came by there as well.
        debug_assert!(self.points.get(next).is_none_or(|point| *point >= operation));
        self.points.get(next) == Some(&operation)
            && self.next.compare_exchange(next, next + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// `n` of the `of` operations from `first` on.
fn spread(first: u32, of: u32, n: u32) -> impl Iterator<Item = u32> {
    (0..n).map(move |k| first + (u64::from(k) * u64::from(of) / u64::from(n)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATIONS: Operations = Operations { preconditioning: 1_000, workload: 300 };

    fn points(points: &Points) -> Vec<u32> {
        CutPoints::new(points, OPERATIONS).points
    }

    #[test]
    fn every_operation_of_the_workload_is_cut_and_a_few_of_the_preconditioning() {
        let every = points(&Points::Every);
        assert_eq!(every.len(), 32 + 300);
        assert!(every.is_sorted_by(|a, b| a < b));
        assert_eq!(every[32..], (1_000..1_300).collect::<Vec<_>>());
        assert_eq!(points(&Points::Some(u32::MAX)), every);
    }

    #[test]
    fn so_many_points_are_so_many_and_most_of_them_are_in_the_workload() {
        for n in [1, 7, 8, 80, 300] {
            let some = CutPoints::new(&Points::Some(n), OPERATIONS);
            assert_eq!(some.count(), n);
            assert!(some.points.is_sorted_by(|a, b| a < b));
            assert_eq!(some.points.iter().filter(|o| **o < 1_000).count() as u32, some.of_preconditioning());
            assert!(some.of_preconditioning() <= n / 8);
        }
    }

    #[test]
    fn an_id_is_looked_for_in_the_preconditioning_as_well() {
        let replay = |id: &str| points(&Points::Replay(id.parse().unwrap()));
        assert_eq!(replay("3.torn-seen"), [3]);
        assert_eq!(replay("1299.torn-seen/2.unstable"), [1299]);
        assert!(replay("1300.torn-seen").is_empty());
    }

    #[test]
    fn each_point_is_taken_by_one_thread() {
        let cut_points = CutPoints::new(&Points::Every, OPERATIONS);
        let taken = std::thread::scope(|scope| {
            let come_by = || (0..1_300).filter(|o| cut_points.take(*o)).collect::<Vec<_>>();
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(come_by)).collect();
            let mut taken: Vec<u32> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
            taken.sort_unstable();
            taken
        });
        assert_eq!(taken, cut_points.points);
    }
}
