//! Log-block (hybrid) FTLs: logical blocks are mapped to data blocks, and log blocks take the writes.
//!
//! A few log blocks are mapped page by page, and merges bring the two together (LAST++ sections 2.2 and 3; µ-FTL
//! section 3).
//!
//! A [`Hybrid`] is a ground and a scheme. The [`ground`] owns blocks, maps, merges and recovery. A [`scheme`] says to
//! which log block a page goes and which one is merged. docs/design/log-blocks.md has the rules by which power cuts are
//! survived. [`superblock`] stands on the pool and the map blocks alone.

mod check;
mod data_map;
mod fetch;
mod ftl_mm;
mod gather;
mod ground;
mod hybrid;
mod kept;
mod lane;
mod last;
mod layout;
mod levelling;
mod log;
mod log_block_ftl;
mod log_index;
mod log_state;
mod look;
mod map_blocks;
mod map_writes;
mod merge;
mod merge_versions;
mod order;
mod pool;
mod probing;
mod recovery;
mod scheme;
mod shape;
mod snapshot;
mod snapshot_writer;
mod superblock;
mod tally;
mod trims;
mod wear;

use crate::config::LogInstances;
use crate::ftl::Ftl;
use crate::medium::{Steps, anchor, bad_blocks};
use crate::recovery_report::RecoveryReport;
use crate::{ANCHOR_BLOCKS, FtlError};
use alloc::boxed::Box;
use ftl_mm::FtlMm;
use log_block_ftl::LogBlockFtl;
use phelsuma_nand::{Nand, Time};
use shape::LogConfig;

/// Makes a blank drive: everything on it is erased. The FTL and the moment it is ready.
///
/// # Errors
/// [`FtlError::DoesNotFit`], or what the flash refuses.
pub(crate) fn format<N: Nand>(nand: &mut N, config: &LogConfig, at: Time) -> Result<(Box<dyn Ftl<N>>, Time), FtlError> {
    if config.composition.instances == LogInstances::PerChannel {
        let (ftl, done) = FtlMm::format(nand, config, at)?;
        return Ok((Box::new(ftl), done));
    }
    LogBlockFtl::fits(nand.geometry(), config, ANCHOR_BLOCKS, bad_blocks(nand))?;
    let (anchors, done) = anchor::format(nand, config, at)?;
    Ok((LogBlockFtl::blank(nand, config, anchors)?.boxed(), done))
}

/// Mounts a drive from its flash.
///
/// # Errors
/// [`FtlError::Blank`], [`FtlError::Lost`], [`FtlError::OtherDrive`], or what the flash refuses.
pub(crate) fn recover<N: Nand>(
    nand: &mut N,
    config: &LogConfig,
    at: Time,
) -> Result<(Box<dyn Ftl<N>>, RecoveryReport), FtlError> {
    if config.composition.instances == LogInstances::PerChannel {
        let (ftl, report) = FtlMm::recover(nand, config, at)?;
        return Ok((Box::new(ftl), report));
    }
    let mut steps = Steps::new(at);
    let anchors = anchor::find_as_step(nand, config, &mut steps)?;
    let (ftl, report) = LogBlockFtl::recover_described(nand, config, anchors, steps)?;
    Ok((ftl.boxed(), report))
}
