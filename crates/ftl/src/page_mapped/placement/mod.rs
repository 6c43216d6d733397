//! Placement (data separation): which stream a page is written to.
//!
//! A policy never touches flash. It is told of each page what there is to know without asking: the copy that a write
//! makes stale as far as RAM knows it, the spare area of a page that is being moved, and what is noted of blocks where
//! it asks for that (`blocks/notes.rs`). What it would have to look up on flash it asks for once ([`Asks`]), and the
//! composition looks it up, and pays.

mod dac;
mod dual_greedy;
mod last_writes;
mod midas;
mod oracle;
mod partitions;
mod randomness;
mod sepbit;
mod static_quota;

pub(crate) use dac::Dac;
pub(crate) use dual_greedy::DualGreedy;
pub(crate) use midas::Midas;
pub(crate) use oracle::Oracle;
pub(crate) use partitions::{Partitions, partition_pages};
pub(crate) use sepbit::SepBit;
pub(crate) use static_quota::StaticQuota;

use crate::blocks::{Groups, View, Wants};
use crate::ftl::Hint;
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Spare};

/// The copy of a logical page that a host write makes stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OldCopy {
    /// There is none: it was never written, or trimmed since, or lost.
    None,
    /// It is in this block.
    Known(Block),
    /// A lazy mapping does not know where it is, or whether there is one: the entry is not cached.
    Unknown,
}

/// A page that the host writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostWrite {
    pub(crate) page: LogicalPage,
    pub(crate) old: OldCopy,
    /// What the spare area of the old copy says, for those that ask for it ([`Asks::old_spares`]), if it is known where
    /// that is and it can be read.
    pub(crate) old_spare: Option<Spare>,
    /// What the host says about the page besides its data.
    pub(crate) hint: Hint,
}

/// A page that collection moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedPage {
    pub(crate) page: LogicalPage,
    /// The victim.
    #[allow(dead_code, reason = "for policies that ask what is noted of it")]
    pub(crate) from: Block,
    /// The stream that the victim was written by.
    pub(crate) stream: u8,
    /// What the page's spare area says there.
    pub(crate) spare: Spare,
    /// How much the host will write until the page dies, where that is noted and known.
    pub(crate) left: Option<u64>,
}

/// What a placement asks for of each page that the host writes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Asks {
    /// To be asked at all: [`Placement::host`] is not called otherwise, and pages go to stream 0.
    pub(crate) pages: bool,
    /// Entries that a lazy mapping does not have are fetched first: no old copy is [`OldCopy::Unknown`].
    pub(crate) fetches: bool,
    /// The spare area of the old copy is read first.
    pub(crate) old_spares: bool,
}

/// The placement part of a page-mapped FTL: user pages go to one of `streams()` open blocks.
pub(crate) trait Placement: Send {
    /// How many streams it uses.
    fn streams(&self) -> u8;

    /// What it asks to be noted of blocks.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// What it asks for of each page that the host writes.
    fn asks(&self) -> Asks {
        Asks::default()
    }

    /// The stream for a page that the host writes. In `view` the write has not happened yet, but for the time.
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        let _ = (view, write);
        0
    }

    /// The stream for a page that collection moves.
    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8;

    /// The stream for copies that a recovery makes.
    fn recovered(&self) -> u8 {
        0
    }

    /// This block is going to be collected, and is a candidate still. How many blocks were looked at.
    fn collecting(&mut self, view: &View<'_>, victim: Block) -> u32 {
        let _ = (view, victim);
        0
    }

    /// The groups that it divides blocks into, where it has such.
    fn groups(&self) -> Groups {
        Groups::default()
    }

    /// Whether it takes the host's writes for purely random by now.
    fn is_purely_random(&self) -> bool {
        false
    }

    /// What it keeps in RAM.
    fn ram(&self, ledger: &mut RamLedger) {
        let _ = ledger;
    }

    /// What it has counted.
    fn counters(&self, out: &mut Vec<Counter>) {
        let _ = out;
    }

    /// Another one in the same state.
    fn copy(&self) -> Box<dyn Placement>;
}

impl Clone for Box<dyn Placement> {
    fn clone(&self) -> Self {
        self.as_ref().copy()
    }
}

/// Everything to one stream.
#[derive(Clone)]
pub(crate) struct OneStream;

impl Placement for OneStream {
    fn streams(&self) -> u8 {
        1
    }

    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        0
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}

/// Host writes to one stream, moved pages to another: what the Dual Greedy paper calls PL+greedy does (its section V).
#[derive(Clone)]
pub(crate) struct HostGc;

impl Placement for HostGc {
    fn streams(&self) -> u8 {
        2
    }

    fn moved(&mut self, _view: &View<'_>, _page: &MovedPage) -> u8 {
        1
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}
