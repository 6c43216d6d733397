//! NAND flash: the [`Nand`] trait that every FTL of this project stands on, and a simulated chip set.
//!
//! It has geometry, typed addresses and the spare area. [`SimNand`] enforces a chip's rules, keeps time by dies and
//! channels, and can be torn at any operation.
//!
//! This crate must not depend on anything of logical structures, mappings or garbage collection. It is `no_std` with
//! `alloc`; the feature `std` (on by default) only lets the CRC use the host's instructions.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;
// Derived code names the crate as others do.
extern crate self as phelsuma_nand;
#[cfg(all(test, not(feature = "std")))]
extern crate std;

mod address;
mod content;
mod geometry;
mod nand;
mod observe;
mod purpose;
pub mod sim;
mod spare;

pub mod state;
mod stats;
mod time;

pub use address::{Block, LogicalPage, Page};
pub use content::Content;
pub use geometry::{Geometry, GeometryError, SPARE_BYTES_MIN};
pub use nand::{EraseError, Nand, Op, PageRead, ProgramError, SpareRead};
pub use observe::{Action, Event, Observer};
pub use purpose::Purpose;
pub use sim::SimNand;
pub use spare::{CLOCK_MAX, Kind, Spare, SpareError};
pub use stats::{ChannelStats, FlashStats, OpCounts};
pub use time::{TIMINGS, Time, Timing};
