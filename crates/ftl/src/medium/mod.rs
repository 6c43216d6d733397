//! What both families stand on: the drive's description, its two clocks, what a page to be programmed carries, what RAM
//! writes down under a seal, who owns which bits of a spare area, free blocks and blocks that fail, a host's read, and what a
//! recovery's functions are lent.
//!
//! It knows of neither family.

pub(crate) mod anchor;
mod clock;
mod failures;
mod first_pages;
mod free_pool;
mod good_blocks;
pub(crate) mod host_read;
pub(crate) mod marks;
mod new_page;
mod phase;
mod sealed;
mod session;
mod steps;

pub(crate) use clock::{Clock, EPOCH, window};
pub(crate) use failures::Failures;
pub(crate) use first_pages::FirstPages;
pub(crate) use free_pool::FreePool;
pub(crate) use good_blocks::{bad_blocks, usable_blocks};
pub(crate) use new_page::NewPage;
pub(crate) use phase::Phase;
pub(crate) use sealed::{Saved, put_words, sealed, take_words};
pub(crate) use session::Session;
pub(crate) use steps::{Owned, Steps};
