//! The composition of an FTL from parts, and the parameters that change it.

mod by_name;
mod check;
mod composition;
mod error;
mod log_parts;
mod names;
mod page_parts;
mod parts;
mod power;
#[cfg(test)]
mod tests;
mod together;

pub use by_name::parameters;
pub use composition::Composition;
pub(crate) use composition::OnFlash;
pub use error::ConfigError;
pub use log_parts::{
    FastParts, FastSequential, LastBackground, LastParts, LogInstances, LogParts, LogScheme, MergeCosts,
    SuperblockParts, Switch, TrimPages,
};
pub use page_parts::PageParts;
pub(crate) use parts::{CACHE_MIN, LOOKS_MAX, TIMEOUT_MS};
pub use parts::{
    CollectionPart, DirectoryPart, DirtyLimit, ENTRY_BYTES, IntegrityPart, MappingPart, MetadataPart, OnMiss,
    PowerPart, Synchronize, ValidityPart, WearPart,
};

#[cfg(phelsuma_mutants)]
use crate::barriers::Barrier;
use crate::write_cache::WriteCache;
use alloc::string::{String, ToString};

/// An FTL with everything it needs besides the flash. Within a family the composition is that family's parts.
#[derive(Clone, PartialEq, Debug)]
pub struct Config<C = Composition> {
    /// The name the drive is formatted and recovered under: a preset's ([`Config::preset`]), or your own for your parts.
    pub name: String,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Seed of everything random in the FTL.
    pub seed: u64,
    /// Its parts.
    pub composition: C,
    /// The write cache above it, if there is one.
    pub write_cache: Option<WriteCache>,
    /// The barrier that this FTL forgets: for the proof that the crash laboratory notices.
    #[cfg(phelsuma_mutants)]
    pub forgets: Option<Barrier>,
}

impl<C> Config<C> {
    /// The FTL called `name` with these parts.
    pub fn new(name: &str, composition: C, logical_pages: u32, seed: u64) -> Self {
        Self {
            name: name.to_string(),
            logical_pages,
            seed,
            composition,
            write_cache: None,
            #[cfg(phelsuma_mutants)]
            forgets: None,
        }
    }
}
