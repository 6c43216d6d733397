//! The µ-Tree of a composition: mapping and validity may share it.

use crate::mu_tree::MuTree;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// The tree, and what waits for trims to be written.
#[derive(Clone, Preserve)]
pub(super) struct SharedTree {
    pub(super) tree: MuTree,
    /// Blocks without a live page that wait for a pending trim.
    pub(super) died: Vec<Block>,
}

impl SharedTree {
    pub(super) fn new(tree: MuTree) -> Self {
        Self { tree, died: Vec::new() }
    }
}
