//! Synchronizing everything when the power is back (LazyFTL and IB-FTL as GeckoFTL sections 5.3 and 6 take them).
//!
//! While the drive serves, a mapping that limits its dirty entries writes into the spare area of each translation page from
//! where on to scan (`mapping/paged/scan_mark.rs`). Where a bitmap in RAM tells what is live, that is all. A page validity
//! log needs more (`young.rs`).

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

/// What tells which pages are live, and what is kept for it while the drive serves.
#[derive(Clone, Debug)]
pub(crate) enum Synchronizing {
    /// The translation table: it is read as a whole.
    ByTable,
    /// A page validity log.
    ByLog(YoungBlocks),
}
