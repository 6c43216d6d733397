//! FAT's allocator: the next free cluster behind the one that was handed out last.
//!
//! Microsoft's specification has FSInfo's field `FSI_Nxt_Free` for it. It is "the cluster number at which the driver
//! should start looking for free clusters", typically the last one allocated. So a volume is filled from front to back,
//! and then from the front again through deleted clusters.

use super::volume::Run;

const WORD_BITS: u32 = u64::BITS;

/// Which clusters are in use, a bit each.
#[derive(Debug, Clone)]
pub(super) struct NextFree {
    /// A set bit is a cluster in use; so are those behind the last one.
    used: Vec<u64>,
    clusters: u32,
    free: u32,
    next: u32,
}

impl NextFree {
    /// All of them free.
    pub(super) fn new(clusters: u32) -> Self {
        let mut used = vec![0; clusters.div_ceil(WORD_BITS) as usize];
        if let Some(last) = used.last_mut().filter(|_| !clusters.is_multiple_of(WORD_BITS)) {
            *last = u64::MAX << (clusters % WORD_BITS);
        }
        NextFree { used, clusters, free: clusters, next: 0 }
    }

    /// How many are free.
    #[cfg(test)]
    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// The next free clusters that lie side by side, at most so many, at least one; none where all are in use.
    pub(super) fn take(&mut self, most: u32) -> Option<Run> {
        if self.free == 0 || most == 0 {
            return None;
        }
        let first = self.find(self.next, false).or_else(|| self.find(0, false))?;
        let end = self.find(first, true).unwrap_or(self.clusters).min(first.saturating_add(most));
        let run = Run { first, clusters: end - first };
        self.set(run, true);
        self.next = end;
        Some(run)
    }

    /// Gives clusters back that are in use.
    pub(super) fn give(&mut self, run: Run) {
        self.set(run, false);
    }

    /// The first cluster from `from` on that is in use, or is not.
    fn find(&self, from: u32, used: bool) -> Option<u32> {
        let mut mask = u64::MAX << (from % WORD_BITS);
        for (index, &word) in self.used.iter().enumerate().skip((from / WORD_BITS) as usize) {
            let wanted = mask & if used { word } else { !word };
            if wanted != 0 {
                // As many words as clusters have 32 bits.
                return Some(index as u32 * WORD_BITS + wanted.trailing_zeros()).filter(|&at| at < self.clusters);
            }
            mask = u64::MAX;
        }
        None
    }

    /// Marks clusters, all of which are marked otherwise.
    fn set(&mut self, run: Run, used: bool) {
        assert!(run.end() <= self.clusters, "clusters behind the end of the volume");
        let mut at = run.first;
        while at < run.end() {
            let bits = (WORD_BITS - at % WORD_BITS).min(run.end() - at);
            let mask = (u64::MAX >> (WORD_BITS - bits)) << (at % WORD_BITS);
            if let Some(word) = self.used.get_mut((at / WORD_BITS) as usize) {
                assert_eq!(*word & mask, if used { 0 } else { mask }, "a cluster is handed out or given back twice");
                *word ^= mask;
            }
            at += bits;
        }
        self.free = if used { self.free - run.clusters } else { self.free + run.clusters };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_goes_on_behind_the_last_one_and_comes_back_to_what_was_freed() {
        let mut volume = NextFree::new(100);
        assert_eq!(volume.take(40), Some(Run { first: 0, clusters: 40 }));
        assert_eq!(volume.take(40), Some(Run { first: 40, clusters: 40 }));
        volume.give(Run { first: 10, clusters: 5 });
        assert_eq!(volume.take(40), Some(Run { first: 80, clusters: 20 }), "not what is free in front of it");
        assert_eq!(volume.take(40), Some(Run { first: 10, clusters: 5 }));
        assert_eq!(volume.take(1), None);
    }

    proptest! {
        #[test]
        fn no_cluster_is_handed_out_twice_and_none_is_lost(
            clusters in 1u32..300,
            steps in prop::collection::vec((any::<bool>(), 1u32..100, any::<prop::sample::Index>()), 1..200),
        ) {
            let mut volume = NextFree::new(clusters);
            let mut owned = vec![false; clusters as usize];
            let mut runs: Vec<Run> = Vec::new();
            for (take, most, which) in steps {
                if take {
                    let Some(run) = volume.take(most) else {
                        prop_assert!(owned.iter().all(|&owned| owned), "refused while there are free ones");
                        continue;
                    };
                    prop_assert!(run.clusters >= 1 && run.clusters <= most);
                    for cluster in run.first..run.end() {
                        prop_assert!(!std::mem::replace(&mut owned[cluster as usize], true), "{cluster} twice");
                    }
                    runs.push(run);
                } else if !runs.is_empty() {
                    let run = runs.swap_remove(which.index(runs.len()));
                    owned[run.first as usize..run.end() as usize].fill(false);
                    volume.give(run);
                }
                prop_assert_eq!(volume.free() as usize, owned.iter().filter(|&&owned| !owned).count());
            }
        }
    }
}
