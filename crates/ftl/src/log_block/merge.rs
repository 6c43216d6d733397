//! Merges: how pages get from log blocks into data blocks (LAST++ section 2.2 and figure 1).
//!
//! - **Switch**: a log block that holds all pages of its logical block in place becomes the data block.
//! - **Partial**: the rest is copied behind what the log block holds in place, then it becomes the data block.
//! - **Full**: the newest version of each page is copied to a fresh block, which becomes the data block.
//!
//! The order is the same for all. The new data block is programmed to its end. Then the map page that names it is
//! programmed, with the merge version. Only then the old blocks are given back. Each logical block switches alone. A
//! power cut in between leaves a block that no map page names. That is a log block, which still is one, or the
//! destination of a full merge, which counts for nothing.
//!
//! The papers merge a log block into its data block without a look at other log blocks. A partial or switch merge makes
//! all of the log block's pages the newest ones, so it is done only if they are. Where a newer version stands in
//! another log block, or a page was trimmed, the merge is a full one. (This is against LAST++ section 4.3, which looks
//! at the sequential log block alone.)

use super::data_map::MapEntry;
use super::ground::Ground;
use super::log_index::LogIndex;
use super::log_state::NOBODY;
use super::pool::Use;
use crate::FtlError;
use crate::barriers::Barrier;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Time};

/// A logical block that is merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    pub(super) logical_block: u32,
    /// The slot of the log block that it has to itself, which is given up with it: the cheapest way that there is.
    pub(super) own: Option<u32>,
}

impl Merge {
    /// Of a logical block alone.
    pub(super) fn full(logical_block: u32) -> Self {
        Self { logical_block, own: None }
    }
}

/// A logical block whose new data block is written.
struct Ready {
    logical_block: u32,
    block: Option<Block>,
    /// Where that is its log block: the slot, and whether nothing had to be copied.
    became: Option<(u32, bool)>,
}

/// What merges side by side have come to when all that was to be copied is.
#[derive(Default)]
struct Gathered {
    ready: Vec<Ready>,
    /// Log blocks to give back, each with the logical blocks that had live pages in it.
    emptied: Vec<(u32, u32)>,
    /// What there was no room for.
    left: Vec<Merge>,
}

impl<I: LogIndex> Ground<I> {
    /// Copies the newest version of every page of a logical block to a fresh one. When the map says so.
    pub(super) fn full_merge<N: Nand>(&mut self, nand: &mut N, logical_block: u32, at: Time) -> Result<Time, FtlError> {
        self.merge_together(nand, &[Merge::full(logical_block)], 1, at)
    }

    /// Merges a log block that one logical block has to itself: the cheapest way that there is.
    pub(super) fn merge_owned<N: Nand>(&mut self, nand: &mut N, slot: u32, at: Time) -> Result<Time, FtlError> {
        let logical_block = self.log.get(slot).owner;
        debug_assert_ne!(logical_block, NOBODY, "slot {slot} is merged as one logical block's");
        self.merge_together(nand, &[Merge { logical_block, own: Some(slot) }], 1, at)
    }

    /// Merges logical blocks, up to `most` of those that are copied at a time. Their new data blocks are written side by
    /// side, then each map page that names some of them. Only then the old blocks of these are given back.
    pub(super) fn merge_together<N: Nand>(
        &mut self,
        nand: &mut N,
        merges: &[Merge],
        most: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        debug_assert!(
            merges.windows(2).all(|pair| pair[0].logical_block != pair[1].logical_block),
            "a logical block is merged twice"
        );
        let (mut done, mut rest) = (at, merges.to_vec());
        // Each round merges one at least.
        while !rest.is_empty() {
            let gathered = self.gather_together(nand, &rest, most, done)?;
            done = self.switch_together(nand, gathered.ready, done)?;
            for (slot, degree) in gathered.emptied {
                done = self.give_back(nand, slot, degree, done)?;
            }
            rest = gathered.left;
        }
        Ok(done)
    }

    /// Writes the new data blocks of all that can keep their log blocks, and of as many others as there is room for.
    fn gather_together<N: Nand>(
        &mut self,
        nand: &mut N,
        merges: &[Merge],
        most: u32,
        at: Time,
    ) -> Result<Gathered, FtlError> {
        let mut gathered = Gathered::default();
        let (in_place, others): (Vec<Merge>, Vec<Merge>) =
            merges.iter().partition(|merge| merge.own.is_some_and(|slot| self.can_become_data_block(slot)));
        debug_assert!(
            merges.iter().all(|merge| merge.own.is_none_or(|slot| self.log.get(slot).owner == merge.logical_block)),
            "a log block is merged as another logical block's"
        );
        let slots: Vec<u32> = in_place.iter().filter_map(|merge| merge.own).collect();
        let completed = self.complete(nand, &slots, at)?;
        let mut copied = Vec::new();
        for (merge, completed) in
            in_place.into_iter().zip(completed).chain(others.into_iter().map(|merge| (merge, None)))
        {
            let logical_block = merge.logical_block;
            match (merge.own, completed) {
                (Some(slot), Some(is_switch)) => {
                    let block = Some(self.log.get(slot).block);
                    gathered.ready.push(Ready { logical_block, block, became: Some((slot, is_switch)) });
                }
                (Some(slot), None) if self.log.get(slot).live == 0 => gathered.emptied.push((slot, 0)),
                _ => copied.push(merge),
            }
        }
        let is_for_nothing = gathered.ready.is_empty() && gathered.emptied.is_empty();
        let blocks = match self.gather_some(nand, &copied, most, at) {
            // The writes give blocks back.
            Err(FtlError::Full { .. }) if !is_for_nothing => Vec::new(),
            blocks => blocks?,
        };
        gathered.left = copied.split_off(blocks.len());
        for (merge, block) in copied.into_iter().zip(blocks) {
            gathered.ready.push(Ready { logical_block: merge.logical_block, block, became: None });
            gathered.emptied.extend(merge.own.map(|slot| (slot, 1)));
        }
        Ok(gathered)
    }

    /// New data blocks, written side by side, of as many of these as there is room for: at least one.
    fn gather_some<N: Nand>(
        &mut self,
        nand: &mut N,
        merges: &[Merge],
        most: u32,
        at: Time,
    ) -> Result<Vec<Option<Block>>, FtlError> {
        // One for the map and one for a program that fails are left.
        let room = self.pool.free().saturating_sub(2).clamp(1, most) as usize;
        let chosen: Vec<u32> = merges.iter().take(room).map(|merge| merge.logical_block).collect();
        match self.gather(nand, &chosen, at) {
            Err(FtlError::Full { .. }) if chosen.len() > 1 => self.gather(nand, &chosen[..1], at),
            gathered => gathered,
        }
    }

    /// Blocks that are ready become data blocks, one map page after the other: of each the old blocks are given back
    /// before the next one may need a free block.
    fn switch_together<N: Nand>(&mut self, nand: &mut N, mut ready: Vec<Ready>, at: Time) -> Result<Time, FtlError> {
        ready.sort_unstable_by_key(|ready| ready.logical_block);
        let (mut done, mut rest) = (at, ready.as_slice());
        while let Some(first) = rest.first() {
            let part = self.data.part_of(first.logical_block);
            let same = rest.iter().take_while(|ready| self.data.part_of(ready.logical_block) == part).count();
            let (of_part, others) = rest.split_at(same);
            let blocks: Vec<_> = of_part.iter().map(|ready| (ready.logical_block, ready.block)).collect();
            done = match self.switch_all(nand, &blocks, done) {
                Ok(done) => done,
                Err(error) => {
                    // Nothing names the others.
                    let unnamed = others.iter().filter(|ready| ready.became.is_none()).filter_map(|ready| ready.block);
                    unnamed.for_each(|block| self.pool.release(block));
                    return Err(error);
                }
            };
            for ready in of_part {
                match ready.became {
                    Some((slot, is_switch)) => self.became_data_block(slot, is_switch),
                    None => self.tally.full_merges += 1,
                }
            }
            rest = others;
        }
        Ok(done)
    }

    /// Blocks that are programmed to their ends become the data blocks of logical blocks, all of which one map page
    /// names. That map page may find no free block. Then everything stays as it was, but for blocks that must not be
    /// erased: a page of the map that failed may name them all the same.
    pub(super) fn switch_all<N: Nand>(
        &mut self,
        nand: &mut N,
        ready: &[(u32, Option<Block>)],
        at: Time,
    ) -> Result<Time, FtlError> {
        let Some((first, _)) = ready.first() else { return Ok(at) };
        let part = self.data.part_of(*first);
        debug_assert!(ready.iter().all(|(logical_block, _)| self.data.part_of(*logical_block) == part));
        let entry = |(logical_block, _): &(u32, _)| MapEntry {
            block: self.data.block(*logical_block),
            version: self.merge_version(*logical_block),
        };
        let before: Vec<MapEntry> = ready.iter().map(entry).collect();
        let map_first = self.barriers.keeps(Barrier::OldBlocksAfterMap);
        if !map_first {
            before.iter().filter_map(|entry| entry.block).for_each(|old| self.pool.release(old));
        }
        // Everything of them that stands in log blocks by now was written before this moment.
        let version = self.pool.clock.version();
        debug_assert!(before.iter().all(|entry| entry.version <= version), "merge versions only rise");
        for ((logical_block, block), before) in ready.iter().zip(&before) {
            debug_assert!(block.is_none() || *block != before.block, "{logical_block} is merged into its data block");
            self.set_entry(*logical_block, MapEntry { block: *block, version });
        }
        let done = match self.write_part(nand, part, at) {
            Ok(done) => done,
            Err(error) => {
                for ((logical_block, block), before) in ready.iter().zip(before) {
                    self.set_entry(*logical_block, before);
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

    /// Whether a log block can become its owner's data block: it is not closed, stands in place, and its pages are the
    /// newest.
    fn can_become_data_block(&self, slot: u32) -> bool {
        let state = self.log.get(slot);
        debug_assert!(state.live <= state.used, "more pages are live than were written: {state:?}");
        let newest = state.live == state.used && !self.trims.has(state.owner);
        state.owner != NOBODY
            && state.in_place
            // One that a recovery has found is closed, but may hold all there is.
            && (!state.closed || state.live == self.pages_in(state.owner))
            && state.live > 0
            && (newest || !self.barriers.keeps(Barrier::PartialMergesOfNewest))
    }

    /// The map names a log block as its owner's data block: it is none of the log any more. Whether nothing had to be
    /// copied.
    fn became_data_block(&mut self, slot: u32, is_switch: bool) {
        self.tally.merged(self.log.get(slot).used);
        let block = self.log.close(slot);
        self.pool.take(block, Use::Data);
        if is_switch {
            self.tally.switch_merges += 1;
        } else {
            self.tally.partial_merges += 1;
        }
    }

    /// Merges every logical block that has live pages in a log block, one after the other, and gives the log block
    /// back.
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
