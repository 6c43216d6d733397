//! The fate of a block that is full, and of one that is empty.

use super::{BlockUse, Blocks, Watch};
use phelsuma_nand::{Block, Nand, Page};

impl Blocks {
    /// A block is written: a candidate from now on, or one that waits until it is folded, or all of its pages are stale.
    pub(crate) fn close(&mut self, watch: &mut impl Watch, block: Block, stream: u8) {
        let can_be = matches!(self.use_of(block), BlockUse::Open | BlockUse::Victim | BlockUse::Fixed);
        debug_assert!(can_be, "{block} is closed that is {:?}", self.use_of(block));
        let is_given_back = self.use_of(block) == BlockUse::Victim;
        self.uses[block.index()] = BlockUse::Closed;
        self.streams[block.index()] = stream;
        let is_metadata = self.is_metadata(stream);
        if !is_metadata {
            watch.written(block, self.clock.seq());
        }
        let waits_for_fold = self.slc_closed(block, stream);
        let candidate = !waits_for_fold && (self.metadata.collected || !is_metadata);
        self.counters.closed(block, is_metadata, candidate);
        if candidate {
            self.notes.candidate(block, self.counters.live(block), is_given_back);
            self.news.closed(block);
        } else if !waits_for_fold {
            self.metadata.waiting.push(block);
            self.look_if_emptied(block);
        }
    }

    /// Makes a written block the victim.
    pub(crate) fn begin_collection(&mut self, block: Block) {
        debug_assert_eq!(self.use_of(block), BlockUse::Closed);
        debug_assert!(self.counters.known(block).is_some(), "{block} is collected and not counted");
        self.uses[block.index()] = BlockUse::Victim;
        self.slc_left(block);
        self.counters.taken(block);
        self.notes.taken(block);
        self.waits_no_longer(block);
    }

    /// Puts a block without live pages into the pool; it may be erased once every program so far has completed.
    pub(crate) fn release(&mut self, block: Block) {
        debug_assert_ne!(self.use_of(block), BlockUse::Free, "{block} is released twice");
        debug_assert_ne!(self.use_of(block), BlockUse::Open, "{block} is released while it is written");
        self.leave_use(block);
        if self.failures.emptied(block, self.clock.horizon()) {
            self.uses[block.index()] = BlockUse::Fixed;
            return;
        }
        self.uses[block.index()] = BlockUse::Free;
        self.pool.put(block, self.clock.horizon());
    }

    /// A recovery has found out which stream wrote a block.
    pub(crate) fn found_written_by(&mut self, block: Block, stream: u8) {
        debug_assert_eq!(self.use_of(block), BlockUse::Fixed, "{block} is known");
        self.streams[block.index()] = stream;
    }

    /// A block without live pages must not be erased yet.
    pub(crate) fn hold(&mut self, block: Block) {
        debug_assert_ne!(self.use_of(block), BlockUse::Held, "{block} is held twice");
        debug_assert_ne!(self.use_of(block), BlockUse::Free, "{block} is held that is free");
        self.leave_use(block);
        self.uses[block.index()] = BlockUse::Held;
        self.held += 1;
    }

    /// A block that is held may be erased from now on.
    pub(crate) fn let_go(&mut self, block: Block) {
        debug_assert_eq!(self.use_of(block), BlockUse::Held);
        self.held -= 1;
        self.release(block);
    }

    /// Nothing in a block is live, and it is no candidate any more.
    fn leave_use(&mut self, block: Block) {
        // Held blocks are not counted any more.
        debug_assert_eq!(self.counters.known(block).unwrap_or(0), 0, "{block} has live pages");
        self.counters.freed(block);
        self.notes.taken(block);
        self.slc_left(block);
        self.waits_no_longer(block);
    }

    fn waits_no_longer(&mut self, block: Block) {
        if let Some(at) = self.metadata.waiting.iter().position(|b| *b == block) {
            self.metadata.waiting.swap_remove(at);
        }
    }

    /// A metadata page is stale. Its successor need not be on flash yet: no block is erased before.
    pub(crate) fn drop_metadata(&mut self, page: Page) {
        let block = self.geometry.block_of(page);
        self.counters.remove(block);
        self.lost_a_page(block);
        if self.metadata.collected || self.is_candidate(block) {
            self.news.lowered(block);
        }
        if !self.metadata.collected {
            self.look_if_emptied(block);
        }
    }

    fn look_if_emptied(&mut self, block: Block) {
        if self.is_emptied(block) {
            self.news.emptied(block);
        }
    }

    /// Whether a written block has no live page.
    pub(crate) fn is_emptied(&self, block: Block) -> bool {
        self.counters.live(block) == 0 && self.use_of(block) == BlockUse::Closed
    }

    /// Marks a block bad.
    pub(super) fn retire<N: Nand>(&mut self, nand: &mut N, block: Block) {
        self.failures.retire(nand, block);
        self.uses[block.index()] = BlockUse::Fixed;
    }
}
