//! The state of garbage collection from one victim to the next.

use super::move_buffer::MoveBuffer;
use crate::barriers::{Barrier, Barriers};
use crate::policy::SampleOf;
use crate::policy::victims::sampled::SAMPLE_MIN;
use crate::{Counter, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, LogicalPage, Page, Purpose, SpareRead};

/// Why a block is collected.
#[derive(Clone, Copy, PartialEq, Eq, Preserve)]
pub(super) enum Why {
    /// It has failed a program.
    Failing,
    /// Metadata take too much space.
    TooMuchMetadata,
    /// Next to nothing is free.
    Emergency,
    /// The policy chose it.
    Policy,
    /// The policy chose another of its group.
    Group,
    /// It is less worn than others because its data stay.
    Wear,
    /// It is the oldest of an SLC cache.
    Fold,
}

impl Why {
    pub(super) fn purpose(self) -> Purpose {
        if self == Self::Wear { Purpose::Wear } else { Purpose::Gc }
    }
}

/// The state of garbage collection.
#[derive(Clone, Preserve)]
pub(super) struct Collecting {
    /// The pages of a block that are live: what validity answers. Of the victim, those that wait to be moved.
    pub(super) live: Vec<u16>,
    /// The victim, once it is known which of its pages are live, if some of them may be reported stale.
    pub(super) victim: Option<Block>,
    /// Their spare areas, where the mapping judges them by what is on flash.
    pub(super) spares: Vec<SpareRead>,
    /// Logical pages that are read errors, of pages that were judged: perhaps since their entries cannot be read.
    pub(super) lost: Vec<LogicalPage>,
    /// Of the pages that were judged, those that are not live.
    pub(super) dead: Vec<u16>,
    pub(super) moving: MoveBuffer,
    /// The collection in slices that is under way.
    pub(super) begun: Option<InSlices>,
    /// Free blocks above what a collection needs, below which one begins in slices. 0 where all are whole.
    pub(super) early: u32,
    /// Blocks that are gained beyond the reserve once it is short. 0 where collections go one by one.
    pub(super) batch: u32,
    /// Groups that are collected at once, if they are.
    pub(super) groups: Option<OfGroups>,
    /// Where the pages of a part of the table are, while a group is collected.
    pub(super) places: Vec<(LogicalPage, Page)>,
    pub(super) slc: OfSlc,
    /// Blocks looked at for the choice of the victim.
    pub(super) examined: u32,
    /// When the live pages were last counted anew, in program order (`recount.rs`).
    pub(super) recounted: Option<u64>,
    /// Where the live pages of a sample of the blocks are counted alone.
    pub(super) sampling: Option<Sampling>,
}

impl Collecting {
    pub(super) fn new(
        pages_per_block: u32,
        (early, batch): (u32, u32),
        groups: Option<OfGroups>,
        slc: OfSlc,
        sampling: Option<Sampling>,
    ) -> Self {
        Self {
            live: Vec::with_capacity(pages_per_block as usize),
            victim: None,
            spares: Vec::new(),
            lost: Vec::new(),
            dead: Vec::with_capacity(pages_per_block as usize),
            moving: MoveBuffer::new(),
            begun: None,
            early,
            batch,
            groups,
            places: Vec::with_capacity(groups.map_or(0, |groups| groups.entries as usize)),
            slc,
            examined: 0,
            recounted: None,
            sampling,
        }
    }

    /// A page of the host's is reported stale: one that waits in the victim does not move. Whether it counted as live:
    /// others of the victim have moved, or were found stale by its collection.
    #[inline]
    pub(super) fn is_stale(&mut self, geometry: &Geometry, page: Page, barriers: Barriers) -> bool {
        if self.victim != Some(geometry.block_of(page)) || !barriers.keeps(Barrier::StaleLeavesSlices) {
            return true;
        }
        let waits = self.live.binary_search(&(geometry.index_of(page) as u16));
        if let Ok(at) = waits {
            self.live.remove(at);
        }
        waits.is_ok()
    }

    /// Whether a page was the victim's, and waits no longer. Entries on flash may name it still.
    pub(super) fn has_left(&self, geometry: &Geometry, page: Page) -> bool {
        self.victim == Some(geometry.block_of(page))
            && self.live.binary_search(&(geometry.index_of(page) as u16)).is_err()
    }

    pub(super) fn ram(&self, page_bytes: u64, ledger: &mut RamLedger) {
        let spares = self.spares.capacity() * size_of::<SpareRead>();
        let judged = self.lost.capacity() * size_of::<LogicalPage>() + self.dead.capacity() * 2;
        let places = self.places.capacity() * size_of::<(LogicalPage, Page)>();
        ledger.index("buffer.live_pages", self.live.capacity() as u64 * 2 + (spares + judged + places) as u64);
        ledger.index("buffer.moving", self.moving.bytes(page_bytes));
    }
}

/// Groups that are collected at once (`groups.rs`): of so many logical pages each, and free blocks for one of them.
#[derive(Clone, Copy, Preserve)]
pub(super) struct OfGroups {
    pub(super) pages: u32,
    pub(super) room: u32,
    /// Entries of a translation page.
    pub(super) entries: u32,
}

/// What collections have to do with an SLC cache.
#[derive(Clone, Copy, Default, Preserve)]
pub(super) struct OfSlc {
    /// Blocks that the reserve does without.
    pub(super) set_aside: u32,
    /// Whether a write that finds the cache full waits for a fold.
    pub(super) folds: bool,
    /// Whether it is folded where space is needed.
    pub(super) gives_way: bool,
}

/// A collection in slices that is under way (`slices.rs`).
#[derive(Clone, Copy, Preserve)]
pub(super) struct InSlices {
    pub(super) victim: Block,
    pub(super) why: Why,
    /// Pages that a slice moves at the least.
    pub(super) pages: u32,
}

/// The composition's state for the sample, besides its content.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Sampling {
    /// Blocks in the sample.
    pub(super) blocks: u32,
    /// Blocks queried before a collection.
    pub(super) looks: u32,
    /// Blocks queried so far.
    pub(super) asked: u64,
    /// How often all were that could be emptier.
    pub(super) everywhere: u64,
}

impl Sampling {
    /// With as many blocks as requested, of a drive of so many.
    pub(super) fn new(drive_blocks: u32, of: SampleOf) -> Self {
        Self { blocks: sample_blocks(drive_blocks, of.blocks), looks: of.looks, asked: 0, everywhere: 0 }
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("sample_looks", self.asked));
        out.push(Counter::sum("sample_looks_everywhere", self.everywhere));
    }
}

/// The blocks in a sample: as requested, or a sixteenth of them, at least 16.
fn sample_blocks(drive_blocks: u32, asked_for: u32) -> u32 {
    if asked_for == 0 { (drive_blocks / 16).max(SAMPLE_MIN) } else { asked_for }
}
