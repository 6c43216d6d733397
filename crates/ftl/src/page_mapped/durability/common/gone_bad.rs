//! Pages of metadata that have gone bad since they were written.
//!
//! A cut tears the last page of a block alone, and so does a program that fails. So of bad pages at the end of a block all
//! but the last have gone bad. An erase that was cut may leave anything. Where it has made a page blank in front of others, the
//! difference shows.

use super::blocks_information::BlocksInformation;
use super::mount::FoundPage;
use crate::medium::{Holds, Session};
use phelsuma_nand::{Block, CLOCK_MAX, Geometry, Kind, Nand, Spare, SpareRead};

/// The pages of a block of metadata that may have gone bad since they were written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoneBad {
    pub(crate) block: Block,
    /// Pages that cannot say any more what they were, if any: they were programmed before this.
    pub(crate) unknown: Option<u64>,
    /// A page whose spare area still says what it was: it was complete, or its block's erase was cut.
    pub(crate) known: Option<Spare>,
}

impl GoneBad {
    /// Pages that may have been of this kind were programmed before this, if any.
    pub(crate) fn of_kind(&self, kind: Kind) -> Option<u64> {
        self.unknown.max(self.known.filter(|spare| spare.kind == kind).map(|spare| spare.seq + 1))
    }

    /// A version of this translation page was programmed before this, if any may have been.
    pub(crate) fn of_part(&self, part: u32) -> Option<u64> {
        let of_part = self.known.filter(|spare| (spare.kind, spare.key) == (Kind::Translation, part));
        self.unknown.max(of_part.map(|spare| spare.seq + 1))
    }
}

impl BlocksInformation {
    /// The pages of a block of metadata that may have gone bad, if these are the ones that can be believed. Of the last
    /// that cannot say what it was, a bound is when the first readable page behind it was programmed. Where all behind it
    /// are bad as well, it is when the next block of its kind was begun. Where nothing shows that, it is the end of time.
    pub(crate) fn gone_bad<F, N: Nand>(
        &mut self,
        drive: &mut Session<'_, F, N>,
        block: Block,
        pages: &[FoundPage],
    ) -> Option<GoneBad> {
        let geometry = *drive.nand.geometry();
        let (mut next, mut unknown) = (0, None);
        for found in pages {
            let index = geometry.index_of(found.page);
            for page in (next..index).map(|index| geometry.page(block, index)) {
                match drive.read_spare(page) {
                    SpareRead::Unreadable => unknown = Some(found.spare.seq),
                    _ => return None,
                }
            }
            next = index + 1;
        }
        let mut behind = (next..geometry.pages_per_block()).map(|index| drive.read_spare(geometry.page(block, index)));
        let mut bad = behind.by_ref().take_while(|read| *read != SpareRead::Erased);
        let (first, others) = (bad.next(), bad.count());
        let mut known = None;
        if others > 0 && behind.all(|read| read == SpareRead::Erased) {
            if let Some(SpareRead::Written(spare)) = first {
                known = Some(spare);
            }
            // The last may be torn.
            if known.is_none() || others > 1 {
                let begun = pages.last().and_then(|last| self.next_begun(&geometry, block, last.spare.seq));
                unknown = Some(begun.unwrap_or(CLOCK_MAX));
            }
        }
        (unknown.is_some() || known.is_some()).then_some(GoneBad { block, unknown, known })
    }

    /// When the first block of the same kind of metadata was begun after this page of a block. These have one stream, which
    /// has one block open where there is one die. So the block was written to its end by then. On several dies it has
    /// several, and which of them were open at once is not recorded.
    fn next_begun(&self, geometry: &Geometry, block: Block, behind: u64) -> Option<u64> {
        let of_kind = if self.holds.of(block) == Holds::Validity { &self.validity } else { &self.translation };
        let begun = of_kind.iter().map(|other| other.first_seq);
        begun.filter(|begun| *begun > behind && geometry.dies() == 1).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::Steps;
    use phelsuma_nand::sim::{Decay, SimConfig, SimNand};
    use phelsuma_nand::{Content, Op, Purpose, Time, Timing};

    /// Translation pages of block 0 and one of block 1, which was begun at seq 20.
    fn written(dies: u32, pages: u32) -> SimNand {
        let geometry = Geometry::new(512, 4, 8, 1, dies).unwrap();
        let mut nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
        let in_block_0 = (0..pages).map(|index| (Block(0), index, 10 + u64::from(index)));
        for (block, index, seq) in in_block_0.chain([(Block(1), 0, 20)]) {
            let content = Content::Bytes(&[7; 512]);
            let spare = Spare {
                kind: Kind::Translation,
                stream: 1,
                key: seq as u32,
                version: seq,
                seq,
                data_crc: content.crc(),
                aux: 0,
            };
            let op = Op::new(Time::ZERO, Purpose::Translation);
            nand.program(geometry.page(block, index), content, &spare, op).unwrap();
        }
        nand
    }

    /// What is found out after these pages of block 0 have decayed.
    fn after(mut nand: SimNand, decays: &[(u32, Decay)]) -> (Option<u64>, Option<u64>) {
        let geometry = *nand.geometry();
        for (index, decay) in decays {
            nand.decay(geometry.page(Block(0), *index), *decay);
        }
        let mut steps = Steps::new(Time::ZERO);
        let mut drive = Session { ftl: &mut (), nand: &mut nand, steps: &mut steps };
        let mut bid = BlocksInformation::new(&geometry, 8);
        [0, 1].into_iter().for_each(|block| bid.look_at(&mut drive, Block(block)));
        let mut pages = bid.pages_of(&mut drive, Block(0));
        // A recovery takes a last page for torn whose data are bad.
        if pages.last().is_some_and(|last| drive.read(last.page).verified().is_none()) {
            pages.pop();
        }
        let gone_bad = bid.gone_bad(&mut drive, Block(0), &pages);
        (gone_bad.and_then(|bad| bad.unknown), gone_bad.and_then(|bad| bad.known).map(|spare| spare.seq))
    }

    const ALL: Decay = Decay::Uncorrectable;
    const DATA: Decay = Decay::Data(3);

    #[test]
    fn of_bad_pages_at_the_end_all_but_the_last_have_gone_bad() {
        assert_eq!(after(written(1, 4), &[]), (None, None));
        assert_eq!(after(written(1, 4), &[(3, ALL)]), (None, None), "it may be torn");
        assert_eq!(after(written(1, 4), &[(3, DATA)]), (None, None), "it may be torn");
        assert_eq!(after(written(1, 4), &[(1, ALL)]), (Some(12), None));
        assert_eq!(after(written(1, 4), &[(2, ALL), (3, ALL)]), (Some(20), None));
        assert_eq!(after(written(2, 4), &[(2, ALL), (3, ALL)]), (Some(CLOCK_MAX), None), "both may have been open");
        assert_eq!(after(written(1, 3), &[(1, ALL), (2, ALL)]), (Some(20), None));
    }

    #[test]
    fn a_block_without_a_readable_page_may_have_held_the_newest_of_all() {
        assert_eq!(after(written(1, 4), &[0, 1, 2, 3].map(|index| (index, ALL))), (Some(CLOCK_MAX), None));
        assert_eq!(after(written(1, 2), &[0, 1].map(|index| (index, ALL))), (Some(CLOCK_MAX), None));
        assert_eq!(after(written(1, 1), &[(0, ALL)]), (None, None), "it may be torn");
    }

    #[test]
    fn a_page_that_says_what_it_was_leaves_no_other_in_doubt() {
        assert_eq!(after(written(1, 4), &[(2, DATA), (3, ALL)]), (None, Some(12)));
        assert_eq!(after(written(2, 2), &[(0, DATA), (1, ALL)]), (None, Some(10)));
        assert_eq!(after(written(1, 4), &[(0, ALL), (2, DATA), (3, ALL)]), (Some(11), Some(12)));
        assert_eq!(after(written(1, 4), &[(1, DATA), (2, ALL), (3, ALL)]), (Some(20), Some(11)), "the second does not");
    }
}
