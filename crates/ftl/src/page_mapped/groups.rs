//! Collection of a group of translation pages: all of its blocks at once, in logical order (LearnedFTL, HPCA '24).
//!
//! ```text
//!  blocks of group 3     [5 . 9 2] [. 7 1 .] [6 . 0 8]      . stale
//!  written anew          [0 1 2 5] [6 7 8 9]                entries of consecutive pages name consecutive pages
//! ```
//!
//! The table says where each page is, so nothing has to be sorted. Each translation page is written as soon as its pages
//! have moved: that trains its model. Then every block is collected as any other, of which next to nothing is live. So
//! what the table does not name, or flash does not give back, is dealt with there.
//!
//! No block is given back before its pages have moved. So a power cut finds what it finds in the middle of any
//! collection, in more blocks. Where the room for the group's pages is not free, its blocks are collected
//! one by one. So are those of a small drive, of which a group would take more than an eighth.

use super::collecting::Why;
use super::mapping::Mapping;
use super::meta_io::MetaIo;
use super::move_buffer;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::validity::Validity;
use crate::FtlError;
use crate::blocks::BlockUse;
use core::ops::Range;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, PageRead, Time};

impl PageMapped {
    /// The stream whose blocks are collected with this victim, if they are, and there is room for their pages. A block
    /// without live pages is given back alone: the others may have hardly any stale page, after a long write.
    pub(super) fn group_of(&self, victim: Block, why: Why) -> Option<u8> {
        let groups = self.collecting.groups.filter(|_| why == Why::Policy)?;
        if self.mapping.is_damaged() || self.validity.is_damaged() {
            // The table may name pages that were reported stale before.
            return None;
        }
        let stream = self.blocks.stream_of(victim);
        if stream >= self.streams.placement || self.blocks.counters.live(victim) == 0 {
            return None;
        }
        let geometry = self.blocks.geometry();
        let written = self.blocks.view().candidates().filter(|(block, _)| self.blocks.stream_of(*block) == stream);
        let live: u64 = written.map(|(_, live)| u64::from(live)).sum();
        let needs = live.div_ceil(geometry.pages_per_block().into()) + u64::from(geometry.dies());
        let has_room = u64::from(self.blocks.free()) >= u64::from(self.reserve() - groups.room) + needs;
        has_room.then_some(stream)
    }

    /// Collects a block with all others of its group.
    pub(super) fn collect_group<N: Nand>(
        &mut self,
        nand: &mut N,
        (chosen, stream): (Block, u8),
        why: Why,
        at: Time,
    ) -> Result<(), FtlError> {
        let geometry = *self.blocks.geometry();
        let blocks = || (0..geometry.blocks()).map(Block);
        for victim in blocks() {
            if self.blocks.is_candidate(victim) && self.blocks.stream_of(victim) == stream {
                self.take_victim(nand, victim, if victim == chosen { why } else { Why::Group }, at);
            }
        }
        let (mut released, mut left) = (false, false);
        let mut moved = self.move_in_order(nand, self.group_pages(stream), why, at);
        for victim in blocks() {
            if self.blocks.use_of(victim) != BlockUse::Victim {
                continue;
            }
            if released && moved.is_ok() && self.lacks_room_for_more() {
                // Where it is short, the emptiest of all is next.
                self.give_up(victim);
                left = true;
                continue;
            }
            let rest = moved.and_then(|at| {
                let at = self.find_live(nand, victim, why, at)?;
                self.move_user_pages(nand, (victim, why), usize::MAX, at)
            });
            moved = self.end_collection(nand, victim, rest, at);
            if moved.is_ok() {
                released = true;
                self.count_collection(why);
            }
        }
        let is_whole = moved.is_ok() && !left;
        *if is_whole { &mut self.tally.groups } else { &mut self.tally.groups_given_up } += 1;
        moved.map(|_| ())
    }

    /// The logical pages of a stream's group.
    fn group_pages(&self, stream: u8) -> Range<u32> {
        let pages = self.collecting.groups.map_or(0, |groups| groups.pages);
        let first = pages.saturating_mul(stream.into()).min(self.shape.logical_pages);
        first..first.saturating_add(pages).min(self.shape.logical_pages)
    }

    /// Moves these logical pages in their order, those of them that are in a victim. It stops where there is no more
    /// room than any collection needs.
    fn move_in_order<N: Nand>(
        &mut self,
        nand: &mut N,
        pages: Range<u32>,
        why: Why,
        at: Time,
    ) -> Result<Time, FtlError> {
        let Some(last) = pages.end.checked_sub(1) else { return Ok(at) };
        let mut places = core::mem::take(&mut self.collecting.places);
        let mut done = Ok(at);
        for part in self.mapping.part_of(LogicalPage(pages.start))..=self.mapping.part_of(LogicalPage(last)) {
            let Ok(so_far) = done else { break };
            places.clear();
            let io = mapping_io!(self, nand, so_far);
            self.mapping.places_of(io, part, &mut places);
            let known = io.read_done();
            places.retain(|(key, page)| {
                let is_there = self.blocks.geometry().contains(*page);
                is_there
                    && pages.contains(&key.0)
                    && self.blocks.use_of(self.blocks.geometry().block_of(*page)) == BlockUse::Victim
            });
            done = self.move_part(nand, part, &places, why, known).map(|moved| moved.max(so_far));
            if self.lacks_room_for_more() {
                break;
            }
        }
        self.collecting.places = places;
        done
    }

    fn lacks_room_for_more(&self) -> bool {
        self.blocks.free() < self.reserve() - self.collecting.groups.map_or(0, |groups| groups.room)
    }

    /// Moves pages of a part, and makes its entries durable.
    fn move_part<N: Nand>(
        &mut self,
        nand: &mut N,
        part: u32,
        places: &[(LogicalPage, Page)],
        why: Why,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut moving = core::mem::take(&mut self.collecting.moving);
        let mut done = Ok(at);
        // Each page that leaves another victim may be an entry of its own.
        let at_once = if self.validity.is_on_flash() { 1 } else { move_buffer::PAGES };
        for some in places.chunks(at_once) {
            if done.is_err() || self.lacks_room_for_more() {
                break;
            }
            moving.clear();
            for (key, page) in some.iter().copied() {
                if let (PageRead::Written { content, spare, .. }, ready) = nand.read(page, Op::new(at, why.purpose()))
                    && spare.kind == Kind::User
                    && spare.key == key.0
                    && content.crc() == spare.data_crc
                {
                    moving.push(page, spare, content, ready);
                }
            }
            self.warm_moving(nand, &moving);
            self.tally.pages_in_order += moving.pages() as u64;
            done = self
                .write_moved(nand, &moving, why, at)
                .and_then(|moved| self.validity.have_left(validity_io!(self, nand, at)).map(|()| moved))
                .and_then(|moved| done.map(|before| before.max(moved)));
        }
        self.collecting.moving = moving;
        let done = done?;
        self.settle(nand, at)?;
        if self.mapping.is_dirty(part) {
            self.mapping.synchronize_part(mapping_io!(self, nand, at), part, &mut self.before)?;
            self.settle(nand, at)?;
        }
        Ok(done)
    }
}
