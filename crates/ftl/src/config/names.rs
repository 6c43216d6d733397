//! Parts by name: as results have them, and as a drive's description keeps them.

use super::rows::Parts;
use super::{DirectoryPart, IntegrityPart, MappingPart, PageParts, PowerPart, Synchronize, ValidityPart, WearPart};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

impl PageParts {
    /// The parts that decide what stands on flash, as a drive's description keeps them: one that was written with
    /// others cannot be recovered. Victim and placement may change from one start to the next.
    pub(crate) fn structures(&self) -> String {
        let mapping = match self.mapping {
            MappingPart::Paged { directory: DirectoryPart::BTree { fanout, .. }, .. } => format!("b-tree({fanout})"),
            _ => self.value("mapping"),
        };
        let validity = match self.validity {
            ValidityPart::Gecko { size_ratio, partitions, .. } => format!("gecko({size_ratio}, {partitions})"),
            _ => self.value("validity"),
        };
        // What was not flushed when such a drive came up is gone for good: no other recovery may bring it back.
        let recovery = if self.power == PowerPart::Fast { " fast" } else { "" };
        format!("{mapping} {validity}{recovery}")
    }

    /// What becomes of metadata and how a power cut is survived, as in results.
    pub fn names_of_metadata_and_power(&self) -> [&'static str; 2] {
        [self.metadata.word(), self.power.word()]
    }

    /// How wear is levelled, as in results; none where it is not.
    pub fn name_of_wear(&self) -> Option<String> {
        match self.wear {
            WearPart::Nothing => None,
            WearPart::Levelling { threshold, looks } => {
                Some(format!("levelling(threshold={threshold}, looks={looks})"))
            }
        }
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        let mapping = with(self.value("mapping"), self.shown_of_mapping());
        let shown = match self.validity {
            ValidityPart::RamBitmap | ValidityPart::FlashBitmap | ValidityPart::PageValidityLog => Vec::new(),
            ValidityPart::MuTree { bitmap_cache } => [format!("cache={bitmap_cache}")].into(),
            ValidityPart::Gecko { size_ratio, partitions, merge } => {
                let parts = (partitions > 0).then(|| format!("S={partitions}"));
                [Some(format!("T={size_ratio}")), parts, Some(merge.word().to_string())].into_iter().flatten().collect()
            }
        };
        [mapping, with(self.value("validity"), shown), self.victim.shown(), self.placement.shown()]
    }

    /// What the name of the mapping shows of its parameters.
    fn shown_of_mapping(&self) -> Vec<String> {
        let unless = |default: u32, what: &str, value: u32| (value != default).then(|| format!("{what}={value}"));
        let shown = match self.mapping {
            MappingPart::RamTable => Vec::new(),
            MappingPart::MuTree { read_pages, write_pages, record_bits } => alloc::vec![
                Some(format!("read={read_pages}")),
                Some(format!("write={write_pages}")),
                unless(0, "records", record_bits),
            ],
            MappingPart::Paged { cache_entries, on_miss, dirty, directory } => {
                let (tree, nodes, fanout) = match directory {
                    DirectoryPart::Flat => (None, 0, 0),
                    DirectoryPart::BTree { nodes, fanout } => (Some("b-tree".to_string()), nodes, fanout),
                };
                alloc::vec![
                    Some(on_miss.word().to_string()),
                    unless(0, "cache", cache_entries),
                    unless(100, "dirty", dirty.percent).map(|dirty| dirty + "%"),
                    (dirty.synchronize == Synchronize::PhysicalBlock).then(|| dirty.synchronize.word().to_string()),
                    tree,
                    unless(0, "nodes", nodes),
                    unless(0, "fanout", fanout),
                    match self.integrity {
                        IntegrityPart::NoFlush => None,
                        IntegrityPart::Timeout { ms } => Some(format!("timeout({ms} ms)")),
                        IntegrityPart::Page | IntegrityPart::Request => {
                            Some(format!("integrity={}", self.value("integrity")))
                        }
                    },
                ]
            }
        };
        shown.into_iter().flatten().collect()
    }
}

/// A part with what is shown of its parameters.
pub(super) fn with(part: String, shown: Vec<String>) -> String {
    if shown.is_empty() { part } else { format!("{part}({})", shown.join(", ")) }
}
