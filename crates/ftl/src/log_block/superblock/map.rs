//! Superblocks' maps: read from a map page and the spare areas of younger pages, and written anew.
//!
//! A map is written anew when a block is given back or a page is trimmed. The order is that of a merge. The moved pages
//! are programmed. Then the map page is, not before all of them are on flash. Only then are blocks given back. A cut in
//! between leaves a superblock in the state of its older map page and the spare areas of younger pages. A page that was
//! moved has its old version, which does not count where the map page does not name it.

use super::super::pool::Role;
use super::page_map::{self, NOWHERE};
use super::superblocks::Superblocks;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::NewPage;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Content, Kind, Nand, Op, Page, PageRead, Purpose, Spare, SpareRead, Time};

impl Superblocks {
    /// Why maps are read and written: by requests, or by a recovery.
    fn purpose_of_maps(&self) -> Purpose {
        self.pool.phase.purpose(Purpose::Map)
    }

    /// Has a superblock's map in RAM: where, and from when on. Live pages of its blocks are counted anew where it was
    /// read.
    pub(super) fn load<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> (u32, Time) {
        if let Some((held, since)) = self.cache.find(superblock) {
            return (held, at.max(since));
        }
        self.counts.map_misses += 1;
        let held = self.cache.hold(superblock);
        let (made_version, mut done) = self.read_map_page(nand, superblock, held, at);
        let is_lost = made_version.is_none();
        self.counts.maps_rebuilt += u64::from(is_lost);
        let pages = self.layout.pages_in(superblock) as usize;
        let mut is_cleared = false;
        for slot in 0..self.superblocks[superblock as usize].members.len() {
            let Some(member) = self.superblocks[superblock as usize].members[slot] else { continue };
            let from = if is_lost { 0 } else { member.from };
            if from < member.next && !is_cleared {
                self.newest.clear();
                self.newest.resize(pages, (0, 0));
                is_cleared = true;
            }
            for index in from..member.next {
                let page = self.geometry.page(member.block, index);
                let (spare, ready) = self.young_spare(nand, page, done.min(at));
                done = done.max(ready);
                let Some(spare) = spare else { continue };
                let (of, offset) = self.layout.split(spare.key);
                let is_older = spare.version <= made_version.unwrap_or(0);
                if spare.kind != Kind::User
                    || of != superblock
                    || offset as usize >= pages
                    || (is_older && self.barriers.keeps(Barrier::MergeVersionCompared))
                {
                    continue;
                }
                // Of copies of one version the first is the original: its copy may not be on the map yet.
                let newest = &mut self.newest[offset as usize];
                let is_newer = match self.barriers.keeps(Barrier::VersionOrder) {
                    true => spare.version > newest.0 || (spare.version == newest.0 && spare.seq < newest.1),
                    false => spare.seq > newest.1,
                };
                if is_newer {
                    *newest = (spare.version, spare.seq);
                    let entry = self.entry_of(slot, index);
                    self.cache.get_mut(held)[offset as usize] = entry;
                }
            }
        }
        self.count_live(superblock, held);
        self.cache.set_since(held, done);
        (held, done)
    }

    /// A map page's entries go into the cache: the version that it was made with, 0 where there is none; none where it
    /// cannot be read.
    fn read_map_page<N: Nand>(&mut self, nand: &mut N, superblock: u32, held: u32, at: Time) -> (Option<u64>, Time) {
        let Some(page) = self.map.place(superblock) else { return (Some(0), at) };
        let entries = self.cache.get_mut(held);
        if let Some((_, version, bytes)) = self.kept_maps.iter().find(|(of, ..)| *of == superblock) {
            page_map::entries(bytes, entries);
            return (Some(*version), at);
        }
        self.tally.reads += 1;
        let (read, done) = nand.read(page, Op::new(at, self.pool.phase.purpose(Purpose::Map)));
        let version = match read.verified() {
            Some((Content::Bytes(bytes), spare)) if spare.kind == Kind::Map && spare.key == superblock => {
                page_map::entries(bytes, entries);
                Some(spare.version)
            }
            _ => None,
        };
        (version, done)
    }

    /// The spare area of a page that is younger than its superblock's map.
    fn young_spare<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> (Option<Spare>, Time) {
        if let Some((_, spare, _)) = self.kept.get(page) {
            return (Some(*spare), at);
        }
        self.counts.spare_reads += 1;
        let (read, done) = nand.read_spare(page, Op::new(at, self.purpose_of_maps()));
        let spare = match read {
            SpareRead::Written(spare) => Some(spare),
            SpareRead::Erased | SpareRead::Unreadable => None,
        };
        (spare, done)
    }

    /// Counts the live pages of a superblock's blocks. Entries of its map for blocks that it does not have do not
    /// count.
    fn count_live(&mut self, superblock: u32, held: u32) {
        let pages_per_block = self.layout.pages_per_block;
        let members = &mut self.superblocks[superblock as usize].members;
        members.iter_mut().flatten().for_each(|member| member.live = 0);
        for entry in self.cache.get_mut(held).iter_mut().filter(|entry| **entry != NOWHERE) {
            match members.get_mut((u32::from(*entry) / pages_per_block) as usize) {
                Some(Some(member)) => member.live += 1,
                _ => *entry = NOWHERE,
            }
        }
    }

    /// Pages of a superblock are trimmed: those that are there. When that is on flash.
    pub(super) fn trim_pages<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        offsets: Range<u32>,
        at: Time,
    ) -> Result<Time, FtlError> {
        debug_assert!(offsets.end <= self.layout.pages_in(superblock), "a trim reaches into another superblock");
        let (held, ready) = self.load(nand, superblock, at);
        let map = self.cache.get(held);
        let mut trimmed = core::mem::take(&mut self.moved);
        trimmed.clear();
        let there = offsets.map(|offset| (offset, map[offset as usize], NOWHERE)).filter(|(_, old, _)| *old != NOWHERE);
        trimmed.extend(there);
        let done = if trimmed.is_empty() { Ok(ready) } else { self.commit_moved(nand, superblock, &trimmed, ready) };
        self.moved = trimmed;
        done
    }

    /// Pages of a superblock stand elsewhere now, or nowhere, and the map page says so. Where that cannot be written,
    /// all stays as it was.
    pub(super) fn commit_moved<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        moved: &[(u32, u16, u16)],
        at: Time,
    ) -> Result<Time, FtlError> {
        let (held, ready) = self.load(nand, superblock, at);
        self.move_entries(superblock, held, moved.iter().map(|(offset, old, new)| (*offset, *old, *new)));
        let done = self.commit(nand, superblock, ready);
        match done {
            Ok(done) => self.committed(nand, done),
            Err(error) => {
                self.move_entries(superblock, held, moved.iter().map(|(offset, old, new)| (*offset, *new, *old)));
                Err(error)
            }
        }
    }

    fn move_entries(&mut self, superblock: u32, held: u32, moved: impl Iterator<Item = (u32, u16, u16)>) {
        for (offset, old, new) in moved {
            debug_assert_eq!(self.cache.get(held)[offset as usize], old);
            self.cache.get_mut(held)[offset as usize] = new;
            let (from, to) = (self.slot_of(old).0, self.slot_of(new).0);
            let superblock = &mut self.superblocks[superblock as usize];
            if old != NOWHERE {
                superblock.get_mut(from).live -= 1;
            }
            if new != NOWHERE {
                superblock.get_mut(to).live += 1;
            }
        }
    }

    /// Writes a superblock's map, without the blocks in which nothing is live; and gives these back.
    fn commit<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> Result<Time, FtlError> {
        let (held, ready) = self.load(nand, superblock, at);
        if !self.barriers.keeps(Barrier::OldBlocksAfterMap) {
            self.give_back_dead(superblock);
        }
        let this = &self.superblocks[superblock as usize];
        self.bytes.clear();
        self.bytes.resize(self.geometry.page_bytes() as usize, 0);
        let seq = self.pool.clock.seq();
        let map = self.cache.get(held);
        let stays = |entry: u16| entry == NOWHERE || !this.is_dead(self.slot_of(entry).0);
        debug_assert!(map.iter().all(|entry| stays(*entry)), "a page stands in a block that is given back");
        page_map::encode(&self.layout, seq, &this.members, |slot| !this.is_dead(slot), map, &mut self.bytes);
        let version = self.pool.clock.next_version();
        let bytes = core::mem::take(&mut self.bytes);
        let done = self.append_map(nand, superblock, version, &bytes, ready);
        self.bytes = bytes;
        let done = done?;
        self.kept_maps.retain(|(of, ..)| *of != superblock);
        for member in self.superblocks[superblock as usize].members.iter_mut().flatten() {
            debug_assert!(member.from <= member.next, "a map knows of pages that are not written: {member:?}");
            member.from = member.next;
        }
        self.give_back_dead(superblock);
        Ok(done)
    }

    fn give_back_dead(&mut self, superblock: u32) {
        let before = self.updates_of(superblock);
        for slot in 0..self.superblocks[superblock as usize].members.len() {
            let this = &mut self.superblocks[superblock as usize];
            if this.is_dead(slot)
                && let Some(member) = this.members[slot].take()
            {
                this.hot = this.hot.filter(|hot| *hot != slot);
                this.cold = this.cold.filter(|cold| *cold != slot);
                self.pool.release(member.block);
                self.tally.freed_blocks += 1;
                self.tally.merged(member.next);
            }
        }
        self.recount(superblock, before);
    }

    /// Writes a superblock's map, without the blocks in which nothing is live, and empties map blocks where there are
    /// too many.
    pub(super) fn commit_map<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> Result<Time, FtlError> {
        let done = self.commit(nand, superblock, at)?;
        self.committed(nand, done)
    }

    /// A map page was written. A recovery empties no map block before it has written anew all map pages that may have
    /// been in flight.
    fn committed<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.pool.phase.is_mounting() { Ok(at) } else { self.empty_map_blocks(nand, at) }
    }

    /// Programs a page of the map, not before everything so far is on flash. When it is safe.
    fn append_map<N: Nand>(
        &mut self,
        nand: &mut N,
        superblock: u32,
        version: u64,
        bytes: &[u8],
        at: Time,
    ) -> Result<Time, FtlError> {
        let purpose = self.purpose_of_maps();
        let earliest = if self.barriers.keeps(Barrier::MapAfterData) { at.max(self.pool.clock.horizon()) } else { at };
        let content = Content::Bytes(bytes);
        let page = NewPage::of(Kind::Map, superblock, version, content);
        // Each round that fails closes a block.
        loop {
            let (block, next, ready) = match self.map.take_next() {
                Some((block, next)) => (block, next, earliest),
                None => {
                    let (block, ready) = self.pool.open(nand, Role::Map, purpose, earliest)?;
                    self.map.opened(block);
                    let first = self.map.take_next();
                    debug_assert_eq!(first, Some((block, 0)), "a map block is opened and not written next");
                    (block, 0, ready.max(earliest))
                }
            };
            let to = self.geometry.page(block, next);
            self.tally.programs += 1;
            if let Some(done) = self.pool.program(nand, to, Role::Map, &page, purpose, ready)? {
                self.map.placed(&self.geometry, superblock, to);
                return Ok(done);
            }
            self.map.close();
        }
    }

    /// Empties map blocks where there are too many: their live pages are moved as they are.
    pub(super) fn empty_map_blocks<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        // Each round gives one back.
        for _ in 0..self.geometry.blocks() {
            let Some(victim) = self.map.victim(&self.pool) else { break };
            self.tally.map_collections += 1;
            for superblock in self.map.parts_in(&self.geometry, victim) {
                done = self.move_map_page(nand, superblock, done)?;
            }
            debug_assert!(
                self.map.parts_in(&self.geometry, victim).is_empty(),
                "{victim} is given back with map pages"
            );
            self.map.emptied(victim);
            self.pool.release(victim);
        }
        Ok(done)
    }

    /// Writes a map page anew as it is. One that cannot be read any more is made from the map in RAM, or from spare
    /// areas.
    fn move_map_page<N: Nand>(&mut self, nand: &mut N, superblock: u32, at: Time) -> Result<Time, FtlError> {
        let Some(page) = self.map.place(superblock) else { return Ok(at) };
        self.tally.reads += 1;
        let (read, ready) = nand.read(page, Op::new(at, self.purpose_of_maps()));
        let mut bytes: Vec<u8> = core::mem::take(&mut self.bytes);
        bytes.clear();
        let version = match read {
            PageRead::Written { content: Content::Bytes(read), spare, .. }
                if spare.kind == Kind::Map && spare.key == superblock && content_fits(read, &spare) =>
            {
                bytes.extend_from_slice(read);
                Some(spare.version)
            }
            _ => None,
        };
        let done = match version {
            Some(version) => self.append_map(nand, superblock, version, &bytes, ready),
            None => Ok(ready),
        };
        self.bytes = bytes;
        if version.is_some() { done } else { self.commit(nand, superblock, ready) }
    }
}

fn content_fits(bytes: &[u8], spare: &Spare) -> bool {
    Content::Bytes(bytes).crc() == spare.data_crc
}
