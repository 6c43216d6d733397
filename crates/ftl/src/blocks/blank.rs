//! Blank blocks: free blocks that were erased in advance and are the last to be opened.
//!
//! Free blocks are erased when they are opened, not before. Until then their pages can be read. A recovery rejects such
//! a page because something newer overrides it: another copy, or a tombstone. If tombstones go bad, every trimmed page
//! counts again, wherever it stands. That may be in every block that is not bad. Then no block would be free, and
//! collection needs one, however much of the drive is stale. So as long as tombstones are on flash, some free blocks
//! hold nothing that could come back. Their number is what recoveries and collections need ([`Blocks::critical`]).
//!
//! They are free blocks like all others, and counted as such. After a power cut they are recognized by their looks
//! alone. That is enough: one that only looks blank is erased again before it is written.

use super::free_block::{Blank, Taken};
use super::{BlockUse, Blocks, Watch};
use crate::FtlError;
use crate::barriers::Barrier;
use phelsuma_nand::{Block, EraseError, Nand, Op, Purpose, Time};

impl Blocks {
    /// Takes the block of `die` that has been free for longest, or the one that wear levelling prefers. Where this die
    /// has none, the next die that has any gives one. A blank block is taken only where there is no other.
    pub(super) fn take_free<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        die: u32,
        stream: u8,
        at: Time,
    ) -> Option<Taken> {
        let Some(die) = self.pool.die_from(die) else {
            let Blank { block, erased, opened } = self.blank.pop()?;
            if let Some(wear) = &mut self.wear {
                wear.open_as(opened);
            }
            return Some(Taken { block, at, erased });
        };
        let taken = match self.wear {
            None => self.pool.take(die, 0).map(|block| (block, at)),
            Some(_) => self.take_by_wear(nand, watch, die, stream, at),
        };
        taken.map(|(block, at)| Taken { block, at, erased: None })
    }

    /// Erases a free block, at the earliest when the pool is safe: when that has completed, or none if it is bad.
    pub(super) fn erase_free<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        block: Block,
        purpose: Purpose,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        debug_assert_eq!(self.use_of(block), BlockUse::Free, "{block} is erased");
        debug_assert_eq!(self.counters.known(block).unwrap_or(0), 0, "{block} is erased with live pages");
        watch.erased(&self.geometry, block);
        let safe = if self.barriers.keeps(Barrier::ErasedWhenSafe) { at.max(self.pool.safe()) } else { at };
        match nand.erase(block, Op::new(safe, purpose)) {
            Ok(ready) => {
                self.notes.erased(block);
                self.news.erased(block);
                self.log_erased(block);
                Ok(Some(ready))
            }
            Err(EraseError::Failed(_) | EraseError::Bad(_)) => {
                self.retire(nand, block);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether fewer free blocks are blank than should be while tombstones are on flash.
    pub(crate) fn lacks_blank(&self) -> bool {
        self.blank.len() < self.critical as usize && self.barriers.keeps(Barrier::BlankKept)
    }

    /// Erases free blocks until enough are blank, or all. When that has completed.
    pub(crate) fn keep_blank<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        purpose: Purpose,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        debug_assert!(self.for_mounts.log.is_none(), "a block is erased in advance that the block log has as it was");
        while self.lacks_blank() && !self.is_read_only() {
            // So that no die has less to write to than others.
            let fullest = (0..self.geometry.dies()).max_by_key(|die| self.pool.len_on(*die));
            let Some(die) = fullest.filter(|die| self.pool.len_on(*die) > 0) else { break };
            let Some(Taken { block, at, .. }) = self.take_free(nand, watch, die, 0, at) else { break };
            if let Some(erased) = self.erase_free(nand, watch, block, purpose, at)? {
                done = done.max(erased);
                debug_assert!(self.blank.iter().all(|blank| blank.block != block), "{block} is blank twice");
                let opened = self.wear.as_ref().map_or(0, |wear| wear.opened());
                self.blank.push(Blank { block, erased: Some(erased), opened });
            }
        }
        Ok(done)
    }

    /// Puts a block in which a recovery has found nothing to the blank ones, if these are too few. Whether it did.
    pub(crate) fn release_blank(&mut self, block: Block) -> bool {
        debug_assert!(!self.is_in_use(block), "{block} is in use and not blank");
        let lacks = self.lacks_blank();
        if lacks {
            self.counters.freed(block);
            self.notes.taken(block);
            self.uses[block.index()] = BlockUse::Free;
            let opened = self.wear.as_ref().map_or(0, |wear| wear.unknown());
            self.blank.push(Blank { block, erased: None, opened });
        }
        lacks
    }

    /// RAM of their list.
    pub(super) fn bytes_of_blank(&self) -> usize {
        self.critical as usize * size_of::<Blank>()
    }
}
