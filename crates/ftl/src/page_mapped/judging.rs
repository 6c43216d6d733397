//! Which pages of a victim are live.
//!
//! Validity answers first. Where its answer is not exact, or entries may be unidentified, the mapping judges each page by
//! its spare area.

use super::collecting::Why;
use super::mapping::{Judgement, Mapping, Place, TREE_UNREADABLE};
use super::meta_io::MetaIo;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::validity::{Answer, Validity};
use crate::FtlError;
use crate::barriers::Barrier;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, SpareRead, Time};

/// How many pages are judged together.
const AT_ONCE: usize = 16;

impl PageMapped {
    /// Finds the live pages of a victim of user pages (`collecting.live`). When they are known.
    pub(super) fn find_live<N: Nand>(
        &mut self,
        nand: &mut N,
        victim: Block,
        why: Why,
        at: Time,
    ) -> Result<Time, FtlError> {
        self.write_trims_to_judge(nand, at)?;
        let mut live = core::mem::take(&mut self.collecting.live);
        live.clear();
        // In a whole collection nothing of the victim is reported, but for what entries in a log still name.
        let reported = self.collecting.early > 0 || self.mapping.judges_by_flash();
        self.collecting.victim = reported.then_some(victim);
        let is_held_against_counters = self.validity.is_held_against_counters();
        if is_held_against_counters && !self.blocks.counters.may_be_low && self.blocks.counters.live(victim) == 0 {
            // No query is needed for its stale pages.
            self.collecting.live = live;
            return Ok(at);
        }
        let io = validity_io!(self, nand, at);
        self.validity.chosen(io, victim)?;
        let mut answer = self.validity.live_in(io, victim, &mut live);
        let at = at.max(io.read_done());
        if self.validity.is_unreadable() {
            return Err(TREE_UNREADABLE);
        }
        debug_assert!(live.is_sorted_by(|one, next| one < next), "the live pages of {victim} are not in order");
        let counted = usize::from(self.blocks.counters.live(victim));
        if is_held_against_counters {
            answer = if live.len() == counted { Answer::Exact } else { Answer::Uncertain };
        }
        let agrees = answer != Answer::Exact || self.blocks.counters.may_be_low || live.len() == counted;
        debug_assert!(agrees, "{victim} has {} live pages, and {counted} are counted", live.len());
        let answer = if self.mapping.is_damaged() { Answer::Uncertain } else { answer };
        if self.blocks.keeps(Barrier::JudgedBeforeMoved) && (answer != Answer::Exact || self.mapping.is_lazy()) {
            self.keep_what_is_live(nand, victim, answer, &mut live, Op::new(at, why.purpose()))?;
            if self.mapping.is_unreadable() {
                // What could not be looked up was taken for stale.
                return Err(TREE_UNREADABLE);
            }
            if self.blocks.counters.may_be_low {
                self.blocks.counters.set(victim, live.len() as u16);
            } else {
                // The rest were counted as live: they were not identified. They die with the victim.
                for _ in live.len()..counted {
                    self.blocks.counters.remove(victim);
                }
            }
        }
        self.collecting.live = live;
        Ok(at)
    }

    /// Of the pages that validity takes for live, or does not have as stale, keeps those that are. All are judged
    /// before the first is moved. Moving one may synchronize a translation page, and with that the mark of an
    /// unidentified invalid page is gone.
    ///
    /// Where an entry cannot be read, its page goes with the victim. So first the entry is lost for good: an older one
    /// must not answer for it after a power cut.
    ///
    /// # Errors
    /// No block is left.
    pub(super) fn keep_what_is_live<N: Nand>(
        &mut self,
        nand: &mut N,
        victim: Block,
        answer: Answer,
        live: &mut Vec<u16>,
        op: Op,
    ) -> Result<(), FtlError> {
        let mut read = self.look_up_for_judging(nand, victim, live, op);
        self.find_dead(nand, (victim, live, &read), answer, op);
        let mut lost = core::mem::take(&mut self.collecting.lost);
        if !lost.is_empty() && self.blocks.keeps(Barrier::LostWrittenThrough) {
            let io = mapping_io!(self, nand, op.at);
            if self.mapping.lose_unreadable(io, &lost, &mut self.before)? {
                self.collecting.spares = read;
                read = self.look_up_for_judging(nand, victim, live, op);
                self.find_dead(nand, (victim, live, &read), answer, op);
            }
        }
        lost.clear();
        self.collecting.lost = lost;
        self.collecting.spares = read;
        let geometry = *self.blocks.geometry();
        live.retain(|index| {
            let is_dead = self.collecting.dead.binary_search(index).is_ok();
            if is_dead {
                self.validity.leave(&geometry, geometry.page(victim, u32::from(*index)));
            }
            !is_dead
        });
        Ok(())
    }

    /// Notes which of these pages are not live, in their order.
    fn find_dead<N: Nand>(
        &mut self,
        nand: &mut N,
        (victim, live, read): (Block, &[u16], &[SpareRead]),
        answer: Answer,
        op: Op,
    ) {
        let at = op.at;
        let geometry = *self.blocks.geometry();
        // What was found to be damaged just now is no answer.
        let answer = if self.mapping.is_damaged() { Answer::Uncertain } else { answer };
        let mut known = read.iter();
        self.collecting.dead.clear();
        for some in live.chunks(AT_ONCE) {
            let mut spares = [SpareRead::Erased; AT_ONCE];
            for (spare, index) in spares.iter_mut().zip(some) {
                let page = geometry.page(victim, u32::from(*index));
                *spare = known.next().copied().unwrap_or_else(|| nand.read_spare(page, op).0);
            }
            self.fetch_entries(spares.iter().filter_map(|read| key_of(read, self.shape.logical_pages)));
            for (index, spare) in some.iter().zip(&spares) {
                let page = geometry.page(victim, u32::from(*index));
                let keep = match spare {
                    SpareRead::Erased => false,
                    // Its owner comes out when it is read in full. Without an owner nothing is lost.
                    SpareRead::Unreadable => self.mapping.owner_of(mapping_io!(self, nand, at), page).is_some(),
                    SpareRead::Written(written) => {
                        let key = LogicalPage(written.key);
                        let sound = written.kind == Kind::User && written.key < self.shape.logical_pages;
                        sound
                            && self.mapping.judge(key, page) == Judgement::Live
                            && (answer != Answer::Uncertain || self.is_named(nand, (key, page), at))
                    }
                };
                if !keep {
                    self.collecting.dead.push(*index);
                }
            }
        }
    }

    /// Fetches entries of a table in RAM together from the host's memory: loads that do not wait for each other.
    #[inline]
    pub(super) fn fetch_entries(&self, keys: impl Iterator<Item = LogicalPage>) {
        core::hint::black_box(keys.filter(|key| self.mapping.in_table(*key).is_some()).count());
    }

    /// Whether the table names this page of `key`, as far as it can be read.
    fn is_named<N: Nand>(&mut self, nand: &mut N, (key, page): (LogicalPage, Page), at: Time) -> bool {
        let place = self.mapping.peek(mapping_io!(self, nand, at), key);
        if place == Place::Lost {
            self.collecting.lost.push(key);
        }
        place == Place::At(page)
    }

    /// Has the mapping read what it judges the pages of a victim by, if that is on flash: their spare areas.
    fn look_up_for_judging<N: Nand>(&mut self, nand: &mut N, victim: Block, live: &[u16], op: Op) -> Vec<SpareRead> {
        let mut read = core::mem::take(&mut self.collecting.spares);
        read.clear();
        if self.mapping.judges_by_flash() {
            let geometry = *self.blocks.geometry();
            read.extend(live.iter().map(|index| nand.read_spare(geometry.page(victim, u32::from(*index)), op).0));
            let logical_pages = self.shape.logical_pages;
            let keys = read.iter().filter_map(|read| key_of(read, logical_pages));
            self.mapping.look_up_for_judging(mapping_io!(self, nand, op.at), keys);
        }
        read
    }
}

/// The logical page that a spare area names.
fn key_of(read: &SpareRead, logical_pages: u32) -> Option<LogicalPage> {
    match read {
        SpareRead::Written(spare) if spare.key < logical_pages => Some(LogicalPage(spare.key)),
        _ => None,
    }
}
