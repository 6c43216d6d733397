//! A µ-Tree, and looking things up in it.

use super::cache::Caches;
use super::layout::{Entry, HEIGHT_MAX, HERE, Layout};
use super::{PageStore, TreeError};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;

/// Counters of a tree.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Preserve)]
pub struct TreeCounts {
    /// Inserts, updates and removals that changed something, and pages moved.
    pub updates: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Pages read from flash.
    pub reads: u64,
    /// Pages that the read cache had.
    pub hits: u64,
    /// Nodes that were split, those included that share entries with one beside them.
    pub splits: u64,
    /// Nodes that were merged with one beside them.
    pub merges: u64,
    /// Times that the write cache was flushed.
    pub flushes: u64,
}

/// An ordered map of 32-bit keys to records of 32 or 40 bits on flash.
#[derive(Clone, Debug, Preserve)]
pub struct MuTree {
    pub(super) caches: Caches,
    /// The page with the root; none where nothing was ever inserted.
    pub(super) root: Option<u32>,
    pub(super) height: usize,
    /// The path that an update has read and is changing, the leaf first.
    pub(super) path: Vec<Vec<Entry>>,
    /// The page of its leaf.
    pub(super) leaf: u32,
    /// It leads to behind the last key of all; it leads to the last leaf.
    pub(super) is_last: bool,
    pub(super) is_edge: bool,
    /// Pages that an update makes stale, and those that it has written.
    pub(super) stale: Vec<u32>,
    pub(super) fresh: Vec<u32>,
    /// The page that is being made.
    pub(super) page: Vec<u8>,
    pub(super) counts: TreeCounts,
}

/// A leaf on flash, and which keys stand in no other.
pub(super) struct Leaf {
    pub(super) at: u32,
    /// The lowest key that would be in it.
    pub(super) low: u32,
    /// The lowest one of the next leaf, if there is one.
    pub(super) high: Option<u32>,
}

/// Leaves to look into until an entry is found: none but the root is empty.
const LEAVES_MAX: usize = 2;

impl MuTree {
    /// An empty tree on pages of so many bytes, with caches of so many pages; none where a page is too small. The read
    /// cache has one page at least. Without a write cache each update is on flash when it is done.
    pub fn new(page_bytes: usize, read_pages: usize, write_pages: usize) -> Option<Self> {
        Some(Self::on(Layout::new(page_bytes)?, read_pages, write_pages))
    }

    /// The same for pages of a given layout, which says how many bits records have.
    pub fn on(layout: Layout, read_pages: usize, write_pages: usize) -> Self {
        Self {
            caches: Caches::new(layout, read_pages, write_pages),
            root: None,
            height: 0,
            path: vec![Vec::new(); HEIGHT_MAX + 1],
            leaf: 0,
            is_last: false,
            is_edge: false,
            stale: Vec::new(),
            fresh: Vec::new(),
            page: vec![0; layout.page_bytes()],
            counts: TreeCounts::default(),
        }
    }

    /// The tree whose root is in this page.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open<S: PageStore>(mut self, store: &mut S, root: u32) -> Result<Self, TreeError<S::Error>> {
        let layout = self.caches.layout;
        let bytes = self.caches.page(store, root, 1)?;
        let (levels, height) = (layout.levels(bytes), layout.height(bytes));
        if levels != height {
            return Err(TreeError::Unreadable(root));
        }
        (self.root, self.height) = (Some(root), height);
        Ok(self)
    }

    /// Entries of nodes.
    pub fn layout(&self) -> Layout {
        self.caches.layout
    }

    /// Changes how many pages the write cache holds; how many it held. One that is to hold none must be flushed.
    pub fn set_write_pages(&mut self, pages: usize) -> usize {
        debug_assert!(pages > 0 || self.caches.waiting() == 0);
        if self.caches.waiting() == 0 {
            self.caches.writes = Vec::new();
        }
        core::mem::replace(&mut self.caches.writes_max, pages)
    }

    /// Levels of the tree; none before the first insert.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The page with the root, if it is on flash.
    pub fn root(&self) -> Option<u32> {
        self.root.filter(|root| root & super::layout::CACHED == 0)
    }

    /// Pages in the write cache.
    pub fn waiting(&self) -> usize {
        self.caches.waiting()
    }

    /// Its counters so far.
    pub fn counts(&self) -> TreeCounts {
        TreeCounts { reads: self.caches.reads, hits: self.caches.hits, ..self.counts }
    }

    /// RAM of the pages of the read cache and of the write cache, in bytes.
    pub fn cache_bytes(&self) -> (u64, u64) {
        self.caches.ram_bytes()
    }

    /// RAM of everything else, in bytes: also what an update and a flush take for as long as they last.
    pub fn index_bytes(&self) -> u64 {
        let path: usize = self.path.iter().map(|level| level.capacity() * size_of::<Entry>()).sum();
        let lists = (self.stale.capacity() + self.fresh.capacity()) * 4;
        let merged = self.caches.layout.entries_max(1, 2) * size_of::<Entry>();
        // A flush has a page of each level.
        let flushed = if self.caches.writes_max > 0 { self.height * self.page.len() } else { 0 };
        self.caches.index_bytes() + (path + lists + self.page.capacity() + merged + flushed) as u64
    }

    /// The record of a key.
    ///
    /// # Errors
    /// A page on the way cannot be read.
    pub fn get<S: PageStore>(&mut self, store: &mut S, key: u32) -> Result<Option<u64>, TreeError<S::Error>> {
        Ok(self.floor(store, key)?.filter(|(found, _)| *found == key).map(|(_, record)| record))
    }

    /// The entry of the highest key that is not above `key`.
    ///
    /// # Errors
    /// A page on the way cannot be read.
    pub fn floor<S: PageStore>(&mut self, store: &mut S, key: u32) -> Result<Option<Entry>, TreeError<S::Error>> {
        let mut below = key;
        for _ in 0..LEAVES_MAX {
            let Some(leaf) = self.find_leaf(store, below)? else { return Ok(None) };
            let layout = self.caches.layout;
            let node = layout.node(self.caches.page(store, leaf.at, 1)?, 1);
            if let Some(index) = node.up_to(key).checked_sub(1) {
                return Ok(node.entry(index));
            }
            match leaf.low.checked_sub(1) {
                Some(next) if next < below => below = next,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The entry of the lowest key that is not below `key`.
    ///
    /// # Errors
    /// A page on the way cannot be read.
    pub fn ceiling<S: PageStore>(&mut self, store: &mut S, key: u32) -> Result<Option<Entry>, TreeError<S::Error>> {
        let mut above = key;
        for _ in 0..LEAVES_MAX {
            let Some(leaf) = self.find_leaf(store, above)? else { return Ok(None) };
            let layout = self.caches.layout;
            let node = layout.node(self.caches.page(store, leaf.at, 1)?, 1);
            let index = key.checked_sub(1).map_or(0, |before| node.up_to(before));
            if let Some(entry) = node.entry(index) {
                return Ok(Some(entry));
            }
            match leaf.high {
                Some(high) if high > above => above = high,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Shows `each` the entries of these keys, in their order. A leaf is read once, however many of them it has.
    ///
    /// # Errors
    /// A page on the way cannot be read.
    pub fn for_each<S: PageStore>(
        &mut self,
        store: &mut S,
        keys: Range<u32>,
        mut each: impl FnMut(Entry),
    ) -> Result<(), TreeError<S::Error>> {
        let mut next = Some(keys.start);
        while let Some(from) = next {
            let Some(leaf) = self.find_leaf(store, from)? else { break };
            let layout = self.caches.layout;
            let node = layout.node(self.caches.page(store, leaf.at, 1)?, 1);
            let first = from.checked_sub(1).map_or(0, |before| node.up_to(before));
            node.iter().skip(first).take_while(|(key, _)| *key < keys.end).for_each(&mut each);
            next = leaf.high.filter(|high| *high > from && *high < keys.end);
        }
        Ok(())
    }

    /// The leaf that `key` is in, if it is anywhere.
    #[inline]
    pub(super) fn find_leaf<S: PageStore>(
        &mut self,
        store: &mut S,
        key: u32,
    ) -> Result<Option<Leaf>, TreeError<S::Error>> {
        let Some(mut at) = self.root else { return Ok(None) };
        let layout = self.caches.layout;
        let (mut level, mut low, mut high) = (self.height, 0, None);
        loop {
            let bytes = self.caches.page(store, at, level)?;
            // As far as the path goes in this page.
            loop {
                if level == 1 {
                    return Ok(Some(Leaf { at, low, high }));
                }
                let node = layout.node(bytes, level);
                let index = node.child_of(key);
                let Some((lowest, child)) = node.entry(index) else { return Err(TreeError::Unreadable(at)) };
                low = lowest;
                high = node.entry(index + 1).map(|(lowest, _)| lowest).or(high);
                level -= 1;
                if child != HERE {
                    at = child as u32;
                    break;
                }
            }
        }
    }
}
