//! Garbage collection: move the live pages out of a victim, then give the block back.

use super::collecting::Why;
use super::mapping::{Judgement, Mapping, Place};
use super::meta_io::MetaIo;
use super::move_buffer;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::shape::usable_pages;
use super::slices::unless_full;
use super::validity::Validity;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::BlockUse;
use crate::medium::NewPage;
use crate::policy::Source;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Time};

/// Collections in a row, with a tree, after which no more blocks are free than before; then the emptiest is taken.
/// Without one they are as many as there are blocks: a policy that goes round all of them has come to those with stale
/// pages by then, and any other would go on for ever.
const GAINLESS_MAX: u32 = 16;

impl PageMapped {
    /// Free blocks that a collection needs at the most.
    pub(super) fn reserve(&self) -> u32 {
        self.shape.reserve_blocks - self.collecting.early - self.collecting.batch - self.collecting.slc.set_aside
    }

    /// Whether collections are due.
    #[inline]
    pub(super) fn lacks_space(&self) -> bool {
        self.blocks.free() < self.reserve()
    }

    /// Collects until the reserve is full again, or by a batch fuller. No request waits for that: a block that is given
    /// back is not erased before everything so far is on flash.
    #[inline(never)]
    pub(super) fn make_space<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        self.settle(nand, at)?;
        self.end_slices(nand, at)?;
        let mut unidentified_from = Some(0);
        let reserve = if self.blocks.keeps(Barrier::ReserveKept) { self.reserve() } else { 1 };
        let (mut most_free, mut turns) = (self.blocks.free(), 0);
        // A victim's pages in a tree leave as many stale pages of it behind the blocks that a policy has yet to come
        // to.
        let gainless_max = if self.tree.is_some() { GAINLESS_MAX } else { self.blocks.geometry().blocks() };
        while self.blocks.free() < reserve + self.collecting.batch {
            let is_due = self.blocks.free() < reserve;
            if !is_due && turns > self.collecting.batch {
                break;
            }
            let known = self.look_for_victims(nand, at);
            turns = if self.blocks.free() > most_free { 0 } else { turns + 1 };
            most_free = most_free.max(self.blocks.free());
            let victim = match turns > gainless_max {
                true => self.blocks.counters.least_by_scan().map(|block| (block, Why::Emergency)),
                false => self.next_victim(),
            };
            let victim = victim.filter(|(victim, _)| self.can_gain(*victim));
            let of_need = || self.emptied_victim().or_else(|| self.victim_of_cache()).filter(|_| is_due);
            match victim.or_else(of_need) {
                Some((victim, why)) if is_due => self.collect_whole(nand, victim, why, known)?,
                // What finds no room is collected when there is need.
                Some((victim, why)) => unless_full(self.collect_whole(nand, victim, why, known))?,
                None if !is_due => break,
                // Perhaps there are stale pages that are not identified.
                None if self.mapping.is_lazy() && unidentified_from.is_some() => {
                    let from = unidentified_from.unwrap_or(0);
                    let io = mapping_io!(self, nand, at);
                    unidentified_from = self.mapping.synchronize_next(io, from, &mut self.before)?;
                    self.settle(nand, at)?;
                }
                // Perhaps most pages that count as live were named by a part of the table that is lost.
                None if self.recount(nand, at) => {}
                None => return Err(self.blocks.full()),
            }
        }
        if self.mapping.has_tombstones() {
            self.blocks.keep_blank(nand, &mut self.durability, Purpose::Gc, at)?;
        }
        Ok(())
    }

    /// Collects a block and counts that.
    pub(super) fn collect_whole<N: Nand>(
        &mut self,
        nand: &mut N,
        victim: Block,
        why: Why,
        at: Time,
    ) -> Result<(), FtlError> {
        match self.group_of(victim, why) {
            Some(group) => self.collect_group(nand, (victim, group), why, at)?,
            None => {
                self.collect(nand, victim, why, at)?;
                self.count_collection(why);
            }
        }
        Ok(())
    }

    /// Counts a collection that completed.
    pub(super) fn count_collection(&mut self, why: Why) {
        self.tally.collections += 1;
        self.tally.metadata_fallbacks += u64::from(why == Why::TooMuchMetadata);
        self.tally.emergency_collections += u64::from(why == Why::Emergency);
        self.tally.folds += u64::from(why == Why::Fold);
    }

    /// Whether enough blocks are left for the live pages. Where too many have gone bad, or a tree has outgrown its room,
    /// collection would move full blocks in circles and wear out the rest.
    pub(super) fn can_gain(&self, victim: Block) -> bool {
        // Where pages are given up, each collection costs a page of the log.
        let costs = u32::from(self.durability.points_back() && self.mapping.is_damaged());
        let pages_per_block = self.blocks.geometry().pages_per_block();
        let full = |block| u32::from(self.blocks.counters.live(block)) + costs >= pages_per_block;
        if full(victim) && self.blocks.counters.least_by_scan().is_none_or(full) {
            return false;
        }
        let may_outgrow = self.tree.as_ref().is_some_and(|shared| shared.may_outgrow);
        if self.blocks.bad() == 0 && !may_outgrow {
            return true;
        }
        let geometry = self.blocks.geometry();
        let usable = usable_pages(geometry, &self.shape, self.blocks.bad());
        // Unidentified stale pages count as live. So does metadata that is left until it is stale, and a tree: each has
        // blocks of its own.
        let set_aside = match self.mapping.is_lazy() {
            _ if self.tree.is_some() => u64::from(self.shape.metadata_blocks),
            true if self.blocks.collects_metadata() => u64::from(self.shape.unidentified_blocks),
            true => u64::from(self.shape.metadata_blocks) + u64::from(self.shape.unidentified_blocks),
            false => 0,
        };
        (usable >= u64::from(self.shape.logical_pages) && !may_outgrow)
            || self.blocks.counters.live_total() <= usable + set_aside * u64::from(geometry.pages_per_block())
    }

    /// With a tree in which each trim leaves stale pages: a block of which more is gained than its pages and the tree
    /// take, however much is live elsewhere. Else a drive that is full could not take the trims that make room.
    fn emptied_victim(&self) -> Option<(Block, Why)> {
        let least = self.blocks.counters.least_by_scan().filter(|_| self.tree.is_some())?;
        let live = u32::from(self.blocks.counters.live(least));
        (2 * live <= self.blocks.geometry().pages_per_block()).then_some((least, Why::Emergency))
    }

    /// The block to collect: one that has begun to fail, or the emptiest of metadata where that takes too much space.
    /// Otherwise it is the policy's choice, or in an emergency the emptiest.
    pub(super) fn next_victim(&mut self) -> Option<(Block, Why)> {
        if let Some(failing) = self.blocks.failing() {
            return Some((failing, Why::Failing));
        }
        let too_much = self.blocks.waiting().len() > self.shape.metadata_blocks as usize;
        if too_much && self.blocks.keeps(Barrier::MetadataBounded) {
            let emptiest = self.blocks.waiting().iter().copied().min_by_key(|b| (self.blocks.counters.live(*b), b.0));
            return emptiest.map(|block| (block, Why::TooMuchMetadata));
        }
        if self.collecting.slc.gives_way
            && !self.blocks.emergency()
            && let Some(of_cache) = self.victim_of_cache()
        {
            return Some(of_cache);
        }
        if self.blocks.emergency() && self.blocks.keeps(Barrier::EmptiestInEmergency) {
            // The critical reserve rests on its being the emptiest of all.
            debug_assert!(self.blocks.counters.sample().is_none_or(|sample| sample.is_all_sure()));
            let live = |block: &Block| (self.blocks.counters.live(*block), block.0);
            let (least, of_cache) = (self.blocks.counters.least_by_scan(), self.blocks.slc_emptiest());
            return match of_cache {
                Some(block) if least.is_none_or(|least| live(&block) < live(&least)) => Some((block, Why::Fold)),
                _ => Some((self.worth_moving(least?), Why::Emergency)),
            };
        }
        let (victim, examined) = self.choose_victim()?;
        self.collecting.examined = examined;
        Some((self.worth_moving(victim), Why::Policy))
    }

    /// The victim, or the emptiest block of which more is gained. Moving a translation page may make nodes above it be
    /// written, and what these leave behind would be collected in turn, for ever. Where there is no other, so much is
    /// free that it need not come to that (`NodeNeeds::live`).
    fn worth_moving(&self, victim: Block) -> Block {
        let programs = self.mapping.programs_to_move();
        if programs == 1 {
            return victim;
        }
        let pages_per_block = self.blocks.geometry().pages_per_block();
        let gains = |block: Block, live: u16| {
            self.blocks.stream_of(block) != self.streams.mapping || u32::from(live) * programs < pages_per_block
        };
        if gains(victim, self.blocks.counters.live(victim)) {
            return victim;
        }
        self.blocks.counters.least_of(gains).unwrap_or(victim)
    }

    /// The victim is reported to placement. The blocks that the policy examined for this collection are counted.
    fn count_examined(&mut self, victim: Block, why: Why) {
        let looked_at = self.placement.collecting(&self.blocks.view(), victim);
        if why == Why::Policy {
            let examined = u64::from(self.collecting.examined) + u64::from(looked_at);
            self.tally.choices += 1;
            self.tally.blocks_examined += examined;
            self.tally.blocks_examined_max = self.tally.blocks_examined_max.max(examined);
        }
    }

    pub(super) fn collect<N: Nand>(
        &mut self,
        nand: &mut N,
        victim: Block,
        why: Why,
        at: Time,
    ) -> Result<Time, FtlError> {
        let at = self.take_victim(nand, victim, why, at);
        let stream = self.blocks.stream_of(victim);
        let moved = if self.blocks.is_metadata(stream) {
            self.move_metadata(nand, victim, stream, at)
        } else {
            self.find_live(nand, victim, why, at)
                .and_then(|at| self.move_user_pages(nand, (victim, why), usize::MAX, at))
        };
        self.end_collection(nand, victim, moved, at)
    }

    pub(super) fn take_victim<N: Nand>(&mut self, nand: &mut N, victim: Block, why: Why, at: Time) -> Time {
        debug_assert!(self.before.is_empty(), "{victim} is collected before all stale pages are reported");
        debug_assert!(self.collecting.begun.is_none(), "{victim} is collected while another block is");
        let at = self.count_victim(nand, victim, at);
        self.count_examined(victim, why);
        self.blocks.begin_collection(victim);
        self.victim.taken(&self.blocks.counters, victim);
        at
    }

    /// Gives a victim back whose live pages have moved. Where they have not, or it cannot be given back, the rest of it
    /// can be collected when there is room again.
    pub(super) fn end_collection<N: Nand>(
        &mut self,
        nand: &mut N,
        victim: Block,
        moved: Result<Time, FtlError>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let done = moved.and_then(|done| self.give_back_victim(nand, victim, at).map(|written| done.max(written)));
        self.collecting.victim = None;
        if done.is_err() && self.blocks.use_of(victim) == BlockUse::Victim {
            self.give_up(victim);
        }
        done
    }

    fn give_back_victim<N: Nand>(&mut self, nand: &mut N, victim: Block, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        if self.blocks.keeps(Barrier::TrimsBeforeReuse) {
            done = self.write_trims(nand, at)?;
        }
        self.settle(nand, at)?;
        self.flush_before_release(nand, at)?;
        self.prepare_release(nand, victim, at)?;
        self.release(nand, victim, at)?;
        Ok(done)
    }

    /// Trims that wait in RAM are on flash, and what they made stale is reported.
    pub(super) fn write_trims<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if !self.mapping.has_pending_trims() {
            return Ok(at);
        }
        let io = mapping_io!(self, nand, at);
        let written = self.mapping.write_pending_trims(io, &mut self.before);
        let done = io.done();
        self.settle(nand, at)?;
        written.map(|()| done)
    }

    /// Has trims written before pages are judged, where entries of a log judge them.
    pub(super) fn write_trims_to_judge<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.mapping.judges_by_flash() && self.blocks.keeps(Barrier::TrimsBeforeJudged) {
            self.write_trims(nand, at)?;
        }
        Ok(())
    }

    /// Whether a page is to be reported stale only when a trim is on flash that waits in RAM.
    fn is_stale_by_pending_trim(&self, key: LogicalPage) -> bool {
        self.mapping.judges_by_flash()
            && self.mapping.has_pending_trims()
            && self.mapping.known(key) == Some(Place::Trimmed)
            && self.blocks.keeps(Barrier::TrimsBeforeJudged)
    }

    /// Leaves the rest of a victim for another collection. What has left it is perhaps named on flash yet, and reported
    /// when that record goes.
    pub(super) fn give_up(&mut self, victim: Block) {
        self.collecting.victim = None;
        self.blocks.counters.may_be_low |= self.mapping.judges_by_flash();
        self.mapping.victim_given_up();
        let stream = self.blocks.stream_of(victim);
        self.blocks.close(&mut self.durability, victim, stream);
    }

    /// Has the owner of a block of metadata move its live pages.
    fn move_metadata<N: Nand>(&mut self, nand: &mut N, victim: Block, stream: u8, at: Time) -> Result<Time, FtlError> {
        let (moved, done) = if stream == self.streams.mapping {
            let io = mapping_io!(self, nand, at);
            (self.mapping.relocate(io, victim)?, io.done())
        } else {
            let io = validity_io!(self, nand, at);
            (self.validity.relocate(io, victim)?, io.done())
        };
        self.tally.metadata_collections += 1;
        self.tally.metadata_pages_moved += moved;
        Ok(done)
    }

    /// Moves up to `most` live pages out of a victim.
    pub(super) fn move_user_pages<N: Nand>(
        &mut self,
        nand: &mut N,
        (victim, why): (Block, Why),
        most: usize,
        at: Time,
    ) -> Result<Time, FtlError> {
        let all_first = self.blocks.keeps(Barrier::JudgedBeforeMoved);
        let marks_lost = self.mapping.marks_lost() && self.blocks.keeps(Barrier::MovedVerified);
        let mut moving = core::mem::take(&mut self.collecting.moving);
        let (mut done, mut left) = (Ok(at), most);
        // Pages that are reported stale meanwhile wait no longer.
        while left > 0 && !self.collecting.live.is_empty() && done.is_ok() {
            let most = left.min(self.collecting.live.len()).min(if all_first { move_buffer::PAGES } else { 1 });
            moving.clear();
            let (mut lost, mut batch, mut waits_for_trim) = (None, 0, false);
            while batch < most && lost.is_none() {
                let page = self.blocks.geometry().page(victim, u32::from(self.collecting.live[batch]));
                let (read, ready) = nand.read(page, Op::new(at, why.purpose()));
                match read {
                    // Where the mapping is on flash, it records data that have gone bad as lost: their copy would look
                    // torn to a recovery. Elsewhere they travel along with their CRC, and only the host's read finds
                    // it.
                    PageRead::Written { content, spare, .. }
                        if spare.kind == Kind::User
                            && spare.key < self.shape.logical_pages
                            && (!marks_lost || content.crc() == spare.data_crc) =>
                    {
                        moving.push(page, spare, content, ready);
                    }
                    PageRead::Erased if !all_first => {}
                    _ => lost = Some(page),
                }
                batch += 1;
            }
            self.warm_moving(nand, &moving);
            let mut judged = 0;
            moving.keep(|page| {
                if waits_for_trim {
                    return false;
                }
                judged += 1;
                match self.mapping.judge(LogicalPage(page.spare.key), page.from) {
                    Judgement::Live => true,
                    Judgement::Stale if self.is_stale_by_pending_trim(LogicalPage(page.spare.key)) => {
                        // It is read once more when the trim is on flash, and so are those behind it.
                        (waits_for_trim, batch, lost) = (true, judged - 1, None);
                        false
                    }
                    Judgement::Stale => {
                        self.validity.leave(self.blocks.geometry(), page.from);
                        self.drop_count(page.from);
                        false
                    }
                }
            });
            let lost = lost.map_or(Ok(()), |page| self.lose(nand, page, at));
            if !self.blocks.keeps(Barrier::CopiesBeforeErase) {
                let _ = nand.erase(victim, Op::new(at, Purpose::Gc));
            }
            // They are judged: reports of stale pages are of those that stay.
            self.collecting.live.drain(..batch);
            left -= batch;
            done = lost
                .and_then(|()| self.write_moved(nand, &moving, why, at))
                .and_then(|d| done.map(|before| before.max(d)));
            if waits_for_trim {
                done = done.and_then(|done| self.write_trims(nand, at).map(|written| done.max(written)));
            }
        }
        self.collecting.moving = moving;
        done
    }

    /// What is needed next of the mapping is fetched from the host's memory: of a large drive each entry is somewhere
    /// else.
    #[inline]
    pub(super) fn warm_moving<N: Nand>(&self, nand: &N, moving: &move_buffer::MoveBuffer) {
        if !self.mapping.warm(nand, moving.keys(), false) {
            self.fetch_entries(moving.keys());
        }
    }

    /// A live page of a victim that cannot say whose it is any more; the mapping can.
    ///
    /// Its translation page is written at once, as the page's copy would be: after a power cut it would name a place
    /// where there is something else by then.
    fn lose<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> Result<(), FtlError> {
        self.tally.pages_lost_moving += 1;
        if let Some(owner) = self.mapping.owner_of(mapping_io!(self, nand, at), page) {
            self.mapping.prepare(mapping_io!(self, nand, at), owner, false, &mut self.before)?;
            self.mapping.moved(owner, Place::Lost);
            if self.blocks.keeps(Barrier::LostWrittenThrough) {
                let part = self.mapping.part_of(owner);
                self.mapping.synchronize_part(mapping_io!(self, nand, at), part, &mut self.before)?;
            }
        }
        self.validity.leave(self.blocks.geometry(), page);
        self.drop_count(page);
        Ok(())
    }

    pub(super) fn write_moved<N: Nand>(
        &mut self,
        nand: &mut N,
        moving: &move_buffer::MoveBuffer,
        why: Why,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let page_bytes = self.blocks.geometry().page_bytes();
        for index in 0..moving.pages() {
            let (page, content) = moving.get(index, page_bytes);
            let key = LogicalPage(page.spare.key);
            self.mapping.prepare(mapping_io!(self, nand, at), key, false, &mut self.before)?;
            self.settle(nand, at)?;
            let stream = self.stream_for_moved(&page, why);
            let copy = NewPage {
                kind: Kind::User,
                key: page.spare.key,
                version: page.spare.version,
                content,
                data_crc: page.spare.data_crc,
                marks: self.marks_of_moved(&page),
            };
            let (to, safe) =
                self.blocks.append(nand, &mut self.durability, stream, &copy, why.purpose(), page.ready)?;
            let (from, at_last) = (self.blocks.geometry().block_of(page.from), self.blocks.geometry().block_of(to));
            debug_assert_eq!(self.blocks.use_of(from), BlockUse::Victim, "a page is moved out of {from}");
            debug_assert_ne!(from, at_last, "a page is moved within its victim");
            self.validity.validate(to);
            self.mapping.moved(key, Place::At(to));
            let mapping = &self.mapping;
            self.durability.moved(|| mapping.part_of(key));
            self.validity.leave(self.blocks.geometry(), page.from);
            self.tell_place(to, Source::Moved(page.from));
            self.drop_count(page.from);
            self.tally.pages_moved += 1;
            self.tally.wear_pages_moved += u64::from(why == Why::Wear);
            self.tally.pages_folded += u64::from(why == Why::Fold);
            self.hear_news(nand, at)?;
            self.durability.reported();
            done = done.max(safe);
        }
        Ok(done)
    }
}
