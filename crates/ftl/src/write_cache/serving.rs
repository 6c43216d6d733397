//! A cached FTL as its host sees it.

use super::dirty::{DirtyPages, Held};
use super::policy::CachePolicy;
use super::slots::InFlight;
#[cfg(feature = "std")]
use super::state::WholeState;
use super::{Cached, RUN_PAGES, Tally};
use crate::ftl::{Ftl, Hint, HostPage, ReadSink, Shape, Step, WriteBuffer, WriteRequest};
use crate::{BlockLook, CacheLook, Counter, ExtentLook, Finding, FtlError, GeckoLook, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use phelsuma_nand::state::{Preserve, StateError};
use phelsuma_nand::{Block, Content, LogicalPage, Nand, Purpose, Time};

impl<N: Nand + 'static> WriteBuffer<N> for Cached<N> {
    fn look(&self) -> CacheLook {
        CacheLook { capacity: self.own.capacity, dirty: self.own.dirty.len() as u32 }
    }

    fn force(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        match self.own.how.policy {
            CachePolicy::Lies => Ok(at),
            CachePolicy::Prefix => self.flush(nand, at),
            _ => {
                let done = self.write_out_those(nand, first, pages, at)?;
                self.below.flush(nand, self.own.in_flight.all_done(done))
            }
        }
    }

    fn write_out_one(&mut self, nand: &mut N, at: Time) -> Result<bool, FtlError> {
        let Some(page) = self.own.whose_turn() else { return Ok(false) };
        self.write_out_run(nand, page, 1, at).map(|_| true)
    }
}

impl<N: Nand + 'static> Ftl<N> for Cached<N> {
    fn shape(&self) -> Shape {
        self.own.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        request.check(&self.own.shape, self.own.page_bytes)?;
        let mut at = at;
        for index in 0..request.pages {
            let content = Held::of(request.data.page(index, self.own.page_bytes));
            at = self.take_in(nand, request.first.0 + index, content, request.hint, at)?;
            // The page is accepted. If the flash takes no more, the next one is not.
            self.own.refused = self.write_out_early(nand, at).is_err();
        }
        Ok(at)
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        if self.own.dirty.len() == 0 {
            return self.below.read(nand, first, pages, cause, at, sink);
        }
        self.own.shape.check_range(first, pages)?;
        let (mut page, end, mut done) = (first.0, first.0 + pages, at);
        while page < end {
            // Below is read only what is not here: what is newer here may be unreadable there.
            let clean = self.own.clean_from(page, end);
            if clean > 0 {
                done = done.max(self.below.read(nand, LogicalPage(page), clean, cause, at, sink)?);
                page += clean;
            } else if let Some(dirty) = self.own.dirty.get(page) {
                let held = match &dirty.content {
                    Held::Nothing => HostPage::Zeros,
                    Held::Hollow(tag) => Content::Hollow(*tag).into(),
                    Held::Bytes(bytes) => Content::Bytes(bytes).into(),
                };
                sink.page(LogicalPage(page), held);
                self.own.tally.read += 1;
                page += 1;
            }
        }
        Ok(done)
    }

    fn find_mapped(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
        found: &mut dyn FnMut(LogicalPage, bool),
    ) -> Result<Time, FtlError> {
        self.own.shape.check_range(first, pages)?;
        let (mut page, end, mut done) = (first.0, first.0 + pages, at);
        while page < end {
            let clean = self.own.clean_from(page, end);
            if clean > 0 {
                done = done.max(self.below.find_mapped(nand, LogicalPage(page), clean, at, found)?);
                page += clean;
            } else if let Some(dirty) = self.own.dirty.get(page) {
                found(LogicalPage(page), !matches!(dirty.content, Held::Nothing));
                page += 1;
            }
        }
        Ok(done)
    }

    /// A cache that is written out early has no trims in it.
    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.own.shape.check_range(first, pages)?;
        let policy = self.own.how.policy;
        let mut at = at;
        if policy == CachePolicy::Protected {
            // A cut may bring back the page's last content, and no older one.
            at = self.write_out_those(nand, first, pages, at)?;
        } else if policy == CachePolicy::Fifo {
            // What the FTL refuses to trim stays as it was.
            let done = self.below.trim(nand, first, pages, at)?;
            for page in self.own.dirty_in(first, pages) {
                self.own.dirty.take(page);
                self.own.tally.dropped += 1;
            }
            return Ok(done);
        } else if pages <= self.own.capacity {
            for page in first.0..first.0 + pages {
                at = self.take_in(nand, page, Held::Nothing, Hint::None, at)?;
            }
            return Ok(at);
        } else {
            at = self.write_out_all(nand, at)?;
        }
        let done = self.below.trim(nand, first, pages, at)?;
        if policy.keeps_order() { self.below.flush(nand, done) } else { Ok(done) }
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.own.how.policy == CachePolicy::Lies {
            return Ok(at);
        }
        let done = self.write_out_all(nand, at)?;
        self.below.flush(nand, done)
    }

    fn is_safe_when_flushed(&self) -> bool {
        // What is written out on capacitors is flushed.
        self.own.how.is_volatile()
    }

    fn due(&self) -> Option<Time> {
        self.below.due()
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        // What is due makes everything durable that was written before.
        let at = match self.below.due() {
            Some(due) if due <= at && self.own.how.policy != CachePolicy::Lies => self.write_out_all(nand, at)?,
            _ => at,
        };
        match self.below.background_step(nand, at)? {
            Step::Nothing if self.own.how.policy.is_eager() && self.own.dirty.len() > 0 => {
                self.write_out_next(nand, at).map(Step::Did)
            }
            step => Ok(step),
        }
    }

    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let written = self.write_out_all(nand, at);
        // A drive that is full is closed all the same.
        let closed = self.below.close(nand, *written.as_ref().unwrap_or(&at))?;
        written.map(|_| closed)
    }

    fn power_fail(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut at = at;
        if !self.own.how.is_volatile() {
            at = self.write_out_all(nand, at)?;
            if self.below.is_safe_when_flushed() {
                at = self.below.flush(nand, at)?;
            }
        }
        self.below.power_fail(nand, at)
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(Self { below: self.below.copy(), own: self.own.clone() })
    }

    fn warm(&self, nand: &N, pages: &[LogicalPage]) {
        self.below.warm(nand, pages);
    }

    fn reports_stale(&self) -> bool {
        self.below.reports_stale()
    }

    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn Preserve + '_>, StateError> {
        Ok(Box::new(WholeState { below: self.below.state()?, own: &mut self.own }))
    }

    fn write_cache(&mut self) -> Option<&mut dyn WriteBuffer<N>> {
        Some(self)
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = self.below.ram();
        let pages = u64::from(self.own.capacity);
        // With the pages of one request that are written out.
        let run = pages.min(RUN_PAGES.into()).next_power_of_two();
        let sorted = if self.own.how.policy == CachePolicy::Sorted { pages * 4 } else { 0 };
        ledger.index("buffer.write_cache", (pages + run) * u64::from(self.own.page_bytes));
        ledger.index("index.write_cache", DirtyPages::index_bytes(pages) + InFlight::bytes(pages) + sorted);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = self.below.counters();
        let Tally { absorbed, dropped, read, waits } = self.own.tally;
        counters.extend([
            Counter::sum("write_cache_absorbed", absorbed),
            Counter::sum("write_cache_dropped", dropped),
            Counter::sum("write_cache_read", read),
            Counter::sum("write_cache_waits", waits),
            Counter::level("write_cache_dirty", self.own.dirty.len() as u64),
        ]);
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        self.below.look_at_blocks(first, out)
    }

    fn look_at_gecko(&self) -> Option<GeckoLook> {
        self.below.look_at_gecko()
    }

    fn look_at_extents(&self, nand: &mut N) -> Option<Vec<ExtentLook>> {
        self.below.look_at_extents(nand)
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        self.below.check(nand)
    }
}
