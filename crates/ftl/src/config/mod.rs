//! What an FTL is put together from, and the parameters that change it.

mod check;
mod composition;
mod error;
mod knowledge;
mod log_block;
mod mu_tree;
mod names;
mod parameters;
mod parts;
mod policies;
mod power;
mod set;
mod set_all;

pub use composition::Composition;
pub(crate) use composition::OnFlash;
pub use error::ConfigError;
pub use knowledge::Knowledge;
pub use log_block::{LastBackground, LastParts, LogInstances, LogParts, LogScheme, SuperblockParts};
pub use parameters::PARAMETERS;
pub(crate) use parts::{
    B_TREE, DAC, DUAL_GREEDY, GECKO, LAZY, LOOKS_MAX, MIDAS, MU_BITMAPS, MU_TREE, ORACLE, PARTITIONS, SAMPLE_MIN,
    SEPBIT, STATIC_QUOTA, TIMEOUT_MS,
};
pub use parts::{
    DAC_REGIONS_MAX, DirectoryPart, DirtyLimit, ENTRY_BYTES, GeckoMerge, IntegrityPart, MIDAS_GROUPS_MAX, MappingPart,
    MetadataPart, ORACLE_WINDOWS_MAX, OnMiss, PARTITIONS_MAX, PageTimes, PlacementPart, QUOTA_CLASSES_MAX, Synchronize,
    UnknownOld, ValidityPart, VictimPart, WearPart,
};
pub use power::PowerPart;

#[cfg(phelsuma_mutants)]
use crate::barriers::Barrier;
use crate::barriers::Barriers;
use alloc::string::{String, ToString};

/// A page-mapped FTL as a composition of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageParts {
    /// Where each logical page is.
    pub mapping: MappingPart,
    /// When dirty entries of a demand-paged mapping are written to flash.
    pub integrity: IntegrityPart,
    /// Which physical pages are live.
    pub validity: ValidityPart,
    /// Which block is collected next.
    pub victim: VictimPart,
    /// Which stream a page is written to.
    pub placement: PlacementPart,
    /// What becomes of blocks of metadata.
    pub metadata: MetadataPart,
    /// How a power cut is survived.
    pub power: PowerPart,
    /// Whether blocks are worn evenly.
    pub wear: WearPart,
}

impl PageParts {
    /// The entries that its mapping caches, 0 for the default; none where it has no cache.
    pub fn cache_entries(&self) -> Option<u32> {
        match self.mapping {
            MappingPart::RamTable | MappingPart::MuTree { .. } => None,
            MappingPart::Paged { cache_entries, .. } => Some(cache_entries),
        }
    }

    /// Whether it has a cache of mapping entries.
    pub fn has_cache(&self) -> bool {
        self.cache_entries().is_some()
    }
}

/// An FTL with everything it needs to know besides the flash. Within a family the composition is that family's parts.
#[derive(Clone, PartialEq, Debug)]
pub struct Config<C = Composition> {
    /// The name the drive is formatted under: a preset's.
    pub name: String,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Seed of everything random in the FTL.
    pub seed: u64,
    /// Its parts.
    pub composition: C,
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
            #[cfg(phelsuma_mutants)]
            forgets: None,
        }
    }

    /// The same FTL, seen as its family sees it.
    pub(crate) fn of<P>(&self, parts: P) -> Config<P> {
        Config {
            name: self.name.clone(),
            logical_pages: self.logical_pages,
            seed: self.seed,
            composition: parts,
            #[cfg(phelsuma_mutants)]
            forgets: self.forgets,
        }
    }

    pub(crate) fn barriers(&self) -> Barriers {
        Barriers {
            #[cfg(phelsuma_mutants)]
            forgets: self.forgets,
        }
    }
}
