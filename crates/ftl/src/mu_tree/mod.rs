//! The µ-Tree: an ordered map of 32-bit keys to records of 32 or 40 bits on flash.
//!
//! It is that of Kang et al. 2007 (µ-FTL section 2.3, figure 1). In a B+-tree on flash whose nodes are pages, an update
//! of a leaf moves it. So its parent has to name another page and moves as well, up to the root. That makes as many
//! programs as the tree is high ([`PlainTree`] shows it). In a µ-Tree one page holds the nodes of a whole path from the
//! root to a leaf. So an insert, an update or a removal programs one page, and one more for each node that is split.
//!
//! - **The layout** ([`Layout`]): the leaf takes half of a page, its parent a quarter, and so on. The root has as much
//!   as the level below it. A tree of height 1 is a leaf as large as the page.
//! - **A page is live as long as its leaf is.** The other nodes in it are ancestors of that leaf: a new version of the
//!   leaf comes with new versions of them all. A node made by a split gets a page with a path of its own below it. So a
//!   page is stale exactly when its leaf was written anew, and nothing has to be counted for it.
//! - **Read cache** (LRU, by page) and **write cache**: pages in it are programmed in bulk when it is full, children
//!   first and the root last. A version that is superseded in it never reaches flash.
//! - **Removal** merges a node that is less than half full with one beside it. If both do not fit one node, it shares
//!   entries with it, which counts as a split. So every node is at least half full, but for the root and the last one
//!   of each level. Where keys come in order, full nodes stay behind. [`Layout::capacity`] follows.
//!
//! A [`PageStore`] places the pages on flash. In `mu-ftl` that is the drive's blocks. [`FlashMap`] is one over blocks
//! of its own, with collection and recovery, for a map without an FTL.
//!
//! The paper on the µ-Tree does not mention merging; the rule here is a B+-tree's.

mod cache;
mod flash_map;
mod layout;
mod plain;
mod scan;
mod tree;
mod update;

pub use flash_map::{FlashMap, FlashMapCaches, FlashMapError};
pub use layout::{HEIGHT_MAX, Layout};
pub use plain::PlainTree;
pub use scan::TreeWalk;
pub use tree::{MuTree, TreeCounts};

use phelsuma_nand::Time;
use thiserror::Error;

/// The flash that a tree stands on. Pages have numbers below 2³¹.
pub trait PageStore {
    /// What can go wrong when a page is written.
    type Error;

    /// Reads a page of the tree to `out`, which is as long as a page; whether it is there and sound.
    fn read(&mut self, at: u32, out: &mut [u8]) -> bool;

    /// Programs a page; where it is. `is_root` is said of a page with the root of a tree all of whose pages are
    /// programmed: it makes everything before it durable, and must not be found on flash without it. `key` is the
    /// lowest key in the page's leaf.
    ///
    /// # Errors
    /// There is no room, or the flash refused.
    fn append(&mut self, key: u32, bytes: &[u8], is_root: bool) -> Result<u32, Self::Error>;

    /// A page is stale. It may be erased when the next page with a root is on flash.
    fn release(&mut self, at: u32);

    /// When what was read so far is in RAM. For a store whose operations overlap.
    fn read_done(&self) -> Time {
        Time::ZERO
    }

    /// The caller goes on with what is in RAM from `time` on, and not before.
    fn wait_until(&mut self, _time: Time) {}
}

/// What can go wrong in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum TreeError<E> {
    /// A page that the tree needs cannot be read, or is none of its pages.
    #[error("page {0} of the tree cannot be read")]
    Unreadable(u32),
    /// The tree is as high as nodes of this size let it be, and its root is full ([`Layout::capacity`]).
    #[error("the tree is full: pages of this size hold no more entries for certain")]
    TooMany,
    /// A page could not be written.
    #[error("{0}")]
    Store(E),
}
