//! The host's requests: look-ups, writes, trims and flushes.

use super::mapping::{Before, Mapping, Place};
use super::meta_io::MetaIo;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::validity::Validity;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::ftl::WriteRequest;
use crate::medium::NewPage;
use crate::policy::Source;
use phelsuma_nand::{Kind, LogicalPage, Nand, Purpose, Time};

impl PageMapped {
    /// Where a logical page is, and when that is known.
    #[inline]
    pub(super) fn find<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Place, Time) {
        match self.mapping.cached(key, at) {
            Some(found) => found,
            None => {
                let found = self.find_on_flash(nand, key, at);
                self.settle_after_lookup(nand, at);
                found
            }
        }
    }

    /// Where a logical page is whose entry no cache holds. Caching it may evict another, whose synchronization programs
    /// a page. So this is the one kind of read that needs the reserve. Its changes are to be settled.
    #[inline(never)]
    pub(super) fn find_on_flash<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Place, Time) {
        // A drive that cannot be written any more can still be read: what only concerns writing is no error here. An
        // entry that must go may be synchronized for it, but so is no more than the battery would otherwise have to.
        if self.lacks_space() && self.mapping.lookups_program() {
            let _ = self.make_space(nand, at);
            if self.durability.holds_back(&self.blocks) {
                // Nodes of a tree may be written more than once: the blocks that the battery needs are not touched.
                let io = mapping_io!(self, nand, at);
                let place = self.mapping.peek(io, key);
                return (place, io.read_done());
            }
        }
        self.look_up(nand, key, at)
    }

    /// Where a logical page is, by the mapping.
    pub(super) fn look_up<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Place, Time) {
        let io = mapping_io!(self, nand, at);
        let place = self.mapping.lookup(io, key, &mut self.before);
        (place, io.read_done())
    }

    /// Pages that a lookup has made stale are reported. A drive that cannot be written any more can still be read.
    pub(super) fn settle_after_lookup<N: Nand>(&mut self, nand: &mut N, at: Time) {
        let _ = self.settle(nand, at);
    }

    pub(super) fn write_pages<N: Nand>(
        &mut self,
        nand: &mut N,
        request: &WriteRequest<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        debug_assert!(!self.blocks.is_mounting(), "the host writes to a drive that is being mounted");
        let page_bytes = self.blocks.geometry().page_bytes();
        request.check(&self.shape, page_bytes)?;
        self.mapping.requested(request.first.0..request.first.0 + request.pages);
        let mut done = at;
        for index in 0..request.pages {
            let key = LogicalPage(request.first.0 + index);
            self.level_wear(nand, at)?;
            self.collect_slice(nand, at)?;
            if self.lacks_space() {
                self.make_space(nand, at)?;
            }
            self.fold_if_full(nand, at)?;
            let content = request.data.page(index, page_bytes);
            if self.sorting.asks.fetches {
                self.mapping.fetch_for_placement(self.placement.reads_old(key));
            }
            let io = mapping_io!(self, nand, at);
            self.mapping.prepare(io, key, true, &mut self.before)?;
            // What an entry leaves the cache for is on flash before the room that it makes is used.
            let fetched = io.read_done();
            done = done.max(io.done());
            self.settle(nand, at)?;
            let (stream, at) = self.stream_for_host(nand, key, request.hint, at, fetched);
            let page = NewPage {
                kind: Kind::User,
                key: key.0,
                version: self.blocks.clock.next_version(),
                content,
                data_crc: content.crc(),
                marks: self.marks_of(key),
            };
            let (to, safe) = self.blocks.append(nand, &mut self.durability, stream, &page, Purpose::Host, at)?;
            self.validity.validate(to);
            self.tell_place(to, Source::Host(request.hint));
            let heard = self.hear_news(nand, at);
            // It is there, whatever became of the news.
            if let Before::Known(Place::At(old)) = self.mapping.written(key, to) {
                self.drop_user_page(nand, old, at)?;
            }
            heard?;
            self.hear_news(nand, at)?;
            done = done.max(safe).max(self.page_written(nand, key, at)?);
        }
        Ok(done.max(self.request_written(nand, at)?))
    }

    pub(super) fn trim_pages<N: Nand>(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
    ) -> Result<Time, FtlError> {
        debug_assert!(!self.blocks.is_mounting(), "the host trims a drive that is being mounted");
        self.shape.check_range(first, pages)?;
        let mut done = at;
        let end = first.0 + pages;
        let mut next = first.0;
        while next < end {
            let until = next + self.mapping.trim_reach(LogicalPage(next)).min(end - next);
            debug_assert!(until > next, "a trim comes to no end");
            if self.lacks_space() {
                // A full drive takes a trim from the rest of its reserve: a trim makes room. The blocks that the
                // battery needs are not touched.
                let made = self.make_space(nand, at);
                if self.durability.holds_back(&self.blocks) && !self.trims_in_open_block() {
                    made?;
                }
            }
            let io = mapping_io!(self, nand, at);
            let trimmed = self.mapping.trim(io, next..until, &mut self.before);
            done = done.max(io.done());
            self.pages_trimmed();
            self.settle(nand, at)?;
            trimmed?;
            next = until;
        }
        Ok(done.max(self.write_trims_through(nand, at)?))
    }

    /// Whether a trim is one program to an open block. A block is taken only if that program fails, and so many failures
    /// the battery's blocks pay for.
    fn trims_in_open_block(&self) -> bool {
        let is_one_program = self.mapping.programs_to_move() == 1 && !self.validity.is_on_flash();
        is_one_program && self.blocks.is_next_open(self.streams.mapping) && !self.durability.holds_all(&self.blocks)
    }

    pub(super) fn make_durable<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.mapping.has_pending_trims() && self.blocks.keeps(Barrier::TrimsAtFlush) {
            if self.lacks_space() {
                self.make_space(nand, at)?;
            }
            let written = self.mapping.write_pending_trims(mapping_io!(self, nand, at), &mut self.before);
            if self.before.is_empty() {
                self.hear_news(nand, at)?
            } else {
                self.settle(nand, at)?
            }
            written?;
            self.give_back_died();
        }
        let flushed = self.flush_for_host(nand, at)?;
        Ok(flushed.max(self.blocks.clock.horizon()))
    }

    pub(super) fn make_all_durable<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut part = Some(0);
        while let Some(from) = part {
            if self.lacks_space() {
                // Where nothing can be gained, the reserve is for this.
                let _ = self.make_space(nand, at);
            }
            part = self.mapping.synchronize_next(mapping_io!(self, nand, at), from, &mut self.before)?;
            debug_assert!(part.is_none_or(|next| next > from), "a table is synchronized in circles");
            self.settle(nand, at)?;
        }
        self.validity.flush(validity_io!(self, nand, at))?;
        self.hear_news(nand, at)?;
        Ok(at.max(self.blocks.clock.horizon()))
    }
}
