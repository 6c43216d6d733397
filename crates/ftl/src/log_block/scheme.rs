//! What the host's pages are written to, and which log block is merged: the part in which log-block FTLs differ.

mod bast;
mod fast;
mod plain;

use super::ground::Ground;
use super::last::Last;
use super::shape::Sizes;
use crate::config::LogScheme;
use crate::ftl::Step;
use crate::{Counter, FtlError, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bast::Bast;
use fast::Fast;
use phelsuma_nand::{Content, Geometry, Nand, Time};
use plain::Plain;

/// One of the schemes.
#[derive(Clone, Debug)]
pub(super) enum Scheme {
    Plain(Plain),
    Bast(Bast),
    Fast(Fast),
    Last(Box<Last>),
}

/// Which page of a request of the host's one is.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartOf {
    /// Pages of the request.
    pub(super) pages: u32,
    /// Those in front of this one.
    pub(super) index: u32,
}

impl Scheme {
    pub(super) fn new(scheme: LogScheme, geometry: &Geometry, sizes: &Sizes) -> Self {
        match scheme {
            LogScheme::Block => Self::Plain(Plain::default()),
            LogScheme::Bast => Self::Bast(Bast::new(sizes.logical_blocks)),
            LogScheme::Last(parts) => Self::Last(Box::new(Last::new(&parts, geometry, sizes))),
            // Superblocks stand on no ground of data blocks: they are an FTL of their own.
            LogScheme::Fast | LogScheme::Superblock(_) => Self::Fast(Fast::default()),
        }
    }

    /// Writes a page of the host's; when it is safe.
    #[inline]
    pub(super) fn write<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        key: u32,
        part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        match self {
            Self::Plain(plain) => plain.write(ground, nand, key, content, at),
            Self::Bast(bast) => bast.write(ground, nand, key, content, at),
            Self::Fast(fast) => fast.write(ground, nand, key, content, at),
            Self::Last(last) => last.write(ground, nand, key, part, content, at),
        }
    }

    /// A recovery has found log blocks, in the order in which they were begun; none of them can be written any further.
    /// Takes them over, and merges what the scheme cannot go on with.
    pub(super) fn recovered<N: Nand>(&mut self, ground: &mut Ground, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        match self {
            Self::Plain(_) => Plain::recovered(ground, nand, at),
            Self::Bast(bast) => bast.recovered(ground, nand, at),
            Self::Fast(fast) => {
                fast.recovered(ground);
                Ok(at)
            }
            Self::Last(last) => {
                last.recovered(ground);
                Ok(at)
            }
        }
    }

    /// Whether a snapshot is written when the drive is closed.
    pub(super) fn has_snapshots(&self) -> bool {
        matches!(self, Self::Last(_))
    }

    /// Such a drive is closed: nothing more is written to any log block that there is.
    pub(super) fn close(&mut self, ground: &mut Ground) {
        if let Self::Last(last) = self {
            last.close(ground);
        }
    }

    /// Whether it knows of exactly the log blocks that there are.
    pub(super) fn knows(&self, ground: &Ground) -> bool {
        match self {
            Self::Plain(plain) => plain.slots().eq(ground.log.slots()),
            Self::Bast(bast) => bast.knows(ground),
            Self::Fast(fast) => fast.knows(ground),
            Self::Last(last) => last.knows(ground),
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        match self {
            Self::Plain(_) => ledger.structure("scheme.open", 4),
            Self::Bast(bast) => bast.ram(ledger),
            Self::Fast(fast) => fast.ram(ledger),
            Self::Last(last) => last.ram(ledger),
        }
    }

    /// The host has asked for something, which may have changed what is in log blocks, and was answered by then.
    #[inline]
    pub(super) fn served(&mut self, done: Time, changed: bool) {
        if let Self::Last(last) = self {
            last.served(done, changed);
        }
    }

    /// From when on it has something to do while the host is idle.
    pub(super) fn due(&self) -> Option<Time> {
        match self {
            Self::Last(last) => last.due(),
            _ => None,
        }
    }

    /// Does a piece of that.
    pub(super) fn background_step<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        at: Time,
    ) -> Result<Step, FtlError> {
        match self {
            Self::Last(last) => last.background_step(ground, nand, at),
            _ => Ok(Step::Nothing),
        }
    }

    /// What it counts of its own.
    pub(super) fn counters(&self, ground: &Ground, counters: &mut Vec<Counter>) {
        if let Self::Last(last) = self {
            last.counters(ground, counters);
        }
    }
}
