//! The blocks information directory, BID: from one spare area a block, its use and when its first page was written.
//!
//! This is GeckoFTL appendix C, step 1. As in the paper, that moment is kept only of the user blocks written last.
//! Their number is what recoveries usually need. A recovery needs more after several cuts in a row, or if a block was
//! open for long. Then the spare areas are read once more.

use super::mount::FoundPage;
use crate::medium::{EPOCH, Holds, HoldsOfBlocks, Session, window};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, Spare, SpareRead};

/// A block that holds something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockInformation {
    pub(crate) block: Block,
    pub(crate) first_seq: u64,
}

/// The directory, and the clocks as far as spare areas show them.
pub(crate) struct BlocksInformation {
    pub(crate) translation: Vec<BlockInformation>,
    pub(crate) validity: Vec<BlockInformation>,
    pub(super) holds: HoldsOfBlocks,
    /// The user blocks written last, by the seq of their first page.
    recent: BinaryHeap<Reverse<(u64, Block)>>,
    /// How many of them are kept.
    recent_max: usize,
    /// The highest such seq of those that are not.
    left_out: u64,
    /// Of all user blocks begun since then it is known when. 0 if all were looked at.
    known_since: u64,
    /// Pages of user blocks in front of the first that can be read: an erase that was cut, or a page that has gone bad.
    /// When the block was begun is not known.
    pub(crate) unreadable_in_front: Vec<Page>,
    window: u64,
    pub(crate) version_max: u64,
    pub(crate) seq_max: u64,
    /// By seq over an epoch: the first and the last seq found.
    epochs: BTreeMap<u64, (u64, u64)>,
}

impl BlocksInformation {
    /// That keeps in mind when the last `recent_max` user blocks were begun.
    pub(crate) fn new(geometry: &Geometry, recent_max: usize) -> Self {
        Self {
            translation: Vec::new(),
            validity: Vec::new(),
            holds: HoldsOfBlocks::new(geometry.blocks()),
            recent: BinaryHeap::new(),
            recent_max,
            left_out: 0,
            known_since: 0,
            unreadable_in_front: Vec::new(),
            window: window(geometry.dies()) as u64,
            version_max: 0,
            seq_max: 0,
            epochs: BTreeMap::new(),
        }
    }

    /// Looks at a block's first page; at those behind it where the first cannot be read: a failed program, or an erase
    /// that was cut.
    pub(crate) fn look_at<F, N: Nand>(&mut self, drive: &mut Session<'_, F, N>, block: Block) {
        let Some((index, spare)) = self.first_spare(drive, block) else { return };
        let information = BlockInformation { block, first_seq: spare.seq };
        let holds = Holds::of(spare.kind);
        debug_assert_eq!(self.holds.of(block), Holds::Nothing, "{block} is looked at twice");
        self.holds.set(block, holds);
        match holds {
            Holds::Nothing => {}
            Holds::User => {
                self.unreadable_in_front.extend((0..index).map(|index| drive.nand.geometry().page(block, index)));
                self.recent.push(Reverse((spare.seq, block)));
                if self.recent.len() > self.recent_max
                    && let Some(Reverse((oldest, _))) = self.recent.pop()
                {
                    self.left_out = self.left_out.max(oldest);
                }
            }
            Holds::Translation => self.translation.push(information),
            Holds::Validity => self.validity.push(information),
        }
    }

    /// A block log has turned out to be in doubt: blocks are to be looked at anew. The clocks stay.
    pub(crate) fn forget_blocks(&mut self) {
        self.holds = HoldsOfBlocks::new(self.holds.blocks());
        self.recent.clear();
        (self.left_out, self.known_since) = (0, 0);
        (self.translation, self.validity, self.unreadable_in_front) = Default::default();
    }

    /// What blocks hold is known without looking at them.
    pub(crate) fn take_table(&mut self, holds: HoldsOfBlocks) {
        debug_assert!(self.recent.is_empty() && self.translation.is_empty(), "blocks were looked at before");
        self.holds = holds;
    }

    /// What blocks hold.
    pub(crate) fn table(&self) -> &HoldsOfBlocks {
        &self.holds
    }

    /// Looks at a block that the table may have as it was.
    pub(crate) fn look_again<F, N: Nand>(&mut self, drive: &mut Session<'_, F, N>, block: Block) {
        self.holds.set(block, Holds::Nothing);
        self.look_at(drive, block);
    }

    /// All blocks begun since then were looked at.
    pub(crate) fn are_known_since(&mut self, seq: u64) {
        self.known_since = seq;
    }

    /// Whether it is known of all user blocks begun since then when that was.
    pub(crate) fn knows_since(&self, seq: u64) -> bool {
        seq >= self.known_since
    }

    /// The blocks of metadata, by the table.
    pub(crate) fn metadata_blocks(&self) -> Vec<Block> {
        self.holds.with(Holds::Translation).chain(self.holds.with(Holds::Validity)).collect()
    }

    /// The first page that can be read.
    pub(crate) fn first_spare<F, N: Nand>(
        &mut self,
        drive: &mut Session<'_, F, N>,
        block: Block,
    ) -> Option<(u32, Spare)> {
        let geometry = *drive.nand.geometry();
        for index in 0..geometry.pages_per_block() {
            match drive.read_spare(geometry.page(block, index)) {
                SpareRead::Unreadable => {}
                SpareRead::Erased => break,
                SpareRead::Written(spare) => {
                    self.note(&spare);
                    return Some((index, spare));
                }
            }
        }
        None
    }

    /// The user blocks whose first page was written at `seq` or later, the oldest first.
    pub(crate) fn user_since<F, N: Nand>(&mut self, drive: &mut Session<'_, F, N>, seq: u64) -> Vec<BlockInformation> {
        let mut since: Vec<BlockInformation> = Vec::new();
        if self.left_out >= seq && self.left_out > 0 || !self.knows_since(seq) {
            for block in (0..drive.nand.geometry().blocks()).map(Block) {
                if self.holds_user_pages(block)
                    && let Some((_, spare)) = self.first_spare(drive, block)
                {
                    since.push(BlockInformation { block, first_seq: spare.seq });
                }
            }
        } else {
            since.extend(
                self.recent
                    .iter()
                    .map(|Reverse((first_seq, block))| BlockInformation { block: *block, first_seq: *first_seq }),
            );
        }
        since.retain(|information| information.first_seq >= seq);
        since.sort_unstable_by_key(|information| information.first_seq);
        debug_assert!(since.is_sorted_by(|a, b| a.first_seq < b.first_seq), "two blocks were begun by one program");
        since
    }

    /// All user blocks. Those whose beginning it has come last, in that order.
    pub(crate) fn user_blocks(&self) -> impl Iterator<Item = Block> + '_ {
        let mut by_seq: Vec<(u64, Block)> = self.recent.iter().map(|Reverse(information)| *information).collect();
        by_seq.sort_unstable();
        let mut recent: Vec<Block> = by_seq.iter().map(|(_, block)| *block).collect();
        recent.sort_unstable();
        let others = self.holds.with(Holds::User).filter(move |block| recent.binary_search(block).is_err());
        others.chain(by_seq.into_iter().map(|(_, block)| block))
    }

    /// Blocks that hold nothing, among them those that cannot be used.
    pub(crate) fn empty_blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.holds.with(Holds::Nothing)
    }

    pub(crate) fn is_empty(&self, block: Block) -> bool {
        self.holds.of(block) == Holds::Nothing
    }

    pub(crate) fn holds_user_pages(&self, block: Block) -> bool {
        self.holds.of(block) == Holds::User
    }

    pub(crate) fn note(&mut self, spare: &Spare) {
        // The version of a translation page is a moment in program order.
        if spare.kind != Kind::Translation {
            self.version_max = self.version_max.max(spare.version);
        }
        debug_assert!(spare.seq > 0, "the moment 0 stands for none");
        self.seq_max = self.seq_max.max(spare.seq);
        let (first, last) = self.epochs.entry(spare.seq / EPOCH).or_insert((spare.seq, spare.seq));
        (*first, *last) = ((*first).min(spare.seq), (*last).max(spare.seq));
    }

    /// Whether the last page of a block is suspect from some power cut, so far. It is not if a page was found that was
    /// programmed so much later that this one had completed, and yet before a recovery.
    ///
    /// At a recovery the seq skips ahead by an epoch. So what follows within less than one was programmed in the same
    /// session.
    pub(crate) fn may_have_been_in_flight(&self, spare: &Spare) -> bool {
        let (completed, next_session) = (spare.seq + self.window, spare.seq + EPOCH);
        let of_epoch = |epoch: u64| self.epochs.get(&epoch).copied();
        let same = of_epoch(spare.seq / EPOCH).is_some_and(|(_, last)| last >= completed);
        let next =
            of_epoch(spare.seq / EPOCH + 1).is_some_and(|(first, last)| first < next_session && last >= completed);
        !same && !next
    }

    /// Reads all spare areas of a block: its pages, in order, but for those that cannot be read.
    pub(crate) fn pages_of<F, N: Nand>(&mut self, drive: &mut Session<'_, F, N>, block: Block) -> Vec<FoundPage> {
        let geometry = *drive.nand.geometry();
        let mut pages = Vec::new();
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            if let SpareRead::Written(spare) = drive.read_spare(page) {
                self.note(&spare);
                pages.push(FoundPage { page, spare });
            }
        }
        debug_assert!(
            pages.is_sorted_by(|a, b| a.spare.seq < b.spare.seq),
            "pages of {block} are not in program order"
        );
        pages
    }

    /// RAM of the list by which [`BlocksInformation::user_blocks`] goes.
    pub(crate) fn bytes_of_user_blocks(&self) -> usize {
        self.recent.len() * (size_of::<(u64, Block)>() + size_of::<Block>())
    }

    /// Its RAM while it is there.
    pub(crate) fn bytes(&self) -> u64 {
        let metadata = (self.translation.capacity() + self.validity.capacity()) * size_of::<BlockInformation>();
        let recent = self.recent.capacity() * size_of::<Reverse<(u64, Block)>>();
        // A node of the tree holds up to eleven.
        let epochs = self.epochs.len() * size_of::<(u64, u64, u64)>() * 3 / 2;
        (metadata + recent + epochs + self.holds.bytes()) as u64
    }
}
