//! A volatile write cache, as drives on sale have one: what was written is in its RAM until a flush, or until it is full.
//!
//! After a power cut the drive has what was written out, and nothing else of what was not flushed. Which pages that are
//! is a matter of the order in which they are written out. A page is the atomic unit: it is kept whole, or not at all.
//!
//! The cache holds pages as long as it can. It writes nothing out in idle times, so that a cut finds as much as possible.

use super::bytes::Extent;
use super::disk::{Disk, Zeroes};
use super::look::{CacheLook, OfDrive};
use super::{BlockSeen, Cut, DeviceError, Off, OpenError};
use phelsuma_nand::{Block, FlashStats, Time};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Pages that are written out at a time, at most.
const RUN_PAGES: u64 = 64;

/// Which of the unflushed writes a power cut may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CachePolicy {
    /// Any of them: pages are written out in an order drawn by lot, neighbours in one request.
    #[default]
    Subset,
    /// Those up to a moment: pages are written out one by one, in the order in which they came, and each is made durable
    /// before the next. Of a request that is larger than the cache, the cut may leave any pages.
    Prefix,
    /// Any of them, and of the flushed ones too: a flush is answered, and nothing is done.
    Lies,
}

impl CachePolicy {
    const NAMES: [(&'static str, Self); 3] = [("subset", Self::Subset), ("prefix", Self::Prefix), ("lies", Self::Lies)];
}

/// A write cache, as it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteCache {
    /// Its size in bytes of data.
    pub bytes: u64,
    /// What a cut leaves.
    pub policy: CachePolicy,
    /// Seed of what it leaves to chance.
    pub seed: u64,
}

/// What a cache does at a cut, and its seed: `POLICY` or `POLICY:SEED`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyAndSeed(pub CachePolicy, pub u64);

impl Default for PolicyAndSeed {
    fn default() -> Self {
        Self(CachePolicy::default(), 1)
    }
}

impl FromStr for PolicyAndSeed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, seed) = text.split_once(':').unwrap_or((text, "1"));
        let policy = CachePolicy::NAMES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
        match (policy, seed.parse()) {
            (Some(policy), Ok(seed)) => Ok(Self(policy, seed)),
            _ => Err(format!(
                "'{}' is not a policy of a write cache; use subset, prefix or lies, or one of them with a seed: \
                 subset:7",
                text.escape_debug()
            )),
        }
    }
}

impl fmt::Display for PolicyAndSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = CachePolicy::NAMES.iter().find(|(_, policy)| *policy == self.0).map_or("", |(name, _)| name);
        write!(f, "{name}:{}", self.1)
    }
}

/// A page that is newer in the cache than below.
struct Dirty {
    /// Its place in the order in which pages are written out.
    turn: u64,
    /// Its bytes, or none: it is discarded.
    bytes: Option<Box<[u8]>>,
}

/// A drive behind a volatile write cache.
pub(super) struct Cached {
    below: Box<dyn Disk>,
    how: WriteCache,
    page_bytes: u64,
    size_bytes: u64,
    capacity_pages: u64,
    dirty: BTreeMap<u64, Dirty>,
    /// Dirty pages by their turn.
    turns: BTreeMap<u64, u64>,
    writes: u64,
    random: Xoshiro256PlusPlus,
    /// What the last cut left of how many dirty pages.
    kept: Option<(u64, u64)>,
}

impl Cached {
    /// An empty cache above a drive of `size_bytes`.
    pub(super) fn new(below: Box<dyn Disk>, how: WriteCache, page_bytes: u32, size_bytes: u64) -> Self {
        let page_bytes = u64::from(page_bytes);
        Self {
            below,
            how,
            page_bytes,
            size_bytes,
            capacity_pages: (how.bytes / page_bytes).max(1),
            dirty: BTreeMap::new(),
            turns: BTreeMap::new(),
            writes: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(how.seed),
            kept: None,
        }
    }

    fn is_in_order(&self) -> bool {
        self.how.policy == CachePolicy::Prefix
    }

    /// In order, what was written below is durable before more is: else a trim, or a page of an FTL that is safe only when
    /// flushed, could be lost alone.
    fn in_order(&mut self, done: Time) -> Result<Time, DeviceError> {
        if self.is_in_order() { self.below.flush(done) } else { Ok(done) }
    }

    /// The pages that a range touches.
    fn pages(&self, offset: u64, length: u64) -> Result<Range<u64>, DeviceError> {
        let end = offset.saturating_add(length);
        if end > self.size_bytes {
            return Err(DeviceError::OutOfRange { offset, end, size_bytes: self.size_bytes });
        }
        Ok(if length == 0 { 0..0 } else { offset / self.page_bytes..end.div_ceil(self.page_bytes) })
    }

    /// The pages that lie in a range as a whole.
    fn whole_pages(&self, offset: u64, length: u64) -> Range<u64> {
        let first = offset.div_ceil(self.page_bytes);
        first..((offset + length) / self.page_bytes).max(first)
    }

    /// A page as it is read. It is read below if need be.
    fn page(&mut self, page: u64, at: Time) -> Result<(Box<[u8]>, Time), DeviceError> {
        let mut bytes = vec![0; self.page_bytes as usize].into_boxed_slice();
        let done = match self.dirty.get(&page) {
            Some(Dirty { bytes: Some(newer), .. }) => {
                bytes.copy_from_slice(newer);
                at
            }
            Some(Dirty { bytes: None, .. }) => at,
            None => self.below.read(page * self.page_bytes, &mut bytes, at)?,
        };
        Ok((bytes, done))
    }

    /// Takes a page in, after there is room for it.
    fn put(&mut self, page: u64, bytes: Option<Box<[u8]>>) {
        self.writes += 1;
        let mut turn = self.writes;
        if !self.is_in_order() {
            // Two pages do not have one turn.
            turn = self.random.next_u64();
            while self.turns.contains_key(&turn) {
                turn = turn.wrapping_add(1);
            }
        }
        if let Some(older) = self.dirty.insert(page, Dirty { turn, bytes }) {
            self.turns.remove(&older.turn);
        }
        self.turns.insert(turn, page);
    }

    /// Makes room for these pages. In order, the older version of one of them is written out, with all before it: a later
    /// write must not be there without it.
    fn make_room(&mut self, pages: &Range<u64>, at: Time) -> Result<Time, DeviceError> {
        let mut done = at;
        if self.is_in_order()
            && let Some(last) = self.dirty.range(pages.clone()).map(|(_, dirty)| dirty.turn).max()
        {
            while self.turns.first_key_value().is_some_and(|(turn, _)| *turn <= last) {
                done = self.write_out_next(RUN_PAGES, done)?;
            }
        }
        let of_others = |cache: &Self| (cache.dirty.len() - cache.dirty.range(pages.clone()).count()) as u64;
        loop {
            // Counted once for as many pages as must go, as a request may have thousands.
            let others = of_others(self);
            let excess = (others + (pages.end - pages.start)).saturating_sub(self.capacity_pages).min(others);
            if excess == 0 {
                return Ok(done);
            }
            let enough = self.dirty.len() - excess as usize;
            while self.dirty.len() > enough {
                done = self.write_out_next(RUN_PAGES, done)?;
            }
        }
    }

    /// Writes out the page whose turn it is. If the order is free, dirty pages behind it go with it, up to `most` in all.
    fn write_out_next(&mut self, most: u64, at: Time) -> Result<Time, DeviceError> {
        let Some((_, &first)) = self.turns.first_key_value() else { return Ok(at) };
        let discarded = self.dirty[&first].bytes.is_none();
        let most = if self.is_in_order() { 1 } else { most };
        let goes_on = |page: &u64| self.dirty.get(page).is_some_and(|dirty| dirty.bytes.is_none() == discarded);
        let more = (first + 1..first + most).take_while(goes_on).count() as u64;
        self.write_out(first..first + 1 + more, at)
    }

    /// Writes out pages that are all dirty, and all of a kind.
    fn write_out(&mut self, pages: Range<u64>, at: Time) -> Result<Time, DeviceError> {
        let offset = pages.start * self.page_bytes;
        let parts = self.dirty.range(pages.clone()).filter_map(|(_, dirty)| dirty.bytes.as_deref());
        let bytes = parts.collect::<Vec<_>>().concat();
        let done = if bytes.is_empty() {
            self.below.trim(offset, (pages.end - pages.start) * self.page_bytes, false, at)?
        } else {
            self.below.write(offset, &bytes, false, at)?
        };
        for page in pages {
            if let Some(dirty) = self.dirty.remove(&page) {
                self.turns.remove(&dirty.turn);
            }
        }
        self.in_order(done)
    }

    fn write_out_all(&mut self, at: Time) -> Result<Time, DeviceError> {
        let mut done = at;
        while !self.dirty.is_empty() {
            done = self.write_out_next(RUN_PAGES, done)?;
        }
        Ok(done)
    }

    /// Makes these pages durable; and all others, if pages are to be in order.
    fn harden(&mut self, pages: Range<u64>, at: Time) -> Result<Time, DeviceError> {
        let mut done = at;
        for page in pages {
            if !self.is_in_order() && self.dirty.contains_key(&page) {
                done = self.write_out(page..page + 1, done)?;
            }
        }
        if self.is_in_order() { self.flush(done) } else { self.below.flush(done) }
    }

    /// Whether durability is asked for, and given.
    fn is_durable(&self, fua: bool) -> bool {
        fua && self.how.policy != CachePolicy::Lies
    }

    /// Zeroes, or pages that are discarded.
    fn clear(&mut self, offset: u64, length: u64, discard: bool, at: Time) -> Result<Time, DeviceError> {
        let (mut done, zeroes) = (at, vec![0; self.page_bytes as usize]);
        let mut from = offset;
        while from < offset + length {
            let to = (from / self.page_bytes + 1).saturating_mul(self.page_bytes).min(offset + length);
            let page = from / self.page_bytes;
            if discard && to - from == self.page_bytes {
                done = self.make_room(&(page..page + 1), done)?;
                self.put(page, None);
            } else {
                done = self.write(from, &zeroes[..(to - from) as usize], false, done)?;
            }
            from = to;
        }
        Ok(done)
    }
}

impl Disk for Cached {
    fn read(&mut self, offset: u64, buf: &mut [u8], at: Time) -> Result<Time, DeviceError> {
        let pages = self.pages(offset, buf.len() as u64)?;
        let (end, mut from, mut done) = (offset + buf.len() as u64, offset, at);
        // Below is read only what is not here: what is newer here may be unreadable there.
        while from < end {
            let page = from / self.page_bytes;
            let newer = self.dirty.range(page..pages.end).next();
            let to = match newer {
                Some((&newer, _)) if newer == page => end.min((page + 1) * self.page_bytes),
                Some((&newer, _)) => newer * self.page_bytes,
                None => end,
            };
            let out = &mut buf[(from - offset) as usize..(to - offset) as usize];
            match newer {
                Some((&newer, dirty)) if newer == page => match &dirty.bytes {
                    Some(bytes) => {
                        let start = (from - page * self.page_bytes) as usize;
                        out.copy_from_slice(&bytes[start..start + out.len()]);
                    }
                    None => out.fill(0),
                },
                _ => done = done.max(self.below.read(from, out, at)?),
            }
            from = to;
        }
        Ok(done)
    }

    fn extents(
        &mut self,
        offset: u64,
        length: u64,
        only_first: bool,
        at: Time,
        found: &mut dyn FnMut(Extent),
    ) -> Result<Time, DeviceError> {
        let (dirty, page_bytes) = (&self.dirty, self.page_bytes);
        let mut last: Option<Extent> = None;
        let mut add = |offset: u64, end: u64, is_mapped: bool| match &mut last {
            _ if offset >= end => {}
            Some(last) if last.is_mapped == is_mapped => last.length += end - offset,
            last => {
                let next = Extent { offset, length: end - offset, is_mapped };
                last.replace(next).into_iter().for_each(&mut *found);
            }
        };
        let mut merged = |below: Extent| {
            let (mut from, end) = (below.offset, below.offset + below.length);
            for (page, newer) in dirty.range(from / page_bytes..end.div_ceil(page_bytes)) {
                let (start, stop) = ((page * page_bytes).max(from), ((page + 1) * page_bytes).min(end));
                add(from, start, below.is_mapped);
                add(start, stop, newer.bytes.is_some());
                from = stop;
            }
            add(from, end, below.is_mapped);
        };
        let done = self.below.extents(offset, length, only_first, at, &mut merged)?;
        last.into_iter().for_each(found);
        Ok(done)
    }

    fn write(&mut self, offset: u64, buf: &[u8], fua: bool, at: Time) -> Result<Time, DeviceError> {
        let pages = self.pages(offset, buf.len() as u64)?;
        let count = pages.end - pages.start;
        if count > self.capacity_pages {
            // It has no room. What is in part in it is there before.
            let done = self.write_out_all(at)?;
            let done = self.below.write(offset, buf, self.is_durable(fua), done)?;
            return self.in_order(done);
        }
        // What stays of the first and the last page is read before anything changes: if it is unreadable, nothing does.
        let mut done = at;
        let mut news = Vec::with_capacity(count as usize);
        for page in pages.clone() {
            let start = page * self.page_bytes;
            let (from, to) = (offset.max(start), (offset + buf.len() as u64).min(start + self.page_bytes));
            let part = &buf[(from - offset) as usize..(to - offset) as usize];
            if part.len() as u64 == self.page_bytes {
                news.push(part.into());
                continue;
            }
            let (mut bytes, read) = self.page(page, at)?;
            bytes[(from - start) as usize..(to - start) as usize].copy_from_slice(part);
            done = done.max(read);
            news.push(bytes);
        }
        done = self.make_room(&pages, done)?;
        for (page, bytes) in pages.clone().zip(news) {
            self.put(page, Some(bytes));
        }
        if self.is_durable(fua) { self.harden(pages, done) } else { Ok(done) }
    }

    fn trim(&mut self, offset: u64, length: u64, fua: bool, at: Time) -> Result<Time, DeviceError> {
        self.pages(offset, length)?;
        let pages = self.whole_pages(offset, length);
        let count = pages.end - pages.start;
        if count > self.capacity_pages {
            let done = self.write_out_all(at)?;
            let done = self.below.trim(offset, length, self.is_durable(fua), done)?;
            return self.in_order(done);
        }
        let done = self.clear(pages.start * self.page_bytes, count * self.page_bytes, true, at)?;
        if self.is_durable(fua) { self.harden(pages, done) } else { Ok(done) }
    }

    fn write_zeroes(&mut self, offset: u64, length: u64, how: Zeroes, at: Time) -> Result<Time, DeviceError> {
        let pages = self.pages(offset, length)?;
        if how.fast && !how.may_trim {
            return Err(DeviceError::NotFast);
        }
        let fua = self.is_durable(how.fua);
        if pages.end - pages.start > self.capacity_pages {
            let done = self.write_out_all(at)?;
            let done = self.below.write_zeroes(offset, length, Zeroes { fua, ..how }, done)?;
            return self.in_order(done);
        }
        let done = self.clear(offset, length, how.may_trim, at)?;
        if fua { self.harden(pages, done) } else { Ok(done) }
    }

    fn flush(&mut self, at: Time) -> Result<Time, DeviceError> {
        if !self.is_durable(true) {
            return Ok(at);
        }
        let done = self.write_out_all(at)?;
        self.below.flush(done)
    }

    fn background(&mut self, at: Time) -> Result<bool, DeviceError> {
        self.below.background(at)
    }

    fn close(&mut self, at: Time) -> Result<(), DeviceError> {
        let written = self.write_out_all(at);
        // A drive that is full is closed all the same.
        self.below.close(at)?;
        written.map(drop)
    }

    fn cut_after(&mut self, operations: u64, cut: Cut) {
        self.below.cut_after(operations, cut);
    }

    fn stay_on(&mut self) {
        self.below.stay_on();
    }

    /// Some pages are written out yet, as their turns are: so many as the lot says.
    fn cut_now(&mut self, at: Time) {
        let dirty = self.dirty.len() as u64;
        let keeps = self.random.next_u64() % (dirty + 1);
        for _ in 0..keeps {
            if self.write_out_next(1, at).is_err() {
                break;
            }
        }
        self.kept = Some((dirty - self.dirty.len() as u64, dirty));
        self.below.cut_now(at);
    }

    fn off(&self) -> Option<Off> {
        self.below.off()
    }

    fn flash(&mut self) -> FlashStats {
        self.below.flash()
    }

    fn look(&mut self) -> OfDrive {
        let dirty_bytes = self.dirty.len() as u64 * self.page_bytes;
        let cache = self.off().is_none().then_some(CacheLook { size_bytes: self.how.bytes, dirty_bytes });
        OfDrive { cache, ..self.below.look() }
    }

    fn look_at_blocks(&mut self, first: Block, out: &mut [BlockSeen]) -> bool {
        self.below.look_at_blocks(first, out)
    }

    fn kept_at_cut(&self) -> Option<(u64, u64)> {
        Some(self.kept.unwrap_or((0, self.dirty.len() as u64)))
    }

    fn power_on(&mut self) -> Result<(Time, String), OpenError> {
        self.kept = None;
        self.dirty.clear();
        self.turns.clear();
        self.below.power_on()
    }
}
