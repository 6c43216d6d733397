//! The medium: the floor of both families of FTLs, which depends on neither.
//!
//! It holds:
//! - the drive's description and its two clocks;
//! - what a page to be programmed carries, and which part owns which bits of a spare area;
//! - whether there is a block log;
//! - state of RAM that is written down under a seal;
//! - free blocks, blocks that fail, and what kind of pages blocks hold;
//! - a host's read;
//! - what a recovery's functions are lent.

pub(crate) mod anchor;
mod clock;
mod failures;
mod first_pages;
mod free_pool;
mod good_blocks;
mod holds;
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
pub(crate) use holds::{BLOCKS_A_BYTE, Holds, HoldsOfBlocks, unpacked};
pub(crate) use new_page::NewPage;
pub(crate) use phase::Phase;
pub(crate) use sealed::{Saved, put_words, sealed, take_words};
pub(crate) use session::Session;
pub(crate) use steps::{Owned, Steps};
