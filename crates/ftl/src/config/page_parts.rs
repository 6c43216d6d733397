//! A page-mapped FTL as a composition of parts, and its rows.

use super::ConfigError;
use super::by_name::Parts;
use super::parts::{
    CollectionPart, DirectoryPart, DirtyLimit, IntegrityPart, MappingPart, MetadataPart, PAGED, PowerPart,
    ValidityPart, WearPart,
};
use crate::policy::registered::{placements, victims};
use crate::policy::{PlacementSpec, VictimSpec};
use crate::policy::{placements as of_placement, victims as of_victim};
use crate::slc_part::SlcPart;
use crate::spec::{Chosen, Open, Part, Row, Stated};
use alloc::string::ToString;

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
    /// How much of a collection a write waits for.
    pub collection: CollectionPart,
    /// How a power cut is survived.
    pub power: PowerPart,
    /// Whether the host's writes go to blocks in one-bit mode first.
    pub slc: SlcPart,
    /// Whether blocks are worn evenly.
    pub wear: WearPart,
}

impl PageParts {
    /// Mapping and validity in RAM, greedy, one stream, a scan after a power cut: what others are changed from.
    pub const PAGE: Self = Self {
        mapping: MappingPart::RamTable,
        integrity: IntegrityPart::NoFlush,
        validity: ValidityPart::RamBitmap,
        victim: of_victim::greedy::SPEC.chosen(),
        placement: of_placement::one_stream::SPEC.chosen(),
        metadata: MetadataPart::Collected,
        collection: CollectionPart::Whole,
        power: PowerPart::Scan,
        slc: SlcPart::Nothing,
        wear: WearPart::Nothing,
    };
}

impl Parts for PageParts {
    fn rows() -> impl Iterator<Item = Row<Self>> {
        let victim = Row::<Self>::Open(Open {
            name: "victim",
            about: "which block is collected next",
            all: || victims().map(|part| &part.spec).collect(),
            choose: |parts, place| parts.victim = victims().nth(place).map_or(parts.victim, |part| part.chosen()),
            settings: |parts| parts.victim.settings("victim"),
            find: |parts, name| parts.victim.find(name),
        });
        let placement = Row::<Self>::Open(Open {
            name: "placement",
            about: "which stream a page is written to",
            all: || placements().map(|part| &part.spec).collect(),
            choose: |parts, place| {
                parts.placement = placements().nth(place).map_or(parts.placement, |part| part.chosen());
            },
            settings: |parts| parts.placement.settings("placement"),
            find: |parts, name| parts.placement.find(name),
        });
        Row::<Self>::part::<MappingPart>(|parts, name| parts.mapping.at(name))
            .chain(Row::<Self>::group::<DirtyLimit>(PAGED, |parts, name| match &mut parts.mapping {
                MappingPart::Paged { dirty, .. } => dirty.param(name),
                _ => None,
            }))
            .chain(Row::<Self>::part::<DirectoryPart>(|parts, name| match &mut parts.mapping {
                MappingPart::Paged { directory, .. } => directory.at(name),
                _ => None,
            }))
            .chain(Row::<Self>::part::<IntegrityPart>(|parts, name| parts.integrity.at(name)))
            .chain(Row::<Self>::part::<ValidityPart>(|parts, name| parts.validity.at(name)))
            .chain([victim, placement])
            .chain(Row::<Self>::part::<MetadataPart>(|parts, name| parts.metadata.at(name)))
            .chain(Row::<Self>::part::<CollectionPart>(|parts, name| parts.collection.at(name)))
            .chain(Row::<Self>::part::<PowerPart>(|parts, name| parts.power.at(name)))
            .chain(Row::<Self>::part::<SlcPart>(|parts, name| parts.slc.at(name)))
            .chain(Row::<Self>::part::<WearPart>(|parts, name| parts.wear.at(name)))
    }

    fn follows(&mut self) {
        if !matches!(self.mapping, MappingPart::Paged { .. }) {
            self.integrity = IntegrityPart::NoFlush;
        }
    }

    /// The parts may rule out the present recovery scheme. If no other was requested, power cuts are not survived then.
    fn settle(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        if let Some((name, value, right)) = self.why_not_together().or_else(|| self.why_no_log()) {
            return Err(ConfigError::BadValue { name: name.into(), value, right });
        }
        let Some(why) = self.why_not_survivable().filter(|_| self.power != PowerPart::Nothing) else { return Ok(()) };
        match settings.iter().find(|(name, _)| *name == "power") {
            Some((name, value)) => {
                Err(ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right: why })
            }
            None => {
                self.power = PowerPart::Nothing;
                Ok(())
            }
        }
    }
}
