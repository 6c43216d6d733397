//! Popularity that does not last: other pages are popular after every few drive writes.

use super::Workload;
use crate::TraceError;
use crate::request::{Op, PageRequest, Source};

/// Steps through seeds that are far from each other, the first being the workload's own.
const NEXT_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A workload begun anew, with another seed, whenever so many pages were written.
pub(super) struct Shifting {
    inner: Workload,
    logical_pages: u64,
    page_bytes: u32,
    seed: u64,
    every_pages: u64,
    /// Since the last shift.
    written: u64,
    source: Box<dyn Source + Send>,
}

impl Shifting {
    /// `first` is the source of `inner` with this seed.
    pub(super) fn new(
        inner: &Workload,
        (logical_pages, page_bytes, seed): (u64, u32, u64),
        drive_writes: f64,
        first: Box<dyn Source + Send>,
    ) -> Self {
        let every_pages = ((logical_pages as f64 * drive_writes) as u64).max(1);
        Self { inner: inner.clone(), logical_pages, page_bytes, seed, every_pages, written: 0, source: first }
    }
}

impl Source for Shifting {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        if self.written >= self.every_pages {
            self.written = 0;
            self.seed = self.seed.wrapping_add(NEXT_SEED);
            self.source = self.inner.source(self.logical_pages, self.page_bytes, self.seed);
        }
        let request = self.source.next_request()?;
        if let Some(PageRequest { op: Op::Write, pages, .. }) = request {
            self.written += u64::from(pages);
        }
        Ok(request)
    }
}
