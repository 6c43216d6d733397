//! What can go wrong in an FTL.

use alloc::string::String;
use phelsuma_nand::{EraseError, ProgramError};
use thiserror::Error;

/// What can go wrong in an FTL.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FtlError {
    /// A request past the end of the logical space.
    #[error("logical pages {first} to {last} of a drive that has {logical_pages}")]
    OutOfRange {
        /// First page asked for.
        first: u64,
        /// Last page asked for.
        last: u64,
        /// Logical pages of the drive.
        logical_pages: u32,
    },
    /// Data whose length is not that of the pages written.
    #[error("{given} bytes for {pages} pages of {page_bytes} bytes")]
    Length {
        /// Bytes given.
        given: usize,
        /// Pages written.
        pages: u32,
        /// Bytes of a page.
        page_bytes: u32,
    },
    /// The logical space, the reserve and the open blocks do not fit the flash.
    #[error(
        "{logical_pages} logical pages do not fit: {reserve_blocks} reserve blocks and {open_blocks} open ones leave room for \
         {usable_pages}; the largest ratio that fits is {largest_ratio:.4}"
    )]
    DoesNotFit {
        /// Logical pages asked for.
        logical_pages: u32,
        /// Blocks kept free for collection and for what crashes leave behind.
        reserve_blocks: u32,
        /// Blocks that are open for writing.
        open_blocks: u32,
        /// Logical pages that would fit.
        usable_pages: u64,
        /// The same over all physical pages.
        largest_ratio: f64,
    },
    /// No free block is left: more blocks have gone bad than the spare space bears.
    #[error("no free block is left ({bad_blocks} blocks are bad)")]
    Full {
        /// Blocks that are bad.
        bad_blocks: u32,
    },
    /// The chip refused a program that the FTL believed allowed: a defect of the FTL or of the driver.
    #[error("flash refused: {0}")]
    Program(#[from] ProgramError),
    /// The chip refused an erase that the FTL believed allowed.
    #[error("flash refused: {0}")]
    Erase(#[from] EraseError),
    /// Nothing was ever written to this flash: it wants a format.
    #[error("the flash is blank: format it first")]
    Blank,
    /// There are data on the flash, but no description of the drive can be read.
    #[error("the flash holds data, but neither copy of the drive's description can be read")]
    Lost,
    /// The drive on the flash is another than the configuration says.
    #[error("the drive on this flash has {what} {found}, the configuration says {expected}")]
    OtherDrive {
        /// What differs.
        what: &'static str,
        /// What the flash says.
        found: String,
        /// What the configuration says.
        expected: String,
    },
    /// The design does not do this.
    #[error("{0}")]
    Unsupported(&'static str),
}
