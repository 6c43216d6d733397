//! Swaps of hot and cold data: when one is due, and how it is done ([`wear`](super::wear)).

use super::ground::Ground;
use super::log_index::LogIndex;
use super::pool::Pool;
use crate::FtlError;
use phelsuma_nand::{Block, Nand, Time};

/// After a swap, so many host pages for each page moved before the next one: levelling stays a small part of the
/// drive's work.
const REST: u64 = 4;

impl Pool {
    /// Whether the block that cold data of a channel would get is worn more than `block`, by more than the lag.
    fn is_worth_a_swap(&self, block: Block, channel: Option<u32>) -> bool {
        let Some(wear) = &self.wear else { return false };
        let than = wear.erases_of(block).saturating_add(wear.lag);
        if wear.most <= than {
            return false;
        }
        let free = self.next_die(channel).map(|die| self.free_on(die));
        let worn = free.and_then(|free| free.get(wear.chosen(free, true)?));
        worn.is_some_and(|worn| wear.erases_of(*worn) > than)
    }
}

impl<I: LogIndex> Ground<I> {
    /// A step of levelling, before a page that the host writes: when that may be.
    ///
    /// # Errors
    /// None where no block is left: no write depends on levelling.
    #[inline]
    pub(super) fn level_wear<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.pool.wear.is_some() { self.look_for_cold_data(nand, at) } else { Ok(at) }
    }

    #[inline(never)]
    fn look_for_cold_data<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let logical_blocks = self.data.logical_blocks();
        let Some(wear) = &mut self.pool.wear else { return Ok(at) };
        if wear.rest > 0 {
            wear.rest -= 1;
            return Ok(at);
        }
        let logical_block = wear.next % logical_blocks;
        wear.next = (logical_block + 1) % logical_blocks;
        let Some(block) = self.data.block(logical_block) else { return Ok(at) };
        let is_in_log = self.log.live_of(logical_block) > 0 || self.log.index.own_log_block(logical_block).is_some();
        if is_in_log
            || self.trims.has(logical_block)
            || self.pool.free() <= self.merge_blocks
            || !self.pool.is_worth_a_swap(block, self.layout.home(logical_block))
        {
            return Ok(at);
        }
        let copies = self.tally.page_copies;
        self.set_for_cold(true);
        let merged = self.gather(nand, &[logical_block], at);
        self.set_for_cold(false);
        let merged = match merged {
            Ok(to) => self.switch_all(nand, &[(logical_block, to.first().copied().flatten())], at),
            Err(error) => Err(error),
        };
        let moved = self.tally.page_copies - copies;
        if let Some(wear) = &mut self.pool.wear {
            wear.rest = REST * moved;
            wear.pages_moved += moved;
            wear.swaps += 1;
        }
        match merged {
            Err(FtlError::Full { .. }) => Ok(at),
            merged => merged,
        }
    }

    fn set_for_cold(&mut self, is_so: bool) {
        if let Some(wear) = &mut self.pool.wear {
            debug_assert_ne!(wear.for_cold, is_so, "a swap begins in another one, or ends twice");
            wear.for_cold = is_so;
        }
    }

    /// Whether copies are made for wear.
    pub(super) fn is_levelling(&self) -> bool {
        self.pool.wear.as_ref().is_some_and(|wear| wear.for_cold)
    }
}
