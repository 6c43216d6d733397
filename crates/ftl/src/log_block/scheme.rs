//! The scheme, in which log-block FTLs differ: where user pages are written, and which log block is merged.

mod bast;
mod fast;
mod plain;

use super::ground::Ground;
use super::layout::LogicalLayout;
use super::log_index::LogIndex;
use super::log_state::NOBODY;
use super::pool::Role;
use super::recovery::{FoundLogBlock, ReadLogBlock, SpareAreas};
use super::shape::HybridSizes;
use crate::barriers::Barriers;
use crate::ftl::Step;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Nand, Time};

pub(super) use bast::Bast;
pub(super) use fast::Fast;
pub(super) use plain::Plain;

/// Which page of a request of the host's one is.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartOf {
    /// Pages of the request.
    pub(super) pages: u32,
    /// Those in front of this one.
    pub(super) index: u32,
}

/// A scheme. It touches flash only through the ground, and keeps nothing there but log blocks.
pub(super) trait Scheme: Clone + Preserve + Send + 'static {
    /// Its part of a drive's composition.
    type Parts: Copy;
    /// Where the pages of its log blocks stand.
    type Index: LogIndex + Preserve + 'static;

    /// Whether a snapshot is written when the drive is closed, and looked for when it is mounted.
    const SNAPSHOT: bool = false;
    /// Whether it takes up a log block by the pages that count in it ([`Scheme::taken_up`]).
    const TAKES_UP_BY_PAGES: bool = false;

    /// Which logical pages stand in a logical block.
    fn layout(geometry: &Geometry) -> LogicalLayout {
        LogicalLayout::adjacent(geometry)
    }

    /// With nothing in any log block.
    fn new(parts: &Self::Parts, geometry: &Geometry, sizes: &HybridSizes) -> Self;

    /// The index of its log blocks, with nothing in it.
    fn index(parts: &Self::Parts, geometry: &Geometry, sizes: &HybridSizes, barriers: Barriers) -> Self::Index;

    /// Writes a page of the host's; when it is safe.
    ///
    /// # Errors
    /// [`FtlError::Full`]: no block is left.
    fn write<N: Nand>(
        &mut self,
        ground: &mut Ground<Self::Index>,
        nand: &mut N,
        key: u32,
        part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError>;

    /// How a recovery reads what stands in a log block.
    fn log_reader(&self) -> impl ReadLogBlock {
        SpareAreas
    }

    /// As what a log block that a recovery has found is taken up, and its owner; [`NOBODY`] where nothing says so yet.
    fn taken_up(ground: &Ground<Self::Index>, found: &FoundLogBlock<'_>) -> (Role, u32) {
        let _ = (ground, found);
        (Role::Log, NOBODY)
    }

    /// A recovery has taken up log blocks, in the order in which they were begun; none of them can be written any
    /// further. Takes them over, and merges those that the scheme cannot go on with. When that is done.
    ///
    /// # Errors
    /// [`FtlError::Full`]: no block is left for a merge.
    fn recovered<N: Nand>(
        &mut self,
        ground: &mut Ground<Self::Index>,
        nand: &mut N,
        at: Time,
    ) -> Result<Time, FtlError>;

    /// The drive is closed with a snapshot: nothing more is written to any log block that there is.
    fn close(&mut self, ground: &mut Ground<Self::Index>) {
        let _ = ground;
    }

    /// Whether it has exactly the log blocks that there are.
    fn knows(&self, ground: &Ground<Self::Index>) -> bool;

    /// A host request, which may have changed what is in log blocks, was done by then.
    #[inline]
    fn served(&mut self, done: Time, changed: bool) {
        let _ = (done, changed);
    }

    /// From when on it has something to do while the host is idle.
    fn due(&self) -> Option<Time> {
        None
    }

    /// Does a piece of that.
    ///
    /// # Errors
    /// [`FtlError::Full`]: no block is left.
    fn background_step<N: Nand>(
        &mut self,
        ground: &mut Ground<Self::Index>,
        nand: &mut N,
        at: Time,
    ) -> Result<Step, FtlError> {
        let _ = (ground, nand, at);
        Ok(Step::Nothing)
    }

    /// Its RAM.
    fn ram(&self, ledger: &mut RamLedger);

    /// Its own counters.
    fn counters(&self, ground: &Ground<Self::Index>, counters: &mut Vec<Counter>) {
        let _ = (ground, counters);
    }
}
