//! Blocks of which a sample alone is counted: how the sample is drawn, and what a battery saves of it.

use super::counters::NOT_COUNTED;
use super::sample::Sample;
use super::{BlockUse, Blocks};
use crate::medium::Saved;
use phelsuma_nand::Block;

impl Blocks {
    /// Whether a block is one that a policy may choose.
    #[inline]
    pub(crate) fn is_candidate(&self, block: Block) -> bool {
        match self.counters.sample {
            None => self.counters.is_candidate(block),
            Some(_) => self.use_of(block) == BlockUse::Closed && !self.waits(block),
        }
    }

    /// Whether the pages of a block wait until all of them are stale.
    fn waits(&self, block: Block) -> bool {
        !self.metadata.collected && self.is_metadata(self.stream_of(block))
    }

    /// Counts no more than a sample of so many blocks from now on, drawn from all as far as they are counted: the
    /// emptiest of each slot. What else has to be counted is, too.
    ///
    /// Some were not, if a battery saved the sample of another; then `total` says how many pages of the drive are live.
    pub(crate) fn keep_sample(&mut self, slots: u32, total: Option<u64>) {
        let mut sample = Sample::new(self.geometry.blocks(), slots);
        sample.set_total(total.unwrap_or_else(|| self.counters.live_total()));
        for block in (0..self.geometry.blocks()).map(Block) {
            let live = self.counters.live(block);
            match self.use_of(block) {
                BlockUse::Free | BlockUse::Held | BlockUse::Fixed => {}
                BlockUse::Open | BlockUse::Victim => sample.count_besides(block, live, false),
                BlockUse::Closed if self.is_metadata(self.stream_of(block)) => {
                    sample.count_besides(block, live, !self.waits(block));
                }
                BlockUse::Closed if live == NOT_COUNTED => sample.not_known(block),
                BlockUse::Closed => sample.offer(block, live),
            }
        }
        self.counters.keep(sample);
    }

    /// Whether all that a battery saved says how many pages are live.
    pub(crate) fn all_are_counted(&self) -> bool {
        self.counters.keys().iter().all(|key| *key & NOT_COUNTED != NOT_COUNTED)
    }

    /// So many pages of a candidate of user data are live.
    pub(crate) fn offer(&mut self, block: Block, live: u16) {
        if let Some(sample) = &mut self.counters.sample {
            sample.offer(block, live);
        }
    }

    /// The same of one that is going to be collected.
    pub(crate) fn count_besides(&mut self, block: Block, live: u16) {
        if let Some(sample) = &mut self.counters.sample {
            sample.count_besides(block, live, false);
        }
    }

    /// See [`Sample::next_to_ask`].
    pub(crate) fn next_to_ask(&mut self, at_most: u32) -> Option<Block> {
        self.with_sample(|sample, wanted| sample.next_to_ask(at_most, wanted))
    }

    /// See [`Sample::next_unsure`].
    pub(crate) fn next_unsure(&mut self, from: (u32, u32)) -> Option<(Block, (u32, u32))> {
        self.with_sample(|sample, wanted| sample.next_unsure(from, wanted))
    }

    /// Does something with the sample that needs the candidates of user data.
    fn with_sample<T>(&mut self, act: impl FnOnce(&mut Sample, &dyn Fn(Block) -> bool) -> Option<T>) -> Option<T> {
        let mut sample = self.counters.sample.take()?;
        let wanted = |block: Block| self.use_of(block) == BlockUse::Closed && !self.is_metadata(self.stream_of(block));
        let result = act(&mut sample, &wanted);
        self.counters.sample = Some(sample);
        result
    }

    /// The saved figure of a block: its live pages, none if it is free, and more than any block has if they are not
    /// counted.
    fn saved_counter(&self, block: Block) -> u16 {
        match self.counters.known(block) {
            Some(live) => live,
            None if self.is_in_use(block) => NOT_COUNTED,
            None => 0,
        }
    }
}

/// The counters of live pages, which also say which blocks are free: two bytes a block, also where RAM holds a sample.
impl Saved for Blocks {
    fn saved_bytes(&self) -> u64 {
        u64::from(self.geometry.blocks()) * 2
    }

    fn save(&self, from: u64, page: &mut [u8]) {
        page.fill(0);
        for (block, to) in (from as u32 / 2..self.geometry.blocks()).zip(page.chunks_exact_mut(2)) {
            to.copy_from_slice(&self.saved_counter(Block(block)).to_le_bytes());
        }
    }

    fn restore(&mut self, from: u64, page: &[u8]) {
        for (block, bytes) in (from as u32 / 2..self.geometry.blocks()).zip(page.chunks_exact(2)) {
            self.counters.set(Block(block), u16::from_le_bytes([bytes[0], bytes[1]]) & NOT_COUNTED);
        }
    }
}
