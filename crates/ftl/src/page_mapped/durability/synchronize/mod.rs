//! Synchronizing everything when the power is back (LazyFTL and IB-FTL as GeckoFTL sections 5.3 and 6 take them).
//!
//! While the drive serves, a mapping that limits its dirty entries writes into the spare area of each translation page from
//! where on to scan (`mapping/paged/scan_mark.rs`). Where a bitmap in RAM tells what is live, that is all. A page validity
//! log needs more (`young.rs`).

mod young;

pub(crate) use young::{YoungBlocks, young_blocks};

/// What tells which pages are live, and what is kept for it while the drive serves.
#[derive(Clone, Debug)]
pub(crate) enum Synchronizing {
    /// The translation table: it is read as a whole.
    ByTable,
    /// A page validity log.
    ByLog(YoungBlocks),
}
