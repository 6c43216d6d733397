//! Merge versions in RAM: of the logical blocks that have live pages in log blocks, and of no others.
//!
//! A map page has a merge version for each logical block ([`data_map`](super::data_map)): its pages in log blocks whose
//! version is not higher are stale. Any *bound* does as well that is not lower than the version of the last merge, and
//! lower than that of every live page in a log block. So RAM need not know the merge version of a logical block:
//!
//! - **With live pages in log blocks** the bound is kept here. It is taken when the first of them is written: the
//!   version right before that page's. A merge raises it to its own version.
//! - **Without any, but with trims** that no merge has carried out, the entry in the table of trims has the bound. It is
//!   lower than the versions of all of these trims, or a recovery would take them for carried out
//!   ([`trims`](super::trims)).
//! - **Of all others** everything written so far is stale or stands in the data block. The bound is the drive's clock.
//!
//! A recovery needs the versions that stand on flash, for it finds out which pages are live by them. It holds them all
//! until the drive is mounted.

use super::log_state::NONE;
use super::probing::Probing;
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// A version takes 48 bits on flash as well.
type Packed = [u8; 6];

#[derive(Clone, Debug, Preserve)]
pub(super) struct MergeVersions {
    /// By bucket: the logical block; [`NONE`] where the bucket is empty.
    keys: Vec<u32>,
    versions: Vec<Packed>,
    len: usize,
    probing: Probing,
}

impl MergeVersions {
    /// For so many logical blocks. One more bucket stays empty.
    pub(super) fn new(most: usize) -> Self {
        let buckets = most + 1;
        Self {
            keys: vec![NONE; buckets],
            versions: vec![Packed::default(); buckets],
            len: 0,
            probing: Probing::new(buckets),
        }
    }

    #[inline]
    fn key_in(&self, bucket: usize) -> Option<u32> {
        Some(self.keys[bucket]).filter(|key| *key != NONE)
    }

    #[inline]
    fn search(&self, logical_block: u32) -> (usize, bool) {
        self.probing.search(logical_block, |bucket| self.key_in(bucket))
    }

    #[inline]
    pub(super) fn get(&self, logical_block: u32) -> Option<u64> {
        let (bucket, found) = self.search(logical_block);
        let b = self.versions[bucket];
        found.then(|| u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], 0, 0]))
    }

    /// Keeps the bound of a logical block from now on, or another one.
    pub(super) fn set(&mut self, logical_block: u32, version: u64) {
        debug_assert!(version >> 48 == 0, "there are six bytes for version {version}");
        if self.len + 1 >= self.keys.len() && !self.search(logical_block).1 {
            // A recovery has found more log blocks than there are otherwise.
            self.grow();
        }
        let (bucket, found) = self.search(logical_block);
        self.len += usize::from(!found);
        self.keys[bucket] = logical_block;
        self.versions[bucket].copy_from_slice(&version.to_le_bytes()[..6]);
    }

    /// A logical block has no live pages in log blocks any more.
    pub(super) fn remove(&mut self, logical_block: u32) {
        let (mut hole, found) = self.search(logical_block);
        if !found {
            return;
        }
        self.len -= 1;
        // What stands behind moves up where a search would not find it any more.
        while let Some(from) = self.probing.moves_to(hole, |bucket| self.key_in(bucket)) {
            self.keys[hole] = self.keys[from];
            self.versions[hole] = self.versions[from];
            hole = from;
        }
        self.keys[hole] = NONE;
    }

    fn grow(&mut self) {
        let mut larger = Self::new(2 * self.keys.len());
        for key in self.keys.iter().copied().filter(|key| *key != NONE) {
            if let Some(version) = self.get(key) {
                larger.set(key, version);
            }
        }
        *self = larger;
    }

    /// As packed: a logical block's number, of so many bits, and a version. And what it takes.
    pub(super) fn ram(&self, block_bits: u64, ledger: &mut RamLedger) -> u64 {
        let packed = (self.keys.len() as u64 * (block_bits + 48)).div_ceil(8);
        ledger.structure("data.merge_versions", packed);
        (self.keys.capacity() * 4 + self.versions.capacity() * size_of::<Packed>()) as u64 - packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    #[test]
    fn the_table_says_what_a_map_says_and_grows_where_it_must() {
        let mut versions = MergeVersions::new(3);
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        let mut random = 1u64;
        for round in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let logical_block = (random >> 40) as u32 % 50;
            // Few for a while, then many.
            if random >> 61 < if round < 2_000 { 2 } else { 5 } {
                versions.set(logical_block, random >> 16);
                model.insert(logical_block, random >> 16);
            } else {
                versions.remove(logical_block);
                model.remove(&logical_block);
            }
            assert!((0..50).all(|lb| versions.get(lb) == model.get(&lb).copied()), "round {round}");
        }
    }
}
