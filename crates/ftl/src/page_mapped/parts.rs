//! The parts of a page-mapped FTL, put together.

use super::collecting::Collecting;
use super::durability::Durability;
use super::mapping::AnyMapping;
use super::runs::MergePages;
use super::shared_tree::SharedTree;
use super::sorting::Sorting;
use super::streams::Streams;
use super::validity::AnyValidity;
use crate::PageParts;
use crate::blocks::Blocks;
use crate::ftl::Shape;
use crate::policy::{Placement, Victim};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Page};

/// The configuration of an FTL of this family.
pub(super) type PageConfig = crate::Config<PageParts>;

/// Counters of a page-mapped FTL besides those of flash operations.
#[derive(Clone, Copy, Default, Debug, Preserve)]
pub(super) struct PageTally {
    pub(super) collections: u64,
    pub(super) pages_moved: u64,
    pub(super) pages_lost_moving: u64,
    pub(super) emergency_collections: u64,
    /// Slices of collections, and those that were given up for an emptier victim.
    pub(super) slices: u64,
    pub(super) slices_given_up: u64,
    /// Groups that were collected, those of which the rest was left, and pages that moved in logical order.
    pub(super) groups: u64,
    pub(super) groups_given_up: u64,
    pub(super) pages_in_order: u64,
    pub(super) metadata_collections: u64,
    pub(super) metadata_pages_moved: u64,
    pub(super) metadata_fallbacks: u64,
    pub(super) unreadable_reads: u64,
    pub(super) wear_collections: u64,
    pub(super) wear_pages_moved: u64,
    /// Pages that the host wrote to an SLC cache, and past it.
    pub(super) slc_pages: u64,
    pub(super) slc_bypassed: u64,
    /// Its blocks that were folded, and pages that moved for that.
    pub(super) folds: u64,
    pub(super) pages_folded: u64,
    pub(super) choices: u64,
    pub(super) blocks_examined: u64,
    pub(super) blocks_examined_max: u64,
    /// Answers of policies that could not be, and were replaced by others.
    pub(super) policy_answers_replaced: u64,
}

/// A page-mapped FTL. Where it serves a host, its mapping and its validity store are any that there are; a recovery has
/// them by type.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
pub(crate) struct PageMapped<M = AnyMapping, V = AnyValidity> {
    pub(super) shape: Shape,
    pub(super) mapping: M,
    pub(super) validity: V,
    pub(super) victim: Box<dyn Victim>,
    pub(super) placement: Box<dyn Placement>,
    pub(super) sorting: Sorting,
    pub(super) blocks: Blocks,
    pub(super) durability: Durability,
    pub(super) collecting: Collecting,
    pub(super) streams: Streams,
    pub(super) anchors: Vec<Block>,
    /// Pages found to be stale while the mapping was at work; empty between requests.
    pub(super) before: Vec<Page>,
    /// The pages of merges, of the mapping and the validity store.
    pub(super) merge_pages: MergePages,
    /// The index that mapping and validity may share.
    pub(super) tree: Option<SharedTree>,
    pub(super) tally: PageTally,
}

/// Lends the flash to the mapping: the fields that it needs are borrowed one by one.
macro_rules! mapping_io {
    ($self:ident, $nand:expr, $at:expr) => {
        &mut MetaIo::new(
            $nand,
            (&mut $self.blocks, &mut $self.durability),
            $self.streams.mapping,
            $self.mapping.purpose(),
            $at,
        )
        .with_tree($self.tree.as_mut().map(|shared| &mut shared.tree))
        .with_merge_pages(&mut $self.merge_pages)
    };
}

/// Lends the flash to the validity store.
macro_rules! validity_io {
    ($self:ident, $nand:expr, $at:expr) => {
        &mut MetaIo::new(
            $nand,
            (&mut $self.blocks, &mut $self.durability),
            $self.streams.validity,
            phelsuma_nand::Purpose::Validity,
            $at,
        )
        .with_tree($self.tree.as_mut().map(|shared| &mut shared.tree))
        .with_merge_pages(&mut $self.merge_pages)
    };
}

pub(super) use {mapping_io, validity_io};
