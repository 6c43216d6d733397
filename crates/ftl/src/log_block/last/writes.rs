//! Where a user page is written: to a sequential log block, or to a random one of the channel written least recently.
//!
//! These are LAST++ section 4.3, algorithm 1, and section 4.4, algorithm 2.

use super::page_table::UPDATES_MAX;
use super::room::Need;
use super::state::{Last, OpenLogBlock};
use super::tables::Tables;
use crate::FtlError;
use crate::log_block::ground::Ground;
use crate::log_block::log_state::NOBODY;
use crate::log_block::log_state::NONE;
use crate::log_block::pool::Role;
use crate::log_block::scheme::PartOf;
use phelsuma_nand::{Content, Nand, Time};

impl Last {
    /// Algorithm 1: a page goes to its place in its logical block's sequential log block, if that is not written so far
    /// yet. When it is safe; or none, and from when on it can be written elsewhere.
    pub(super) fn write_sequential<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        key: u32,
        part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<(Option<Time>, Time), FtlError> {
        let (logical_block, offset) = ground.split(key);
        let mut at = at;
        let slot = match ground.log.index.segments.slot(logical_block) {
            Some(slot) => slot,
            None => {
                at = self.make_room(ground, nand, Need::Sequential { logical_block }, at)?;
                let channel = Some(logical_block % self.channels);
                let (slot, ready) = ground.open_log_block_as(nand, logical_block, Role::Sequential, channel, at)?;
                at = ready;
                slot
            }
        };
        let state = ground.log.get(slot);
        let (block, next) = (state.block, state.next);
        if state.closed || offset < next {
            return Ok((None, at));
        }
        self.counts.sequential_begun_behind += u64::from(next == 0 && offset > 0);
        if self.parts.copies_skipped {
            if offset > next {
                self.copy_skipped(ground, nand, key, part, at)?;
            }
            if ground.log.get(slot).closed {
                return Ok((None, at));
            }
        } else if next == 0 && offset > 0 {
            // A block's first page is never left out: a recovery identifies the block by it.
            let first = ground.layout.key(logical_block, 0);
            let written = ground.write_zeros(nand, block, first, Role::Sequential, at)?;
            let state = ground.log.get_mut(slot);
            (state.next, state.in_place) = (1, false);
            if written.is_none() {
                state.closed = true;
                return Ok((None, at));
            }
        }
        let done = ground.append(nand, slot, offset, key, content, at)?;
        if done.is_some() {
            self.counts.sequential_pages += 1;
            self.touch(logical_block % self.channels);
        }
        Ok((done, at))
    }

    /// Algorithm 2: a page goes to the next place in a random log block of the channel that was written least recently.
    pub(super) fn write_random<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        key: u32,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let channel = self.written.oldest().unwrap_or(0);
        let mut at = at;
        // Each round that fails retires a block, or finds that the merge before has evicted the page.
        loop {
            let role = self.partition_of(ground, key);
            let open = self.group(role, channel) as usize;
            if !self.can_be_written(ground, self.open[open].slot) {
                self.open[open].slot = NONE;
                at = self.make_room(ground, nand, Need::Random { channel, role }, at)?;
                if self.partition_of(ground, key) != role {
                    // A merge has evicted the page: it begins in the cold partition again.
                    continue;
                }
                let (slot, ready) = ground.open_log_block_as(nand, NOBODY, role, Some(channel), at)?;
                at = ready;
                self.opened(slot, channel, role);
                self.open[open] = OpenLogBlock { slot, versions: core::mem::take(&mut self.open[open].versions) };
                self.open[open].versions.clear();
            }
            let slot = self.open[open].slot;
            let next = ground.log.get(slot).next;
            let done = ground.append(nand, slot, next, key, content, at)?;
            // A page that failed has a place in the summary as well.
            self.open[open].versions.push(ground.pool.clock.version());
            if !self.can_be_written(ground, slot) {
                self.offer(ground, slot);
            }
            let Some(done) = done else { continue };
            match role {
                Role::Hot => self.counts.hot_pages += 1,
                _ => self.counts.cold_pages += 1,
            }
            self.touch(channel);
            if self.parts.copies_skipped {
                let (logical_block, offset) = ground.split(key);
                ground.outdate_copies(logical_block, offset);
            }
            if self.has_summary && next + 1 == self.pages_per_log_block {
                ground.write_summary(nand, slot, &self.open[open].versions, at)?;
                self.counts.summary_pages += 1;
            }
            return Ok(done);
        }
    }

    /// A page has been written to a channel.
    #[inline]
    fn touch(&mut self, channel: u32) {
        self.written.touch(channel);
        self.pages_on[channel as usize] += 1;
    }

    /// The partition that a page goes to (section 4.4.1): the hot one if it is there already, or if it was overwritten
    /// in the cold one as often as the update counter can say. The update that finds the counter full is the fourth.
    fn partition_of(&self, ground: &Ground<Tables>, key: u32) -> Role {
        if !self.parts.partitions {
            return Role::Log;
        }
        let Some((page, updates)) = ground.log.index.pages.find(key) else { return Role::Log };
        let slot = ground.log.slot_of(ground.geometry.block_of(page));
        let is_in_hot = slot.is_some_and(|slot| ground.log.get(slot).role == Role::Hot);
        if is_in_hot || updates == UPDATES_MAX { Role::Hot } else { Role::Log }
    }
}
