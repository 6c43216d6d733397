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
    /// It may come to take more than its room.
    pub(super) may_outgrow: bool,
}

impl SharedTree {
    pub(super) fn new(tree: MuTree, may_outgrow: bool) -> Self {
        Self { tree, died: Vec::new(), may_outgrow }
    }
}
