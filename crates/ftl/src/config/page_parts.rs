//! A page-mapped FTL as a composition of parts.

use super::parts::{IntegrityPart, MappingPart, MetadataPart, PowerPart, ValidityPart, WearPart};
use crate::policy::{PlacementSpec, VictimSpec, placements, victims};
use crate::spec::Chosen;

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
    pub victim: Chosen<VictimSpec>,
    /// Which stream a page is written to.
    pub placement: Chosen<PlacementSpec>,
    /// What becomes of blocks of metadata.
    pub metadata: MetadataPart,
    /// How a power cut is survived.
    pub power: PowerPart,
    /// Whether blocks are worn evenly.
    pub wear: WearPart,
}

impl PageParts {
    /// Mapping and validity in RAM, greedy, one stream, a scan after a power cut: what others are changed from.
    pub const PAGE: Self = Self {
        mapping: MappingPart::RamTable,
        integrity: IntegrityPart::NoFlush,
        validity: ValidityPart::RamBitmap,
        victim: victims::greedy::SPEC.chosen(),
        placement: placements::one_stream::SPEC.chosen(),
        metadata: MetadataPart::Collected,
        power: PowerPart::Scan,
        wear: WearPart::Nothing,
    };

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
