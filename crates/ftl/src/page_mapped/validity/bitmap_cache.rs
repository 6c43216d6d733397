//! Bitmap entries in the µ-Tree, and the bitmap cache in front of them (µ-FTL section 4.3).
//!
//! A bitmap entry says of 32 pages of a block which are stale; where none is, there is no entry. Entries in the tree
//! for every write would double its cost, so stale pages gather in RAM first, as *invalid extents*. These are physical
//! pages that follow each other in a block, as many bits each as an extent's record. They are in a hash table by their
//! block, blocks beside each other in buckets beside each other. They leave it in three ways:
//!
//! 1. All go to the tree when the table is full ([`BitmapCache::flush`]).
//! 2. Those in a victim's bucket go to the tree when it is chosen ([`BitmapCache::chosen`]).
//! 3. A block without a live page takes its own with it ([`BitmapCache::freed`]).
//!
//! A block's entries leave the tree when the block is erased. A power cut ends tree and table alike. The recovery's
//! scan then finds the stale pages, so an entry cannot be older than its block's pages.

use super::{Answer, Validity};
use crate::mu_tree::Layout;
use crate::page_mapped::mapping::{PART_PAGES, bitmap_key, of_tree, parts_of_block};
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Nand, Page};

/// Where a chain ends.
const END: u32 = u32::MAX;
/// Buckets: one for so many entries.
const ENTRIES_PER_BUCKET: u32 = 4;
/// Pages of an invalid extent at the most: seven bits, less one.
const PAGES_MAX: u32 = 128;

/// An invalid extent: 25 or 33 bits of the first page, 7 of the pages less one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Preserve)]
struct Stale(u64);

impl Stale {
    fn new(first: u32, end: u32) -> Self {
        debug_assert!(first < end && end - first <= PAGES_MAX, "an invalid extent has more pages than its bits say");
        Self(u64::from(first) << 7 | u64::from(end - first - 1))
    }

    fn first(self) -> u32 {
        (self.0 >> 7) as u32
    }

    fn end(self) -> u32 {
        self.first() + (self.0 & 127) as u32 + 1
    }
}

/// The lower 32 bits of one, and the next one of its bucket.
#[derive(Clone, Copy, Debug, Preserve)]
struct Entry {
    low: u32,
    next: u32,
}

/// The bitmap cache.
#[derive(Clone, Preserve)]
pub(crate) struct BitmapCache {
    geometry: Geometry,
    buckets: Vec<u32>,
    entries: Vec<Entry>,
    /// The other eight bits of each, where a page takes more than 25.
    high: Option<Vec<u8>>,
    /// The first entry that is not in use, of a chain of them.
    unused: u32,
    used: u32,
    entries_max: u32,
    inserted: u64,
    merged: u64,
    flushes: u64,
    flushed: u64,
    dropped: u64,
    switch_merges: u64,
    /// Bitmap entries in the tree.
    in_tree: u32,
    /// An entry could not be read.
    unreadable: bool,
}

impl BitmapCache {
    pub(crate) fn new(geometry: &Geometry, layout: Layout, entries_max: u32) -> Self {
        // Without a cache one extent is on its way to the tree.
        let room = entries_max.max(1);
        Self {
            geometry: *geometry,
            buckets: vec![END; room.div_ceil(ENTRIES_PER_BUCKET) as usize],
            entries: Vec::with_capacity(room as usize),
            high: (layout.record_bits() > 32).then(|| Vec::with_capacity(room as usize)),
            unused: END,
            used: 0,
            entries_max,
            inserted: 0,
            merged: 0,
            flushes: 0,
            flushed: 0,
            dropped: 0,
            switch_merges: 0,
            in_tree: 0,
            unreadable: false,
        }
    }

    fn get(&self, at: u32) -> Stale {
        let high = self.high.as_ref().map_or(0, |high| high[at as usize]);
        Stale(u64::from(self.entries[at as usize].low) | u64::from(high) << 32)
    }

    fn set(&mut self, at: u32, to: Stale) {
        self.entries[at as usize].low = to.0 as u32;
        if let Some(high) = &mut self.high {
            high[at as usize] = (to.0 >> 32) as u8;
        }
    }

    fn bucket(&self, block: Block) -> usize {
        block.index() % self.buckets.len()
    }

    fn push(&mut self, bucket: usize, stale: Stale) {
        let block_of = |page: u32| self.geometry.block_of(Page(page));
        debug_assert!(self.used < self.entries_max.max(1), "the bitmap cache has no room");
        debug_assert!(block_of(stale.first()) == block_of(stale.end() - 1), "an invalid extent is in two blocks");
        debug_assert!(self.bucket(block_of(stale.first())) == bucket, "an invalid extent is in another block's bucket");
        let at = match self.unused {
            END => {
                self.entries.push(Entry { low: 0, next: END });
                self.high.iter_mut().for_each(|high| high.push(0));
                self.entries.len() as u32 - 1
            }
            unused => {
                self.unused = self.entries[unused as usize].next;
                unused
            }
        };
        self.set(at, stale);
        self.entries[at as usize].next = core::mem::replace(&mut self.buckets[bucket], at);
        self.used += 1;
    }

    /// Takes those out of a bucket that are of one block, or all.
    fn take(&mut self, bucket: usize, of: Option<Block>) -> Vec<Stale> {
        let mut taken = Vec::new();
        let (mut at, mut kept) = (self.buckets[bucket], END);
        while at != END {
            let (stale, next) = (self.get(at), self.entries[at as usize].next);
            if of.is_none_or(|block| self.geometry.block_of(Page(stale.first())) == block) {
                taken.push(stale);
                self.entries[at as usize].next = self.unused;
                self.unused = at;
                self.used -= 1;
            } else {
                self.entries[at as usize].next = kept;
                kept = at;
            }
            at = next;
        }
        self.buckets[bucket] = kept;
        taken
    }

    /// Says in the tree what these extents say, in the order of its keys.
    fn write<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, mut extents: Vec<Stale>) -> Result<(), FtlError> {
        extents.sort_unstable();
        let geometry = self.geometry;
        let mut done = 0;
        let mut result = Ok(());
        let (mut key, mut bits) = (None, 0);
        for stale in &extents {
            for page in stale.first()..stale.end() {
                let (block, index) = (geometry.block_of(Page(page)), geometry.index_of(Page(page)));
                let this = bitmap_key(&geometry, block, index / PART_PAGES);
                if key.is_some_and(|key| key != this) {
                    result = result.and_then(|()| self.add(io, key, bits));
                    bits = 0;
                }
                key = Some(this);
                bits |= 1 << (index % PART_PAGES);
            }
            if result.is_ok() {
                done += 1;
            }
        }
        result = result.and_then(|()| self.add(io, key, bits));
        self.flushed += done;
        if result.is_err() {
            // They stay: extents that are in the tree as well do no harm.
            for stale in extents {
                let bucket = self.bucket(geometry.block_of(Page(stale.first())));
                self.push(bucket, stale);
            }
        }
        result
    }

    /// Adds bits to an entry of the tree.
    fn add<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: Option<u32>, bits: u32) -> Result<(), FtlError> {
        let Some(key) = key else { return Ok(()) };
        let before = io.tree(|tree, io| tree.get(io, key)).map_err(of_tree)?.unwrap_or(0);
        let all = before | u64::from(bits);
        if all == before {
            return Ok(());
        }
        let before = io.tree(|tree, io| tree.insert(io, key, all)).map_err(of_tree)?;
        self.in_tree += u32::from(before.is_none());
        Ok(())
    }

    /// Everything goes to the tree.
    fn empty<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        let mut all = Vec::with_capacity(self.used as usize);
        for bucket in 0..self.buckets.len() {
            all.extend(self.take(bucket, None));
        }
        debug_assert!(self.used == 0, "an invalid extent is in no bucket");
        self.flushes += 1;
        self.write(io, all)
    }

    /// Nothing in a block is live any more: there is no query before it is erased.
    fn forget(&mut self, block: Block) {
        self.dropped += self.take(self.bucket(block), Some(block)).len() as u64;
    }

    /// The stale pages in a part of a block, by the tree and the cache.
    fn stale<N: Nand>(&self, io: &mut MetaIo<'_, N>, block: Block, part: u32) -> Result<u32, FtlError> {
        let key = bitmap_key(&self.geometry, block, part);
        let mut bits = io.tree(|tree, io| tree.get(io, key)).map_err(of_tree)?.unwrap_or(0) as u32;
        let mut at = self.buckets[self.bucket(block)];
        while at != END {
            let stale = self.get(at);
            for page in (stale.first()..stale.end()).map(Page) {
                let index = self.geometry.index_of(page);
                if self.geometry.block_of(page) == block && index / PART_PAGES == part {
                    bits |= 1 << (index % PART_PAGES);
                }
            }
            at = self.entries[at as usize].next;
        }
        Ok(bits)
    }

    /// Says of a block, of which nothing is known, that all of its pages but these are stale.
    pub(crate) fn restore<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        block: Block,
        live: &[u16],
    ) -> Result<(), FtlError> {
        debug_assert!(live.is_sorted(), "the live pages of a block are not in order");
        let pages = self.geometry.pages_per_block();
        for part in 0..parts_of_block(&self.geometry) {
            let of_part = part * PART_PAGES..pages.min((part + 1) * PART_PAGES);
            let stale = of_part.filter(|index| live.binary_search(&(*index as u16)).is_err());
            let bits = stale.fold(0u64, |bits, index| bits | 1 << (index % PART_PAGES));
            let key = bitmap_key(&self.geometry, block, part);
            if bits != 0 {
                let before = io.tree(|tree, io| tree.insert(io, key, bits)).map_err(of_tree)?;
                self.in_tree += u32::from(before.is_none());
            }
        }
        Ok(())
    }
}

impl Validity for BitmapCache {
    fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.inserted += 1;
        let (block, bucket) = (self.geometry.block_of(page), self.bucket(self.geometry.block_of(page)));
        let mut at = self.buckets[bucket];
        while at != END {
            let entry = self.get(at);
            let same = self.geometry.block_of(Page(entry.first())) == block;
            let fits = entry.end() - entry.first() < PAGES_MAX;
            if same && (entry.first()..entry.end()).contains(&page.0) {
                return Ok(());
            }
            if same && fits && entry.end() == page.0 {
                self.set(at, Stale::new(entry.first(), page.0 + 1));
                self.merged += 1;
                return Ok(());
            }
            if same && fits && page.0 + 1 == entry.first() {
                self.set(at, Stale::new(page.0, entry.end()));
                self.merged += 1;
                return Ok(());
            }
            at = self.entries[at as usize].next;
        }
        if self.used >= self.entries_max.max(1) {
            self.empty(io)?;
        }
        self.push(bucket, Stale::new(page.0, page.0 + 1));
        if self.entries_max == 0 { self.empty(io) } else { Ok(()) }
    }

    fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.invalidate(io, page)
    }

    /// A block was erased: its entries leave the tree.
    fn erased<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        self.forget(block);
        for part in 0..parts_of_block(&self.geometry) {
            let key = bitmap_key(&self.geometry, block, part);
            let before = io.tree(|tree, io| tree.remove(io, key)).map_err(of_tree)?;
            self.in_tree = self.in_tree.saturating_sub(before.is_some().into());
        }
        Ok(())
    }

    fn freed<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        self.forget(block);
        Ok(())
    }

    /// A block is going to be collected: everything in its bucket goes to the tree.
    fn chosen<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        let of_bucket = self.take(self.bucket(block), None);
        if of_bucket.is_empty() { Ok(()) } else { self.write(io, of_bucket) }
    }

    #[inline]
    fn is_unreadable(&self) -> bool {
        self.unreadable
    }

    #[inline]
    fn gives_back_at_once(&self) -> bool {
        true
    }

    fn given_back(&mut self, block: Block) {
        self.forget(block);
        self.switch_merges += 1;
    }

    /// Where they do not agree there are pages that were never programmed; and a query of the mapping costs next to
    /// nothing.
    #[inline]
    fn is_held_against_counters(&self) -> bool {
        true
    }

    /// The pages of a block that are not stale. Some may never have been programmed.
    fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        let pages = self.geometry.pages_per_block();
        for part in 0..parts_of_block(&self.geometry) {
            // Where it cannot be read the drive mounts anew before anything is moved.
            let stale = self.stale(io, block, part).unwrap_or_else(|_| {
                self.unreadable = true;
                0
            });
            let of_part = part * PART_PAGES..pages.min((part + 1) * PART_PAGES);
            out.extend(of_part.filter(|index| stale >> (index % PART_PAGES) & 1 == 0).map(|index| index as u16));
        }
        Answer::NotKnownStale
    }

    fn ram(&self, ledger: &mut RamLedger) {
        let own = u64::from(self.entries_max) * if self.high.is_some() { 5 } else { 4 };
        ledger.structure("validity.bitmap_cache", own);
        let high = self.high.as_ref().map_or(0, Vec::capacity);
        let all = self.entries.capacity() * size_of::<Entry>() + self.buckets.capacity() * 4 + high;
        ledger.index("index.bitmap_cache_links", (all as u64).saturating_sub(own));
        // All of them, to be sorted.
        let flushed = self.entries_max.max(1) as usize * size_of::<Stale>();
        ledger.index("index.bitmap_cache_flush", flushed as u64);
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("invalid_pages_cached", self.inserted),
            Counter::sum("invalid_extents_merged", self.merged),
            Counter::sum("bitmap_cache_flushes", self.flushes),
            Counter::sum("invalid_extents_flushed", self.flushed),
            Counter::sum("invalid_extents_dropped", self.dropped),
            Counter::sum("switch_merges", self.switch_merges),
            Counter::level("invalid_extents", self.used.into()),
            Counter::level("bitmap_entries", self.in_tree.into()),
        ]);
    }
}
