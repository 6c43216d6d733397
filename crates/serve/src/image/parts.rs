//! An FTL's parts as text: every parameter with its value, so that an image means the same whatever becomes of the
//! presets.

use phelsuma_ftl::{
    Composition, ConfigError, DirectoryPart, GeckoMerge, IntegrityPart, LogInstances, LogScheme, MappingPart,
    MetadataPart, OnMiss, PageTimes, PlacementPart, Preset, Synchronize, UnknownOld, ValidityPart, VictimPart,
    WearPart,
};

/// Lines `key=value`, a part before what changes it.
pub(super) fn as_text(composition: &Composition) -> String {
    let mut text = String::new();
    let mut set = |key: &str, value: &str| {
        for piece in [key, "=", value, "\n"] {
            text.push_str(piece);
        }
    };
    let parts = match composition {
        Composition::PageMapped(parts) => parts,
        Composition::LogBlock(parts) => {
            set("log", parts.scheme.name());
            if parts.scheme != LogScheme::Block {
                set("log.blocks", &parts.log_blocks.to_string());
            }
            // Left out where one FTL has all channels, as in images that are older than the other.
            if parts.instances == LogInstances::PerChannel {
                set("log.instances", "per-channel");
            }
            if let LogScheme::Superblock(superblocks) = parts.scheme {
                set("superblock.blocks", &superblocks.blocks.to_string());
                set("superblock.most", &superblocks.most.to_string());
                set("superblock.maps", &superblocks.maps.to_string());
            }
            if let LogScheme::Last(last) = parts.scheme {
                last.settings().iter().for_each(|(name, value)| set(name, value));
            }
            return text;
        }
    };
    match parts.mapping {
        MappingPart::RamTable => set("mapping", "ram-table"),
        MappingPart::MuTree { read_pages, write_pages, record_bits } => {
            set("mapping", "mu-tree");
            set("mapping.record-bits", &record_bits.to_string());
            set("mapping.read-pages", &read_pages.to_string());
            set("mapping.write-pages", &write_pages.to_string());
        }
        MappingPart::Paged { cache_entries, on_miss, dirty, directory } => {
            set("mapping", "paged");
            set("mapping.cache", &cache_entries.to_string());
            set("mapping.on-miss", if on_miss == OnMiss::Fetch { "fetch" } else { "lazy" });
            set("mapping.dirty-limit", &dirty.percent.to_string());
            let by_page = dirty.synchronize == Synchronize::TranslationPage;
            set("mapping.synchronize", if by_page { "translation-page" } else { "physical-block" });
            match directory {
                DirectoryPart::Flat => set("mapping.directory", "flat"),
                DirectoryPart::BTree { nodes, fanout } => {
                    set("mapping.directory", "b-tree");
                    set("mapping.nodes", &nodes.to_string());
                    set("mapping.fanout", &fanout.to_string());
                }
            }
        }
    }
    match parts.integrity {
        // As images have it that are older than the others.
        IntegrityPart::NoFlush => {}
        IntegrityPart::Page => set("integrity", "page"),
        IntegrityPart::Timeout { ms } => {
            set("integrity", "timeout");
            set("integrity.timeout", &ms.to_string());
        }
        IntegrityPart::Request => set("integrity", "req"),
    }
    match parts.validity {
        ValidityPart::RamBitmap => set("validity", "ram-bitmap"),
        ValidityPart::FlashBitmap => set("validity", "flash-bitmap"),
        ValidityPart::PageValidityLog => set("validity", "page-validity-log"),
        ValidityPart::MuTree { bitmap_cache } => {
            set("validity", "mu-tree");
            set("validity.bitmap-cache", &bitmap_cache.to_string());
        }
        ValidityPart::Gecko { size_ratio, partitions, merge } => {
            set("validity", "gecko");
            set("gecko.size-ratio", &size_ratio.to_string());
            set("gecko.partitions", &partitions.to_string());
            set("gecko.merge", if merge == GeckoMerge::MultiWay { "multi-way" } else { "two-way" });
        }
    }
    match parts.victim {
        VictimPart::Greedy => set("victim", "greedy"),
        VictimPart::Fifo => set("victim", "fifo"),
        VictimPart::DChoices { d } => {
            set("victim", "d-choices");
            set("victim.d", &d.to_string());
        }
        VictimPart::Sampled { blocks, looks } => {
            set("victim", "sampled");
            set("victim.sample", &blocks.to_string());
            set("victim.looks", &looks.to_string());
        }
        VictimPart::DualGreedy => set("victim", "dual-greedy"),
        VictimPart::CostBenefit => set("victim", "cost-benefit"),
        VictimPart::CostBenefitSealed => set("victim", "cost-benefit-sealed"),
        VictimPart::Midas => set("victim", "midas"),
        VictimPart::StaticQuota => set("victim", "static-quota"),
        VictimPart::Oracle => set("victim", "oracle"),
        VictimPart::Cat { wear } => {
            set("victim", "cat");
            set("cat.wear", if wear { "on" } else { "off" });
        }
    }
    let of_unknown = |unknown| if unknown == UnknownOld::Class { "class" } else { "fetch" };
    match parts.placement {
        PlacementPart::OneStream => set("placement", "one-stream"),
        PlacementPart::HostGc => set("placement", "host-gc"),
        PlacementPart::DualGreedy { unknown, detect_random } => {
            set("placement", "dual-greedy");
            set("placement.unknown", of_unknown(unknown));
            set("placement.on-random", if detect_random { "greedy" } else { "keep" });
        }
        PlacementPart::Dac { unknown, regions, page_times, .. } => {
            set("placement", "dac");
            set("placement.unknown", of_unknown(unknown));
            set("dac.regions", &regions.to_string());
            set("dac.thresholds", &parts.dac_thresholds().unwrap_or_default());
            set("dac.page-times", if page_times == PageTimes::Ram { "ram" } else { "spare" });
        }
        PlacementPart::SepBit { unknown, page_times } => {
            set("placement", "sepbit");
            set("placement.unknown", of_unknown(unknown));
            set("sepbit.page-times", if page_times == PageTimes::Ram { "ram" } else { "spare" });
        }
        PlacementPart::Midas { groups, epoch } => {
            set("placement", "midas");
            set("midas.groups", &groups.to_string());
            set("midas.epoch", &epoch.to_string());
        }
        PlacementPart::Partitions { pages } => {
            set("placement", "partitions");
            set("partitions.pages", &pages.to_string());
        }
        PlacementPart::StaticQuota { classes } => {
            set("placement", "static-quota");
            set("quota.classes", &classes.to_string());
        }
        PlacementPart::Oracle { windows, reach, spread } => {
            set("placement", "oracle");
            set("oracle.windows", &windows.to_string());
            set("oracle.reach", &reach.to_string());
            set("oracle.spread", &spread.to_string());
        }
    }
    let [_, power] = parts.names_of_metadata_and_power();
    set("metadata", if parts.metadata == MetadataPart::Collected { "collected" } else { "left" });
    set("power", power);
    match parts.wear {
        WearPart::Nothing => set("wear", "none"),
        WearPart::Levelling { threshold, looks } => {
            set("wear", "levelling");
            set("wear.threshold", &threshold.to_string());
            set("wear.looks", &looks.to_string());
        }
    }
    text
}

/// The parts that such a text names.
pub(super) fn from_text(text: &str) -> Result<Composition, ConfigError> {
    let family = if text.starts_with("log=") { "bast" } else { "page" };
    let mut parts = Preset::named(family)?.composition;
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        parts.set(key, value)?;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_ftl::PRESETS;

    #[test]
    fn every_parameter_comes_back() {
        let settings: [&[(&str, &str)]; 20] = [
            &[],
            &[("last.threshold", "5"), ("last.sequential", "40"), ("last.merge-costs", "full"), ("log.blocks", "50")],
            &[
                ("last.partitions", "one"),
                ("last.summary", "off"),
                ("last.background", "aggressive"),
                ("last.idle", "7"),
                ("last.skipped", "copied"),
                ("last.wear", "swap"),
                ("last.wear-lag", "21"),
            ],
            &[("superblock.blocks", "3"), ("superblock.most", "7"), ("superblock.maps", "9"), ("log.blocks", "5")],
            &[("log.blocks", "17")],
            &[
                ("mapping.read-pages", "5"),
                ("mapping.write-pages", "6"),
                ("mapping.record-bits", "40"),
                ("validity.bitmap-cache", "77"),
                ("partitions.pages", "99"),
            ],
            &[("log.instances", "per-channel"), ("log.blocks", "19")],
            &[("wear", "levelling"), ("wear.looks", "3"), ("wear.threshold", "99")],
            &[("victim", "sampled"), ("victim.sample", "77"), ("victim.looks", "5"), ("placement", "host-gc")],
            &[
                ("mapping", "paged"),
                ("mapping.cache", "1234"),
                ("mapping.dirty-limit", "12"),
                ("mapping.on-miss", "fetch"),
            ],
            &[("mapping", "paged"), ("mapping.directory", "b-tree"), ("mapping.nodes", "9"), ("mapping.fanout", "7")],
            &[("integrity", "timeout"), ("integrity.timeout", "12345")],
            &[("placement", "dual-greedy"), ("placement.unknown", "fetch"), ("placement.on-random", "greedy")],
            &[("victim", "cost-benefit-sealed"), ("placement", "sepbit"), ("sepbit.page-times", "spare")],
            &[("victim", "midas"), ("placement", "midas"), ("midas.groups", "3"), ("midas.epoch", "7")],
            &[("victim", "static-quota"), ("placement", "static-quota"), ("quota.classes", "5")],
            &[("victim", "oracle"), ("placement", "oracle"), ("oracle.windows", "9"), ("oracle.spread", "30")],
            &[("victim", "cost-benefit"), ("placement", "dac"), ("dac.regions", "7"), ("dac.thresholds", "1/20/300")],
            &[("victim", "cat"), ("cat.wear", "off"), ("placement", "dac"), ("dac.page-times", "spare")],
            &[("validity", "gecko"), ("gecko.size-ratio", "5"), ("gecko.partitions", "4"), ("gecko.merge", "two-way")],
        ];
        for preset in PRESETS {
            for settings in settings {
                let mut parts = preset.composition;
                // Those that this preset takes.
                let _ = parts.set_what_is_there(settings);
                let text = as_text(&parts);
                assert_eq!(from_text(&text), Ok(parts), "{}: {text}", preset.name);
            }
        }
    }

    #[test]
    fn a_text_names_every_parameter_that_its_parts_have() {
        // A parameter that is new must not be forgotten here: what is left out would come back as its default.
        let mut named: Vec<String> = Vec::new();
        for (preset, settings) in [
            ("geckoftl", &[][..]),
            ("d-choices", &[][..]),
            ("dual-greedy", &[][..]),
            ("dac", &[][..]),
            ("sepbit", &[][..]),
            ("midas", &[][..]),
            ("static-quota", &[][..]),
            ("oracle", &[][..]),
            ("fast", &[][..]),
            ("dftl-timeout", &[][..]),
            ("superblock", &[][..]),
            ("last++", &[][..]),
            ("ftl-mm:fast", &[][..]),
            ("mu-ftl", &[][..]),
            ("mu-ftl-pvb", &[("wear", "levelling"), ("victim", "sampled")][..]),
        ] {
            let mut parts = Preset::named(preset).unwrap().composition;
            parts.set_all(settings).unwrap();
            named.extend(as_text(&parts).lines().map(|line| line.split_once('=').unwrap().0.to_string()));
        }
        for (name, ..) in phelsuma_ftl::PARAMETERS {
            assert!(named.iter().any(|n| n == name), "{name}");
        }
    }
}
