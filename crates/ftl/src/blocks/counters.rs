//! Live pages by block, and which blocks are candidates for collection.

use crate::RamLedger;
use crate::page_mapped::saved::Saved;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;

/// Set in a block's key while the block is no candidate: free, open, bad, or being collected.
const NO_CANDIDATE: u16 = 0x8000;

/// Two bytes a block: how many of its pages are live, and whether it may be collected. The keys of candidates are
/// smaller than those of all others, so the least key is greedy's victim.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    keys: Vec<u16>,
    /// After a recovery that reported stale pages without knowing whether they were reported before (GeckoFTL appendix
    /// C.3.2): blocks may have more live pages than counted. A collection asks validity, so it is a hint that is off.
    pub(crate) may_be_low: bool,
}

impl Counters {
    pub(crate) fn new(blocks: u32) -> Self {
        Self { keys: vec![NO_CANDIDATE; blocks as usize], may_be_low: false }
    }

    /// All keys, by block.
    #[inline]
    pub(crate) fn keys(&self) -> &[u16] {
        &self.keys
    }

    #[inline]
    pub(crate) fn is_candidate_key(key: u16) -> bool {
        key & NO_CANDIDATE == 0
    }

    #[inline]
    pub(crate) fn is_candidate(&self, block: Block) -> bool {
        Self::is_candidate_key(self.keys[block.index()])
    }

    /// Live pages of `block`.
    #[inline]
    pub(crate) fn live(&self, block: Block) -> u16 {
        self.keys[block.index()] & !NO_CANDIDATE
    }

    #[inline]
    pub(crate) fn add(&mut self, block: Block) {
        self.keys[block.index()] += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, block: Block) {
        debug_assert!(self.live(block) > 0 || self.may_be_low, "{block} has no live page to lose");
        if !self.may_be_low || self.live(block) > 0 {
            self.keys[block.index()] -= 1;
        }
    }

    /// The block has so many live pages.
    pub(crate) fn set(&mut self, block: Block, live: u16) {
        let key = &mut self.keys[block.index()];
        *key = *key & NO_CANDIDATE | live;
    }

    pub(crate) fn set_candidate(&mut self, block: Block, candidate: bool) {
        let key = &mut self.keys[block.index()];
        *key = *key & !NO_CANDIDATE | if candidate { 0 } else { NO_CANDIDATE };
    }

    /// The candidate with the fewest live pages, by looking at all of them. For emergencies: what a policy's own index
    /// would answer at once.
    pub(crate) fn least_by_scan(&self) -> Option<Block> {
        let (at, key) = self.keys.iter().enumerate().min_by_key(|(_, k)| **k)?;
        Self::is_candidate_key(*key).then_some(Block(at as u32))
    }

    /// The candidate with the fewest live pages of those that `wanted` takes, by looking at all of them.
    pub(crate) fn least_of(&self, wanted: impl Fn(Block, u16) -> bool) -> Option<Block> {
        let keys = self.keys.iter().enumerate().map(|(at, key)| (Block(at as u32), *key));
        let candidates = keys.filter(|(block, key)| Self::is_candidate_key(*key) && wanted(*block, *key));
        candidates.min_by_key(|(_, key)| *key).map(|(block, _)| block)
    }

    /// Live pages of the whole drive, by looking at all blocks.
    pub(crate) fn live_total(&self) -> u64 {
        self.keys.iter().map(|k| u64::from(*k & !NO_CANDIDATE)).sum()
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("blocks.counters", self.keys.len() as u64 * 2);
    }
}

impl Saved for Counters {
    fn saved_bytes(&self) -> u64 {
        self.keys.len() as u64 * 2
    }

    fn save(&self, from: u64, page: &mut [u8]) {
        page.fill(0);
        for (key, to) in self.keys.iter().skip(from as usize / 2).zip(page.chunks_exact_mut(2)) {
            to.copy_from_slice(&(key & !NO_CANDIDATE).to_le_bytes());
        }
    }

    fn restore(&mut self, from: u64, page: &[u8]) {
        for (key, bytes) in self.keys.iter_mut().skip(from as usize / 2).zip(page.chunks_exact(2)) {
            *key = *key & NO_CANDIDATE | u16::from_le_bytes([bytes[0], bytes[1]]) & !NO_CANDIDATE;
        }
    }
}
