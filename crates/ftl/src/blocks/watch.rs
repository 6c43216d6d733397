//! The parts that need events of blocks at once, in the middle of an append.
//!
//! All others read them in the news (`news.rs`) when the append is done.

use phelsuma_nand::{Block, Geometry};

/// What keeps account of blocks besides.
pub(crate) trait Watch {
    /// `block`, of user pages, is written; the last program of all was `seq`.
    fn written(&mut self, _block: Block, _seq: u64) {}

    /// `block` was erased.
    fn erased(&mut self, _geometry: &Geometry, _block: Block) {}

    /// A page was programmed besides those that are appended.
    fn wrote_besides(&mut self) {}

    /// The spare area of a free block was read, to find out whether to take it.
    fn looked_at_free_block(&mut self) {}
}

/// No account is kept.
impl Watch for () {}
