//! A write cache above any FTL: it absorbs what is written again, serves reads, and is written out by a flush or for room.
//!
//! ```text
//! host ── write ──> cache: dirty pages ── write out ──> pages on their way ──> FTL, flash
//!          done as soon as there is room              keep their room until they are safe
//! ```
//!
//! A page is the atomic unit: a power cut keeps it whole, or as it was. Of a volatile cache a cut leaves what was written
//! out, and a trim may bring back what its page held at any moment since the last flush. What else a cut leaves is a
//! matter of the order of writing out ([`CachePolicy`]). A protected cache is written out on capacitors
//! ([`Ftl::power_fail`]), and loses nothing.
//!
//! No metadata of the cache is on flash, so a drive may be mounted with another one, or with none.

mod dirty;
mod of_config;
mod policy;
mod serving;
mod slots;
#[cfg(feature = "std")]
mod state;

pub use policy::{CachePolicy, PolicyAndSeed, WriteCache};

use crate::FtlError;
use crate::ftl::{Ftl, Hint, HostData, Shape, WriteRequest};
use crate::policy::Draws;
use alloc::boxed::Box;
use alloc::vec::Vec;
use dirty::{Dirty, DirtyPages, Held};
use phelsuma_nand::{Geometry, LogicalPage, Nand, Time};
use slots::InFlight;

/// Programs that fail on battery, at the most.
const FAILURES: u32 = 4;
/// Pages that are written out by one request, at most.
const RUN_PAGES: u32 = 64;

/// An FTL behind a write cache.
pub struct Cached<N: Nand> {
    below: Box<dyn Ftl<N>>,
    own: Own,
}

/// The cache itself.
#[derive(Clone)]
struct Own {
    how: WriteCache,
    shape: Shape,
    page_bytes: u32,
    /// Pages that it has room for.
    capacity: u32,
    dirty: DirtyPages,
    /// Pages that are written out in the order of their numbers, the last first; some may have left.
    sorted: Vec<u32>,
    in_flight: InFlight,
    /// The FTL has refused what was to be written out.
    refused: bool,
    /// Until when a write has waited for room: those behind it wait as long.
    waited: Time,
    draws: Draws,
    /// Bytes of the pages that one request writes out.
    run: Vec<u8>,
    tally: Tally,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    absorbed: u64,
    dropped: u64,
    read: u64,
    waits: u64,
}

impl<N: Nand + 'static> Cached<N> {
    /// An empty cache above an FTL, on flash of this shape.
    pub fn new(below: Box<dyn Ftl<N>>, how: WriteCache, geometry: &Geometry) -> Self {
        let page_bytes = geometry.page_bytes();
        let capacity = how.pages(page_bytes);
        let mut shape = below.shape();
        if !how.is_volatile() {
            let flushes = below.is_safe_when_flushed();
            shape.battery_programs = battery_programs(&shape, capacity, geometry.pages_per_block(), flushes);
        }
        let own = Own {
            how,
            shape,
            page_bytes,
            capacity,
            dirty: DirtyPages::with_room(capacity),
            sorted: Vec::new(),
            in_flight: InFlight::default(),
            refused: false,
            waited: Time::ZERO,
            draws: Draws::new(how.seed),
            run: Vec::new(),
            tally: Tally::default(),
        };
        Self { below, own }
    }

    /// Takes a page in, after there is room for it: the moment of that.
    fn take_in(&mut self, nand: &mut N, page: u32, content: Held, hint: Hint, at: Time) -> Result<Time, FtlError> {
        let mut at = at;
        if self.own.refused {
            // It is for the FTL to say whether it takes pages again.
            self.write_out_next(nand, at)?;
            self.own.refused = false;
        }
        if self.own.how.policy.keeps_order() {
            // A later write must not be there without the older one, and all before it.
            while self.own.dirty.before(page).is_some() {
                at = at.max(self.write_out_next(nand, at)?);
            }
        } else if let Some(dirty) = self.own.dirty.get_mut(page) {
            (dirty.content, dirty.hint) = (content, hint);
            self.own.tally.absorbed += 1;
            return Ok(at);
        }
        let at = self.make_room(nand, at)?;
        self.own.dirty.push(Dirty { page, content, hint });
        Ok(at)
    }

    /// When there is room for a page.
    fn make_room(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut at = at.max(self.own.waited);
        self.own.in_flight.arrive(at);
        let mut waited = false;
        while self.own.dirty.len() as u32 + self.own.in_flight.pages() >= self.own.capacity {
            match self.own.in_flight.next() {
                Some(next) => {
                    waited |= next > at;
                    at = at.max(next);
                    self.own.in_flight.arrive(at);
                }
                None => _ = self.write_out_next(nand, at)?,
            }
            self.own.in_flight.arrive(at);
        }
        if waited {
            self.own.waited = at;
            self.own.tally.waits += 1;
        }
        Ok(at)
    }

    /// Writes out what is not to be held any longer.
    #[inline]
    fn write_out_early(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.own.how.policy.is_eager() {
            while self.own.dirty.len() as u32 > self.own.capacity / 2 {
                self.write_out_next(nand, at)?;
            }
        }
        Ok(())
    }

    /// Writes out the page whose turn it is, with dirty pages behind it if the order is free. When they are on flash.
    fn write_out_next(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let Some(first) = self.own.whose_turn() else { return Ok(at) };
        let pages = self.own.run_from(first);
        self.write_out_run(nand, first, pages, at)
    }

    /// Writes out pages that are all dirty, and go together. If they cannot be, they stay.
    fn write_out_run(&mut self, nand: &mut N, first: u32, pages: u32, at: Time) -> Result<Time, FtlError> {
        let Own { dirty, run, .. } = &mut self.own;
        let Some(Dirty { content, hint, .. }) = dirty.get(first) else { return Ok(at) };
        let data = match content {
            Held::Nothing => None,
            Held::Hollow(tag) => Some(match dirty.get(first.saturating_add(1)).map(|next| &next.content) {
                Some(Held::Hollow(next)) if pages > 1 && next != tag => HostData::Numbered(*tag),
                _ => HostData::Hollow(*tag),
            }),
            Held::Bytes(bytes) if pages == 1 => Some(HostData::Bytes(bytes)),
            Held::Bytes(_) => {
                run.clear();
                for page in first..first + pages {
                    if let Some(Dirty { content: Held::Bytes(bytes), .. }) = dirty.get(page) {
                        run.extend_from_slice(bytes);
                    }
                }
                Some(HostData::Bytes(run))
            }
        };
        let (first, hint) = (LogicalPage(first), *hint);
        let mut done = match data {
            Some(data) => self.below.write(nand, &WriteRequest { first, pages, data, hint }, at)?,
            None => self.below.trim(nand, first, pages, at)?,
        };
        if self.own.how.policy.keeps_order() {
            // Else a trim, or a page of an FTL that is safe only when flushed, could be lost alone.
            done = self.below.flush(nand, done)?;
        }
        for page in first.0..first.0 + pages {
            self.own.dirty.take(page);
            if self.own.sorted.last() == Some(&page) {
                self.own.sorted.pop();
            }
        }
        if self.own.dirty.len() == 0 {
            self.own.sorted.clear();
        }
        self.own.in_flight.add(pages, done);
        Ok(done)
    }

    /// Writes out everything; when it is on flash.
    fn write_out_all(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        while self.own.dirty.len() > 0 {
            let from = if self.own.how.policy.keeps_order() { done } else { at };
            done = done.max(self.write_out_next(nand, from)?);
        }
        Ok(self.own.in_flight.all_done(done))
    }

    /// Writes out those of a range that are dirty; when they are on flash.
    fn write_out_those(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        for page in self.own.dirty_in(first, pages) {
            done = done.max(self.write_out_run(nand, page, 1, at)?);
        }
        Ok(done)
    }
}

impl Own {
    /// The page that is to be written out next.
    fn whose_turn(&mut self) -> Option<u32> {
        match self.how.policy {
            CachePolicy::Subset | CachePolicy::Lies => self.dirty.drawn(self.draws.next()),
            CachePolicy::Sorted => self.next_by_number(),
            _ => self.dirty.first(),
        }
    }

    /// The next of the pages that are written out by number. Where all have left, all that are here are next.
    fn next_by_number(&mut self) -> Option<u32> {
        while let Some(page) = self.sorted.last() {
            if self.dirty.get(*page).is_some() {
                return Some(*page);
            }
            self.sorted.pop();
        }
        self.sorted.reserve_exact(self.dirty.len());
        self.sorted.extend(self.dirty.iter().map(|dirty| dirty.page));
        self.sorted.sort_unstable_by(|page, other| other.cmp(page));
        self.sorted.last().copied()
    }

    /// How many pages from a dirty one on can be written out by one request.
    fn run_from(&self, first: u32) -> u32 {
        // The room of a run is free when all of it is on flash.
        let most = if self.how.policy.keeps_order() { 1 } else { (self.capacity / 8).clamp(1, RUN_PAGES) };
        let Some(start) = self.dirty.get(first) else { return 1 };
        let (mut last, mut step) = (start, None);
        let mut pages = 1;
        while pages < most {
            let Some(next) = first.checked_add(pages).and_then(|page| self.dirty.get(page)) else { break };
            let Some(by) = last.content.step_to(&next.content) else { break };
            if next.hint != start.hint || *step.get_or_insert(by) != by || !self.may_go_along(first, pages) {
                break;
            }
            (last, pages) = (next, pages + 1);
        }
        pages
    }

    /// Whether the page that stands so many behind `first` is not one that came while others are written out by number.
    fn may_go_along(&self, first: u32, behind: u32) -> bool {
        let in_turn = self.sorted.len().checked_sub(1 + behind as usize).map(|at| self.sorted[at]);
        self.sorted.is_empty() || in_turn == Some(first + behind)
    }

    /// The dirty pages of a range, ascending.
    fn dirty_in(&self, first: LogicalPage, pages: u32) -> Vec<u32> {
        let range = first.0..first.0.saturating_add(pages);
        if self.dirty.len() == 0 {
            Vec::new()
        } else if (pages as usize) < self.dirty.len() {
            range.filter(|page| self.dirty.get(*page).is_some()).collect()
        } else {
            let mut found: Vec<u32> =
                self.dirty.iter().map(|dirty| dirty.page).filter(|page| range.contains(page)).collect();
            found.sort_unstable();
            found
        }
    }

    /// From `page` on, before `end`: how many pages are not dirty.
    fn clean_from(&self, page: u32, end: u32) -> u32 {
        (page..end).take_while(|page| self.dirty.get(*page).is_none()).count() as u32
    }
}

/// Programs that capacitors pay for, at the most: each page may need a collection or a merge. A merge of a log block whose
/// pages are of as many logical blocks copies all of those. Where the FTL is flushed as well, each page of its metadata may
/// be written.
fn battery_programs(shape: &Shape, capacity: u32, pages_per_block: u32, flushes: bool) -> u32 {
    let collection = pages_per_block.saturating_add(shape.metadata_programs_per_collection);
    let each = match shape.log_blocks {
        // One for the page, one for an SLC cache, and a part of one for metadata.
        0 => collection.saturating_mul(3),
        _ => collection.saturating_mul(pages_per_block),
    };
    let all = capacity.saturating_mul(each.saturating_add(1));
    let metadata = if flushes { shape.metadata_blocks.saturating_mul(pages_per_block) } else { 0 };
    shape.battery_programs.saturating_add(all).saturating_add(metadata.saturating_mul(2)).saturating_add(FAILURES)
}
