//! Small drives in memory, and a model of what a host may expect of one.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, TIMINGS, Time};
use phelsuma_serve::device::{Device, Extent, MemoryDrive, MemoryFlash, Open};
use std::collections::{BTreeMap, BTreeSet};

pub const PAGE: usize = 512;

/// A drive of 64 blocks of 32 pages, on which little fits in a cache.
pub fn drive(ftl: &str) -> MemoryDrive {
    let geometry = Geometry::new(PAGE as u32, 32, 64, 1, 1).unwrap();
    let mut composition = Preset::named(ftl).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    MemoryDrive { geometry, timing: TIMINGS[0].2, config: Config::new(ftl, composition, 1000, 1) }
}

pub fn device(drive: &MemoryDrive) -> Device<MemoryFlash> {
    Device::new(drive.open().unwrap())
}

/// The host's expectations: bytes, and pages whose trim a power cut may undo.
#[derive(Clone)]
pub struct Model {
    pub bytes: Vec<u8>,
    /// Pages trimmed since the last flush, with the content that may come back.
    trimmed: BTreeMap<usize, Vec<u8>>,
    /// Pages that were written and are not trimmed.
    pub mapped: BTreeSet<usize>,
}

impl Model {
    pub fn new(size: u64) -> Self {
        Self { bytes: vec![0; size as usize], trimmed: BTreeMap::new(), mapped: BTreeSet::new() }
    }

    fn page(&self, page: usize) -> &[u8] {
        &self.bytes[page * PAGE..(page + 1) * PAGE]
    }

    fn touched(&mut self, offset: usize, length: usize) {
        // What is empty touches no page, wherever it is.
        let end = if length == 0 { offset / PAGE } else { (offset + length).div_ceil(PAGE) };
        for page in offset / PAGE..end {
            self.trimmed.remove(&page);
            self.mapped.insert(page);
        }
    }

    pub fn write(&mut self, offset: usize, data: &[u8]) {
        self.touched(offset, data.len());
        self.bytes[offset..offset + data.len()].copy_from_slice(data);
    }

    /// Discards whole pages.
    pub fn trim(&mut self, offset: usize, length: usize) {
        for page in offset.div_ceil(PAGE)..(offset + length) / PAGE {
            let old = self.page(page).to_vec();
            self.trimmed.entry(page).or_insert(old);
            self.mapped.remove(&page);
            self.bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        }
    }

    /// Zeroes; the ends are written, and so is all of it unless it may be trimmed.
    pub fn zero(&mut self, offset: usize, length: usize, may_trim: bool) {
        let end = offset + length;
        let (first, last) = (offset.div_ceil(PAGE) * PAGE, end / PAGE * PAGE);
        if !may_trim || first >= last {
            return self.write(offset, &vec![0; length]);
        }
        self.write(offset, &vec![0; first - offset]);
        self.trim(first, last - first);
        self.write(last, &vec![0; end - last]);
    }

    pub fn flush(&mut self) {
        self.trimmed.clear();
    }

    /// The drive has mounted again and holds `found`. If a cut met a request, `unsure` is the model with that request
    /// done in full. What is found stays.
    pub fn recovered(&mut self, found: &[u8], mapped: BTreeSet<usize>, unsure: Option<&Model>) -> Result<(), String> {
        for page in 0..self.bytes.len() / PAGE {
            let found = &found[page * PAGE..(page + 1) * PAGE];
            let undone = |model: &Model| model.trimmed.get(&page).is_some_and(|old| old == found);
            let fits = |model: &Model| model.page(page) == found || undone(model);
            if !fits(self) && !unsure.is_some_and(fits) {
                return Err(format!("page {page} is neither what it was nor what it was to be"));
            }
            let is_mapped = mapped.contains(&page);
            let fits = |model: &Model| model.mapped.contains(&page) == is_mapped || model.trimmed.contains_key(&page);
            if !fits(self) && !unsure.is_some_and(fits) {
                return Err(format!("page {page} is mapped: {is_mapped}"));
            }
            if !is_mapped && found.iter().any(|byte| *byte != 0) {
                return Err(format!("page {page} is not mapped and holds data"));
            }
        }
        self.bytes.copy_from_slice(found);
        self.trimmed.clear();
        self.mapped = mapped;
        Ok(())
    }
}

/// Bytes that differ from write to write, and from one byte to the next.
pub fn pattern(salt: u8, offset: usize, length: usize) -> Vec<u8> {
    (offset..offset + length).map(|n| (n as u8).wrapping_mul(31) ^ (n >> 8) as u8 ^ salt).collect()
}

/// The pages that a device says are mapped, asked for over and over until all are told of.
pub fn mapped(device: &mut Device<MemoryFlash>) -> BTreeSet<usize> {
    let (mut pages, mut offset, size) = (BTreeSet::new(), 0, device.size_bytes());
    while offset < size {
        let from = offset;
        let mut found = |extent: Extent| {
            assert_eq!(extent.offset, offset, "extents follow one another");
            let end = extent.offset + extent.length;
            if extent.is_mapped {
                pages.extend(extent.offset as usize / PAGE..(end as usize).div_ceil(PAGE));
            }
            offset = end;
        };
        device.extents(from, size - from, false, Time::ZERO, &mut found).unwrap();
    }
    pages
}
