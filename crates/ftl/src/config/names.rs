//! Parts by name: as results have them, and as a drive's description keeps them.

use super::{DirectoryPart, IntegrityPart, MappingPart, OnFlash, PageParts, ValidityPart, WearPart};
use crate::spec::{Stated, with};
use alloc::format;
use alloc::string::{String, ToString};
use phelsuma_nand::Geometry;

impl OnFlash for PageParts {
    /// The parts that decide what stands on flash, as a drive's description keeps them: one that was written with
    /// others cannot be recovered. Victim and placement may change from one start to the next.
    fn structures_on_flash(&self, _geometry: &Geometry) -> String {
        let mapping = match self.mapping {
            MappingPart::Paged { directory: DirectoryPart::BTree { fanout, .. }, .. } => format!("b-tree({fanout})"),
            _ => self.mapping.word().to_string(),
        };
        let validity = match self.validity {
            ValidityPart::Gecko { size_ratio, partitions, pages, .. } => {
                format!("gecko({size_ratio}, {partitions}{})", pages.on_flash())
            }
            _ => self.validity.word().to_string(),
        };
        format!("{mapping} {validity}{}", self.structures_of_power())
    }
}

impl PageParts {
    /// What becomes of metadata, how a power cut is survived, and how blocks are collected, as in results.
    pub fn other_names(&self) -> [String; 3] {
        [self.metadata.word().into(), with(self.power.word(), self.power.shown()), self.collection.word().into()]
    }

    /// How wear is levelled, as in results; none where it is not.
    pub fn name_of_wear(&self) -> Option<String> {
        (self.wear != WearPart::Nothing).then(|| with(self.wear.word(), self.wear.shown()))
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        let mut of_mapping = self.mapping.shown();
        if let MappingPart::Paged { dirty, directory, .. } = self.mapping {
            of_mapping.extend(dirty.shown());
            of_mapping.extend((directory != DirectoryPart::Flat).then(|| directory.word().to_string()));
            of_mapping.extend(directory.shown());
        }
        match self.integrity {
            IntegrityPart::NoFlush => {}
            IntegrityPart::Timeout { ms } => of_mapping.push(format!("timeout({ms} ms)")),
            other => of_mapping.push(format!("integrity={}", other.word())),
        }
        let (mapping, validity) =
            (with(self.mapping.word(), of_mapping), with(self.validity.word(), self.validity.shown()));
        [mapping, validity, self.victim.shown(), self.placement.shown()]
    }
}
