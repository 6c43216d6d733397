//! The contract with a flash driver, and a chip's shape.

/// Bytes of metadata beside each page: in its spare area, or the last ones of the page.
pub const META_BYTES: usize = 16;

/// Where the [`META_BYTES`] of a page stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetaPlace {
    /// In the spare area, where ECC protects them. A host page has as many bytes as a flash page.
    Spare,
    /// In the last bytes of the page, for chips whose spare area is not to be had. A host page has 16 bytes less.
    InPage,
}

/// The shape of a chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chip {
    /// Bytes of a page without its spare area: a power of two, 512 to 16,384.
    pub page_bytes: u32,
    /// Pages of a block: a power of two, 4 to 256.
    pub pages_per_block: u32,
    /// Blocks, bad ones included: 8 to 65,536.
    pub blocks: u32,
    /// Where metadata stand.
    pub meta: MetaPlace,
}

impl Chip {
    /// A chip like Winbond's W25N01GV: 128 MiB, 1,024 blocks of 64 pages of 2 KiB.
    pub const W25N01GV: Self = Self { page_bytes: 2048, pages_per_block: 64, blocks: 1024, meta: MetaPlace::Spare };

    /// Bytes of a host page.
    pub const fn data_bytes(&self) -> u32 {
        match self.meta {
            MetaPlace::Spare => self.page_bytes,
            MetaPlace::InPage => self.page_bytes.saturating_sub(META_BYTES as u32),
        }
    }

    /// Pages of the chip, those of bad blocks included.
    pub const fn pages(&self) -> u32 {
        self.blocks.saturating_mul(self.pages_per_block)
    }
}

/// A page that cannot be read: more bits are wrong than ECC corrects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uncorrectable;

/// A program or an erase that the chip reports as failed. The page, or the block, may have any content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failed;

/// A driver for one chip. The rules that it keeps:
///
/// 1. Each operation is complete when its call returns. A power cut meets one operation at the most.
/// 2. A page is programmed once after an erase of its block, pages of a block in ascending order.
/// 3. Data and spare area are programmed together, and have an ECC each, or one in common.
/// 4. An erased page reads as ones, its spare area too.
/// 5. A bad block stays bad over power cuts ([`Flash::mark_bad`]).
pub trait Flash {
    /// Reads bytes of a page from `column` on, and its 16 bytes of spare area if they are asked for. `data` may be empty:
    /// then the spare area alone counts. Returns how many bits ECC has corrected.
    ///
    /// # Errors
    /// [`Uncorrectable`].
    fn read(
        &mut self,
        page: u32,
        column: u32,
        data: &mut [u8],
        spare: Option<&mut [u8; META_BYTES]>,
    ) -> Result<u32, Uncorrectable>;

    /// Programs a page, and its spare area if there is one to be programmed ([`MetaPlace::Spare`]).
    ///
    /// # Errors
    /// [`Failed`].
    fn program(&mut self, page: u32, data: &[u8], spare: Option<&[u8; META_BYTES]>) -> Result<(), Failed>;

    /// Erases a block.
    ///
    /// # Errors
    /// [`Failed`].
    fn erase(&mut self, block: u32) -> Result<(), Failed>;

    /// Whether a block is bad, from the factory or by [`Flash::mark_bad`].
    fn is_bad(&mut self, block: u32) -> bool;

    /// Retires a block for good. Its pages are not read again once the next checkpoint is written.
    fn mark_bad(&mut self, block: u32);
}
