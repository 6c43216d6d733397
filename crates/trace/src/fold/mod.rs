//! Folding: from (device, byte) onto one dense space of logical pages.
//!
//! * `compact` (the default): a first pass over the trace collects which pages are read or written. They are numbered
//!   from 0 in ascending order of (device, address). So neighbours stay neighbours and no page of the drive is left
//!   unused in between.
//! * `wrap`: page numbers modulo the drive's size. Devices are kept apart: each gets an equal slice of the drive (in
//!   ascending order of device number) and wraps within it. A first pass finds out how many there are.
//!
//! Trims round inward to whole pages. Under `compact` only the part of a trim that is ever read or written exists. A
//! trim of nothing else is dropped and counted.

mod counts;
mod footprint;
mod numbering;
mod pages;
mod source;

pub use counts::{DropReason, FoldCounts};
pub use footprint::{FOOTPRINT_PAGES_MAX, Footprint};
pub use source::{FoldOptions, Opener, PageSource};

pub(crate) use crate::bounds::check_page_bytes;

/// How addresses become logical pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Pages that are used, numbered densely in order of (device, address).
    Compact,
    /// Page number modulo a drive of this many logical pages, each device in a slice of its own.
    Wrap {
        /// The drive's size in pages.
        logical_pages: u64,
    },
}
