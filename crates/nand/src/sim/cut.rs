//! Cutting the power: the operation in flight becomes one of the named faults; and blocks that grow bad.

use super::columns::{DIRTY, FAILS_ERASE, FAILS_PROGRAM};
use super::fingerprint;
use super::odd::{Lasts, OddPage};
use super::{EraseFault, ProgramFault, Readers, SimNand};
use crate::{Action, Block, Content, EraseError, Nand, Op, Page, ProgramError, Spare};
use alloc::vec::Vec;

fn scramble(seed: u64, salt: u64) -> u64 {
    let mut z = (seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number less than `n`; the same where a word has 32 bits.
fn below(n: usize, chance: u64) -> usize {
    (chance % n as u64) as usize
}

impl SimNand {
    /// The power fails during this program: the page becomes what `fault` says. `seed` chooses where a fault leaves a
    /// choice. Nothing is counted or timed: no completion was returned.
    ///
    /// # Errors
    /// As [`Nand::program`]; then nothing has changed.
    pub fn cut_program(
        &mut self,
        page: Page,
        content: Content<'_>,
        spare: &Spare,
        fault: ProgramFault,
        seed: u64,
    ) -> Result<(), ProgramError> {
        let (block, index) = self.may_program(page, content)?;
        let became = match fault {
            ProgramFault::NotStarted => return Ok(()),
            ProgramFault::Unacknowledged => {
                self.put(page, block, index, content, spare);
                return Ok(());
            }
            ProgramFault::TornSeen => OddPage::Unreadable,
            ProgramFault::TornSpare => OddPage::written(content, None),
            ProgramFault::LooksErased => OddPage::LooksErased,
            ProgramFault::Unstable => OddPage::lasting(content, Some(*spare), Lasts::UntilPowerFails),
            ProgramFault::UnstableOnce => OddPage::lasting(content, Some(*spare), Lasts::Reads(1)),
            ProgramFault::TornUnseen => torn_unseen(content, spare, seed),
        };
        let next = u32::from(self.columns.blocks[block.index()].next);
        self.leave_out(block, next, index);
        let blank = matches!(became, OddPage::LooksErased);
        self.put_odd(page, became);
        // A page that looks erased can still be programmed, to its ruin.
        self.columns.blocks[block.index()].next = if blank { index } else { index + 1 } as u16;
        Ok(())
    }

    /// The power fails during this erase: the block becomes what `fault` says.
    ///
    /// # Errors
    /// As [`Nand::erase`]; then nothing has changed.
    pub fn cut_erase(&mut self, block: Block, fault: EraseFault, seed: u64) -> Result<(), EraseError> {
        if block.0 >= self.geometry.blocks() {
            return Err(EraseError::NoSuchBlock(block));
        }
        if self.is_bad(block) {
            return Err(EraseError::Bad(block));
        }
        match fault {
            EraseFault::NotStarted => return Ok(()),
            EraseFault::Unacknowledged => {
                self.wipe(block);
                return Ok(());
            }
            EraseFault::UnstableErase => {
                self.wipe(block);
                self.mark(block, DIRTY);
            }
            EraseFault::PartialMixed | EraseFault::PartialFront => {
                let pages = self.geometry.pages_per_block();
                for index in 0..pages {
                    let page = self.geometry.page(block, index);
                    let choice = match fault {
                        EraseFault::PartialFront => u64::from(index >= pages / 2) * 2,
                        _ => scramble(seed, u64::from(index)) % 3,
                    };
                    match choice {
                        0 => self.put_odd(page, OddPage::LooksErased),
                        1 => self.put_odd(page, OddPage::Unreadable),
                        _ => {}
                    }
                }
                self.mark(block, DIRTY);
            }
        }
        Ok(())
    }

    /// The power is off and on again: no operation is in progress, and cells that only seemed to hold have let go.
    pub fn power_cycle(&mut self) {
        debug_assert!(self.readers != Readers::Service, "what a recovery reads was let go");
        self.readers = Readers::Anyone;
        self.busy.reset();
        let passing: Vec<u32> = self.odd.iter().filter(|(_, o)| o.ends_with_power()).map(|(n, _)| *n).collect();
        for page in passing {
            self.put_odd(Page(page), OddPage::Unreadable);
        }
    }

    /// Sets a flag of a block.
    pub(super) fn mark(&mut self, block: Block, flag: u8) {
        let flags = &mut self.columns.blocks[block.index()].flags;
        if *flags & flag == 0 {
            *flags |= flag;
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.toggle(block, fingerprint::mark(block, flag));
            }
        }
    }

    /// `block` grows bad: its next program fails.
    pub fn break_at_program(&mut self, block: Block) {
        self.mark(block, FAILS_PROGRAM);
    }

    /// `block` grows bad: its next erase fails.
    pub fn break_at_erase(&mut self, block: Block) {
        self.mark(block, FAILS_ERASE);
    }

    /// A program that the chip reports as failed: it takes its time, and the page holds anything.
    pub(super) fn fail_program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) {
        let block = self.geometry.block_of(page);
        let index = self.geometry.index_of(page);
        let span = self.busy.program(self.place(block, index), op);
        self.stats.of_mut(op.purpose).programs += 1;
        self.tell(Action::Program(page), op.purpose, span);
        let next = u32::from(self.columns.blocks[block.index()].next);
        if index >= next {
            self.leave_out(block, next, index);
            // The chip promises nothing of the page. Here, in every other block, it reads as the data to be written, as
            // if nothing had gone wrong.
            let reads = block.0 % 2 == 1;
            self.put_odd(page, if reads { OddPage::written(content, Some(*spare)) } else { OddPage::Unreadable });
            self.columns.blocks[block.index()].next = (index + 1) as u16;
        }
    }
}

fn torn_unseen(content: Content<'_>, spare: &Spare, seed: u64) -> OddPage {
    match content {
        Content::Hollow(tag) => OddPage::written(Content::Hollow(tag ^ (scramble(seed, tag) | 1)), Some(*spare)),
        Content::Bytes(bytes) => {
            let mut torn = bytes.to_vec();
            if seed.is_multiple_of(2) {
                // A prefix has arrived; it ends before the last byte that is not blank anyway.
                let last = torn.iter().rposition(|b| *b != 0xff).unwrap_or(0);
                let keep = below(last + 1, scramble(seed, 1));
                torn[keep..].fill(0xff);
            } else {
                for n in 0..1 + seed % 7 {
                    let bit = below(torn.len() * 8, scramble(seed, n));
                    torn[bit / 8] ^= 1 << (bit % 8);
                }
            }
            if torn == bytes {
                torn[0] ^= 1;
            }
            OddPage::written(Content::Bytes(&torn), Some(*spare))
        }
    }
}
