//! The page validity bitmap in flash: a bit a physical page, set when the page becomes stale (GeckoFTL section 2).
//!
//! Every page that becomes stale costs one read and one program, which is what Logarithmic Gecko is measured against.
//! The bits of an erased block are cleared together with the next change of the same bitmap page: until then the block
//! is remembered in RAM, so that an erase costs no program of its own.

use super::{Answer, RamBitmap, Validity};
use crate::page_mapped::directory::{Directory, PartRead};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::needs::Needs;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

/// How many erased blocks are remembered at the most.
const ERASED_MAX: usize = 1024;

/// A bitmap in flash, and the directory of its pages.
#[derive(Clone, Preserve)]
pub(crate) struct FlashBitmap {
    directory: Directory,
    blocks_per_page: u32,
    pages_per_block: u32,
    /// Erased blocks whose bits are still set.
    erased: Vec<Block>,
    page: Vec<u8>,
    /// A part could not be read: from now on only the mapping decides which pages are live.
    damaged: bool,
    updates: u64,
    queries: u64,
}

fn blocks_per_page(geometry: &Geometry) -> u32 {
    (geometry.page_bytes() * 8 / geometry.pages_per_block()).max(1)
}

/// Pages of the bitmap of a drive.
fn bitmap_pages(geometry: &Geometry) -> u32 {
    geometry.blocks().div_ceil(blocks_per_page(geometry))
}

impl FlashBitmap {
    /// A bitmap of a drive on which nothing is stale.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self {
            directory: Directory::new(Kind::Bitmap, bitmap_pages(geometry)),
            blocks_per_page: blocks_per_page(geometry),
            pages_per_block: geometry.pages_per_block(),
            erased: Vec::new(),
            page: vec![0; geometry.page_bytes() as usize],
            damaged: false,
            updates: 0,
            queries: 0,
        }
    }

    /// Its needs of flash where one collection can report so many pages as stale: each is a program.
    ///
    /// # Errors
    /// A page has no room for the bits of a block.
    pub(crate) fn needs(geometry: &Geometry, reports: u64) -> Result<Needs, FtlError> {
        if geometry.pages_per_block() > geometry.page_bytes() * 8 {
            return Err(FtlError::Unsupported("a bitmap in flash needs pages with a bit for each page of a block"));
        }
        let pages = u64::from(bitmap_pages(geometry));
        // On battery each page is written once at the most; and their directory.
        let battery = pages + (pages * 4).div_ceil(u64::from(geometry.page_bytes()));
        Ok(Needs { live_pages: pages, programs: reports, battery, ..Needs::default() })
    }

    fn part_of(&self, block: Block) -> u32 {
        block.0 / self.blocks_per_page
    }

    /// The block's first bit in its bitmap page.
    fn first_bit(&self, block: Block) -> u32 {
        let first = block.0 % self.blocks_per_page * self.pages_per_block;
        debug_assert!(
            (first + self.pages_per_block).div_ceil(8) as usize <= self.page.len(),
            "bits are behind their page"
        );
        first
    }

    /// Reads a bitmap page, applies the pending reports, and `change`, and writes it.
    fn update<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        part: u32,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<(), FtlError> {
        match self.directory.read(io, part) {
            PartRead::Bytes(bytes, _) => self.page.copy_from_slice(bytes),
            PartRead::Nowhere => self.page.fill(0),
            PartRead::Unreadable => {
                self.damaged = true;
                self.page.fill(0);
            }
        }
        let mut at = 0;
        while at < self.erased.len() {
            let block = self.erased[at];
            if self.part_of(block) == part {
                let first = self.first_bit(block);
                for bit in first..first + self.pages_per_block {
                    self.page[bit as usize / 8] &= !(1 << (bit % 8));
                }
                self.erased.swap_remove(at);
            } else {
                at += 1;
            }
        }
        change(&mut self.page);
        let version = io.next_version();
        let written = self.directory.write(io, part, version, &self.page);
        // A page that could not be written is in no record.
        self.damaged |= written.is_err();
        self.updates += 1;
        written.map(drop)
    }

    /// A block was erased; [`Self::save`] is to come.
    pub(crate) fn erased_on_battery(&mut self, block: Block) {
        if !self.erased.contains(&block) {
            self.erased.push(block);
        }
    }

    /// Makes everything durable at one program a bitmap page: erases that are not in it, and these stale pages.
    pub(crate) fn save<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, stale: &mut Vec<Page>) -> Result<(), FtlError> {
        let geometry = *io.geometry();
        stale.sort_unstable();
        let mut rest = stale.as_slice();
        for part in 0..self.directory.parts() {
            let end = rest.partition_point(|page| self.part_of(geometry.block_of(*page)) <= part);
            let (here, behind) = rest.split_at(end);
            rest = behind;
            if here.is_empty() && !self.erased.iter().any(|block| self.part_of(*block) == part) {
                continue;
            }
            let (blocks_per_page, pages_per_block) = (self.blocks_per_page, self.pages_per_block);
            self.update(io, part, |bytes| {
                for page in here {
                    let first = geometry.block_of(*page).0 % blocks_per_page * pages_per_block;
                    let bit = first + geometry.index_of(*page);
                    bytes[bit as usize / 8] |= 1 << (bit % 8);
                }
            })?;
        }
        debug_assert!(rest.is_empty(), "stale pages are in no part of the bitmap");
        stale.clear();
        Ok(())
    }

    /// Of all blocks in `live` it is known which of their pages are: writes the bitmap anew. Pages in other blocks do
    /// not matter, since those are erased before they are used. How many pages were written.
    pub(crate) fn rebuild<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        is_used: impl Fn(Block) -> bool,
        live: &RamBitmap,
    ) -> u64 {
        let mut written = 0;
        let mut of_block = Vec::new();
        let blocks = io.geometry().blocks();
        for part in 0..self.directory.parts() {
            let first = part * self.blocks_per_page;
            self.page.fill(0);
            let mut is_wanted = false;
            for block in (first..blocks.min(first + self.blocks_per_page)).map(Block).filter(|block| is_used(*block)) {
                is_wanted = true;
                of_block.clear();
                live.live_pages(block, &mut of_block);
                debug_assert!(of_block.is_sorted(), "the live pages of a block are not in order");
                let first = self.first_bit(block);
                for index in (0..self.pages_per_block as u16).filter(|index| of_block.binary_search(index).is_err()) {
                    let bit = first + u32::from(index);
                    self.page[bit as usize / 8] |= 1 << (bit % 8);
                }
            }
            if is_wanted {
                let version = io.next_version();
                // Where there is no room, only the mapping decides from now on.
                self.damaged |= self.directory.write(io, part, version, &self.page).is_err();
                written += 1;
            }
        }
        written
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn directory_mut(&mut self) -> &mut Directory {
        &mut self.directory
    }
}

impl Validity for FlashBitmap {
    fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        let geometry = *io.geometry();
        let block = geometry.block_of(page);
        let bit = self.first_bit(block) + geometry.index_of(page);
        self.update(io, self.part_of(block), |bytes| bytes[bit as usize / 8] |= 1 << (bit % 8))
    }

    fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.invalidate(io, page)
    }

    fn erased<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        debug_assert!(self.erased.len() <= ERASED_MAX, "more erased blocks are remembered than there is room for");
        if !self.erased.contains(&block) {
            self.erased.push(block);
        }
        if self.erased.len() > ERASED_MAX { self.update(io, self.part_of(self.erased[0]), |_| ()) } else { Ok(()) }
    }

    fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        self.queries += 1;
        let all = 0..self.pages_per_block as u16;
        if self.erased.contains(&block) {
            out.extend(all);
            return Answer::NotKnownStale;
        }
        let first = self.first_bit(block);
        match self.directory.read(io, self.part_of(block)) {
            PartRead::Bytes(bytes, _) => {
                out.extend(all.filter(|index| {
                    let bit = first + u32::from(*index);
                    bytes[bit as usize / 8] >> (bit % 8) & 1 == 0
                }));
            }
            PartRead::Nowhere => out.extend(all),
            PartRead::Unreadable => {
                self.damaged = true;
                out.extend(all);
            }
        }
        if self.damaged { Answer::Uncertain } else { Answer::NotKnownStale }
    }

    fn flush<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        while let Some(block) = self.erased.first() {
            self.update(io, self.part_of(*block), |_| ())?;
        }
        Ok(())
    }

    fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        self.directory.relocate(io, victim, &mut self.page)
    }

    fn metadata_pages(&self) -> Vec<Page> {
        (0..self.directory.parts()).filter_map(|part| self.directory.page_of(part)).collect()
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("validity.directory", self.directory.bytes());
        ledger.structure("validity.erased", self.erased.capacity() as u64 * 4);
        ledger.index("buffer.bitmap_page", self.page.capacity() as u64);
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([Counter::sum("bitmap_updates", self.updates), Counter::sum("bitmap_queries", self.queries)]);
    }
}
