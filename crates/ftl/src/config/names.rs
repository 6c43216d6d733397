//! Parts by name: as results have them, and as a drive's description keeps them.

use super::{
    DirectoryPart, GeckoMerge, IntegrityPart, MappingPart, MetadataPart, OnMiss, PageParts, PowerPart, Synchronize,
    ValidityPart, VictimPart, WearPart,
};
use alloc::format;
use alloc::string::{String, ToString};

impl PageParts {
    /// The parts that decide what stands on flash, as a drive's description keeps them: one that was written with
    /// others cannot be recovered. Victim and placement may change from one start to the next.
    pub(crate) fn structures(&self) -> String {
        let mapping = match self.mapping {
            MappingPart::RamTable => "ram-table".to_string(),
            MappingPart::MuTree { .. } => "mu-tree".to_string(),
            MappingPart::Paged { directory: DirectoryPart::Flat, .. } => "paged".to_string(),
            MappingPart::Paged { directory: DirectoryPart::BTree { fanout, .. }, .. } => format!("b-tree({fanout})"),
        };
        let validity = match self.validity {
            ValidityPart::RamBitmap => "ram-bitmap".to_string(),
            ValidityPart::FlashBitmap => "flash-bitmap".to_string(),
            ValidityPart::PageValidityLog => "page-validity-log".to_string(),
            ValidityPart::MuTree { .. } => "mu-tree".to_string(),
            ValidityPart::Gecko { size_ratio, partitions, .. } => format!("gecko({size_ratio}, {partitions})"),
        };
        // What was not flushed when such a drive came up is gone for good: no other recovery may bring it back.
        let recovery = if self.power == PowerPart::Fast { " fast" } else { "" };
        format!("{mapping} {validity}{recovery}")
    }

    /// What becomes of metadata and how a power cut is survived, as in results.
    pub fn names_of_metadata_and_power(&self) -> [&'static str; 2] {
        let metadata = match self.metadata {
            MetadataPart::Collected => "collected",
            MetadataPart::Left => "left",
        };
        let power = match self.power {
            PowerPart::Scan => "scan",
            PowerPart::Battery => "battery",
            PowerPart::GeckoRec => "gecko-rec",
            PowerPart::Synchronize => "synchronize",
            PowerPart::Fast => "fast",
            PowerPart::Nothing => "nothing",
        };
        [metadata, power]
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
        let victim = match self.victim {
            VictimPart::Greedy => "greedy".into(),
            VictimPart::Fifo => "fifo".into(),
            VictimPart::DChoices { d } => format!("d-choices(d={d})"),
            VictimPart::Sampled { blocks: 0, looks } => format!("sampled(looks={looks})"),
            VictimPart::Sampled { blocks, looks } => format!("sampled(blocks={blocks}, looks={looks})"),
            VictimPart::DualGreedy => "dual-greedy".into(),
            VictimPart::CostBenefit => "cost-benefit".into(),
            VictimPart::CostBenefitSealed => "cost-benefit-sealed".into(),
            VictimPart::Midas => "midas".into(),
            VictimPart::StaticQuota => "static-quota".into(),
            VictimPart::Oracle => "oracle".into(),
            VictimPart::Cat { wear: true } => "cat".into(),
            VictimPart::Cat { wear: false } => "cat(wear=off)".into(),
        };
        let placement = self.name_of_placement();
        let mapping = match self.mapping {
            MappingPart::RamTable => "ram-table".into(),
            MappingPart::MuTree { read_pages, write_pages, record_bits } => {
                let records = if record_bits > 0 { format!(", records={record_bits}") } else { String::new() };
                format!("mu-tree(read={read_pages}, write={write_pages}{records})")
            }
            MappingPart::Paged { cache_entries, on_miss, dirty, directory } => {
                let on_miss = if on_miss == OnMiss::Fetch { "fetch" } else { "lazy" };
                let mut name = format!("paged({on_miss}");
                if cache_entries > 0 {
                    name += &format!(", cache={cache_entries}");
                }
                if dirty.percent < 100 {
                    name += &format!(", dirty={}%", dirty.percent);
                }
                if dirty.synchronize == Synchronize::PhysicalBlock {
                    name += ", physical-block";
                }
                if let DirectoryPart::BTree { nodes, fanout } = directory {
                    name += ", b-tree";
                    for (what, value) in [("nodes", nodes), ("fanout", fanout)].iter().filter(|(_, value)| *value > 0) {
                        name += &format!(", {what}={value}");
                    }
                }
                match self.integrity {
                    IntegrityPart::NoFlush => {}
                    IntegrityPart::Page => name += ", integrity=page",
                    IntegrityPart::Timeout { ms } => name += &format!(", timeout({ms} ms)"),
                    IntegrityPart::Request => name += ", integrity=req",
                }
                name + ")"
            }
        };
        let validity = match self.validity {
            ValidityPart::RamBitmap => "ram-bitmap".into(),
            ValidityPart::FlashBitmap => "flash-bitmap".into(),
            ValidityPart::PageValidityLog => "page-validity-log".into(),
            ValidityPart::MuTree { bitmap_cache } => format!("mu-tree(cache={bitmap_cache})"),
            ValidityPart::Gecko { size_ratio, partitions, merge } => {
                let merge = if merge == GeckoMerge::TwoWay { "two-way" } else { "multi-way" };
                match partitions {
                    0 => format!("gecko(T={size_ratio}, {merge})"),
                    parts => format!("gecko(T={size_ratio}, S={parts}, {merge})"),
                }
            }
        };
        [mapping, validity, victim, placement]
    }
}
