//! Queries of validity for blocks whose live pages RAM does not count, where it counts a sample of the blocks.
//!
//! An answer counts a stale page that is not identified yet as live, as a counter does. Purpose: validity. It costs
//! what a query of the store costs:
//!
//! | store | a query |
//! | --- | --- |
//! | bitmap in RAM | nothing |
//! | bitmap in flash | a page |
//! | Logarithmic Gecko | a page of each run |
//! | page validity log | a chain |
//!
//! - **Before a collection, some blocks are queried**, `looks` of them: the next ones in the order of numbers that are
//!   not counted. Those that are emptier than the member of their slot take its place. So each block is examined
//!   `looks` times while as many are collected as there are. A block that became empty unwatched is found that much
//!   late.
//! - **Where next to nothing is free, or the sample has no block with anything to gain, more are queried**: all blocks
//!   that may be emptier than the member of their slot. Then the emptiest block of the sample is the emptiest of all,
//!   as the critical reserve (`blocks/mod.rs`) requires. The answers stay good. The next time, only blocks of slots are
//!   queried whose member was collected, or others of whose blocks have lost pages since.
//! - **A victim is always counted.** One that was not chosen from the sample (it has failed a program, or its data
//!   stay) is queried first.

use super::meta_io::MetaIo;
use super::parts::{PageMapped, validity_io};
use super::validity::{Answer, Validity};
use phelsuma_nand::{Block, Nand, Op, Purpose, SpareRead, Time};

/// How many blocks the hand passes, for each that it may query, before it gives up until the next collection.
const PASSED_MAX: u32 = 64;

impl PageMapped {
    /// Sees to it that there is a victim among the blocks that are counted. When that is known.
    #[inline]
    pub(super) fn look_for_victims<N: Nand>(&mut self, nand: &mut N, at: Time) -> Time {
        match self.collecting.sampling {
            Some(sampling) if self.blocks.counters.sample().is_some() => self.look(nand, sampling.looks, at),
            _ => at,
        }
    }

    #[inline(never)]
    fn look<N: Nand>(&mut self, nand: &mut N, looks: u32, at: Time) -> Time {
        // Collections of poor victims cost metadata: they must not use up the room for good ones.
        let scarce = self.blocks.free() < (self.blocks.critical() + self.reserve()).div_ceil(2);
        if scarce {
            return self.look_everywhere(nand, at);
        }
        let mut done = at;
        for _ in 0..looks {
            let Some(block) = self.blocks.next_to_ask(PASSED_MAX) else { break };
            let (live, known) = self.ask(nand, block, at);
            self.blocks.offer(block, live);
            done = done.max(known);
        }
        let counters = &self.blocks.counters;
        let pages_per_block = self.blocks.geometry().pages_per_block();
        let gains = |block| u32::from(counters.live(block)) < pages_per_block;
        if counters.least_by_scan().is_some_and(gains) { done } else { self.look_everywhere(nand, done) }
    }

    fn look_everywhere<N: Nand>(&mut self, nand: &mut N, at: Time) -> Time {
        let mut done = at;
        let mut from = (0, 0);
        while let Some((block, next)) = self.blocks.next_unsure(from) {
            let (live, known) = self.ask(nand, block, at);
            self.blocks.offer(block, live);
            done = done.max(known);
            from = next;
        }
        if let Some(sampling) = &mut self.collecting.sampling {
            sampling.everywhere += 1;
        }
        done
    }

    /// Has a block counted that is going to be collected. When that is known.
    #[inline]
    pub(super) fn count_victim<N: Nand>(&mut self, nand: &mut N, victim: Block, at: Time) -> Time {
        if self.blocks.counters.known(victim).is_some() {
            return at;
        }
        let (live, known) = self.ask(nand, victim, at);
        self.blocks.count_besides(victim, live);
        known
    }

    /// The live pages of a written block of user data as validity has it, and when that is known.
    fn ask<N: Nand>(&mut self, nand: &mut N, block: Block, at: Time) -> (u16, Time) {
        if let Some(sampling) = &mut self.collecting.sampling {
            sampling.asked += 1;
        }
        let mut live = core::mem::take(&mut self.collecting.live);
        live.clear();
        let io = validity_io!(self, nand, at);
        let answer = self.validity.live_in(io, block, &mut live);
        let mut done = io.read_done();
        let mut count = live.len();
        if answer != Answer::Exact && count > 0 {
            // Perhaps some were never programmed: those at the end.
            let (programmed, known) = self.programmed_in(nand, block, done);
            count = live.partition_point(|index| u32::from(*index) < programmed);
            done = known;
        }
        self.collecting.live = live;
        (count as u16, done)
    }

    /// How many pages of a block have been programmed, and when that is known: one spare area shows where it is full.
    fn programmed_in<N: Nand>(&self, nand: &mut N, block: Block, at: Time) -> (u32, Time) {
        let geometry = self.blocks.geometry();
        let (mut from, mut to, mut done) = (0, geometry.pages_per_block(), at);
        let mut look_at = to - 1;
        while from < to {
            let (read, known) = nand.read_spare(geometry.page(block, look_at), Op::new(done, Purpose::Validity));
            done = done.max(known);
            match read {
                SpareRead::Erased => to = look_at,
                SpareRead::Written(_) | SpareRead::Unreadable => from = look_at + 1,
            }
            look_at = from.midpoint(to);
        }
        (from, done)
    }
}

impl<M, V> PageMapped<M, V> {
    /// Counts a sample alone from now on, if that is what there is RAM for and all blocks are counted so far. `total`
    /// as in [`Blocks::keep_sample`](crate::blocks::Blocks::keep_sample).
    pub(super) fn keep_sample(&mut self, total: Option<u64>) {
        if let Some(sampling) = self.collecting.sampling.filter(|_| self.blocks.counters.sample().is_none()) {
            self.blocks.keep_sample(sampling.blocks, total);
        }
    }
}
