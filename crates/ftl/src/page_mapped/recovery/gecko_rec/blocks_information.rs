//! The blocks information directory, BID (GeckoFTL appendix C, step 1): what each block holds and when its first page
//! was written, from one spare area a block.

use crate::blocks::{EPOCH, window};
use crate::page_mapped::recovery::steps::Steps;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, Spare, SpareRead};

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holds {
    /// Nothing that was written since it was erased.
    Nothing,
    User,
    Translation,
    Gecko,
}

/// A block that holds something.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockInformation {
    pub(super) block: Block,
    pub(super) first_seq: u64,
}

/// A page with its spare area.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) page: Page,
    pub(super) spare: Spare,
}

/// The directory, and the clocks as far as spare areas have told.
pub(super) struct BlocksInformation {
    pub(super) empty: Vec<Block>,
    pub(super) user: Vec<BlockInformation>,
    pub(super) translation: Vec<BlockInformation>,
    pub(super) gecko: Vec<BlockInformation>,
    window: u64,
    pub(super) version_max: u64,
    pub(super) seq_max: u64,
    /// By seq over an epoch: the first and the last seq found.
    epochs: BTreeMap<u64, (u64, u64)>,
}

impl BlocksInformation {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            empty: Vec::new(),
            user: Vec::new(),
            translation: Vec::new(),
            gecko: Vec::new(),
            window: window(geometry.dies()) as u64,
            version_max: 0,
            seq_max: 0,
            epochs: BTreeMap::new(),
        }
    }

    /// Looks at a block's first page; at those behind it where the first cannot be read: a failed program, or an erase
    /// that was cut.
    pub(super) fn look_at<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps, block: Block) {
        let geometry = *nand.geometry();
        for index in 0..geometry.pages_per_block() {
            match steps.read_spare(nand, geometry.page(block, index)) {
                SpareRead::Unreadable => {}
                SpareRead::Erased => break,
                SpareRead::Written(spare) => {
                    self.note(&spare);
                    let information = BlockInformation { block, first_seq: spare.seq };
                    match holds(spare.kind) {
                        Holds::Nothing => break,
                        Holds::User => self.user.push(information),
                        Holds::Translation => self.translation.push(information),
                        Holds::Gecko => self.gecko.push(information),
                    }
                    return;
                }
            }
        }
        self.empty.push(block);
    }

    pub(super) fn note(&mut self, spare: &Spare) {
        // The version of a translation page is a moment in program order.
        if spare.kind != Kind::Translation {
            self.version_max = self.version_max.max(spare.version);
        }
        self.seq_max = self.seq_max.max(spare.seq);
        let (first, last) = self.epochs.entry(spare.seq / EPOCH).or_insert((spare.seq, spare.seq));
        (*first, *last) = ((*first).min(spare.seq), (*last).max(spare.seq));
    }

    /// Whether the last page of a block may have been in flight at some power cut, as far as is known by now: nothing was
    /// found that was programmed so much later that this one had completed, and yet before a recovery.
    ///
    /// At a recovery the seq skips ahead by an epoch. So what follows within less than one was programmed in the same
    /// session.
    pub(super) fn may_have_been_in_flight(&self, spare: &Spare) -> bool {
        let (completed, next_session) = (spare.seq + self.window, spare.seq + EPOCH);
        let of_epoch = |epoch: u64| self.epochs.get(&epoch).copied();
        let same = of_epoch(spare.seq / EPOCH).is_some_and(|(_, last)| last >= completed);
        let next =
            of_epoch(spare.seq / EPOCH + 1).is_some_and(|(first, last)| first < next_session && last >= completed);
        !same && !next
    }

    /// Reads all spare areas of a block: its pages, in order, but for those that cannot be read.
    pub(super) fn pages_of<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps, block: Block) -> Vec<Found> {
        let geometry = *nand.geometry();
        let mut pages = Vec::new();
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            if let SpareRead::Written(spare) = steps.read_spare(nand, page) {
                self.note(&spare);
                pages.push(Found { page, spare });
            }
        }
        pages
    }

    /// What it takes in RAM while it is there.
    pub(super) fn bytes(&self) -> u64 {
        let written = self.user.capacity() + self.translation.capacity() + self.gecko.capacity();
        (written * size_of::<BlockInformation>() + self.empty.capacity() * size_of::<Block>()) as u64
    }
}

fn holds(kind: Kind) -> Holds {
    match kind {
        Kind::User => Holds::User,
        Kind::Translation => Holds::Translation,
        Kind::Gecko => Holds::Gecko,
        Kind::Tombstone | Kind::Anchor | Kind::Bitmap | Kind::ValidityLog => Holds::Nothing,
    }
}
