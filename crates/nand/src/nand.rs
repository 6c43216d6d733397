//! The contract with a flash driver: the [`Nand`] trait.

use crate::{Block, Content, Geometry, Kind, Page, Purpose, Spare, Time};
use thiserror::Error;

/// When an operation may start, and why it is done.
///
/// `at` is a *promise about order*: the operation starts no earlier. Let its `at` be not earlier than the completion of
/// another. Then a power cut cannot leave its effect without that of the other. Two operations that may overlap may
/// each be found done, undone or torn, whatever the order of the calls. Barriers are made of `at` and of nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Not before this moment.
    pub at: Time,
    /// Why; for the statistics.
    pub purpose: Purpose,
}

impl Op {
    /// An operation for `purpose`, not before `at`.
    #[inline]
    pub fn new(at: Time, purpose: Purpose) -> Self {
        Self { at, purpose }
    }
}

/// What reading a page gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageRead<'a> {
    /// Data and spare area, after ECC. The bytes may still be wrong: [`PageRead::verified`].
    Written {
        /// The data; borrowed from the driver until its next operation.
        content: Content<'a>,
        /// The spare area; its own checksum fits.
        spare: Spare,
        /// Bits that the chip's ECC has corrected.
        corrected: u32,
        /// Whether the driver itself vouches that the data are those of [`Spare::data_crc`]. Where it does not, that is
        /// the reader's to find out.
        checked: bool,
    },
    /// All ones: nothing has been programmed here since the erase, as far as a read can show.
    Erased,
    /// ECC gave up, or the spare area's checksum does not fit.
    Unreadable,
}

impl<'a> PageRead<'a> {
    /// Data and spare where the data's CRC is the one in the spare area.
    #[inline]
    pub fn verified(self) -> Option<(Content<'a>, Spare)> {
        match self {
            Self::Written { content, spare, checked, .. } if checked || content.crc() == spare.data_crc => {
                Some((content, spare))
            }
            _ => None,
        }
    }

    /// The bytes, where their CRC fits and the spare area says that they are this part of this kind.
    #[inline]
    pub fn verified_as(self, kind: Kind, key: u32) -> Option<&'a [u8]> {
        match self.verified() {
            Some((Content::Bytes(bytes), spare)) if spare.kind == kind && spare.key == key => Some(bytes),
            _ => None,
        }
    }
}

/// What reading a spare area alone gave. It proves nothing about the page's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, crate::state::Preserve)]
pub enum SpareRead {
    /// The spare area; its own checksum fits.
    Written(Spare),
    /// All ones.
    Erased,
    /// The spare area itself cannot be corrected, or its checksum does not fit. Data that cannot be corrected are no
    /// reason: see [`Nand::read_spare`].
    Unreadable,
}

/// Why a program was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ProgramError {
    /// No such page.
    #[error("{0} is not on this chip")]
    NoSuchPage(Page),
    /// The page was programmed since its block's last erase.
    #[error("{0} is already programmed")]
    NotErased(Page),
    /// A later page of the block is already programmed.
    #[error("{0} lies before a page already programmed in its block")]
    OutOfOrder(Page),
    /// Data of another length than a page.
    #[error("{given} bytes for a page of {page}")]
    Length {
        /// Bytes given.
        given: usize,
        /// Bytes of a page.
        page: usize,
    },
    /// The block is marked bad.
    #[error("{0} is bad")]
    Bad(Block),
    /// The chip reports failure: the page is lost for use, and its block should be retired.
    #[error("programming {0} failed")]
    Failed(Page),
}

/// Why an erase was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum EraseError {
    /// No such block.
    #[error("{0} is not on this chip")]
    NoSuchBlock(Block),
    /// The block is marked bad.
    #[error("{0} is bad")]
    Bad(Block),
    /// The chip reports failure, or the block has had all its cycles: it should be retired.
    #[error("erasing {0} failed")]
    Failed(Block),
}

/// A flash chip set. The rules that an implementation keeps, and an FTL may rely on:
///
/// 1. **Erase before program.** A page can be programmed once after each erase of its block.
/// 2. **Ascending order.** Within a block pages are programmed in ascending order; pages may be left out, and then stay
///    out until the next erase.
/// 3. **Data and spare area are written together**, once, and never changed until the erase.
/// 4. **Nothing is done before its time** ([`Op::at`]); the moment returned is when the operation has completed and its
///    effect survives a power cut.
/// 5. **A block does one thing after the other**: an operation on it begins only when the one before it on the same
///    block has completed, whatever their times say. So of a block's pages a power cut can tear at most one, the last.
/// 6. **A violated rule is an error** and leaves the flash as it was; `Failed` may leave the page (or the whole block)
///    with any content.
/// 7. **A read changes nothing** that a later read could tell, except that cells torn by a power cut may read well now
///    and fail later.
/// 8. **Bad stays bad.** `is_bad` is true of factory-bad blocks from the first day, and of others after `mark_bad`,
///    over every power cut.
///
/// A driver that keeps bytes in a buffer lends it out with [`PageRead::Written`]; the borrow ends at its next
/// operation. A driver that has no clock returns `op.at` and completes every operation before it returns.
pub trait Nand {
    /// The chip set's shape; it never changes.
    fn geometry(&self) -> &Geometry;

    /// Reads a page: data and spare area. A page that is not on the chip reads as [`PageRead::Unreadable`].
    ///
    /// An FTL checks the data against [`Spare::data_crc`]; a driver need not.
    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time);

    /// Reads a spare area alone, on its own: where its checksum fits it is returned, even where the data of its page
    /// cannot be corrected.
    ///
    /// A recovery finds pages by their spare areas. A page whose spare area is [`SpareRead::Unreadable`] does not exist
    /// for it: an older version of the page comes back, or zeros, where the host should have had a read error.
    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time);

    /// Programs a page with its spare area; returns the moment it is safe.
    ///
    /// A driver takes [`Content::Bytes`] and [`Content::Hollow`], and programs the bytes that either stands for.
    ///
    /// # Errors
    /// [`ProgramError`]; rules violated leave the flash as it was.
    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError>;

    /// Erases a block; returns the moment it is done.
    ///
    /// # Errors
    /// [`EraseError`].
    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError>;

    /// Whether a block is bad, from the factory or by [`Nand::mark_bad`].
    fn is_bad(&self, block: Block) -> bool;

    /// The number that [`Spare::data_crc`] is to carry for these data: [`Content::crc`]. A driver that vouches for
    /// whatever it reads ([`PageRead::Written::checked`]) may give any.
    #[inline]
    fn crc(&self, content: Content<'_>) -> u32 {
        content.crc()
    }

    /// The FTL reads this page of metadata no more while it serves: a newer one stands for it, or will. A recovery may
    /// still read it. An emulation may let go of its data where there will be none; a chip does nothing.
    #[inline]
    fn stale(&mut self, page: Page) {
        let _ = page;
    }

    /// Pages that are likely to be read soon. An emulation may have their data fetched from the host's memory, all at a
    /// time; a chip does nothing. Nothing changes by it.
    fn warm(&self, pages: &[Page]) {
        let _ = pages;
    }

    /// The block, which has just been erased, is written with one bit a cell from now on and has room for so many pages; or,
    /// with none, as others are. With one bit, programs and reads are faster.
    ///
    /// A driver keeps the mode of each block over power cuts, as it keeps the marks of bad ones, or finds it when it reads. A
    /// chip without such a mode does nothing.
    fn set_one_bit(&mut self, block: Block, pages: Option<u32>) {
        let _ = (block, pages);
    }

    /// Retires a block for good. Its pages stay readable as far as they are.
    ///
    /// It cannot fail, and has no time of its own. A driver of real chips stores the mark before it returns, where
    /// neither a power cut nor an erase of that block takes it away. Where it cannot be stored, the block may be tried
    /// again after the next start.
    fn mark_bad(&mut self, block: Block);
}
