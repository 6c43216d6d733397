//! Errors of an FTL.

use alloc::string::String;
use core::fmt;
use phelsuma_nand::{EraseError, ProgramError};
use thiserror::Error;

/// Blocks that user data cannot have, by what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetAside {
    /// Kept free for collection and for what crashes leave behind.
    pub reserve_blocks: u32,
    /// Open for writing.
    pub open_blocks: u32,
    /// For metadata.
    pub metadata_blocks: u32,
    /// As many as there can be stale user pages that are not identified yet.
    pub unidentified_blocks: u32,
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reserve_blocks, open_blocks, metadata_blocks, unidentified_blocks } = self;
        write!(f, "{reserve_blocks} reserve blocks, {open_blocks} open ones")?;
        match unidentified_blocks {
            0 => write!(f, " and {metadata_blocks} for metadata"),
            _ => write!(
                f,
                ", {metadata_blocks} for metadata and {unidentified_blocks} for stale pages not identified yet (a page for \
                 each entry of the cache: mapping.cache)"
            ),
        }
    }
}

/// What can go wrong in an FTL.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FtlError {
    /// A request past the end of the logical space.
    #[error("logical pages {first} to {last} of a drive that has {logical_pages}")]
    OutOfRange {
        /// First requested page.
        first: u64,
        /// Last requested page.
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
    /// The logical space and the FTL's own needs do not fit the flash.
    #[error(
        "{logical_pages} logical pages do not fit: {set_aside} leave room for {usable_pages}; the largest ratio that fits \
         is {largest_ratio:.4}"
    )]
    DoesNotFit {
        /// Requested logical pages.
        logical_pages: u32,
        /// The FTL's own needs.
        set_aside: SetAside,
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
    /// No data were ever written to this flash, or a format has erased them all and was cut before its end: it wants a
    /// format.
    #[error("the flash is blank: format it first")]
    Blank,
    /// A page is not blank, but no description of the drive can be read: both copies have gone bad, or a format was cut
    /// while it erased. To format such a drive is the decision of its owner.
    #[error("the flash holds data, but neither copy of the drive's description can be read")]
    Lost,
    /// The drive on the flash is another than the configuration says.
    #[error("the drive on this flash has {what} {found}, the configuration says {expected}")]
    OtherDrive {
        /// What differs.
        what: &'static str,
        /// By the flash.
        found: String,
        /// By the configuration.
        expected: String,
    },
    /// The design does not do this.
    #[error("{0}")]
    Unsupported(&'static str),
}
