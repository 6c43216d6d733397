//! Changing a µ-Tree: one page for the path, one more for each node that is split.

use super::layout::{CACHED, Entry, HERE, child_of};
use super::{MuTree, PageStore, TreeError};
use alloc::vec::Vec;

impl MuTree {
    /// Sets the record of a key, of as many bits as the layout has; the one that it had.
    ///
    /// # Errors
    /// As [`TreeError`]. Where the write cache could not be flushed, the record is set all the same, in RAM; otherwise
    /// nothing has changed.
    pub fn insert<S: PageStore>(
        &mut self,
        store: &mut S,
        key: u32,
        record: u64,
    ) -> Result<Option<u64>, TreeError<S::Error>> {
        debug_assert!(record >> self.caches.layout.record_bits() == 0);
        self.change(store, key, Some(record))
    }

    /// Takes a key out; the record that it had.
    ///
    /// # Errors
    /// As [`MuTree::insert`].
    pub fn remove<S: PageStore>(&mut self, store: &mut S, key: u32) -> Result<Option<u64>, TreeError<S::Error>> {
        self.change(store, key, None)
    }

    fn change<S: PageStore>(
        &mut self,
        store: &mut S,
        key: u32,
        record: Option<u64>,
    ) -> Result<Option<u64>, TreeError<S::Error>> {
        self.stale.clear();
        let height = match self.root {
            None if record.is_none() => return Ok(None),
            None => {
                self.path[0].clear();
                1
            }
            Some(_) => {
                self.read_path(store, key)?;
                self.stale.push(self.leaf);
                self.height
            }
        };
        let leaf = &mut self.path[0];
        let before = match (leaf.binary_search_by_key(&key, |(key, _)| *key), record) {
            (Ok(index), Some(record)) => Some(core::mem::replace(&mut leaf[index].1, record)),
            (Ok(index), None) => Some(leaf.remove(index).1),
            (Err(index), Some(record)) => {
                leaf.insert(index, (key, record));
                None
            }
            (Err(_), None) => return Ok(None),
        };
        self.write_path(store, key, height)?;
        Ok(before)
    }

    /// Writes the leaf in this page, with its path, to another page, if it is one of the tree's; whether it is. For a
    /// collection: a page whose leaf is elsewhere is stale.
    ///
    /// # Errors
    /// As [`MuTree::insert`]; the page itself cannot be read.
    pub fn relocate<S: PageStore>(&mut self, store: &mut S, page: u32) -> Result<bool, TreeError<S::Error>> {
        debug_assert!(page & CACHED == 0, "a page of the write cache is moved");
        if self.caches.begin_flush_anew(store, page) {
            return Ok(true);
        }
        let layout = self.caches.layout;
        let key = layout.lowest(self.caches.page(store, page, 1)?);
        match self.find_leaf(store, key)? {
            Some(leaf) if leaf.at == page => {}
            _ => return Ok(false),
        }
        self.stale.clear();
        self.read_path(store, key)?;
        self.stale.push(self.leaf);
        self.write_path(store, key, self.height)?;
        Ok(true)
    }

    /// Reads the nodes on the way to `key`.
    fn read_path<S: PageStore>(&mut self, store: &mut S, key: u32) -> Result<(), TreeError<S::Error>> {
        let Some(mut at) = self.root else { return Ok(()) };
        let (layout, mut level) = (self.caches.layout, self.height);
        (self.is_last, self.is_edge) = (true, true);
        loop {
            let bytes = self.caches.page(store, at, level)?;
            loop {
                let node = layout.node(bytes, level);
                self.is_last &= node.up_to(key) == node.len();
                if level > 1 {
                    self.is_edge = self.is_last;
                }
                let entries = &mut self.path[level - 1];
                entries.clear();
                if level == 1 {
                    entries.extend(node.iter());
                    self.leaf = at;
                    return Ok(());
                }
                entries.extend(node.iter().map(|(key, child)| (key, if child == HERE { at.into() } else { child })));
                let child = node.entry(node.child_of(key)).map(|(_, child)| child);
                level -= 1;
                match child {
                    Some(HERE) => {}
                    Some(child) => {
                        at = child as u32;
                        break;
                    }
                    None => return Err(TreeError::Unreadable(at)),
                }
            }
        }
    }

    /// Splits and merges nodes of the path to `key` as they need it, writes it, and makes it the tree.
    fn write_path<S: PageStore>(&mut self, store: &mut S, key: u32, height: usize) -> Result<(), TreeError<S::Error>> {
        self.fresh.clear();
        let written =
            self.balance(store, key, height).and_then(|height| Ok((self.write_root(store, key, height)?, height)));
        let (root, height) = match written {
            Ok(written) => written,
            Err(error) => {
                while let Some(page) = self.fresh.pop() {
                    self.caches.release(store, page);
                }
                return Err(error);
            }
        };
        debug_assert!(!self.stale.contains(&root), "the new root is stale");
        (self.root, self.height) = (Some(root), height);
        while let Some(page) = self.stale.pop() {
            self.caches.release(store, page);
        }
        self.counts.updates += 1;
        if self.caches.writes_max > 0 && self.caches.waiting() >= self.caches.writes_max {
            self.flush(store)?;
        }
        Ok(())
    }

    /// Brings each node of the path to a size that it may have; the height of the tree then.
    fn balance<S: PageStore>(
        &mut self,
        store: &mut S,
        key: u32,
        mut height: usize,
    ) -> Result<usize, TreeError<S::Error>> {
        let layout = self.caches.layout;
        let mut level = 1;
        while level <= height {
            let entries = self.path[level - 1].len();
            let least = if self.is_edge { level.min(2) } else { layout.entries_min(level) };
            if level < height && entries < least {
                self.merge(store, key, level)?;
            }
            if self.path[level - 1].len() > layout.entries_max(level, height) {
                if level == height {
                    if height == layout.height_max() {
                        return Err(TreeError::TooMany);
                    }
                    height += 1;
                    // The child that is split below. Its lowest key is the lowest there is.
                    self.path[height - 1].clear();
                    self.path[height - 1].push((0, 0));
                }
                self.split(store, key, level, height)?;
            }
            level += 1;
        }
        while height > 1 && self.path[height - 1].len() == 1 {
            height -= 1;
        }
        Ok(height)
    }

    /// Splits a node of the path. What does not lead to `key` gets a page of its own.
    fn split<S: PageStore>(
        &mut self,
        store: &mut S,
        key: u32,
        level: usize,
        height: usize,
    ) -> Result<(), TreeError<S::Error>> {
        let layout = self.caches.layout;
        // Behind the last key of all comes the next one, as a rule: what stays is full. An inner node has two children
        // at least, so that one of them that grows too small has another beside it.
        let at = match self.path[level - 1].len() {
            entries if self.is_last => layout.entries_max(level, height).min(entries - level.min(2)),
            entries => entries / 2,
        };
        let node = &mut self.path[level - 1];
        let mut right = node.split_off(at);
        let lowest = right.first().map_or(0, |(key, _)| *key);
        let key_is_left = key < lowest;
        if !key_is_left {
            core::mem::swap(node, &mut right);
        }
        // Now the half without the key.
        let other = right;
        let page = u64::from(self.write_beside(store, level, height, &other)?);
        let parent = &mut self.path[level];
        let index = child_of(parent, key);
        parent.insert(index + 1, (lowest, page));
        if !key_is_left {
            // The path goes on below the new entry, and the old one names the left half.
            parent[index].1 = page;
        }
        self.counts.splits += 1;
        Ok(())
    }

    /// Writes a node that is not on the path, with a path below it: its first child, and what that has in its page.
    fn write_beside<S: PageStore>(
        &mut self,
        store: &mut S,
        level: usize,
        height: usize,
        entries: &[Entry],
    ) -> Result<u32, TreeError<S::Error>> {
        let layout = self.caches.layout;
        layout.begin(&mut self.page, height, level);
        let mut here = None;
        if level > 1 {
            let child = entries.first().map_or(0, |(_, child)| *child as u32);
            let from = self.caches.page(store, child, level - 1)?;
            layout.copy_below(&mut self.page, from, level);
            self.stale.push(child);
            here = Some(0);
        }
        layout.put(&mut self.page, level, entries, here);
        self.place(store, false)
    }

    /// Merges a node of the path with one beside it. It may then have to be split.
    fn merge<S: PageStore>(&mut self, store: &mut S, key: u32, level: usize) -> Result<(), TreeError<S::Error>> {
        let index = child_of(&self.path[level], key);
        let is_last = index + 1 == self.path[level].len();
        let beside = if is_last { index.wrapping_sub(1) } else { index + 1 };
        let Some(at) = self.path[level].get(beside).map(|(_, at)| *at as u32) else { return Ok(()) };
        let layout = self.caches.layout;
        let node = layout.node(self.caches.page(store, at, level)?, level);
        // The other nodes of the same page are named from elsewhere now.
        let entries = node.iter().map(|(key, child)| (key, if level > 1 && child == HERE { at.into() } else { child }));
        let mut entries: Vec<Entry> = entries.collect();
        if level == 1 {
            self.stale.push(at);
        }
        let path = &mut self.path[level - 1];
        if is_last {
            entries.append(path);
            core::mem::swap(path, &mut entries);
        } else {
            path.append(&mut entries);
        }
        self.path[level].remove(index.max(beside));
        self.counts.merges += 1;
        Ok(())
    }

    /// Writes the path.
    fn write_root<S: PageStore>(&mut self, store: &mut S, key: u32, height: usize) -> Result<u32, TreeError<S::Error>> {
        let layout = self.caches.layout;
        layout.begin(&mut self.page, height, height);
        for level in 1..=height {
            let entries = &self.path[level - 1];
            let here = (level > 1).then(|| child_of(entries, key));
            layout.put(&mut self.page, level, entries, here);
        }
        self.place(store, true)
    }

    /// Puts the page into the write cache, or on flash where there is none.
    fn place<S: PageStore>(&mut self, store: &mut S, is_root: bool) -> Result<u32, TreeError<S::Error>> {
        let at = if self.caches.writes_max > 0 {
            self.caches.put(&self.page, store.read_done())
        } else {
            let at =
                store.append(self.caches.layout.lowest(&self.page), &self.page, is_root).map_err(TreeError::Store)?;
            self.counts.programs += 1;
            self.caches.programmed(at, &self.page, store.read_done());
            at
        };
        self.fresh.push(at);
        Ok(at)
    }

    /// Programs everything that is in the write cache, the root last.
    ///
    /// # Errors
    /// A page could not be written. The tree is as it was; pages that were programmed already are not programmed again.
    pub fn flush<S: PageStore>(&mut self, store: &mut S) -> Result<(), TreeError<S::Error>> {
        let Some(root) = self.root.filter(|root| root & CACHED != 0) else { return Ok(()) };
        let root = self.flush_page(store, root, self.height)?;
        self.root = Some(root);
        // Their pages are the tree's now.
        self.caches.writes.iter_mut().for_each(|slot| *slot = None);
        self.counts.flushes += 1;
        Ok(())
    }

    /// Programs a page of the write cache whose highest node that counts is of this level, and before it those that it
    /// names.
    fn flush_page<S: PageStore>(&mut self, store: &mut S, at: u32, level: usize) -> Result<u32, TreeError<S::Error>> {
        let layout = self.caches.layout;
        let index = (at & !CACHED) as usize;
        let slot = self.caches.writes.get(index).and_then(Option::as_ref).ok_or(TreeError::Unreadable(at))?;
        if let Some(written) = slot.written {
            return Ok(written);
        }
        store.wait_until(slot.since);
        let mut page = slot.bytes.clone();
        // Nodes above were written anew, in another page.
        layout.truncate(&mut page, level);
        for level in (2..=level).rev() {
            for entry in 0..layout.node(&page, level).len() {
                let child = layout.node(&page, level).entry(entry).map_or(HERE, |(_, child)| child);
                if child != HERE && child & u64::from(CACHED) != 0 {
                    let written = self.flush_page(store, child as u32, level - 1)?;
                    layout.set_child(&mut page, level, entry, written);
                }
            }
        }
        let is_root = level == self.height;
        let written = store.append(layout.lowest(&page), &page, is_root).map_err(TreeError::Store)?;
        self.counts.programs += 1;
        self.caches.programmed(written, &page, store.read_done());
        if let Some(slot) = &mut self.caches.writes[index] {
            slot.written = Some(written);
        }
        Ok(written)
    }
}
