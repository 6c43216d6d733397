//! A B+-tree on flash with a node a page (µ-FTL figure 1(a)): a µ-Tree is compared with it.
//!
//! An update moves its leaf, and so every node above it: the *wandering tree*. There is nothing in it but what shows
//! this: no cache, no removal.

use super::{PageStore, TreeError};
use alloc::vec;
use alloc::vec::Vec;

const ENTRY: usize = 8;
const HEADER: usize = 8;

/// A B+-tree, each node a page of its own.
#[derive(Clone, Debug)]
pub struct PlainTree {
    page_bytes: usize,
    root: Option<u32>,
    height: usize,
    page: Vec<u8>,
    programs: u64,
    splits: u64,
}

type Entry = (u32, u32);

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

fn child_of(entries: &[Entry], key: u32) -> usize {
    entries.partition_point(|(lowest, _)| *lowest <= key).saturating_sub(1)
}

impl PlainTree {
    /// An empty tree on pages of so many bytes.
    pub fn new(page_bytes: usize) -> Self {
        Self { page_bytes, root: None, height: 0, page: vec![0; page_bytes], programs: 0, splits: 0 }
    }

    /// Its levels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pages programmed so far.
    pub fn programs(&self) -> u64 {
        self.programs
    }

    /// Nodes that were split so far.
    pub fn splits(&self) -> u64 {
        self.splits
    }

    /// Entries of a node at the most.
    pub fn entries_max(&self) -> usize {
        self.page_bytes.saturating_sub(HEADER) / ENTRY
    }

    fn read<S: PageStore>(&mut self, store: &mut S, at: u32) -> Result<Vec<Entry>, TreeError<S::Error>> {
        if !store.read(at, &mut self.page) {
            return Err(TreeError::Unreadable(at));
        }
        let count = (word(&self.page, 0) as usize).min(self.entries_max());
        let entries = self.page[HEADER..].chunks_exact(ENTRY).take(count);
        Ok(entries.map(|entry| (word(entry, 0), word(entry, 4))).collect())
    }

    fn write<S: PageStore>(
        &mut self,
        store: &mut S,
        entries: &[Entry],
        is_root: bool,
    ) -> Result<u32, TreeError<S::Error>> {
        debug_assert!(entries.len() <= self.entries_max(), "a node has more entries than fit");
        debug_assert!(entries.is_sorted_by(|one, next| one.0 < next.0), "keys of a node do not ascend");
        self.page.fill(0);
        self.page[..4].copy_from_slice(&(entries.len() as u32).to_le_bytes());
        for (slot, (key, record)) in self.page[HEADER..].chunks_exact_mut(ENTRY).zip(entries) {
            slot[..4].copy_from_slice(&key.to_le_bytes());
            slot[4..].copy_from_slice(&record.to_le_bytes());
        }
        self.programs += 1;
        let lowest = entries.first().map_or(0, |(key, _)| *key);
        store.append(lowest, &self.page, is_root).map_err(TreeError::Store)
    }

    /// The record of a key.
    ///
    /// # Errors
    /// A page on the way cannot be read.
    pub fn get<S: PageStore>(&mut self, store: &mut S, key: u32) -> Result<Option<u32>, TreeError<S::Error>> {
        let Some(mut at) = self.root else { return Ok(None) };
        for _ in 1..self.height {
            let entries = self.read(store, at)?;
            at = entries.get(child_of(&entries, key)).map_or(at, |(_, child)| *child);
        }
        let leaf = self.read(store, at)?;
        Ok(leaf.binary_search_by_key(&key, |(key, _)| *key).ok().map(|index| leaf[index].1))
    }

    /// Sets the record of a key: the leaf is written anew, and every node above it.
    ///
    /// # Errors
    /// A page on the way cannot be read, or none can be written.
    pub fn insert<S: PageStore>(&mut self, store: &mut S, key: u32, record: u32) -> Result<(), TreeError<S::Error>> {
        let mut path: Vec<(u32, Vec<Entry>)> = Vec::new();
        let mut at = self.root;
        while let Some(page) = at {
            let entries = self.read(store, page)?;
            let is_leaf = path.len() + 1 == self.height;
            at = if is_leaf { None } else { entries.get(child_of(&entries, key)).map(|(_, child)| *child) };
            path.push((page, entries));
        }
        let (old, mut entries) = path.pop().map_or((None, Vec::new()), |(page, entries)| (Some(page), entries));
        match entries.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(index) => entries[index].1 = record,
            Err(index) => entries.insert(index, (key, record)),
        }
        let mut stale: Vec<u32> = old.into_iter().collect();
        self.height = self.height.max(1);
        loop {
            let above = path.pop();
            let fits = entries.len() <= self.entries_max();
            let right = if fits { Vec::new() } else { entries.split_off(entries.len() / 2) };
            let left = self.write(store, &entries, above.is_none() && fits)?;
            let mut children = vec![(entries.first().map_or(0, |(key, _)| *key), left)];
            if let Some((lowest, _)) = right.first() {
                self.splits += 1;
                children.push((*lowest, self.write(store, &right, false)?));
            }
            match above {
                Some((page, parent)) => {
                    stale.push(page);
                    entries = parent;
                    let index = child_of(&entries, key);
                    // The lowest key below a child stays the same.
                    children[0].0 = entries[index].0;
                    entries.splice(index..=index, children);
                }
                None if children.len() == 1 => {
                    self.root = Some(left);
                    break;
                }
                None => {
                    children[0].0 = 0;
                    entries = children;
                    self.height += 1;
                }
            }
        }
        stale.into_iter().for_each(|page| store.release(page));
        Ok(())
    }
}
