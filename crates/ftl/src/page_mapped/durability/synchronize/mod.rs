//! Synchronizing everything at the mount (LazyFTL and IB-FTL as GeckoFTL sections 5.3 and 6 have them).
//!
//! While the drive serves, a mapping that limits its dirty entries marks from where on to scan. The mark is in the
//! spare area of each translation page (`mapping/paged/scan_mark.rs`). With a bitmap of live pages in RAM that is all.
//! A page validity log needs more (`young.rs`).

use phelsuma_nand::state::Preserve;

mod by_log;
mod by_table;
mod fallbacks;
mod found;
mod gathered;
mod live_by;
mod recover;
mod translation;
mod user_pages;
mod write;
mod young;

pub(super) use by_log::LiveByLog;
pub(super) use by_table::LiveByTable;
pub(super) use found::FoundEntries;
pub(super) use gathered::Gathered;
pub(super) use recover::recover;
pub(crate) use young::{YoungBlocks, young_blocks};

/// The source for which pages are live, and its state while the drive serves.
#[derive(Clone, Debug, Preserve)]
pub(crate) enum Synchronizing {
    /// The translation table: it is read as a whole.
    ByTable,
    /// A page validity log.
    ByLog(YoungBlocks),
}
