//! Recovery by scanning: the spare area of every page is read, and the newest copy of each logical page wins.
//!
//! Newest is by version, then by program order. The spare area does not show which pages a power cut met. A page may be
//! torn where only the data's CRC shows it, or read well now and fail later. Three rules deal with that:
//!
//! - **Only the last page of a block can be torn**, because no page is ever programmed behind one that a cut may have
//!   met: blocks that were open stay as they are and become candidates for collection. So the last page of every block
//!   is read in full, at every recovery, and believed only where its CRC fits. All others are sound.
//! - **Suspect pages are copied** to a fresh page before the host is served. These are the last pages in program order,
//!   as many as the drive's clock lets be in flight. So are the last ones that no recovery wrote, because the power may
//!   have failed again before they were copied. And so are, whatever their age, last pages of part-filled blocks that
//!   are still the newest of their kind. Where next to nothing is free, of these only those that a recovery has written
//!   are copied.
//! - **What such a page makes stale is kept until the copy is safe**: should the page turn bad, that is what counts.

mod apply;
mod copies;
mod page_scan;
mod tree;

use super::Survival;
use super::common::{Described, Mount};
use crate::blocks::Spread;
use crate::page_mapped::mapping::{MuMapping, RamMapping};
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::validity::RamBitmap;
use crate::{FtlError, RecoveryReport};
use page_scan::PageScan;
use phelsuma_nand::{Block, Content, Nand};
use tree::{BesideTree, set_aside};

/// A drive with a table and a bitmap in RAM that is being mounted.
type Drive<'s, N> = Mount<'s, RamMapping, RamBitmap, N>;

/// Mounts a drive whose mapping table and validity are in RAM.
pub(super) fn recover<N: Nand>(mut described: Described<'_, N>) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let (table, bitmap): (RamMapping, RamBitmap) = described.parts()?;
    let mut ftl = described.drive((table, bitmap, Survival::Scan), Some(Spread::AllDies))?;
    let usable = described.usable();
    let Described { nand, mut steps, .. } = described;
    let mut drive = Drive { ftl: &mut ftl, nand, steps: &mut steps };
    drive.scan_and_copy(&usable)?;
    let scratch = drive.scratch_bytes();
    Ok(ftl.mounted(steps, scratch))
}

/// Mounts a drive whose mapping is in a µ-Tree.
pub(super) fn recover_tree<V: BesideTree, N: Nand>(
    mut described: Described<'_, N>,
) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let (extents, validity): (MuMapping, V) = described.parts()?;
    let ftl = described.drive((extents, validity, Survival::Scan), Some(Spread::AllDies))?;
    let (mut ftl, aside) = set_aside(ftl);
    let usable = described.usable();
    let Described { nand, mut steps, .. } = described;
    let mut drive = Drive { ftl: &mut ftl, nand, steps: &mut steps };
    drive.scan_and_copy(&usable)?;
    let scratch = drive.scratch_bytes();
    let Some(aside) = aside else { return Ok(ftl.mounted(steps, scratch)) };
    let scratch = scratch + drive.tree_bytes();
    match drive.write_tree(aside)? {
        None => Ok(ftl.mounted(steps, scratch)),
        Some(aside) => Ok(aside.take_over(ftl).mounted(steps, scratch)),
    }
}

impl<N: Nand> Drive<'_, N> {
    /// Finds out where everything is, and copies suspect pages.
    fn scan_and_copy(&mut self, usable: &[Block]) -> Result<(), FtlError> {
        self.begin("scan spare areas and last pages");
        let mut scan = PageScan::new(self);
        for block in usable {
            scan.block(self, *block);
        }
        let uncertain = scan.end(self);
        self.ftl.blocks.begin_session(scan.version_max, scan.seq_max);
        self.steps.report.last_pages = scan.lasts_read;
        self.steps.report.last_pages_bad = scan.lasts_bad;

        self.begin("apply tombstones");
        for found in scan.tombstones.iter().flatten() {
            if let Some((Content::Bytes(bytes), _)) = self.read_page(found.page).verified() {
                let bitmap = bytes.to_vec();
                self.apply_tombstone(found, &bitmap);
            }
        }

        self.begin("enter what may have been in flight");
        let held = self.enter_uncertain(&mut scan, &uncertain);
        let mut holding = self.settle_blocks(usable, &held, &scan);

        self.begin("copy what may have been in flight");
        match self.copy_uncertain(&scan, &uncertain, &mut holding) {
            // Blocks have grown bad faster than collection could make up for: what is there can be read.
            Err(FtlError::Full { .. }) => self.stop_writing(),
            copied => copied?,
        }
        for block in holding {
            self.ftl.blocks.release(block);
        }
        Ok(())
    }

    /// RAM of the scan.
    fn scratch_bytes(&self) -> u64 {
        u64::from(self.ftl.blocks.geometry().blocks()) * 9
    }
}
