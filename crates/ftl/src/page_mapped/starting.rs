//! A drive begins: blank, or with the content of the flash.

use super::compose::{parts_of, scheme_of};
use super::durability;
use super::mending::Mending;
use super::parts::{PageConfig, PageMapped};
use super::shape::shape_that_fits;
use crate::blocks::FoundLog;
use crate::config::MappingPart;
use crate::ftl::Ftl;
use crate::medium::{FirstPages, HoldsOfBlocks, anchor, bad_blocks, usable_blocks};
use crate::{FtlError, RecoveryReport};
use alloc::boxed::Box;
use phelsuma_nand::{Nand, Purpose, Time};

/// Makes a blank drive.
///
/// # Errors
/// It does not fit, or what the flash refuses.
pub(crate) fn format<N: Nand>(
    nand: &mut N,
    config: &PageConfig,
    at: Time,
) -> Result<(Box<dyn Ftl<N>>, Time), FtlError> {
    let (ftl, done) = PageMapped::format(nand, config, at)?;
    Ok((ftl.boxed(config), done))
}

/// Mounts the drive that is on `nand`.
///
/// # Errors
/// It is none of this configuration, or what the flash refuses.
pub(crate) fn recover<N: Nand>(
    nand: &mut N,
    config: &PageConfig,
    at: Time,
) -> Result<(Box<dyn Ftl<N>>, RecoveryReport), FtlError> {
    let (ftl, report) = durability::recover(nand, config, at)?;
    Ok((ftl.boxed(config), report))
}

impl PageMapped {
    /// It, and what mends it.
    fn boxed<N: Nand>(self, config: &PageConfig) -> Box<dyn Ftl<N>> {
        match config.composition.mapping {
            MappingPart::MuTree { .. } => Box::new(Mending::new(self, config)),
            MappingPart::RamTable | MappingPart::Paged { .. } => Box::new(self),
        }
    }

    /// A blank drive.
    pub(super) fn format<N: Nand>(nand: &mut N, config: &PageConfig, at: Time) -> Result<(Self, Time), FtlError> {
        let geometry = *nand.geometry();
        shape_that_fits(&geometry, config, bad_blocks(nand))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        // Erasing may have found more of them.
        let shape = shape_that_fits(&geometry, config, bad_blocks(nand))?;
        let (mut mapping, mut validity) = parts_of(&geometry, config)?;
        let scheme = scheme_of(&geometry, config, &mut mapping, &mut validity)?;
        let mut ftl = Self::of(&geometry, config, shape, anchors, (mapping, validity, scheme))?;
        ftl.blocks.found_bad(bad_blocks(nand));
        if let Some(wear) = &mut ftl.blocks.wear {
            wear.formatted();
        }
        for block in usable_blocks(nand, &ftl.anchors) {
            if !ftl.blocks.is_of_log(block) {
                ftl.blocks.release(block);
            }
        }
        let done = ftl.begin_log(nand, done)?;
        ftl.keep_sample(None);
        ftl.blocks.note_first_pages(&FirstPages::default(), 0);
        Ok((ftl, done))
    }

    /// Writes the block log of a blank drive, if it is to have one: when that is on flash.
    fn begin_log<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let region = self.blocks.region();
        if region.is_empty() {
            return Ok(at);
        }
        let nothing = HoldsOfBlocks::new(nand.geometry().blocks());
        let last = region.last();
        self.blocks.go_on_with_log(nothing, FoundLog { newest: last, written_to: last, chain: None });
        self.blocks.write_log(nand, &mut self.durability, None, Purpose::Format, at)
    }
}
