//! NTFS's allocator: extents by best fit.
//!
//! B. Carrier found it so on Windows XP ("File System Forensic Analysis", 2005, chapter 11). A file gets the smallest
//! free extent that holds it. Where none does, it gets the largest there is. The rest is then placed in the same way:
//! contiguous as far as that can be.

use std::collections::{BTreeMap, BTreeSet};

use super::volume::Run;

/// Free extents, none of which touches another.
#[derive(Debug, Clone)]
pub(super) struct BestFit {
    /// First cluster → clusters.
    by_place: BTreeMap<u32, u32>,
    /// Clusters, first cluster.
    by_size: BTreeSet<(u32, u32)>,
    free: u32,
}

impl BestFit {
    /// One free extent.
    pub(super) fn new(all: Run) -> Self {
        let mut volume = BestFit { by_place: BTreeMap::new(), by_size: BTreeSet::new(), free: 0 };
        volume.give(all);
        volume
    }

    /// How many clusters are free.
    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// So many clusters, in as few extents as best fit gives; none if there are not so many.
    pub(super) fn take(&mut self, clusters: u32) -> Option<Vec<Run>> {
        if clusters > self.free {
            return None;
        }
        let mut taken = Vec::new();
        let mut left = clusters;
        while left > 0 {
            let fitting = self.by_size.range((left, 0)..).next().or_else(|| self.by_size.last());
            let &(length, first) = fitting?;
            self.forget(first, length);
            let run = Run { first, clusters: length.min(left) };
            if length > left {
                self.note(run.end(), length - left);
            }
            taken.push(run);
            left -= run.clusters;
        }
        self.free -= clusters;
        Some(taken)
    }

    /// Gives an extent back that is not free; it joins its neighbours.
    pub(super) fn give(&mut self, run: Run) {
        if run.clusters == 0 {
            return;
        }
        let (mut first, mut end) = (run.first, run.end());
        if let Some((&before, &length)) = self.by_place.range(..end).next_back() {
            assert!(before + length <= first, "a cluster is given back twice");
            if before + length == first {
                self.forget(before, length);
                first = before;
            }
        }
        if let Some(&length) = self.by_place.get(&end) {
            self.forget(end, length);
            end += length;
        }
        self.note(first, end - first);
        self.free += run.clusters;
    }

    fn note(&mut self, first: u32, clusters: u32) {
        self.by_place.insert(first, clusters);
        self.by_size.insert((clusters, first));
    }

    fn forget(&mut self, first: u32, clusters: u32) {
        self.by_place.remove(&first);
        self.by_size.remove(&(clusters, first));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_gets_the_smallest_extent_that_holds_it_whole() {
        let mut volume = BestFit::new(Run { first: 0, clusters: 100 });
        assert_eq!(volume.take(50), Some(vec![Run { first: 0, clusters: 50 }]));
        volume.give(Run { first: 0, clusters: 10 });
        volume.give(Run { first: 20, clusters: 5 });
        assert_eq!(volume.take(4), Some(vec![Run { first: 20, clusters: 4 }]));
        assert_eq!(volume.take(8), Some(vec![Run { first: 0, clusters: 8 }]));
        let rest = [Run { first: 50, clusters: 50 }, Run { first: 8, clusters: 2 }];
        assert_eq!(volume.take(52), Some(rest.to_vec()), "none holds it whole: the largest first, then what fits");
        assert_eq!(volume.take(2), None);
        assert_eq!(volume.take(1), Some(vec![Run { first: 24, clusters: 1 }]));
    }

    proptest! {
        #[test]
        fn no_cluster_is_handed_out_twice_none_is_lost_and_neighbours_join(
            clusters in 1u32..300,
            steps in prop::collection::vec((any::<bool>(), 1u32..60, any::<prop::sample::Index>()), 1..200),
        ) {
            let mut volume = BestFit::new(Run { first: 0, clusters });
            let mut owned = vec![false; clusters as usize];
            let mut files: Vec<Vec<Run>> = Vec::new();
            for (take, wanted, which) in steps {
                if take {
                    let free = volume.free();
                    let Some(runs) = volume.take(wanted) else {
                        prop_assert!(free < wanted);
                        continue;
                    };
                    prop_assert_eq!(runs.iter().map(|run| run.clusters).sum::<u32>(), wanted);
                    for cluster in runs.iter().flat_map(|run| run.first..run.end()) {
                        prop_assert!(!std::mem::replace(&mut owned[cluster as usize], true), "{cluster} twice");
                    }
                    files.push(runs);
                } else if !files.is_empty() {
                    for run in files.swap_remove(which.index(files.len())) {
                        owned[run.first as usize..run.end() as usize].fill(false);
                        volume.give(run);
                    }
                }
                let free = owned.iter().filter(|&&owned| !owned).count();
                prop_assert_eq!(volume.free() as usize, free);
                let extents = owned.chunk_by(|a, b| a == b).filter(|extent| !extent[0]).count();
                prop_assert_eq!(volume.by_place.len(), extents, "an extent in two pieces");
                prop_assert_eq!(volume.by_size.len(), extents);
            }
        }
    }
}
