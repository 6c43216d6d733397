//! The flash as a file that outlives the process: [`ImageNand`].
//!
//! A drive image holds the physical pages of a drive, their spare areas, and what the drive was formatted as.
//! `docs/IMAGE.md` says what each byte of it is, and why it is so. In short:
//!
//! - Every program and erase has a number. A page's record carries the number of its program and that of the erase that
//!   began its block. So an erase is one small write and leaves old contents in place.
//! - A block stands in a *slot* of the file. An erase gives it another slot. The old one is used again only when the
//!   header that says so is on disk. So no write ever destroys what a host crash may fall back to, and an `fdatasync`
//!   is needed once for many erases.
//! - After a crash the operations that are there without a gap count, and later ones are undone. So an FTL finds a
//!   prefix of its operations, as [`Nand`](phelsuma_nand::Nand) promises.

mod census;
mod durability;
mod error;
mod file;
mod gecko_runs;
mod header;
mod last_stop;
mod layout;
mod nand;
mod open;
mod overlay;
mod parts;
mod plug;
mod record;
mod rollback;
mod storage;

#[cfg(test)]
mod tests;

pub use census::{BlocksOf, Census, Wear};
pub use durability::Durability;
pub use error::ImageError;
pub use file::ImageFile;
pub use gecko_runs::Run;
pub use last_stop::{BATTERY_SAVED_NOTHING, LastStop};
pub use nand::{FileCounts, ImageNand};
pub use open::{CreateOptions, SPARE_SLOTS_MAX, spare_slots};
pub use overlay::Overlay;
pub use plug::FaultPlan;
pub use rollback::RollBack;
pub use storage::{AnyStorage, Storage};
