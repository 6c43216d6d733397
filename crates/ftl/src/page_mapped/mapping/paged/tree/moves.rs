//! Moving nodes and leaves to fresh pages.

use super::{LOST, TranslationTree, Writes};
use crate::FtlError;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, Nand, Page, PageRead, SpareRead};

impl TranslationTree {
    /// Moves what stands in `victim` to fresh pages. How many were written.
    ///
    /// A leaf that was never found again must be written as `lost` before its last copy is erased, and so must one that
    /// cannot be read: no older copy may stand in for it. What then still counts as live in the victim is not.
    pub(crate) fn relocate<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        victim: Block,
        buffer: &mut Vec<u8>,
        lost: &mut Vec<u32>,
    ) -> Result<u64, FtlError> {
        let geometry = *io.geometry();
        let mut moving = core::mem::take(&mut self.moving);
        moving.clear();
        for index in 0..geometry.pages_per_block() {
            let from = geometry.page(victim, index);
            let number = match io.read_spare(from) {
                SpareRead::Erased => None,
                SpareRead::Written(spare) if spare.kind == Kind::Translation && spare.key < self.shape.root() => {
                    Some(spare.key)
                }
                SpareRead::Written(_) => None,
                // The page cannot say which node it is; the tree can.
                SpareRead::Unreadable => {
                    (0..self.shape.root()).find(|number| self.entry(io, *number, Writes::Not) == from.0)
                }
            };
            if let Some(number) = number {
                let entry = self.entry(io, number, Writes::Not);
                if self.is_wanted(number, entry, from) {
                    moving.push((number, from));
                }
            }
        }
        // Those of one parent one after the other: it is written once.
        moving.sort_unstable();
        let mut written: Result<u64, FtlError> = Ok(0);
        for (number, from) in &moving {
            written = written.and_then(|so_far| Ok(so_far + self.relocate_page(io, (*number, *from), buffer, lost)?));
        }
        self.moving = moving;
        written
    }

    /// Whether a copy at `from` must be moved: it is the newest, or it is not known which is.
    fn is_wanted(&self, number: u32, entry: u32, from: Page) -> bool {
        entry == from.0 || entry == LOST && number < self.shape.leaves()
    }

    fn relocate_page<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        (number, from): (u32, Page),
        buffer: &mut Vec<u8>,
        lost: &mut Vec<u32>,
    ) -> Result<u64, FtlError> {
        let is_leaf = number < self.shape.leaves();
        self.prepare(io, number)?;
        // It may have been written meanwhile: a lost leaf that has two copies here, or a node, to make room.
        let entry = self.entry(io, number, Writes::Not);
        if !self.is_wanted(number, entry, from) {
            return Ok(0);
        }
        if !is_leaf && let Some(slot) = self.nodes.find(number) {
            // The cache has it, and perhaps a newer one.
            let to = self.append_node(io, slot)?;
            self.set(io, number, to.0);
            return Ok(1);
        }
        let read = if entry == LOST { PageRead::Unreadable } else { io.read_any(from) };
        let to = match read {
            PageRead::Written { content: Content::Bytes(bytes), spare, .. } => {
                buffer.clear();
                buffer.extend_from_slice(bytes);
                io.append_copy(&spare, buffer)?.0
            }
            _ if is_leaf => {
                // There may be two copies of it.
                if lost.last() != Some(&number) {
                    lost.push(number);
                }
                return Ok(0);
            }
            _ => {
                self.missed();
                LOST
            }
        };
        self.set(io, number, to);
        Ok(u64::from(to != LOST))
    }

    /// Copies the leaves and nodes that stand at `pages` to fresh pages. How many were copied.
    ///
    /// A leaf that cannot be read stays where it is.
    pub(crate) fn copy_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
        buffer: &mut Vec<u8>,
    ) -> Result<u64, FtlError> {
        let (mut copied, mut lost) = (0, Vec::new());
        for from in pages {
            if let Some(number) = (0..self.shape.root()).find(|n| self.entry(io, *n, Writes::Not) == from.0) {
                copied += self.relocate_page(io, (number, *from), buffer, &mut lost)?;
            }
        }
        Ok(copied)
    }
}
