//! Reads, trims, flushes and larger requests over any address distribution.

use std::fmt;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::address::{Address, Share, below};
use crate::TraceError;
use crate::request::{Op, PageRequest, Source};

const SECTOR_BYTES: u64 = 512;

/// How large a request is; uniform between two bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestSize {
    /// Whole pages.
    Pages {
        /// At least this many, at least 1.
        low: u32,
        /// At most this many.
        high: u32,
    },
    /// Whole 512-byte sectors that begin at any sector of a page.
    Bytes {
        /// At least this many bytes, a multiple of 512, at least 512.
        low: u64,
        /// At most this many bytes, a multiple of 512, at most 1 GiB.
        high: u64,
    },
}

/// Shares of the operations, in percent of requests, and sizes. The rest are writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Reads.
    pub read_percent: f64,
    /// Trims.
    pub trim_percent: f64,
    /// Flushes.
    pub flush_percent: f64,
    /// How large each request is.
    pub size: RequestSize,
}

impl Default for Mix {
    fn default() -> Self {
        let size = RequestSize::Pages { low: 1, high: 1 };
        Mix { read_percent: 0.0, trim_percent: 0.0, flush_percent: 0.0, size }
    }
}

impl Mix {
    /// Whether the largest request fits a drive.
    pub(super) fn check(&self, logical_pages: u64, page_bytes: u32) -> Result<(), String> {
        let most = match self.size {
            RequestSize::Pages { high, .. } => u64::from(high),
            RequestSize::Bytes { .. } if !page_bytes.is_power_of_two() || page_bytes < 512 => {
                return Err(format!("sizes in bytes need pages of whole sectors, and a page has {page_bytes} bytes"));
            }
            // At worst it begins in the last sector of a page.
            RequestSize::Bytes { high, .. } => {
                let page_bytes = u64::from(page_bytes);
                (page_bytes - SECTOR_BYTES + high).div_ceil(page_bytes)
            }
        };
        if most > logical_pages {
            return Err(format!("a request of {most} pages does not fit the drive of {logical_pages} pages"));
        }
        Ok(())
    }

    pub(super) fn over<A: Address + 'static>(
        &self,
        address: A,
        logical_pages: u64,
        page_bytes: u32,
        seed: u64,
    ) -> Box<dyn Source + Send> {
        Box::new(Mixed {
            address,
            logical_pages,
            page_bytes: u64::from(page_bytes),
            read: Share::percent(self.read_percent),
            read_or_trim: Share::percent(self.read_percent + self.trim_percent),
            no_write: Share::percent(self.read_percent + self.trim_percent + self.flush_percent),
            size: self.size,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, percent) in [("read", self.read_percent), ("trim", self.trim_percent), ("flush", self.flush_percent)]
        {
            if percent > 0.0 {
                write!(f, "{name}={percent},")?;
            }
        }
        let (name, low, high) = match self.size {
            RequestSize::Pages { low, high } => ("pages", u64::from(low), u64::from(high)),
            RequestSize::Bytes { low, high } => ("bytes", low, high),
        };
        if low == high { write!(f, "{name}={low}") } else { write!(f, "{name}={low}-{high}") }
    }
}

struct Mixed<A> {
    address: A,
    logical_pages: u64,
    page_bytes: u64,
    read: Share,
    read_or_trim: Share,
    no_write: Share,
    size: RequestSize,
    random: Xoshiro256PlusPlus,
}

impl<A: Address> Mixed<A> {
    /// Pages, bytes before the range in its first page, bytes after it in its last.
    #[inline]
    fn extent(&mut self) -> (u64, u64, u64) {
        match self.size {
            RequestSize::Pages { low, high } => {
                (u64::from(low) + below(u64::from(high - low) + 1, &mut self.random), 0, 0)
            }
            RequestSize::Bytes { low, high } => {
                let sectors = low / SECTOR_BYTES + below((high - low) / SECTOR_BYTES + 1, &mut self.random);
                let before = below(self.page_bytes / SECTOR_BYTES, &mut self.random) * SECTOR_BYTES;
                let end = before + sectors * SECTOR_BYTES;
                let pages = end.div_ceil(self.page_bytes);
                (pages, before, pages * self.page_bytes - end)
            }
        }
    }
}

impl<A: Address> Source for Mixed<A> {
    #[inline]
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        let none = PageRequest {
            at_ns: 0,
            op: Op::Flush,
            first: 0,
            pages: 0,
            partial_first: false,
            partial_last: false,
            handle: 0,
        };
        loop {
            let bits = self.random.next_u64();
            let op = if self.read.holds(bits) {
                Op::Read
            } else if self.read_or_trim.holds(bits) {
                Op::Trim
            } else if self.no_write.holds(bits) {
                return Ok(Some(none));
            } else {
                Op::Write
            };
            let (pages, before, after) = self.extent();
            let first = self.address.draw(pages, &mut self.random).min(self.logical_pages - pages);
            // At most 1 GiB in pages of at least 512 bytes.
            let request = PageRequest { op, first, pages: pages as u32, ..none };
            if op == Op::Trim {
                // Rounds inward, and may leave nothing: then another request is drawn.
                let cut_first = u64::from(before > 0);
                let inner = pages.saturating_sub(cut_first + u64::from(after > 0));
                if inner == 0 {
                    continue;
                }
                return Ok(Some(PageRequest { first: first + cut_first, pages: inner as u32, ..request }));
            }
            let one = pages == 1;
            return Ok(Some(PageRequest {
                partial_first: before > 0 || (one && after > 0),
                partial_last: !one && after > 0,
                ..request
            }));
        }
    }
}
