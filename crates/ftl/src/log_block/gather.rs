//! New data blocks, written side by side: merges copy pages to fresh blocks or behind the pages of log blocks.
//!
//! Only so many programs may be in flight, so a page of each block is written before the next of any.

use super::ground::{Copied, Destination, Ground};
use super::log_index::LogIndex;
use super::pool::{Role, Use};
use crate::FtlError;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Time};

impl<I: LogIndex> Ground<I> {
    /// Copies the newest version of every page of each of these logical blocks to a fresh block, which nothing names
    /// yet: none where a logical block has no page.
    ///
    /// # Errors
    /// [`FtlError::Full`]: then nothing of it is left.
    pub(super) fn gather<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_blocks: &[u32],
        at: Time,
    ) -> Result<Vec<Option<Block>>, FtlError> {
        let mut to = vec![Destination::default(); logical_blocks.len()];
        let mut is_left = vec![true; logical_blocks.len()];
        // Each round that fails retires a block.
        while is_left.contains(&true) {
            let mut failed = vec![false; logical_blocks.len()];
            for offset in 0..self.layout.pages_per_block() {
                for (n, logical_block) in logical_blocks.iter().enumerate() {
                    if !is_left[n] || failed[n] || offset >= self.pages_in(*logical_block) {
                        continue;
                    }
                    let key = self.layout.key(*logical_block, offset);
                    match self.copy_newest(nand, key, Role::Data, &mut to[n], at) {
                        Ok(Copied::Done | Copied::Nothing) => {}
                        // Nothing names the pages there already.
                        Ok(Copied::Failed) => {
                            to[n].block.into_iter().for_each(|block| self.pool.release(block));
                            to[n] = Destination::default();
                            failed[n] = true;
                        }
                        Err(error) => {
                            to.into_iter().filter_map(|to| to.block).for_each(|block| self.pool.release(block));
                            return Err(error);
                        }
                    }
                }
            }
            is_left = failed;
        }
        debug_assert!(
            to.iter().filter_map(|to| to.block).all(|block| self.pool.use_of(block) == Use::Data),
            "pages are gathered in blocks that are used for something else"
        );
        Ok(to.into_iter().map(|to| to.block).collect())
    }

    /// Copies the pages between those that a log block in place holds and `until`. Whether that was done: where a
    /// program failed, the log block is closed.
    pub(super) fn copy_until<N: Nand>(
        &mut self,
        nand: &mut N,
        slot: u32,
        until: u32,
        at: Time,
    ) -> Result<bool, FtlError> {
        self.copy_until_in_step(nand, &[(slot, until)], at)?;
        Ok(!self.log.get(slot).closed)
    }

    /// As [`copy_until`](Self::copy_until), of several.
    pub(super) fn copy_until_in_step<N: Nand>(
        &mut self,
        nand: &mut N,
        slots: &[(u32, u32)],
        at: Time,
    ) -> Result<(), FtlError> {
        let mut begun: Vec<bool> = slots.iter().map(|(slot, _)| self.log.get(*slot).next > 0).collect();
        let first = slots.iter().map(|(slot, _)| self.log.get(*slot).next).min().unwrap_or(0);
        let end = slots.iter().map(|(_, until)| *until).max().unwrap_or(0);
        for offset in first..end {
            for ((slot, until), begun) in slots.iter().zip(&mut begun) {
                let state = self.log.get(*slot);
                debug_assert!(*until <= self.pages_in(state.owner), "{until} is behind the pages of {}", state.owner);
                if state.closed || !(state.next..*until).contains(&offset) {
                    continue;
                }
                let (key, role) = (self.layout.key(state.owner, offset), state.role);
                let mut to = Destination { block: Some(state.block), begun: *begun };
                let copied = self.copy_newest(nand, key, role, &mut to, at)?;
                *begun = to.begun;
                let state = self.log.get_mut(*slot);
                state.copied += u32::from(matches!(copied, Copied::Done));
                state.closed |= matches!(copied, Copied::Failed);
            }
        }
        for ((slot, until), begun) in slots.iter().zip(begun) {
            let state = self.log.get(*slot);
            let (key, block, role) = (self.layout.key(state.owner, 0), state.block, state.role);
            let lacks_first = !state.closed && !begun && *until > 0;
            let failed = lacks_first && self.write_zeros(nand, block, key, role, at)?.is_none();
            let state = self.log.get_mut(*slot);
            state.closed |= failed;
            state.next = state.next.max(*until);
        }
        Ok(())
    }

    /// Completes log blocks that are to become their owners' data blocks: copies the missing pages behind those that
    /// they hold, and closes them. Of each whether nothing was missing; none where a program failed.
    pub(super) fn complete<N: Nand>(
        &mut self,
        nand: &mut N,
        slots: &[u32],
        at: Time,
    ) -> Result<Vec<Option<bool>>, FtlError> {
        let copied = |slot: &u32| Some(self.log.get(*slot).copied);
        let mut copied: Vec<Option<u32>> = slots.iter().map(copied).collect();
        for offset in 0..self.layout.pages_per_block() {
            for (slot, copied) in slots.iter().zip(&mut copied) {
                let state = self.log.get(*slot);
                let (owner, block, role, from) = (state.owner, state.block, state.role, state.next);
                let Some(pages) = copied.as_mut().filter(|_| (from..self.pages_in(owner)).contains(&offset)) else {
                    continue;
                };
                let mut to = Destination { block: Some(block), begun: true };
                match self.copy_newest(nand, self.layout.key(owner, offset), role, &mut to, at)? {
                    Copied::Done => *pages += 1,
                    Copied::Nothing => {}
                    Copied::Failed => *copied = None,
                }
            }
        }
        let done = slots.iter().zip(copied).map(|(slot, copied)| {
            let state = self.log.get_mut(*slot);
            debug_assert!(state.in_place, "a log block becomes a data block, and is not in place: {state:?}");
            state.closed = true;
            let (owner, next) = (state.owner, state.next);
            copied.map(|copied| copied == 0 && next == self.pages_in(owner))
        });
        Ok(done.collect())
    }
}
