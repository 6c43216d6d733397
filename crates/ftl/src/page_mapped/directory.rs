//! A directory in RAM of pages of metadata: which flash page holds part number n.

use super::meta_io::MetaIo;
use crate::FtlError;
use crate::medium::marks::SpareMarks;
use crate::medium::{Saved, put_words, take_words};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Content, Kind, Nand, Page, PageRead, SpareRead};

const NONE: u32 = u32::MAX;
/// It was written, and the flash did not give it back.
const LOST: u32 = u32::MAX - 1;

fn page_of(entry: u32) -> Option<Page> {
    (entry < LOST).then_some(Page(entry))
}

/// Where each part of a table on flash is.
#[derive(Clone, Preserve)]
pub(crate) struct Directory {
    kind: Kind,
    pages: Vec<u32>,
    /// How many are lost.
    lost: u32,
}

impl Directory {
    /// A directory of `parts` pages of this kind, none of which exists yet.
    pub(crate) fn new(kind: Kind, parts: u32) -> Self {
        Self { kind, pages: vec![NONE; parts as usize], lost: 0 }
    }

    /// How many parts there are.
    pub(crate) fn parts(&self) -> u32 {
        self.pages.len() as u32
    }

    /// The page of a part, if it was ever written.
    #[inline]
    pub(crate) fn page_of(&self, part: u32) -> Option<Page> {
        page_of(self.pages[part as usize])
    }

    /// Whether the part was never written.
    pub(crate) fn was_never_written(&self, part: u32) -> bool {
        self.pages[part as usize] == NONE
    }

    /// The part is there, or nowhere, from now on; where it was before.
    #[inline]
    pub(crate) fn set(&mut self, part: u32, page: Option<Page>) -> Option<Page> {
        page_of(self.put(part, page.map_or(NONE, |p| p.0)))
    }

    #[inline]
    fn put(&mut self, part: u32, entry: u32) -> u32 {
        let before = core::mem::replace(&mut self.pages[part as usize], entry);
        self.lost += u32::from(entry == LOST);
        self.lost -= u32::from(before == LOST);
        before
    }

    /// The part was written, and is nowhere to be read any more.
    pub(crate) fn set_lost(&mut self, part: u32) {
        self.put(part, LOST);
    }

    /// The first part from `from` on whose loss is recorded in RAM alone.
    pub(crate) fn next_lost(&self, from: u32) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        (from..self.parts()).find(|part| self.pages[*part as usize] == LOST)
    }

    /// The part's bytes; none where it was never written, or cannot be read.
    #[inline]
    pub(crate) fn read<'n, N: Nand>(&self, io: &'n mut MetaIo<'_, N>, part: u32) -> PartRead<'n> {
        match self.pages[part as usize] {
            NONE => PartRead::Nowhere,
            LOST => PartRead::Unreadable,
            page => match io.read_version(Page(page), self.kind, part) {
                Some((bytes, version)) => PartRead::Bytes(bytes, version),
                None => PartRead::Unreadable,
            },
        }
    }

    /// Writes a part anew.
    #[inline]
    pub(crate) fn write<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        version: u64,
        bytes: &[u8],
    ) -> Result<Page, FtlError> {
        self.write_with(io, SpareMarks::NONE, part, version, bytes)
    }

    /// As [`Directory::write`], with these marks in the spare area.
    #[inline]
    pub(crate) fn write_with<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        marks: SpareMarks,
        part: u32,
        version: u64,
        bytes: &[u8],
    ) -> Result<Page, FtlError> {
        let to = io.append_with(marks, self.kind, part, version, bytes)?;
        if let Some(before) = self.set(part, Some(to)) {
            io.drop_page(before);
        }
        Ok(to)
    }

    /// Copies what stands in `victim` to fresh pages. How many were copied.
    pub(crate) fn relocate<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        victim: Block,
        buffer: &mut Vec<u8>,
    ) -> Result<u64, FtlError> {
        let mut copied = 0;
        let geometry = *io.geometry();
        for index in 0..geometry.pages_per_block() {
            let from = geometry.page(victim, index);
            let part = match io.read_spare(from) {
                SpareRead::Erased => continue,
                SpareRead::Written(spare) if self.page_of_key(spare.key) == Some(from) => Some(spare.key),
                SpareRead::Written(_) => None,
                // The page cannot say which part it is; the directory can.
                SpareRead::Unreadable => self.pages.iter().position(|p| *p == from.0).map(|at| at as u32),
            };
            let Some(part) = part else { continue };
            let to = match io.read_any(from) {
                PageRead::Written { content: Content::Bytes(bytes), spare, .. } => {
                    buffer.clear();
                    buffer.extend_from_slice(bytes);
                    Some(io.append_copy(&spare, buffer)?)
                }
                // Gone: its content cannot be had from here any more, and stays unreadable.
                _ => None,
            };
            copied += u64::from(to.is_some());
            self.put(part, to.map_or(LOST, |to| to.0));
            io.drop_page(from);
        }
        Ok(copied)
    }

    /// Copies the parts that stand at `pages` to fresh pages. How many were copied.
    pub(crate) fn copy_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
        buffer: &mut Vec<u8>,
    ) -> Result<u64, FtlError> {
        let mut copied = 0;
        for from in pages {
            let Some(part) = self.pages.iter().position(|p| *p == from.0).map(|at| at as u32) else { continue };
            if let PageRead::Written { content: Content::Bytes(bytes), spare, .. } = io.read_any(*from) {
                buffer.clear();
                buffer.extend_from_slice(bytes);
                let to = io.append_copy(&spare, buffer)?;
                self.put(part, to.0);
                io.drop_page(*from);
                copied += 1;
            }
        }
        Ok(copied)
    }

    fn page_of_key(&self, key: u32) -> Option<Page> {
        if (key as usize) < self.pages.len() { self.page_of(key) } else { None }
    }

    /// RAM at four bytes a part.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages.len() as u64 * 4
    }
}

impl Saved for Directory {
    fn saved_bytes(&self) -> u64 {
        self.bytes()
    }

    fn save(&self, from: u64, page: &mut [u8]) {
        put_words(&self.pages, from, page);
    }

    fn restore(&mut self, from: u64, page: &[u8]) {
        take_words(&mut self.pages, from, page);
        self.lost = self.pages.iter().filter(|entry| **entry == LOST).count() as u32;
    }
}

/// What reading a part gave.
pub(crate) enum PartRead<'a> {
    /// It was never written.
    Nowhere,
    /// Its bytes, and their version.
    Bytes(&'a [u8], u64),
    /// It was written, and the flash does not give it back.
    Unreadable,
}
