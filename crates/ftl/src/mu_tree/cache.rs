//! The two caches of a µ-Tree (µ-FTL section 2.3), both by page.

use super::layout::{CACHED, Layout};
use super::{PageStore, TreeError};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

/// A page in the write cache.
#[derive(Clone, Debug, Preserve)]
pub(super) struct CachedWrite {
    pub(super) bytes: Vec<u8>,
    /// When its bytes are in RAM.
    pub(super) since: Time,
    /// Where it was programmed by a flush that did not come to its end.
    pub(super) written: Option<u32>,
}

/// Instead of a page's number: the flash has no such page.
const NOTHING: u32 = u32::MAX;

/// Pages of a tree in RAM.
#[derive(Clone, Debug, Preserve)]
pub(super) struct Caches {
    pub(super) layout: Layout,
    /// What each page of the read cache is, or [`NOTHING`].
    pages: Vec<u32>,
    /// When each was used last; 0 where there is nothing.
    used: Vec<u64>,
    /// When the bytes of each are in RAM.
    since: Vec<Time>,
    /// Where the one that was used last is: as a rule it is the next one as well.
    last: usize,
    clock: u64,
    bytes: Vec<u8>,
    pub(super) writes: Vec<Option<CachedWrite>>,
    pub(super) writes_max: usize,
    pub(super) reads: u64,
    pub(super) hits: u64,
}

impl Caches {
    pub(super) fn new(layout: Layout, read_pages: usize, write_pages: usize) -> Self {
        // One is the page in use.
        let read_pages = read_pages.max(1);
        Self {
            layout,
            pages: vec![NOTHING; read_pages],
            used: vec![0; read_pages],
            since: vec![Time::ZERO; read_pages],
            last: 0,
            clock: 0,
            bytes: vec![0; read_pages * layout.page_bytes()],
            writes: Vec::new(),
            writes_max: write_pages,
            reads: 0,
            hits: 0,
        }
    }

    /// A page of the tree that holds a node of this level.
    #[inline]
    pub(super) fn page<S: PageStore>(
        &mut self,
        store: &mut S,
        at: u32,
        level: usize,
    ) -> Result<&[u8], TreeError<S::Error>> {
        let layout = self.layout;
        let bytes = if at & CACHED != 0 {
            let slot = self.writes.get((at & !CACHED) as usize).and_then(Option::as_ref);
            let slot = slot.ok_or(TreeError::Unreadable(at))?;
            store.wait_until(slot.since);
            slot.bytes.as_slice()
        } else {
            let index = self.read(store, at)?;
            &self.bytes[index * layout.page_bytes()..][..layout.page_bytes()]
        };
        if layout.levels(bytes) < level { Err(TreeError::Unreadable(at)) } else { Ok(bytes) }
    }

    /// Where in the read cache a page is.
    #[inline]
    fn read<S: PageStore>(&mut self, store: &mut S, at: u32) -> Result<usize, TreeError<S::Error>> {
        let found = if self.pages[self.last] == at { Some(self.last) } else { self.find(at) };
        if let Some(index) = found {
            store.wait_until(self.since[index]);
            self.touch(index);
            self.hits += 1;
            return Ok(index);
        }
        self.read_from_flash(store, at)
    }

    fn read_from_flash<S: PageStore>(&mut self, store: &mut S, at: u32) -> Result<usize, TreeError<S::Error>> {
        let index = self.oldest();
        (self.pages[index], self.used[index]) = (NOTHING, 0);
        self.reads += 1;
        let out = &mut self.bytes[index * self.layout.page_bytes()..][..self.layout.page_bytes()];
        if !store.read(at, out) || !self.layout.is_page(out) {
            return Err(TreeError::Unreadable(at));
        }
        (self.pages[index], self.since[index]) = (at, store.read_done());
        self.touch(index);
        Ok(index)
    }

    fn find(&self, at: u32) -> Option<usize> {
        self.pages.iter().position(|page| *page == at)
    }

    #[inline]
    fn touch(&mut self, index: usize) {
        self.clock += 1;
        self.used[index] = self.clock;
        self.last = index;
    }

    fn oldest(&self) -> usize {
        (0..self.used.len()).min_by_key(|index| self.used[*index]).unwrap_or(0)
    }

    /// A page has just been programmed, whose bytes are in RAM since then.
    pub(super) fn programmed(&mut self, at: u32, bytes: &[u8], since: Time) {
        // A stale page that stood there may have been looked at since it was given up.
        self.forget(at);
        debug_assert!(at & CACHED == 0, "a page of flash has a number of the write cache");
        debug_assert!(self.find(at).is_none(), "a page is in the read cache twice");
        let index = self.oldest();
        (self.pages[index], self.since[index]) = (at, since);
        self.touch(index);
        self.bytes[index * self.layout.page_bytes()..][..self.layout.page_bytes()].copy_from_slice(bytes);
    }

    /// Puts a page into the write cache, whose bytes are in RAM since then.
    pub(super) fn put(&mut self, bytes: &[u8], since: Time) -> u32 {
        let slot = CachedWrite { bytes: bytes.to_vec(), since, written: None };
        let free = self.writes.iter().position(Option::is_none);
        let index = free.unwrap_or(self.writes.len());
        match free {
            Some(index) => self.writes[index] = Some(slot),
            None => self.writes.push(Some(slot)),
        }
        CACHED | index as u32
    }

    /// Where a page of the write cache is on flash as well, after a flush that did not come to its end.
    pub(super) fn written(&self, at: u32) -> Option<u32> {
        self.writes.get((at & !CACHED) as usize).and_then(Option::as_ref).and_then(|slot| slot.written)
    }

    /// Gives up the programs of a flush that was not completed, if `page` is of it; whether it is. All of them go: a
    /// page that was programmed later may name one that was programmed before.
    pub(super) fn begin_flush_anew<S: PageStore>(&mut self, store: &mut S, page: u32) -> bool {
        let is_of_it = self.writes.iter().flatten().any(|slot| slot.written == Some(page));
        if is_of_it {
            for written in self.writes.iter_mut().flatten().filter_map(|slot| slot.written.take()) {
                store.release(written);
            }
        }
        is_of_it
    }

    /// How many pages the write cache holds.
    pub(super) fn waiting(&self) -> usize {
        self.writes.iter().flatten().count()
    }

    /// A page is stale.
    pub(super) fn release<S: PageStore>(&mut self, store: &mut S, at: u32) {
        if at & CACHED == 0 {
            self.forget(at);
            store.release(at);
        } else if let Some(slot) = self.writes.get_mut((at & !CACHED) as usize).and_then(Option::take)
            && let Some(written) = slot.written
        {
            store.release(written);
        }
    }

    fn forget(&mut self, at: u32) {
        if let Some(index) = self.find(at) {
            (self.pages[index], self.used[index]) = (NOTHING, 0);
        }
    }

    /// RAM of the pages that both caches hold or may hold.
    pub(super) fn ram_bytes(&self) -> (u64, u64) {
        let page = self.layout.page_bytes() as u64;
        let writes = self.writes.len().max(self.writes_max) as u64;
        (self.bytes.len() as u64, writes * page)
    }

    /// RAM of what says which page is where.
    pub(super) fn index_bytes(&self) -> u64 {
        let reads = self.pages.len() * (size_of::<u32>() + size_of::<u64>() + size_of::<Time>());
        let writes = self.writes.len().max(self.writes_max) * size_of::<Option<CachedWrite>>();
        (reads + writes) as u64
    }
}
