//! Collection in slices: a few pages of a victim before each page that the host writes.
//!
//! A whole collection moves all live pages of a victim while one write waits. Their entries push others out of the
//! cache, so that several collections may follow each other before a block is gained. In slices a collection begins a few
//! blocks earlier ([`early_blocks`](super::shape::early_blocks)). A write moves as many pages as keep up with it, and
//! more the fewer of these blocks are left:
//!
//! ```text
//!  free blocks   reserve + early ........ | no collection
//!                reserve + early - 1      | twice the pages that a written page needs
//!                ...                      |
//!                reserve                  | (early + 1) times the pages
//!                below                    | whole collections (`collect.rs`)
//! ```
//!
//! Between two slices the victim has live pages and stale ones, as any block does, and counters and validity say which.
//! So nothing is special about a power cut. The live pages that wait are listed in RAM. One that becomes stale meanwhile
//! leaves the list ([`Collecting::is_stale`](super::collecting::Collecting::is_stale)). One whose stale copy is not
//! identified yet is found by the judgement right before it would move. Each spill of a mapping log corrects what its runs
//! said of the victim's pages.
//!
//! Blocks of metadata are collected whole. While the host pauses, slices follow each other until nothing is due.

use super::collecting::InSlices;
use super::mapping::Mapping;
use super::parts::PageMapped;
use super::validity::Answer;
use crate::FtlError;
use crate::ftl::Step;
use phelsuma_nand::{Nand, Op, Time};

impl PageMapped {
    /// A slice, if one is due before a page that the host writes.
    #[inline]
    pub(super) fn collect_slice<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.collecting.early == 0 || self.lacks_space() {
            return Ok(());
        }
        if self.collecting.begun.is_none() && self.blocks.free() >= self.reserve() + self.collecting.early {
            return Ok(());
        }
        // The write has the room that it needs: what a slice has no room for is collected when there is need.
        unless_full(self.slice(nand, at))
    }

    /// A slice while the host pauses, if one is due.
    pub(super) fn collect_while_idle<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        let slices = self.tally.slices;
        self.collect_slice(nand, at)?;
        Ok(if self.tally.slices > slices { Step::Did(at.max(self.blocks.clock.horizon())) } else { Step::Nothing })
    }

    #[inline(never)]
    fn slice<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        let begun = match self.collecting.begun {
            Some(begun) => begun,
            None => match self.begin_slices(nand, at)? {
                Some(begun) => begun,
                None => return Ok(()),
            },
        };
        self.tally.slices += 1;
        let left = self.blocks.free().saturating_sub(self.reserve()).min(self.collecting.early);
        let most = begun.pages.saturating_mul(1 + self.collecting.early - left);
        self.advance(nand, begun, most as usize, at)
    }

    /// Chooses a victim and finds its live pages. None where there is nothing to gain, and where a block of metadata was
    /// collected.
    fn begin_slices<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Option<InSlices>, FtlError> {
        let known = self.look_for_victims(nand, at);
        let Some((victim, why)) = self.next_victim().filter(|(victim, _)| self.can_gain(*victim)) else {
            return Ok(None);
        };
        if self.blocks.is_metadata(self.blocks.stream_of(victim)) {
            self.collect_whole(nand, victim, why, known)?;
            self.tally.slices += 1;
            return Ok(None);
        }
        let at = self.take_victim(nand, victim, why, known);
        if let Err(error) = self.find_live(nand, victim, why, at) {
            self.end_collection(nand, victim, Err(error), at)?;
        }
        let live = self.collecting.live.len() as u32;
        let gained = self.blocks.geometry().pages_per_block().saturating_sub(live).max(1);
        let begun = InSlices { victim, why, pages: live.div_ceil(gained).max(1) };
        self.collecting.begun = Some(begun);
        self.settle(nand, at)?;
        Ok(Some(begun))
    }

    /// Moves up to `most` of the pages that wait, and gives the victim back after the last.
    fn advance<N: Nand>(&mut self, nand: &mut N, begun: InSlices, most: usize, at: Time) -> Result<(), FtlError> {
        let InSlices { victim, why, .. } = begun;
        if self.mapping.is_damaged() {
            self.write_trims_to_judge(nand, at)?;
            self.judge_again(nand, begun, at)?;
        }
        let mut moved = self.move_user_pages(nand, (victim, why), most, at);
        if let Err(error) = self.settle(nand, at) {
            moved = moved.and(Err(error));
        }
        if moved.is_ok() && !self.collecting.live.is_empty() {
            return Ok(());
        }
        self.collecting.begun = None;
        self.end_collection(nand, victim, moved, at)?;
        self.count_collection(why);
        Ok(())
    }

    /// Judges the pages that wait anew, by the table: a part of it may have been lost since the collection began.
    fn judge_again<N: Nand>(&mut self, nand: &mut N, begun: InSlices, at: Time) -> Result<(), FtlError> {
        let mut live = core::mem::take(&mut self.collecting.live);
        let before = live.len();
        let op = Op::new(at, begun.why.purpose());
        let judged = self.keep_what_is_live(nand, begun.victim, Answer::Uncertain, &mut live, op);
        for _ in live.len()..before {
            self.blocks.counters.remove(begun.victim);
        }
        self.collecting.live = live;
        judged
    }

    /// Ends the collection that is under way, where space is needed now. In an emergency it is given up: the emptiest
    /// block is to be collected.
    pub(super) fn end_slices<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        let Some(begun) = self.collecting.begun else { return Ok(()) };
        if !self.blocks.emergency() {
            return self.advance(nand, begun, usize::MAX, at);
        }
        self.collecting.begun = None;
        self.tally.slices_given_up += 1;
        self.give_up(begun.victim);
        Ok(())
    }
}

/// That no block is left is no error of what did not have to be done now.
pub(super) fn unless_full(done: Result<(), FtlError>) -> Result<(), FtlError> {
    match done {
        Err(FtlError::Full { .. }) => Ok(()),
        done => done,
    }
}
