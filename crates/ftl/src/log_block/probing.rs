//! Linear probing: for both tables of LAST++'s log blocks' pages (LAST++ section 4.6.1), and for merge versions.
//!
//! How a bucket is searched for, and how the one of a key that goes is closed.
//!
//! What stands in a bucket is its table's business: a table says which key that is, none where the bucket is empty. One
//! bucket is always empty, so a search ends.

use core::cell::Cell;
use phelsuma_nand::state::Preserve;

#[derive(Clone, Debug, Preserve)]
pub(super) struct Probing {
    buckets: usize,
    /// Searches, and buckets that they looked at.
    lookups: Cell<u64>,
    probes: Cell<u64>,
}

impl Probing {
    pub(super) fn new(buckets: usize) -> Self {
        Self { buckets, lookups: Cell::new(0), probes: Cell::new(0) }
    }

    /// The bucket that a key goes to if nothing else has it.
    #[inline]
    fn home(&self, key: u32) -> usize {
        let spread = u64::from(key.wrapping_mul(0x9e37_79b1));
        ((spread * self.buckets as u64) >> 32) as usize
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets { 0 } else { bucket + 1 }
    }

    /// The bucket of a key and whether it is there: if not, it is the empty one where it would go.
    #[inline]
    pub(super) fn search(&self, key: u32, key_in: impl Fn(usize) -> Option<u32>) -> (usize, bool) {
        let (mut bucket, mut probes) = (self.home(key), 1);
        let found = loop {
            match key_in(bucket) {
                None => break false,
                Some(other) if other == key => break true,
                Some(_) => {
                    debug_assert!(probes <= self.buckets as u64, "every bucket is taken");
                    bucket = self.next(bucket);
                    probes += 1;
                }
            }
        };
        self.lookups.set(self.lookups.get() + 1);
        self.probes.set(self.probes.get() + probes);
        (bucket, found)
    }

    /// The bucket `hole` is being emptied: the first one behind it that has to move there, since a search would not
    /// find its key any more. It is a hole then itself; where there is none, the hole may stay one.
    #[inline]
    pub(super) fn moves_to(&self, hole: usize, key_in: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        let mut bucket = self.next(hole);
        while let Some(key) = key_in(bucket) {
            if !is_between(hole, self.home(key), bucket) {
                return Some(bucket);
            }
            bucket = self.next(bucket);
        }
        None
    }

    pub(super) fn lookups_and_probes(&self) -> (u64, u64) {
        (self.lookups.get(), self.probes.get())
    }
}

/// Whether a home is behind a hole, and no further than the bucket that its key stands in: behind the last bucket comes
/// the first.
#[inline]
fn is_between(hole: usize, home: usize, bucket: usize) -> bool {
    if hole < bucket { hole < home && home <= bucket } else { hole < home || home <= bucket }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_whichever_went_before_them() {
        // Five keys in eight buckets, in every order of two that go.
        let keys = [3, 19, 400, 5, 77];
        for (first, second) in (0..5).flat_map(|a| (0..5).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let probing = Probing::new(8);
            let mut buckets = [None; 8];
            for key in keys {
                let (bucket, found) = probing.search(key, |bucket| buckets[bucket]);
                assert!(!found);
                buckets[bucket] = Some(key);
            }
            for gone in [first, second] {
                let (mut hole, found) = probing.search(keys[gone], |bucket| buckets[bucket]);
                assert!(found);
                while let Some(from) = probing.moves_to(hole, |bucket| buckets[bucket]) {
                    buckets[hole] = buckets[from];
                    hole = from;
                }
                buckets[hole] = None;
            }
            for (n, key) in keys.into_iter().enumerate() {
                let (_, found) = probing.search(key, |bucket| buckets[bucket]);
                assert_eq!(found, n != first && n != second, "{key} after {first} and {second}");
            }
        }
    }

    #[test]
    fn behind_the_last_bucket_comes_the_first() {
        assert!(is_between(2, 4, 5) && is_between(2, 5, 5) && !is_between(2, 2, 5) && !is_between(2, 6, 5));
        assert!(is_between(6, 7, 1) && is_between(6, 0, 1) && is_between(6, 1, 1));
        assert!(!is_between(6, 6, 1) && !is_between(6, 3, 1));
    }
}
