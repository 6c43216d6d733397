//! Live pages by block, and which blocks are candidates for collection: of all blocks, or of a sample of them.

use super::sample::Sample;
use crate::RamLedger;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// Set in a block's key while the block is no candidate: free, open, bad, or being collected.
pub(super) const NO_CANDIDATE: u16 = 0x8000;

/// More live pages than any block has: those of a block that is not in the sample.
pub(crate) const NOT_COUNTED: u16 = 0x7fff;

/// Two bytes a block: how many of its pages are live, and whether it may be collected. The keys of candidates are
/// smaller than those of all others, so the least key is greedy's victim.
///
/// Where RAM holds a sample alone, there are no keys but while a recovery is at work, and being a candidate is the
/// business of `Blocks`.
#[derive(Clone, Debug, Preserve)]
pub struct Counters {
    keys: Vec<u16>,
    /// A recovery reported stale pages that may have been reported before (GeckoFTL appendix C.3.2). So blocks may have
    /// more live pages than counted. A collection queries validity, so only a hint is off.
    pub(crate) may_be_low: bool,
    /// The counts where not every block is counted.
    pub(super) sample: Option<Box<Sample>>,
}

impl Counters {
    pub(crate) fn new(blocks: u32) -> Self {
        Self { keys: vec![NO_CANDIDATE; blocks as usize], may_be_low: false, sample: None }
    }

    /// Counts from now on the blocks of this sample, and no others. Its counts so far are taken over.
    pub(super) fn keep(&mut self, sample: Sample) {
        debug_assert!(self.sample.is_none(), "a sample takes the place of another");
        self.sample = Some(Box::new(sample));
        self.keys = Vec::new();
    }

    /// The counts, where not every block is counted.
    pub(crate) fn sample(&self) -> Option<&Sample> {
        self.sample.as_deref()
    }

    /// All keys, by block; none where there is a sample.
    #[inline]
    pub fn keys(&self) -> &[u16] {
        &self.keys
    }

    /// Whether a block with this key may be collected; its key is how many live pages it has then.
    #[inline]
    pub fn is_candidate_key(key: u16) -> bool {
        key & NO_CANDIDATE == 0
    }

    /// Whether a block may be collected, where every block is counted.
    #[inline]
    pub fn is_candidate(&self, block: Block) -> bool {
        self.keys.get(block.index()).is_some_and(|key| Self::is_candidate_key(*key))
    }

    /// Live pages of `block`; more than any block has where they are not counted.
    #[inline]
    pub fn live(&self, block: Block) -> u16 {
        self.known(block).unwrap_or(NOT_COUNTED)
    }

    /// Live pages of `block`, if they are counted.
    #[inline]
    pub fn known(&self, block: Block) -> Option<u16> {
        match &self.sample {
            None => self.keys.get(block.index()).map(|key| key & !NO_CANDIDATE),
            Some(sample) => sample.known(block),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, block: Block) {
        match &mut self.sample {
            None => self.keys[block.index()] += 1,
            Some(sample) => sample.add(block),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, block: Block) {
        if let Some(sample) = &mut self.sample {
            return sample.remove(block, self.may_be_low);
        }
        debug_assert!(self.live(block) > 0 || self.may_be_low, "{block} has no live page to lose");
        if !self.may_be_low || self.live(block) > 0 {
            self.keys[block.index()] -= 1;
        }
    }

    /// The block, which is counted, has so many live pages.
    pub(crate) fn set(&mut self, block: Block, live: u16) {
        debug_assert!(live & NO_CANDIDATE == 0, "{block} has more live pages than any block");
        if let Some(sample) = &mut self.sample {
            return sample.set(block, live);
        }
        let key = &mut self.keys[block.index()];
        *key = *key & NO_CANDIDATE | live;
    }

    /// The block has been erased and is going to be written.
    #[inline]
    pub(super) fn opened(&mut self, block: Block) {
        if let Some(sample) = &mut self.sample {
            sample.count_besides(block, 0, false);
        }
    }

    /// The block is written.
    pub(super) fn closed(&mut self, block: Block, is_metadata: bool, candidate: bool) {
        match &mut self.sample {
            None => self.keys[block.index()] &= if candidate { !NO_CANDIDATE } else { u16::MAX },
            Some(sample) => sample.closed(block, is_metadata, candidate),
        }
    }

    /// The block is no candidate any more.
    pub(super) fn taken(&mut self, block: Block) {
        match &mut self.sample {
            None => self.keys[block.index()] |= NO_CANDIDATE,
            Some(sample) => sample.taken(block),
        }
    }

    /// Nothing in the block is live any more, and it is no candidate.
    pub(super) fn freed(&mut self, block: Block) {
        match &mut self.sample {
            None => self.keys[block.index()] |= NO_CANDIDATE,
            Some(sample) => sample.freed(block),
        }
    }

    /// The candidate with the fewest live pages of those that are counted, by looking at all of them. For emergencies:
    /// a policy's own index would give it at once. (A sample has one.)
    pub fn least_by_scan(&self) -> Option<Block> {
        if let Some(sample) = &self.sample {
            return sample.least();
        }
        let (at, key) = self.keys.iter().enumerate().min_by_key(|(_, k)| **k)?;
        Self::is_candidate_key(*key).then_some(Block(at as u32))
    }

    /// The candidate with the fewest live pages of those that `wanted` takes, by looking at all that are counted.
    pub(crate) fn least_of(&self, wanted: impl Fn(Block, u16) -> bool) -> Option<Block> {
        if let Some(sample) = &self.sample {
            return sample.least_of(wanted);
        }
        let keys = self.keys.iter().enumerate().map(|(at, key)| (Block(at as u32), *key));
        let candidates = keys.filter(|(block, key)| Self::is_candidate_key(*key) && wanted(*block, *key));
        candidates.min_by_key(|(_, key)| *key).map(|(block, _)| block)
    }

    /// Live pages of the whole drive, by looking at all blocks; a sample keeps their sum.
    pub(crate) fn live_total(&self) -> u64 {
        match &self.sample {
            None => self.keys.iter().map(|k| u64::from(*k & !NO_CANDIDATE)).sum(),
            Some(sample) => sample.total(),
        }
    }

    /// With counters of so many bytes, packed: here they take two.
    pub(crate) fn ram(&self, counter_bytes: u64, ledger: &mut RamLedger) {
        match &self.sample {
            None => {
                let blocks = self.keys.len() as u64;
                ledger.structure("blocks.counters", blocks * counter_bytes);
                ledger.index("index.block_counters", blocks * (2 - counter_bytes));
            }
            Some(sample) => sample.ram(ledger),
        }
    }
}
