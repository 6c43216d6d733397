//! The page validity bitmap (PVB) in RAM: a bit a physical page (GeckoFTL section 2).

use super::{Answer, Validity};
use crate::medium::Saved;
use crate::page_mapped::meta_io::MetaIo;
use crate::{FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Nand, Page};

/// A bit for each physical page, set while the page is live.
#[derive(Clone, Preserve)]
pub(crate) struct RamBitmap {
    words: Vec<u64>,
    numbers_per_block: usize,
    pages: u64,
}

impl RamBitmap {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        debug_assert!(geometry.page_numbers_per_block().is_power_of_two(), "the bits of a block are in parts of words");
        Self {
            words: vec![0; geometry.page_numbers().div_ceil(64)],
            numbers_per_block: geometry.page_numbers_per_block(),
            pages: geometry.pages(),
        }
    }

    #[inline]
    pub(crate) fn clear(&mut self, page: Page) {
        let word = &mut self.words[page.index() / 64];
        debug_assert!(*word >> (page.0 % 64) & 1 == 1, "{page} was not live");
        *word &= !(1 << (page.0 % 64));
    }

    #[inline]
    pub(crate) fn is_live(&self, page: Page) -> bool {
        self.words[page.index() / 64] >> (page.0 % 64) & 1 == 1
    }

    pub(crate) fn live_pages(&self, block: Block, out: &mut Vec<u16>) {
        let first = block.index() * self.numbers_per_block;
        if self.numbers_per_block < 64 {
            let bits = self.words[first / 64] >> (first % 64) & ((1 << self.numbers_per_block) - 1);
            push_bits(bits, 0, out);
            return;
        }
        for (n, word) in self.words[first / 64..(first + self.numbers_per_block) / 64].iter().enumerate() {
            push_bits(*word, n as u16 * 64, out);
        }
    }
}

impl Validity for RamBitmap {
    fn is_on_flash(&self) -> bool {
        false
    }

    #[inline]
    fn validate(&mut self, page: Page) {
        let word = &mut self.words[page.index() / 64];
        debug_assert!(*word >> (page.0 % 64) & 1 == 0, "{page} was live already");
        *word |= 1 << (page.0 % 64);
    }

    #[inline]
    fn invalidate<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.clear(page);
        Ok(())
    }

    #[inline]
    fn leave(&mut self, _geometry: &Geometry, page: Page) {
        self.clear(page);
    }

    fn failed<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _page: Page) -> Result<(), FtlError> {
        Ok(())
    }

    fn erased<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _block: Block) -> Result<(), FtlError> {
        Ok(())
    }

    #[inline]
    fn touch(&self, page: Page) -> bool {
        self.is_live(page)
    }

    fn live_in<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        self.live_pages(block, out);
        Answer::Exact
    }

    fn ram(&self, ledger: &mut RamLedger) {
        let bits = self.pages.div_ceil(8);
        ledger.structure("validity.bitmap", bits);
        // Whole words, and page numbers that no page has where a block's pages are no power of two.
        ledger.index("index.bitmap_padding", self.words.len() as u64 * 8 - bits);
    }
}

/// The size of a bitmap where it is saved.
pub(crate) fn saved_bytes(geometry: &Geometry) -> u64 {
    geometry.page_numbers().div_ceil(64) as u64 * 8
}

impl Saved for RamBitmap {
    fn saved_bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    fn save(&self, from: u64, page: &mut [u8]) {
        page.fill(0);
        for (word, to) in self.words.iter().skip(from as usize / 8).zip(page.chunks_exact_mut(8)) {
            to.copy_from_slice(&word.to_le_bytes());
        }
    }

    fn restore(&mut self, from: u64, page: &[u8]) {
        for (word, bytes) in self.words.iter_mut().skip(from as usize / 8).zip(page.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }
}

fn push_bits(mut bits: u64, offset: u16, out: &mut Vec<u16>) {
    while bits != 0 {
        out.push(offset + bits.trailing_zeros() as u16);
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_pages_of_a_block_are_its_own() {
        for pages_per_block in [16, 32, 64, 100, 128, 256] {
            let g = Geometry::new(4096, pages_per_block, 8, 1, 1).unwrap();
            let mut bitmap = RamBitmap::new(&g);
            for block in 0..8 {
                bitmap.validate(g.page(Block(block), block));
                bitmap.validate(g.page(Block(block), pages_per_block - 1));
            }
            bitmap.clear(g.page(Block(3), 3));
            let mut live = Vec::new();
            bitmap.live_pages(Block(4), &mut live);
            assert_eq!(live, [4, pages_per_block as u16 - 1]);
            live.clear();
            bitmap.live_pages(Block(3), &mut live);
            assert_eq!(live, [pages_per_block as u16 - 1]);
        }
    }
}
