//! Victim: which block is collected next.
//!
//! A policy never touches flash. It learns of its candidates by the hooks below and sees the counters, and what else is
//! noted of blocks where it asks for that (`blocks/notes.rs`).

mod chain;
mod cost_age;
mod d_choices;
mod dual_greedy;
mod fifo;
mod greedy;
mod oracle;
mod sampled;
mod static_quota;

pub(crate) use chain::Chain;
pub(crate) use cost_age::CostAge;
pub(crate) use d_choices::DChoices;
pub(crate) use dual_greedy::DualGreedy;
pub(crate) use fifo::Fifo;
pub(crate) use greedy::Greedy;
pub(crate) use oracle::Oracle;
pub(crate) use sampled::Sampled;
pub(crate) use static_quota::StaticQuota;

use crate::RamLedger;
use crate::blocks::{Counters, View, Wants};
use alloc::boxed::Box;
use phelsuma_nand::Block;

/// A victim, and what it took to find it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) block: Block,
    /// Blocks that were looked at for it: one whose counter, time or place in a list was read. A minimum of a group of
    /// blocks counts as one.
    pub(crate) examined: u32,
}

/// The victim part of a page-mapped FTL.
pub(crate) trait Victim: Send {
    /// What it asks to be noted of blocks.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// `block` is full, or will not be written any further: a candidate from now on.
    fn closed(&mut self, counters: &Counters, block: Block);

    /// A page of `block` was invalidated; the counter says so already. Also called for blocks that are no candidates.
    #[inline]
    fn invalidated(&mut self, counters: &Counters, block: Block) {
        let _ = (counters, block);
    }

    /// `block` is a candidate no longer.
    fn taken(&mut self, counters: &Counters, block: Block);

    /// The next victim; none where there is no candidate. Where a sample of the blocks is counted, it is one of those
    /// that are. Nothing changes by it that would make a second choice another one, but for what is drawn by chance.
    fn choose(&mut self, view: &View<'_>) -> Option<Choice>;

    /// What it keeps in RAM.
    fn ram(&self, ledger: &mut RamLedger);

    /// Another one in the same state.
    fn copy(&self) -> Box<dyn Victim>;
}

impl Clone for Box<dyn Victim> {
    fn clone(&self) -> Self {
        self.as_ref().copy()
    }
}
