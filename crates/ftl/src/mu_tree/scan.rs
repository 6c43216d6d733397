//! Going over a whole µ-Tree: which pages are live, and whether everything in it is as it must be.

use super::cache::Caches;
use super::layout::{CACHED, Entry, HERE};
use super::{MuTree, PageStore, TreeError};
use alloc::vec::Vec;

/// What there is in a tree.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct TreeWalk {
    /// Entries in leaves.
    pub entries: u64,
    /// Nodes of all levels.
    pub nodes: u64,
    /// The pages on flash that are live.
    pub pages: Vec<u32>,
    /// The first thing that is not as it must be.
    pub fault: Option<&'static str>,
}

/// A node to be looked at: where it is, its level, and between which keys its own are.
struct Visit {
    at: u32,
    level: usize,
    low: u32,
    high: Option<u32>,
}

impl MuTree {
    /// Looks at every node, `nodes_max` at the most: a sound tree has fewer, others may go in circles. The read cache
    /// ends up with other pages.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn walk<S: PageStore>(&mut self, store: &mut S, nodes_max: u64) -> Result<TreeWalk, TreeError<S::Error>> {
        let mut walk = TreeWalk::default();
        let Some(root) = self.root else { return Ok(walk) };
        let mut to_visit: Vec<Visit> = Vec::new();
        let enter = |walk: &mut TreeWalk, caches: &Caches, at: u32| {
            let on_flash = if at & CACHED == 0 { Some(at) } else { caches.written(at) };
            walk.pages.extend(on_flash);
        };
        enter(&mut walk, &self.caches, root);
        to_visit.push(Visit { at: root, level: self.height, low: 0, high: None });
        while let Some(Visit { at, level, low, high }) = to_visit.pop() {
            walk.nodes += 1;
            if walk.nodes > nodes_max {
                walk.fault = walk.fault.or(Some("there are more nodes than there can be"));
                break;
            }
            let layout = self.caches.layout;
            let bytes = self.caches.page(store, at, level)?;
            let entries: Vec<Entry> = layout.node(bytes, level).iter().collect();
            walk.fault = walk.fault.or(self.fault_of(&entries, level, low, high));
            if level == 1 {
                walk.entries += entries.len() as u64;
                continue;
            }
            for (index, (lowest, child)) in entries.iter().copied().enumerate() {
                let at = if child == HERE { at } else { child as u32 };
                if child != HERE {
                    enter(&mut walk, &self.caches, at);
                }
                let high = entries.get(index + 1).map(|(lowest, _)| *lowest).or(high);
                to_visit.push(Visit { at, level: level - 1, low: lowest, high });
            }
        }
        Ok(walk)
    }

    /// What of a node is not as it must be.
    fn fault_of(&self, entries: &[Entry], level: usize, low: u32, high: Option<u32>) -> Option<&'static str> {
        let layout = self.caches.layout;
        let is_root = level == self.height;
        let within = |key: &u32| *key >= low && high.is_none_or(|high| *key < high);
        if entries.windows(2).any(|two| two[0].0 >= two[1].0) {
            Some("keys of a node do not ascend")
        } else if !entries.iter().all(|(key, _)| within(key)) {
            Some("a node has a key that is another node's")
        } else if entries.len() > layout.entries_max(level, self.height) {
            Some("a node has more entries than fit")
        } else if !is_root && high.is_some() && entries.len() < layout.entries_min(level)
            || !is_root && entries.len() < level.min(2)
        {
            Some("a node is less than half full")
        } else if level > 1 && entries.iter().filter(|(_, child)| *child == HERE).count() != 1 {
            // Or a page could be stale although a node in it is not.
            Some("a node does not have one child in its own page")
        } else if level > 1 && is_root && entries.len() < 2 {
            Some("the tree is higher than it has to be")
        } else {
            None
        }
    }
}
