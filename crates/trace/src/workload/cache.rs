//! A flash cache as CacheLib lays it out: a small-object cache beside a large-object cache.
//!
//! ```text
//!  first page                                                       last page
//!  | small objects: buckets |  large objects: a ring of regions ...          |
//!    any bucket is written     region after region is written over
//! ```
//!
//! - **Small objects** are in a set-associative cache of buckets of 4 KiB. A hash names the bucket of an object, so each
//!   insertion writes a bucket anywhere ([`Cache::theta`]: by Zipf's law). Its requests have handle 1.
//! - **Large objects** are in a log of regions, which are written in turn. The oldest is overwritten whole, and trimmed before
//!   if that is wanted. Its requests have handle 2.
//!
//! Both are written at the same time. Each request is one or the other by chance, so that bytes have the wanted share.
//!
//! Sources: `navyBigHashSizePct` 4, buckets of 4 KiB and `deviceMaxWriteSize` 256 KiB are in the configuration that the
//! authors of "Towards Efficient Flash Caches with Emerging NVMe Flexible Data Placement SSDs" (EuroSys 2025) published
//! (github.com/facebook/CacheLib, issue 302). Regions of 16 MiB are CacheLib's default. We found no figure for the
//! share of the bytes that small objects have: half of them is a choice of ours.
//!
//! Simplified: a bucket is never empty, regions are not reordered by hits, and the cache is not read.

use std::fmt;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::address::{Address, Share, Uniform, Zipf};
use crate::TraceError;
use crate::request::{Op, PageRequest, Source};

/// A bucket of small objects.
const BUCKET_BYTES: u64 = 4 << 10;

/// The largest write of a region.
const TRANSFER_BYTES_MAX: u64 = 256 << 10;

/// The handles of small and of large objects.
const SMALL: u8 = 1;
const LARGE: u8 = 2;

/// A flash cache of small and large objects; endless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cache {
    /// Percent of the drive that small objects have; above 0 and below 100.
    pub space_percent: f64,
    /// Percent of the bytes written that small objects have; 0 to 100.
    pub writes_percent: f64,
    /// Bytes of a region, a multiple of 4 KiB and at most 1 GiB.
    pub region_bytes: u64,
    /// The exponent of Zipf's law for buckets, above 0 and at most 10; none where each is equally likely.
    pub theta: Option<f64>,
    /// Whether a region is trimmed before it is overwritten.
    pub trim: bool,
}

impl Default for Cache {
    fn default() -> Self {
        Cache { space_percent: 4.0, writes_percent: 50.0, region_bytes: 16 << 20, theta: None, trim: false }
    }
}

impl Cache {
    /// Its requests to a drive, or why it has no room there.
    pub(super) fn source(
        &self,
        logical_pages: u64,
        page_bytes: u32,
        seed: u64,
    ) -> Result<Box<dyn Source + Send>, String> {
        let page_bytes = u64::from(page_bytes.max(1));
        let bytes = logical_pages.saturating_mul(page_bytes);
        let wanted = (bytes as f64 * (self.space_percent / 100.0)) as u64;
        let buckets = (wanted / BUCKET_BYTES).max(1);
        // Regions begin with a page.
        let begin = (buckets * BUCKET_BYTES).div_ceil(page_bytes).saturating_mul(page_bytes);
        if begin >= bytes {
            return Err(format!(
                "a bucket of 4 KiB and a region do not fit {logical_pages} pages of {page_bytes} bytes"
            ));
        }
        let region_bytes = self.region_bytes.next_multiple_of(page_bytes).min(bytes - begin);
        let common = |address| Cached {
            address,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            is_small: self.share_of_requests(region_bytes.min(TRANSFER_BYTES_MAX)),
            page_bytes,
            begin,
            end: bytes,
            region_bytes,
            trim: self.trim,
            at: begin,
            region_end: begin,
            trimmed: false,
        };
        Ok(match self.theta {
            None => Box::new(common(Buckets::Uniform(Uniform::new(buckets)))),
            Some(theta) => Box::new(common(Buckets::Zipf(Zipf::new(buckets, theta, seed)))),
        })
    }

    /// The share of requests that write a bucket, where others write so many bytes.
    fn share_of_requests(&self, transfer_bytes: u64) -> Share {
        let small = self.writes_percent / BUCKET_BYTES as f64;
        let large = (100.0 - self.writes_percent) / transfer_bytes as f64;
        Share::percent(100.0 * (small / (small + large)))
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cache { space_percent, writes_percent, region_bytes, theta, trim } = *self;
        let usual = Cache::default();
        let mut options = Vec::new();
        if space_percent != usual.space_percent {
            options.push(format!("small={space_percent}"));
        }
        if writes_percent != usual.writes_percent {
            options.push(format!("writes={writes_percent}"));
        }
        if region_bytes != usual.region_bytes {
            options.push(format!("region={region_bytes}"));
        }
        options.extend(theta.map(|theta| format!("zipf={theta}")));
        if trim {
            options.push("trim".to_owned());
        }
        match options.is_empty() {
            true => f.write_str("cache"),
            false => write!(f, "cache:{}", options.join(",")),
        }
    }
}

enum Buckets {
    Uniform(Uniform),
    Zipf(Zipf),
}

struct Cached {
    address: Buckets,
    random: Xoshiro256PlusPlus,
    /// Of each request.
    is_small: Share,
    page_bytes: u64,
    /// The ring of regions, in bytes.
    begin: u64,
    end: u64,
    region_bytes: u64,
    trim: bool,
    /// The next byte of the ring, and where its region ends.
    at: u64,
    region_end: u64,
    /// The last request was the trim of a region, whose first write is next.
    trimmed: bool,
}

impl Cached {
    /// A write or a trim of bytes, at most [`TRANSFER_BYTES_MAX`] or whole pages.
    fn request(&self, op: Op, offset: u64, bytes: u64, handle: u8) -> PageRequest {
        let end = offset + bytes;
        let (first, after) = (offset / self.page_bytes, end.div_ceil(self.page_bytes));
        let (begins_inside, ends_inside) =
            (!offset.is_multiple_of(self.page_bytes), !end.is_multiple_of(self.page_bytes));
        let one = after - first == 1;
        PageRequest {
            at_ns: 0,
            op,
            first,
            // At most 1 GiB and a page.
            pages: (after - first) as u32,
            partial_first: begins_inside || (one && ends_inside),
            partial_last: !one && ends_inside,
            handle,
        }
    }
}

impl Source for Cached {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        let begins = std::mem::take(&mut self.trimmed);
        if !begins && self.is_small.draw(&mut self.random) {
            let bucket = match &mut self.address {
                Buckets::Uniform(address) => address.draw(1, &mut self.random),
                Buckets::Zipf(address) => address.draw(1, &mut self.random),
            };
            return Ok(Some(self.request(Op::Write, bucket * BUCKET_BYTES, BUCKET_BYTES, SMALL)));
        }
        if self.at >= self.region_end {
            if self.at >= self.end {
                self.at = self.begin;
            }
            self.region_end = self.end.min(self.at + self.region_bytes);
            self.trimmed = self.trim;
            if self.trim {
                return Ok(Some(self.request(Op::Trim, self.at, self.region_end - self.at, LARGE)));
            }
        }
        let bytes = (self.region_end - self.at).min(TRANSFER_BYTES_MAX.max(self.page_bytes));
        let request = self.request(Op::Write, self.at, bytes, LARGE);
        self.at += bytes;
        Ok(Some(request))
    }
}
