//! Room for host writes: a superblock's hot block, and collections where no block is to be had.
//!
//! Blocks are collected for one of two reasons. A superblock that can have no other block collects its emptiest one.
//! Its live pages go to the cold block, and the host may write to the room that is left there. Or the superblock
//! written least recently gives up an update block: its emptiest blocks are collected until it has one less. The pages
//! to copy for a page of room decide which of the two is done.
//!
//! In the words of the merges of other log-block FTLs:
//! - Where nothing was copied, a block was *dead*.
//! - Where the live pages went into room that another block of the superblock had left, the merge is *partial*.
//! - Where they went to a fresh block, it is *full*. Its association degree is the number of logical blocks that the
//!   pages were of.

use super::super::fetch::Fetched;
use super::super::kept::KeptPage;
use super::super::pool::Role;
use super::page_map::NOWHERE;
use super::state::Member;
use super::superblocks::Superblocks;
use crate::FtlError;
use crate::medium::NewPage;
use crate::medium::marks::SpareMarks;
use alloc::vec::Vec;
use phelsuma_nand::{Kind, Nand, Op, Page, PageRead, Purpose, Time};

impl Superblocks {
    /// Why live pages are moved: by a request, or by a recovery.
    fn purpose_of_moves(&self) -> Purpose {
        self.pool.phase.purpose(Purpose::Merge)
    }

    /// A slot of a superblock that the host's next page can be written to, and when.
    pub(super) fn make_room<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        at: Time,
    ) -> Result<(usize, Time), FtlError> {
        let (n, pages) = (superblock as usize, self.layout.pages_per_block);
        let mut at = at;
        // Each round finds room, or gives a block back, or fails.
        for _ in 0..4 * self.layout.slots() {
            let this = &mut self.superblocks[n];
            this.close_full();
            if let Some(hot) = this.hot {
                return Ok((hot, at));
            }
            if this.has_dead() {
                self.tally.dead_log_blocks += this.dead();
                at = self.commit_map(nand, superblock, at)?;
                continue;
            }
            let (len, most) = (this.len(), self.layout.most);
            if len > most && this.cost_of_a_block().is_some() {
                at = self.take_a_block(nand, superblock, at)?;
                continue;
            }
            let is_update = len >= self.layout.blocks_in(superblock);
            let may_grow = len < most && (!is_update || self.updates < self.updates_most);
            if may_grow && self.pool.free() > self.shape.reserve_blocks {
                let (slot, ready) = self.open_member(nand, superblock, at)?;
                self.superblocks[n].hot = Some(slot);
                at = ready;
                continue;
            }
            let own = this_cost(self.superblocks[n].emptiest(), pages);
            let other = self.written.iter().find(|other| *other != superblock).filter(|_| len < most);
            let of_other = other.and_then(|other| self.superblocks[other as usize].cost_of_a_block());
            let of_other = of_other.map(|(_, copies)| copies);
            at = match (own, other.zip(of_other)) {
                // Copies for a page of room: a / b against c / d.
                (Some((copies, room)), Some((_, of_other)))
                    if u64::from(copies) * u64::from(pages) < u64::from(of_other) * u64::from(room) =>
                {
                    self.collect_own(nand, superblock, at)?
                }
                (_, Some((other, _))) => {
                    self.counts.updates_taken += 1;
                    self.take_a_block(nand, other, at)?
                }
                (Some(_), None) => self.collect_own(nand, superblock, at)?,
                // All room that it has is where collections have left some.
                (None, None) => match self.superblocks[n].cold.take() {
                    None => return Err(self.pool.full()),
                    cold => {
                        self.superblocks[n].hot = cold;
                        at
                    }
                },
            };
        }
        Err(self.pool.full())
    }

    /// Another block for a superblock: its slot, and when it can be written.
    fn open_member<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> Result<(usize, Time), FtlError> {
        let Some(slot) = self.superblocks[superblock as usize].free_slot() else { return Err(self.pool.full()) };
        let purpose = self.purpose_of_moves();
        let (block, ready) = self.pool.open(nand, Role::Log, purpose, at)?;
        let before = self.updates_of(superblock);
        let member = &mut self.superblocks[superblock as usize].members[slot];
        debug_assert!(member.is_none(), "slot {slot} of superblock {superblock} is in use");
        *member = Some(Member::new(block));
        self.recount(superblock, before);
        Ok((slot, ready))
    }

    /// Collects the emptiest block of a superblock that is to have no other. Two of them may fit into one: then the
    /// live pages of both are separated from host writes. Otherwise the host goes on where the live pages end.
    fn collect_own<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> Result<Time, FtlError> {
        let n = superblock as usize;
        let Some((victim, live)) = self.superblocks[n].emptiest() else { return Err(self.pool.full()) };
        if let Some(cold) = self.superblocks[n].cold {
            if live > self.superblocks[n].room(cold) {
                // The host writes the rest of it.
                self.superblocks[n].hot = self.superblocks[n].cold.take();
                return Ok(at);
            }
            return self.empty_block(nand, superblock, victim, at);
        }
        let mut done = self.empty_block(nand, superblock, victim, at)?;
        self.superblocks[n].close_full();
        let this = &self.superblocks[n];
        if let (Some(cold), Some((second, live))) = (this.cold, this.emptiest())
            && live <= this.room(cold)
        {
            done = self.empty_block(nand, superblock, second, done)?;
        } else {
            self.superblocks[n].hot = self.superblocks[n].cold.take();
        }
        Ok(done)
    }

    /// Collects blocks of a superblock until it has one less.
    pub(super) fn take_a_block<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> Result<Time, FtlError> {
        let (n, mut at) = (superblock as usize, at);
        let this = &mut self.superblocks[n];
        let before = this.len();
        // The block in which the host has left room takes the live pages.
        let Some((target, _)) = this.cost_of_a_block() else { return Ok(at) };
        (this.cold, this.hot) = (target, None);
        // Each round empties a block that was there.
        for _ in 0..=before {
            if self.superblocks[n].len() < before {
                break;
            }
            let this = &mut self.superblocks[n];
            if this.has_dead() {
                self.tally.dead_log_blocks += this.dead();
                at = self.commit_map(nand, superblock, at)?;
                continue;
            }
            this.close_full();
            let Some((victim, _)) = this.emptiest() else { break };
            at = self.empty_block(nand, superblock, victim, at)?;
        }
        Ok(at)
    }

    /// Moves the live pages of a block of a superblock to its cold block, and to another where that is full. Then the
    /// map records it, and the block is given back.
    fn empty_block<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        victim: usize,
        at: Time,
    ) -> Result<Time, FtlError> {
        let (held, ready) = self.load(nand, superblock, at);
        let mut moved = core::mem::take(&mut self.moved);
        moved.clear();
        let done = self.move_live(nand, (superblock, held, victim), &mut moved, ready);
        let done = done.and_then(|is_fresh| {
            let done = self.commit_moved(nand, superblock, &moved, ready)?;
            let is_gone = self.superblocks[superblock as usize].members[victim].is_none();
            debug_assert!(is_gone, "slot {victim} of superblock {superblock} is emptied and not given back");
            let mut degree = 0;
            let mut last = None;
            for (offset, ..) in &moved {
                let block = offset / self.layout.pages_per_block;
                degree += u32::from(last != Some(block));
                last = Some(block);
            }
            debug_assert!(degree <= self.layout.blocks, "a block has pages of more logical blocks than a superblock");
            if degree == 0 {
                self.tally.dead_log_blocks += 1;
            } else if is_fresh {
                self.tally.full_merges += 1;
                self.tally.associated(degree);
            } else {
                self.tally.partial_merges += 1;
            }
            Ok(done)
        });
        moved.clear();
        self.moved = moved;
        done
    }

    /// Copies the live pages of a block. Whether a fresh one was taken for it.
    fn move_live<N: Nand>(
        &mut self,
        nand: &mut N,
        (superblock, held, victim): (u32, u32, usize),
        moved: &mut Vec<(u32, u16, u16)>,
        at: Time,
    ) -> Result<bool, FtlError> {
        let (n, mut is_fresh) = (superblock as usize, false);
        debug_assert_ne!(self.superblocks[n].cold, Some(victim), "a block is collected into itself");
        let purpose = self.purpose_of_moves();
        let first = superblock * self.layout.pages();
        for offset in 0..self.layout.pages_in(superblock) {
            let old = self.cache.get(held)[offset as usize];
            if old == NOWHERE || self.slot_of(old).0 != victim {
                continue;
            }
            let fetched = self.fetch(nand, first + offset, self.page_of(superblock, old), purpose, at);
            // Each round that fails closes a block.
            loop {
                let this = &self.superblocks[n];
                let cold = this.cold.filter(|cold| this.room(*cold) > 0);
                let (to, ready) = match cold {
                    Some(cold) => (cold, fetched.ready),
                    None => {
                        let (slot, ready) = self.open_member(nand, superblock, at)?;
                        self.superblocks[n].cold = Some(slot);
                        is_fresh = true;
                        (slot, ready.max(fetched.ready))
                    }
                };
                let bytes = core::mem::take(&mut self.bytes);
                let page = fetched.page(first + offset, &bytes);
                self.tally.programs += 1;
                let copied = self.append(nand, superblock, to, &page, purpose, ready);
                self.bytes = bytes;
                if let Some((index, _)) = copied? {
                    self.tally.page_copies += 1;
                    debug_assert!(moved.last().is_none_or(|(before, ..)| *before < offset), "a page is moved twice");
                    moved.push((offset, old, self.entry_of(to, index)));
                    break;
                }
            }
        }
        Ok(is_fresh)
    }

    /// Reads a page to copy it.
    fn fetch<N: Nand>(&mut self, nand: &mut N, key: u32, from: Page, purpose: Purpose, at: Time) -> Fetched {
        self.tally.reads += 1;
        let (read, ready) = nand.read(from, Op::new(at, purpose));
        match read {
            PageRead::Written { content, spare, .. } if spare.kind == Kind::User && spare.key == key => {
                Fetched::of(content, &spare, &mut self.bytes, ready)
            }
            _ => {
                self.tally.pages_lost_moving += 1;
                Fetched::lost(self.pool.clock.version(), ready)
            }
        }
    }

    /// Writes suspect pages anew that a recovery has read, from that reading, to a block of their own. Then the map
    /// records them.
    pub(super) fn write_anew<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        unsure: &[Page],
        at: Time,
    ) -> Result<Time, FtlError> {
        let (held, ready) = self.load(nand, superblock, at);
        let kept = core::mem::take(&mut self.kept.0);
        let (copied, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(|(page, ..)| unsure.contains(page));
        self.kept.0 = kept;
        let done = self.copy_kept(nand, (superblock, held), &copied, ready);
        if done.is_err() {
            self.kept.0.extend(copied);
        }
        done
    }

    fn copy_kept<N: Nand>(
        &mut self,
        nand: &mut N,
        (superblock, held): (u32, u32),
        copied: &[KeptPage],
        ready: Time,
    ) -> Result<Time, FtlError> {
        let mut moved = Vec::new();
        let mut to = None;
        for (_, spare, data) in copied {
            let (of, offset) = self.layout.split(spare.key);
            debug_assert_eq!(of, superblock, "a page of another superblock is written anew");
            let old = self.cache.get(held)[offset as usize];
            // Each round that fails closes a block.
            let new = loop {
                let (slot, ready) = match to {
                    Some(slot) => (slot, ready),
                    None => self.open_member(nand, superblock, ready)?,
                };
                to = Some(slot);
                let content = data.content();
                let (key, version, data_crc) = (spare.key, spare.version, spare.data_crc);
                let page = NewPage { kind: Kind::User, key, version, content, data_crc, marks: SpareMarks::NONE };
                self.tally.programs += 1;
                if let Some((index, _)) = self.append(nand, superblock, slot, &page, Purpose::Recovery, ready)? {
                    break self.entry_of(slot, index);
                }
                to = None;
            };
            moved.push((offset, old, new));
        }
        self.commit_moved(nand, superblock, &moved, ready)
    }
}

/// What collecting a superblock's emptiest block costs, and what room it makes: none where it makes none.
fn this_cost(emptiest: Option<(usize, u32)>, pages_per_block: u32) -> Option<(u32, u32)> {
    let (_, live) = emptiest?;
    (live < pages_per_block).then_some((live, pages_per_block - live))
}
