//! Where each translation page is: a directory in RAM, or a B+-tree of which RAM holds the root.

use super::tree::{TranslationTree, TreeShape, Writes, cached_nodes, programs_each};
use super::{entries_per_page, translation_pages};
use crate::config::DirectoryPart;
use crate::medium::marks::SpareMarks;
use crate::medium::{Saved, put_words, take_words};
use crate::page_mapped::directory::{Directory, PartRead};
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, Kind, Nand, Page};

/// The translation pages by number.
#[derive(Clone, Preserve)]
pub(super) enum TranslationTable {
    /// The global mapping directory (GMD).
    Flat(Directory),
    /// A B+-tree.
    Tree(Box<TranslationTree>),
}

/// What inner nodes cost.
pub(super) struct NodeNeeds {
    /// Pages that they need besides what the translation pages do.
    ///
    /// A translation page that is moved out of a victim may cause one node a level to be written. So a block in which
    /// more than one page of so many is live is not worth collecting. There must be room for that.
    pub(super) live: u64,
    /// Programs for each translation page written, at the most.
    pub(super) each: u64,
    /// Programs on battery, with so many translation pages, and what RAM holds of the table.
    pub(super) battery: u64,
}

/// The cost of the nodes above a table of so many translation pages if `written` of them are synchronized on battery.
pub(super) fn node_needs(geometry: &Geometry, directory: DirectoryPart, leaves: u32, written: u64) -> NodeNeeds {
    match directory {
        DirectoryPart::Flat => {
            NodeNeeds { live: 0, each: 0, battery: u64::from(leaves.div_ceil(entries_per_page(geometry))) }
        }
        DirectoryPart::BTree { nodes, fanout } => {
            let shape = TreeShape::new(geometry, leaves, fanout);
            // Each node right above the leaves is written when it is left, and so is each that was cached before. On
            // each level there is at most one for it. The root is one page.
            let cached = cached_nodes(&shape, nodes);
            let nodes = written.min(shape.lowest_inner().into()) + u64::from(cached);
            let levels = u64::from(shape.inner_levels());
            let each = u64::from(programs_each(&shape, cached));
            let live = u64::from(shape.inner()) + each * u64::from(shape.root());
            NodeNeeds { live, each, battery: levels * nodes + 1 }
        }
    }
}

impl TranslationTable {
    /// A table of which nothing is written yet.
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, directory: DirectoryPart) -> Self {
        let pages = translation_pages(geometry, logical_pages);
        match directory {
            DirectoryPart::Flat => Self::Flat(Directory::new(Kind::Translation, pages)),
            DirectoryPart::BTree { nodes, fanout } => {
                Self::Tree(Box::new(TranslationTree::new(geometry, pages, nodes, fanout)))
            }
        }
    }

    /// How many translation pages there are.
    #[inline]
    pub(super) fn parts(&self) -> u32 {
        match self {
            Self::Flat(directory) => directory.parts(),
            Self::Tree(tree) => tree.leaves(),
        }
    }

    /// The first key that no page of it in use has. The root is not on flash while the power is on.
    pub(super) fn behind(&self) -> u32 {
        match self {
            Self::Flat(directory) => directory.parts(),
            Self::Tree(tree) => tree.root_number(),
        }
    }

    /// A translation page's bytes, where it is going to be written.
    #[inline]
    pub(super) fn read<'n, N: Nand>(&mut self, io: &'n mut MetaIo<'_, N>, part: u32) -> PartRead<'n> {
        match self {
            Self::Flat(directory) => directory.read(io, part),
            Self::Tree(tree) => tree.read(io, part, Writes::Allowed),
        }
    }

    /// A translation page's bytes; nothing is written for it. To read a node again costs less than to write another.
    #[inline]
    pub(super) fn peek<'n, N: Nand>(&mut self, io: &'n mut MetaIo<'_, N>, part: u32) -> PartRead<'n> {
        match self {
            Self::Flat(directory) => directory.read(io, part),
            Self::Tree(tree) => tree.read(io, part, Writes::Not),
        }
    }

    /// Where a translation page is, if RAM says so.
    #[inline]
    pub(super) fn place_in_ram(&self, part: u32) -> Option<Page> {
        match self {
            Self::Flat(directory) => directory.page_of(part),
            Self::Tree(tree) => tree.place_in_ram(part),
        }
    }

    /// Whether a translation page was never written.
    pub(super) fn was_never_written<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) -> bool {
        match self {
            Self::Flat(directory) => directory.was_never_written(part),
            Self::Tree(tree) => tree.entry(io, part, Writes::Not) == u32::MAX,
        }
    }

    /// Writes a translation page anew, with these marks in the spare area.
    #[inline]
    pub(super) fn write<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        marks: SpareMarks,
        part: u32,
        version: u64,
        bytes: &[u8],
    ) -> Result<Page, FtlError> {
        match self {
            Self::Flat(directory) => directory.write_with(io, marks, part, version, bytes),
            Self::Tree(tree) => tree.write(io, marks, part, version, bytes),
        }
    }

    /// The first one from `from` on whose loss is recorded in RAM, or in the tree, alone.
    pub(super) fn next_lost<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, from: u32) -> Option<u32> {
        match self {
            Self::Flat(directory) => directory.next_lost(from),
            Self::Tree(tree) => tree.next_lost(io, from),
        }
    }

    /// Programs that writing a translation page takes at the most.
    pub(super) fn programs_to_write(&self) -> u32 {
        match self {
            Self::Flat(_) => 1,
            Self::Tree(tree) => 1 + tree.programs_each(),
        }
    }

    /// Whether nodes could not be read: it is not known whose pages are stale.
    pub(super) fn is_damaged(&self) -> bool {
        match self {
            Self::Flat(_) => false,
            Self::Tree(tree) => tree.is_damaged(),
        }
    }

    /// Copies what stands at `pages` to fresh pages.
    pub(super) fn copy_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
        buffer: &mut Vec<u8>,
    ) -> Result<u64, FtlError> {
        match self {
            Self::Flat(directory) => directory.copy_pages(io, pages, buffer),
            Self::Tree(tree) => tree.copy_pages(io, pages, buffer),
        }
    }

    /// A recovery has found a translation page, or that it is lost; the one it takes the place of.
    pub(super) fn enter(&mut self, part: u32, page: Option<Page>) -> Option<Page> {
        match (self, page) {
            (Self::Flat(directory), Some(page)) => directory.set(part, Some(page)),
            (Self::Flat(directory), None) => {
                directory.set_lost(part);
                None
            }
            (Self::Tree(tree), page) => {
                tree.enter(part, page);
                None
            }
        }
    }

    /// The parts that a recovery has entered are all of it. How many pages were written.
    pub(super) fn build<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<u64, FtlError> {
        match self {
            Self::Flat(_) => Ok(0),
            Self::Tree(tree) => tree.build(io),
        }
    }

    /// Writes the cached part of it.
    pub(super) fn write_dirty_nodes<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        match self {
            Self::Flat(_) => Ok(()),
            Self::Tree(tree) => tree.write_dirty_nodes(io),
        }
    }

    /// Where all of it is.
    pub(super) fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        match self {
            Self::Flat(directory) => (0..directory.parts()).filter_map(|part| directory.page_of(part)).collect(),
            Self::Tree(tree) => tree.metadata_pages(io),
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        match self {
            Self::Flat(directory) => ledger.structure("mapping.gmd", directory.bytes()),
            Self::Tree(tree) => tree.ram(ledger),
        }
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        if let Self::Tree(tree) = self {
            tree.counters(out);
        }
    }
}

impl Saved for TranslationTable {
    fn saved_bytes(&self) -> u64 {
        match self {
            Self::Flat(directory) => directory.saved_bytes(),
            Self::Tree(tree) => tree.root().len() as u64 * 4,
        }
    }

    fn save(&self, from: u64, page: &mut [u8]) {
        match self {
            Self::Flat(directory) => directory.save(from, page),
            Self::Tree(tree) => put_words(tree.root(), from, page),
        }
    }

    fn restore(&mut self, from: u64, page: &[u8]) {
        match self {
            Self::Flat(directory) => directory.restore(from, page),
            Self::Tree(tree) => take_words(tree.root_mut(), from, page),
        }
    }
}
