//! Popularity that does not last: other pages are popular after every few drive writes.

use crate::TraceError;
use crate::request::{Op, PageRequest, Source};

/// Steps through seeds that are far from each other, the first being the workload's own.
const NEXT_SEED: u64 = 0xd1b5_4a32_d192_ed03;

/// A workload of a seed.
type OfSeed = Box<dyn Fn(u64) -> Box<dyn Source + Send> + Send>;

/// A workload that is begun anew, with another seed, whenever so many pages were written.
pub(super) struct Shifting {
    workload: OfSeed,
    seed: u64,
    every_pages: u64,
    /// Since the last shift.
    written: u64,
    source: Box<dyn Source + Send>,
}

impl Shifting {
    /// Begins with this seed.
    pub(super) fn new(workload: OfSeed, seed: u64, every_pages: u64) -> Self {
        let source = workload(seed);
        Self { workload, seed, every_pages: every_pages.max(1), written: 0, source }
    }
}

impl Source for Shifting {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        if self.written >= self.every_pages {
            self.written = 0;
            self.seed = self.seed.wrapping_add(NEXT_SEED);
            self.source = (self.workload)(self.seed);
        }
        let request = self.source.next_request()?;
        if let Some(PageRequest { op: Op::Write, pages, .. }) = request {
            self.written += u64::from(pages);
        }
        Ok(request)
    }
}
