//! The FTLs of this family that have flash to themselves, as one type.

use super::hybrid::Hybrid;
use super::lane::Lane;
use super::last::Last;
use super::pool::Pool;
use super::scheme::{Bast, Fast, Plain};
use super::shape::LogConfig;
use super::superblock::Superblocks;
use crate::config::LogScheme;
use crate::ftl::Ftl;
use crate::medium::Steps;
use crate::recovery_report::RecoveryReport;
use crate::{Finding, FtlError};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Nand};

/// An FTL of this family that has its flash to itself: all of a drive, or a channel of one. Which one it is is decided
/// once, and behind that all calls are static.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
pub(super) enum LogBlockFtl {
    Block(Box<Hybrid<Plain>>),
    Bast(Box<Hybrid<Bast>>),
    Fast(Box<Hybrid<Fast>>),
    Last(Box<Hybrid<Last>>),
    Superblock(Box<Superblocks>),
}

/// The same of whichever FTL it is.
macro_rules! of_each {
    ($of:expr, $ftl:ident => $result:expr) => {
        match $of {
            LogBlockFtl::Block($ftl) => $result,
            LogBlockFtl::Bast($ftl) => $result,
            LogBlockFtl::Fast($ftl) => $result,
            LogBlockFtl::Last($ftl) => $result,
            LogBlockFtl::Superblock($ftl) => $result,
        }
    };
}

impl LogBlockFtl {
    /// Whether a drive of this shape has room for it, with so many blocks for the description and so many bad ones.
    pub(super) fn fits(geometry: &Geometry, config: &LogConfig, described: u32, bad: u32) -> Result<(), FtlError> {
        match config.composition.scheme {
            LogScheme::Block => Hybrid::<Plain>::fits(geometry, config, described, bad),
            LogScheme::Bast => Hybrid::<Bast>::fits(geometry, config, described, bad),
            LogScheme::Fast(_) => Hybrid::<Fast>::fits(geometry, config, described, bad),
            LogScheme::Last(_) => Hybrid::<Last>::fits(geometry, config, described, bad),
            LogScheme::Superblock(parts) => Superblocks::fits(geometry, config, parts, described, bad),
        }
    }

    /// A blank drive on flash that is erased, but for the description in `anchors`.
    pub(super) fn blank<N: Nand>(nand: &N, config: &LogConfig, anchors: Vec<Block>) -> Result<Self, FtlError> {
        Ok(match config.composition.scheme {
            LogScheme::Block => Self::Block(Box::new(Hybrid::blank(nand, config, &(), anchors)?)),
            LogScheme::Bast => Self::Bast(Box::new(Hybrid::blank(nand, config, &(), anchors)?)),
            LogScheme::Fast(of) => Self::Fast(Box::new(Hybrid::blank(nand, config, &of, anchors)?)),
            LogScheme::Last(parts) => Self::Last(Box::new(Hybrid::blank(nand, config, &parts, anchors)?)),
            LogScheme::Superblock(parts) => {
                Self::Superblock(Box::new(Superblocks::blank(nand, config, parts, anchors)?))
            }
        })
    }

    /// Brings up a drive whose description has been found in `anchors`.
    pub(super) fn recover_described<N: Nand>(
        nand: &mut N,
        config: &LogConfig,
        anchors: Vec<Block>,
        steps: Steps,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        macro_rules! of {
            ($variant:ident, $recovered:expr) => {{
                let (ftl, report) = $recovered?;
                (Self::$variant(Box::new(ftl)), report)
            }};
        }
        Ok(match config.composition.scheme {
            LogScheme::Block => of!(Block, Hybrid::recover_described(nand, config, &(), anchors, steps)),
            LogScheme::Bast => of!(Bast, Hybrid::recover_described(nand, config, &(), anchors, steps)),
            LogScheme::Fast(of) => of!(Fast, Hybrid::recover_described(nand, config, &of, anchors, steps)),
            LogScheme::Last(parts) => of!(Last, Hybrid::recover_described(nand, config, &parts, anchors, steps)),
            LogScheme::Superblock(parts) => {
                of!(Superblock, Superblocks::recover_described(nand, config, parts, anchors, steps))
            }
        })
    }

    /// It alone.
    pub(super) fn boxed<N: Nand>(self) -> Box<dyn Ftl<N>> {
        of_each!(self, ftl => ftl)
    }

    /// It, to be called.
    pub(super) fn as_ftl_mut<N: Nand>(&mut self) -> &mut dyn Ftl<N> {
        of_each!(self, ftl => ftl.as_mut())
    }

    /// It, for calls that need no flash.
    pub(super) fn as_ftl<N: Nand>(&self) -> &dyn Ftl<N> {
        of_each!(self, ftl => ftl.as_ref())
    }

    /// Its blocks.
    pub(super) fn pool(&self) -> &Pool {
        of_each!(self, ftl => ftl.pool())
    }

    /// RAM against itself and against the flash; blocks and pages are named as the drive counts them of which `lane` is
    /// a channel, or all.
    pub(super) fn findings<N: Nand>(&self, nand: &mut N, lane: &Lane) -> Vec<Finding> {
        // The check changes counters and caches: it is left to a copy.
        of_each!(self, ftl => ftl.clone().findings(nand, lane))
    }
}
