//! Garbage collection: move what is live out of a victim, then give the block back.

use super::mapping::Place;
use super::{PageMapped, move_buffer};
use crate::FtlError;
use crate::blocks::NewPage;
use crate::config::Barrier;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, PageRead, Purpose, Time};

impl PageMapped {
    /// Collects until the reserve is full again. Returns when the last of it has completed.
    #[inline(never)]
    pub(super) fn make_space<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        self.hear_of_closed();
        while self.blocks.free() < self.shape.reserve_blocks {
            let Some(victim) = self.next_victim().filter(|victim| self.can_gain(*victim)) else {
                return Err(FtlError::Full { bad_blocks: self.blocks.bad });
            };
            done = done.max(self.collect(nand, victim, at)?);
        }
        Ok(done)
    }

    /// Whether enough blocks are left for what is live: where too many have gone bad, collection would move full blocks
    /// in circles and wear out the rest.
    fn can_gain(&self, victim: Block) -> bool {
        let full = |block| u32::from(self.blocks.counters.live(block)) == self.blocks.geometry().pages_per_block();
        if full(victim) && self.blocks.counters.least_by_scan().is_none_or(full) {
            return false;
        }
        if self.blocks.bad == 0 {
            return true;
        }
        let usable = Self::usable_pages(self.blocks.geometry(), &self.shape, self.blocks.bad);
        usable >= u64::from(self.shape.logical_pages) || self.blocks.counters.live_total() <= usable
    }

    /// The block to collect: one that has begun to fail, or what the policy says, or in an emergency the emptiest.
    fn next_victim(&mut self) -> Option<Block> {
        if let Some(failing) = self.blocks.failing() {
            return Some(failing);
        }
        if self.blocks.emergency() {
            self.tally.emergency_collections += 1;
            return self.blocks.counters.least_by_scan();
        }
        self.victim.choose(&self.blocks.counters)
    }

    fn collect<N: Nand>(&mut self, nand: &mut N, victim: Block, at: Time) -> Result<Time, FtlError> {
        self.tally.collections += 1;
        self.blocks.begin_collection(victim);
        self.victim.taken(&self.blocks.counters, victim);
        let mut done = if self.blocks.stream_of(victim) == self.trim_stream {
            self.move_tombstones(nand, victim, at)?
        } else {
            self.move_user_pages(nand, victim, at)?
        };
        if self.trims.pending_count() > 0 && !self.barriers.forget(Barrier::TrimsBeforeReuse) {
            done = done.max(self.write_pending_trims(nand, self.trim_stream, Purpose::Trim, at)?);
        }
        self.blocks.release(victim);
        Ok(done)
    }

    /// Writes the tombstone pages that stand in `victim` anew, from the mapping.
    fn move_tombstones<N: Nand>(&mut self, nand: &mut N, victim: Block, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        let at = at.max(self.blocks.clock.horizon());
        for region in 0..self.trims.regions() {
            if self.trims.page_of(region).is_some_and(|p| self.blocks.geometry().block_of(p) == victim) {
                done = done.max(self.write_tombstone(nand, region, self.trim_stream, Purpose::Trim, at)?);
            }
        }
        Ok(done)
    }

    fn move_user_pages<N: Nand>(&mut self, nand: &mut N, victim: Block, at: Time) -> Result<Time, FtlError> {
        let mut live = core::mem::take(&mut self.live);
        live.clear();
        self.validity.live_in(victim, &mut live);
        let mut moving = core::mem::take(&mut self.moving);
        let mut done = Ok(at);
        for batch in live.chunks(move_buffer::PAGES) {
            moving.clear();
            for index in batch {
                let page = self.blocks.geometry().page(victim, u32::from(*index));
                let (read, ready) = nand.read(page, Op::new(at, Purpose::Gc));
                match read {
                    // The data's CRC travels along unchecked: what is wrong stays detectable at the host's read.
                    PageRead::Written { content, spare, .. }
                        if spare.kind == Kind::User
                            && spare.key < self.shape.logical_pages
                            && self.mapping.lookup(LogicalPage(spare.key)) == Place::At(page) =>
                    {
                        moving.push(page, spare, content, ready);
                    }
                    // The page cannot say whose it is any more; the mapping can.
                    _ => {
                        self.tally.pages_lost_moving += 1;
                        if let Some(owner) = self.mapping.owner_of(page) {
                            self.mapping.set(owner, Place::Lost);
                        }
                        self.drop_user_page(page);
                    }
                }
            }
            if self.barriers.forget(Barrier::CopiesBeforeErase) {
                let _ = nand.erase(victim, Op::new(at, Purpose::Gc));
            }
            done = self.write_moved(nand, &moving, at).and_then(|d| done.map(|before| before.max(d)));
            if done.is_err() {
                break;
            }
        }
        self.live = live;
        self.moving = moving;
        done
    }

    fn write_moved<N: Nand>(
        &mut self,
        nand: &mut N,
        moving: &move_buffer::MoveBuffer,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        let page_bytes = self.blocks.geometry().page_bytes();
        for index in 0..moving.pages() {
            let (page, content) = moving.get(index, page_bytes);
            let stream = self.placement.moved();
            let copy = NewPage {
                kind: Kind::User,
                key: page.spare.key,
                version: page.spare.version,
                content,
                data_crc: page.spare.data_crc,
            };
            let (to, safe) = self.blocks.append(nand, stream, stream, &copy, Purpose::Gc, page.ready)?;
            self.validity.validate(to);
            self.mapping.set(LogicalPage(page.spare.key), Place::At(to));
            self.drop_user_page(page.from);
            self.tally.pages_moved += 1;
            self.hear_of_closed();
            done = done.max(safe);
        }
        Ok(done)
    }
}
