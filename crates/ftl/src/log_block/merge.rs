//! Merges: how what stands in log blocks gets into data blocks (LAST++ section 2.2 and figure 1).
//!
//! - **Switch**: a log block that holds all pages of its logical block in place becomes the data block.
//! - **Partial**: the rest is copied behind what the log block holds in place, then it becomes the data block.
//! - **Full**: the newest version of each page is copied to a fresh block, which becomes the data block.
//!
//! The order is the same for all: the new data block is programmed to its end; then the map page that names it, with the
//! merge version; and only then the old blocks are given back. Each logical block switches alone. A power cut in between
//! leaves a block that no map page names: a log block that is still one, or the destination of a full merge, which is
//! nothing.
//!
//! The papers merge a log block into its data block whatever else there is. A partial or switch merge makes all of the log
//! block's pages the newest ones, so it is done only if they are: where a newer version stands in another log block, or a
//! page was trimmed, the merge is a full one (against LAST++ section 4.3, which looks at the sequential log block alone).

use super::data_map::Entry;
use super::ground::{Copied, Destination, Ground, NOBODY};
use super::pool::{Role, Use};
use crate::FtlError;
use crate::barriers::Barrier;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Time};

impl Ground {
    /// Copies the newest version of every page of a logical block to a fresh one. When the map says so.
    pub(super) fn full_merge<N: Nand>(&mut self, nand: &mut N, logical_block: u32, at: Time) -> Result<Time, FtlError> {
        let block = self.gather(nand, logical_block, at)?;
        let done = self.switch_to(nand, logical_block, block, at)?;
        self.tally.full_merges += 1;
        Ok(done)
    }

    /// Copies the newest version of every page of a logical block to a fresh one, which nothing names yet: none where there
    /// is no page.
    pub(super) fn gather<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: u32,
        at: Time,
    ) -> Result<Option<Block>, FtlError> {
        // Each round that fails retires a block.
        loop {
            let mut to = Destination::default();
            let mut copied = Ok(Copied::Nothing);
            for offset in 0..self.pages_in(logical_block) {
                let key = self.layout.key(logical_block, offset);
                copied = self.copy_newest(nand, key, Role::Data, &mut to, at);
                if !matches!(copied, Ok(Copied::Done | Copied::Nothing)) {
                    break;
                }
            }
            if matches!(copied, Ok(Copied::Done | Copied::Nothing)) {
                return Ok(to.block);
            }
            // Nothing names it.
            if let Some(block) = to.block {
                self.pool.release(block);
            }
            copied?;
        }
    }

    /// As [`gather`](Self::gather), of several side by side: a page of each before the next of any, since only so many
    /// programs may be in flight.
    ///
    /// # Errors
    /// As `gather`: then nothing of it is left.
    pub(super) fn gather_in_step<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_blocks: &[u32],
        at: Time,
    ) -> Result<Vec<Option<Block>>, FtlError> {
        let mut to: Vec<Option<Destination>> = logical_blocks.iter().map(|_| Some(Destination::default())).collect();
        let mut result = Ok(());
        'pages: for offset in 0..self.layout.pages_per_block() {
            for (logical_block, to) in logical_blocks.iter().zip(&mut to) {
                let Some(into) = to.as_mut().filter(|_| offset < self.pages_in(*logical_block)) else { continue };
                let key = self.layout.key(*logical_block, offset);
                match self.copy_newest(nand, key, Role::Data, into, at) {
                    Ok(Copied::Done | Copied::Nothing) => {}
                    Ok(Copied::Failed) => {
                        // Nothing names it.
                        into.block.into_iter().for_each(|block| self.pool.release(block));
                        *to = None;
                    }
                    Err(error) => {
                        result = Err(error);
                        break 'pages;
                    }
                }
            }
        }
        let mut blocks = Vec::with_capacity(logical_blocks.len());
        for (logical_block, to) in logical_blocks.iter().zip(&to) {
            blocks.push(match (&result, to) {
                (Ok(()), None) => self.gather(nand, *logical_block, at).unwrap_or_else(|error| {
                    result = Err(error);
                    None
                }),
                (_, to) => to.and_then(|to| to.block),
            });
        }
        match result {
            Ok(()) => Ok(blocks),
            Err(error) => {
                blocks.into_iter().flatten().for_each(|block| self.pool.release(block));
                Err(error)
            }
        }
    }

    /// `block`, programmed to its end, becomes the data block of a logical block.
    fn switch_to<N: Nand>(
        &mut self,
        nand: &mut N,
        logical_block: u32,
        block: Option<Block>,
        at: Time,
    ) -> Result<Time, FtlError> {
        self.switch_all(nand, &[(logical_block, block)], at)
    }

    /// Blocks that are programmed to their ends become the data blocks of logical blocks, all of which one map page names.
    /// Where that cannot be written because no block is free for it, everything stays as it was, but for blocks that nobody
    /// may erase: a page of the map that failed may name them all the same.
    pub(super) fn switch_all<N: Nand>(
        &mut self,
        nand: &mut N,
        ready: &[(u32, Option<Block>)],
        at: Time,
    ) -> Result<Time, FtlError> {
        let Some((first, _)) = ready.first() else { return Ok(at) };
        let part = self.data.part_of(*first);
        debug_assert!(ready.iter().all(|(logical_block, _)| self.data.part_of(*logical_block) == part));
        let entry = |(logical_block, _): &(u32, _)| Entry {
            block: self.data.block(*logical_block),
            version: self.data.version(*logical_block),
        };
        let before: Vec<Entry> = ready.iter().map(entry).collect();
        let map_first = self.barriers.keeps(Barrier::OldBlocksAfterMap);
        if !map_first {
            before.iter().filter_map(|entry| entry.block).for_each(|old| self.pool.release(old));
        }
        // Everything of them that stands in log blocks by now was written before this moment.
        let version = self.pool.clock.version();
        for (logical_block, block) in ready {
            self.data.set(*logical_block, Entry { block: *block, version });
        }
        let done = match self.write_part(nand, part, at) {
            Ok(done) => done,
            Err(error) => {
                for ((logical_block, block), before) in ready.iter().zip(before) {
                    self.data.set(*logical_block, before);
                    if let Some(block) = block.filter(|block| !self.log.is_log_block(*block)) {
                        self.pool.take(block, Use::Fixed);
                    }
                }
                return Err(error);
            }
        };
        for ((logical_block, _), before) in ready.iter().zip(before) {
            self.forget_log_pages(*logical_block);
            self.trims.drop(*logical_block);
            if let Some(old) = before.block {
                if map_first {
                    self.pool.release(old);
                }
                self.tally.freed_blocks += 1;
            }
        }
        Ok(done)
    }

    /// Copies the pages between what a log block in place holds and `until`. Whether that was done: where a program
    /// failed, the log block is closed.
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

    /// As [`copy_until`](Self::copy_until), of several side by side: a page of each before the next of any, since only so
    /// many programs may be in flight.
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

    /// Whether a log block can become its owner's data block: it is not closed, stands in place, and what it holds is the
    /// newest.
    pub(super) fn can_become_data_block(&self, slot: u32) -> bool {
        let state = self.log.get(slot);
        let newest = state.live == state.used && !self.trims.has(state.owner);
        state.owner != NOBODY
            && state.in_place
            // One that a recovery has found is closed, but may hold all there is.
            && (!state.closed || state.live == self.pages_in(state.owner))
            && state.live > 0
            && (newest || !self.barriers.keeps(Barrier::PartialMergesOfNewest))
    }

    /// Makes a log block its owner's data block, with what it lacks copied behind what it holds; none where a program
    /// failed.
    fn become_data_block<N: Nand>(&mut self, nand: &mut N, slot: u32, at: Time) -> Result<Option<Time>, FtlError> {
        let (owner, block) = (self.log.get(slot).owner, self.log.get(slot).block);
        let Some(is_switch) = self.complete(nand, slot, at)? else { return Ok(None) };
        let done = self.switch_to(nand, owner, Some(block), at)?;
        self.became_data_block(slot, is_switch);
        Ok(Some(done))
    }

    /// The map names a log block as its owner's data block: it is none of the log any more. Whether nothing had to be copied.
    pub(super) fn became_data_block(&mut self, slot: u32, is_switch: bool) {
        self.tally.merged(self.log.get(slot).used);
        let block = self.log.close(slot);
        self.pool.take(block, Use::Data);
        if is_switch {
            self.tally.switch_merges += 1;
        } else {
            self.tally.partial_merges += 1;
        }
    }

    /// Copies what a log block that is to become its owner's data block lacks behind what it holds, and closes it. Whether
    /// that was nothing; none where a program failed.
    fn complete<N: Nand>(&mut self, nand: &mut N, slot: u32, at: Time) -> Result<Option<bool>, FtlError> {
        Ok(self.complete_in_step(nand, &[slot], at)?.pop().flatten())
    }

    /// As [`complete`](Self::complete), of several side by side: a page of each before the next of any, since only so many
    /// programs may be in flight.
    pub(super) fn complete_in_step<N: Nand>(
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
            state.closed = true;
            let (owner, next) = (state.owner, state.next);
            copied.map(|copied| copied == 0 && next == self.pages_in(owner))
        });
        Ok(done.collect())
    }

    /// Merges a log block that one logical block has to itself: the cheapest way that there is.
    pub(super) fn merge_owned<N: Nand>(&mut self, nand: &mut N, slot: u32, at: Time) -> Result<Time, FtlError> {
        let state = self.log.get(slot);
        debug_assert_ne!(state.owner, NOBODY);
        let owner = state.owner;
        if self.can_become_data_block(slot)
            && let Some(done) = self.become_data_block(nand, slot, at)?
        {
            return Ok(done);
        }
        let degree = u32::from(self.log.get(slot).live > 0);
        let done = if degree == 0 { at } else { self.full_merge(nand, owner, at)? };
        self.give_back(nand, slot, degree, done)
    }

    /// Merges every logical block that has live pages in a log block, one after the other, and gives the log block back.
    pub(super) fn merge_shared<N: Nand>(&mut self, nand: &mut N, slot: u32, at: Time) -> Result<Time, FtlError> {
        let (mut done, mut from, mut degree) = (at, 0, 0);
        while let Some((index, key)) = self.log.live_in(slot, from) {
            let (logical_block, _) = self.split(key);
            done = self.full_merge(nand, logical_block, done)?;
            from = index + 1;
            degree += 1;
        }
        self.give_back(nand, slot, degree, done)
    }

    /// A log block in which nothing is live any more, after full merges of so many logical blocks.
    pub(super) fn give_back<N: Nand>(
        &mut self,
        nand: &mut N,
        slot: u32,
        degree: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        let used = self.log.get(slot).used;
        let done = self.release_log_block(nand, slot, at)?;
        self.tally.merged(used);
        if degree == 0 {
            self.tally.dead_log_blocks += 1;
        } else {
            self.tally.associated(degree);
        }
        Ok(done)
    }
}
