//! Writing the block log: the pages, the turn to the next block, and giving the log up.

use super::page::{encode, room};
use super::region::good_min;
use super::{BlockLog, Writing, reserved_max};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::{Blocks, Watch};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, EraseError, Kind, Nand, Op, ProgramError, Purpose, Spare, Time};

impl Blocks {
    /// A block that is free no longer is going to be opened: when it may be erased. If the newest page of the log does
    /// not reserve it, that is when the next one is on flash.
    pub(in crate::blocks) fn reserve<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        block: Block,
        at: Time,
    ) -> Result<Time, FtlError> {
        if self.for_mounts.log.as_ref().is_none_or(|log| log.is_reserved(block)) {
            return Ok(at);
        }
        let purpose = self.phase.purpose(Purpose::Checkpoint);
        let logged = self.write_log(nand, watch, Some(block), purpose, at)?;
        Ok(if self.keeps(Barrier::LoggedBeforeOpened) { logged } else { at })
    }

    /// Writes pages of the log until the chain has the whole table. The last of them reserves this block and others.
    /// When that is on flash; at once if there is no log, or none any more.
    pub(crate) fn write_log<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        block: Option<Block>,
        purpose: Purpose,
        at: Time,
    ) -> Result<Time, FtlError> {
        let Some(mut log) = self.for_mounts.log.take() else { return Ok(at) };
        let written = self.write_pages_of_log(&mut log, (nand, watch), block, purpose, at);
        if let Ok(None) = written {
            self.give_log_up(nand, &log);
            return Ok(at);
        }
        self.for_mounts.log = Some(log);
        Ok(written?.unwrap_or(at))
    }

    /// The same; nothing where too few blocks of the region are good.
    fn write_pages_of_log<N: Nand>(
        &mut self,
        log: &mut BlockLog,
        (nand, watch): (&mut N, &mut impl Watch),
        block: Option<Block>,
        purpose: Purpose,
        at: Time,
    ) -> Result<Option<Time>, FtlError> {
        let geometry = self.geometry;
        let reserved = self.blocks_to_reserve(block);
        let mut failed = Vec::new();
        loop {
            if log.writing.next == geometry.pages_per_block() && !self.turn_log(log, nand, purpose, at)? {
                return Ok(None);
            }
            let covered = room(&geometry, reserved.len() as u32).min(geometry.blocks() - log.slice);
            let is_last = log.uncovered <= covered;
            let (bytes, slice_end) = encode(&geometry, if is_last { &reserved } else { &[] }, &log.holds, log.slice);
            let content = Content::Bytes(&bytes);
            // What the slice says is on flash by then, and every page before.
            let earliest = at.max(self.clock.horizon()).max(log.writing.ready);
            let (seq, start) = self.clock.next_program(earliest);
            let spare = Spare {
                kind: Kind::BlockLog,
                stream: 0,
                key: log.number,
                version: log.chain,
                seq,
                data_crc: nand.crc(content),
                aux: 0,
            };
            let Writing { block, next, .. } = log.writing;
            log.writing.next += 1;
            match nand.program(geometry.page(block, next), content, &spare, Op::new(start, purpose)) {
                Ok(done) => {
                    self.clock.programmed(done);
                    watch.wrote_besides();
                    log.written(slice_end);
                    if is_last {
                        failed.into_iter().for_each(|block| self.failures.retire_when(block, done));
                        log.reserved = reserved;
                        return Ok(Some(done));
                    }
                }
                Err(ProgramError::Failed(_) | ProgramError::Bad(_)) => {
                    self.clock.programmed(start);
                    // Its pages count until a new chain is on flash.
                    failed.push(block);
                    log.failing.push(block);
                    log.writing.next = geometry.pages_per_block();
                    log.begin_chain(self.clock.next_version());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The blocks that the next page reserves, ascending: this one, and those that will be taken next. And those in which
    /// a program failed: what is left of a first page is shown by flash alone.
    fn blocks_to_reserve(&self, block: Option<Block>) -> Vec<Block> {
        let most = reserved_max(&self.geometry) as usize;
        let mut reserved: Vec<Block> = block.into_iter().chain(self.failures.not_bad_yet()).take(most).collect();
        let queues = || (0..self.geometry.dies()).map(|die| self.pool.first_on(die));
        let longest = queues().map(|queue| queue.len()).max().unwrap_or(0);
        let in_turn = (0..longest).flat_map(|n| queues().filter_map(move |queue| queue.get(n).copied()));
        reserved.extend(in_turn.take(most - reserved.len()));
        reserved.sort_unstable();
        debug_assert!(reserved.is_sorted_by(|a, b| a < b), "a block is reserved twice");
        reserved
    }

    /// Erases the oldest block of the region, to be written next. Whether there is one.
    fn turn_log<N: Nand>(
        &mut self,
        log: &mut BlockLog,
        nand: &mut N,
        purpose: Purpose,
        at: Time,
    ) -> Result<bool, FtlError> {
        loop {
            let good = |block: &Block| !nand.is_bad(*block) && !log.failing.contains(block);
            if self.for_mounts.region.good(nand).filter(good).count() < good_min(&self.geometry) as usize {
                return Ok(false);
            }
            let Some(block) = self.for_mounts.region.behind_in_ring(log.writing.block).find(good) else {
                return Ok(false);
            };
            let at = at.max(self.clock.horizon());
            match nand.erase(block, Op::new(at, purpose)) {
                Ok(ready) => {
                    log.writing = Writing { block, next: 0, ready };
                    return Ok(true);
                }
                // Nothing in the oldest block is needed.
                Err(EraseError::Failed(_) | EraseError::Bad(_)) => self.failures.retire(nand, block),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// No mount is to believe the log from now on: the newest page is the last to go, and no block was opened since
    /// that it does not reserve.
    fn give_log_up<N: Nand>(&mut self, nand: &mut N, log: &BlockLog) {
        let mut blocks: Vec<Block> = self.for_mounts.region.behind_in_ring(log.newest).collect();
        if !self.keeps(Barrier::OldestLogBlockFirst) {
            blocks.reverse();
        }
        for block in blocks {
            if !nand.is_bad(block) {
                self.failures.retire(nand, block);
            }
        }
    }
}

impl BlockLog {
    /// The next page is on flash, with a slice that ends there.
    fn written(&mut self, slice_end: u32) {
        self.newest = self.writing.block;
        self.number += 1;
        self.pages += 1;
        self.uncovered = self.uncovered.saturating_sub(slice_end - self.slice);
        self.slice = slice_end % self.holds.blocks();
    }
}
