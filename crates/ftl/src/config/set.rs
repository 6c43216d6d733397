//! Changing one part or parameter by name.

use super::parts::{B_TREE, CACHE_MIN, GECKO, LAZY, LEVELLING, LOOKS_MAX, MU_BITMAPS, MU_TREE, SAMPLE_MIN, SAMPLED};
use super::{
    ConfigError, DirectoryPart, GeckoMerge, IntegrityPart, MappingPart, MetadataPart, OnMiss, PARAMETERS, PageParts,
    PowerPart, Synchronize, TIMEOUT_MS, ValidityPart, VictimPart, WearPart,
};
use alloc::string::ToString;
use alloc::vec::Vec;

impl PageParts {
    /// Changes one parameter. The one that names a part puts it in with its defaults.
    ///
    /// # Errors
    /// [`ConfigError`]: no such parameter, or a value it cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        // Names may be written with either.
        match (name.replace('_', "-").as_str(), value) {
            ("mapping", "ram-table") => {
                self.mapping = MappingPart::RamTable;
                self.integrity = IntegrityPart::NoFlush;
            }
            ("mapping", "paged") => self.mapping = LAZY,
            ("mapping", "mu-tree") => {
                self.mapping = MU_TREE;
                self.integrity = IntegrityPart::NoFlush;
            }
            ("mapping", _) => return Err(bad("it can be ram-table, paged or mu-tree")),
            (
                "mapping.read-pages"
                | "mapping.write-pages"
                | "mapping.record-bits"
                | "validity.bitmap-cache"
                | "partitions.pages",
                _,
            ) => {
                self.set_mu_tree(name, value)?;
            }
            ("mapping.cache", _) => match (value.parse(), &mut self.mapping) {
                (Ok(value), MappingPart::Paged { cache_entries, .. }) if value == 0 || value >= CACHE_MIN => {
                    *cache_entries = value;
                }
                (Ok(_), MappingPart::Paged { .. }) => {
                    return Err(bad("it can be 0 for the default, or 16 entries or more"));
                }
                (Ok(_), _) => return Err(lacks("only the mapping part paged has a cache")),
                _ => return Err(bad("it can be a whole number of entries")),
            },
            ("mapping.on-miss", "fetch" | "lazy") => match &mut self.mapping {
                MappingPart::Paged { on_miss, .. } => {
                    *on_miss = if value == "fetch" { OnMiss::Fetch } else { OnMiss::Lazy };
                }
                _ => return Err(lacks("only the mapping part paged misses")),
            },
            ("mapping.on-miss", _) => return Err(bad("it can be fetch or lazy")),
            ("mapping.dirty-limit" | "mapping.synchronize", _) => self.set_dirty_limit(name, value)?,
            ("mapping.directory" | "mapping.nodes" | "mapping.fanout", _) => self.set_directory(name, value)?,
            ("integrity" | "integrity.timeout", _) => self.set_integrity(name, value)?,
            ("validity", "ram-bitmap") => self.validity = ValidityPart::RamBitmap,
            ("validity", "flash-bitmap") => self.validity = ValidityPart::FlashBitmap,
            ("validity", "page-validity-log") => self.validity = ValidityPart::PageValidityLog,
            ("validity", "gecko") => self.validity = GECKO,
            ("validity", "mu-tree") => self.validity = MU_BITMAPS,
            ("validity", _) => {
                return Err(bad("it can be ram-bitmap, flash-bitmap, page-validity-log, gecko or mu-tree"));
            }
            ("gecko.size-ratio" | "gecko.partitions" | "gecko.merge", _) => self.set_gecko(name, value)?,
            ("victim", "greedy") => self.victim = VictimPart::Greedy,
            ("victim", "fifo") => self.victim = VictimPart::Fifo,
            ("victim", "d-choices") => self.victim = VictimPart::DChoices { d: 10 },
            ("victim", "sampled") => self.victim = SAMPLED,
            ("victim", "dual-greedy") => self.victim = VictimPart::DualGreedy,
            ("victim", "cost-benefit") => self.victim = VictimPart::CostBenefit,
            ("victim", "cat") => self.victim = VictimPart::Cat { wear: true },
            ("victim", "cost-benefit-sealed") => self.victim = VictimPart::CostBenefitSealed,
            ("victim", "midas") => self.victim = VictimPart::Midas,
            ("victim", "static-quota") => self.victim = VictimPart::StaticQuota,
            ("victim", "oracle") => self.victim = VictimPart::Oracle,
            ("victim", _) => {
                return Err(bad(
                    "it can be greedy, fifo, d-choices, sampled, dual-greedy, cost-benefit, cost-benefit-sealed, cat, midas, \
                     static-quota or oracle",
                ));
            }
            ("cat.wear", _) => self.set_cat(name, value)?,
            ("victim.sample" | "victim.looks", _) => self.set_sample(name, value)?,
            ("victim.d", _) => match (value.parse(), &mut self.victim) {
                (Ok(value @ 1..=1000), VictimPart::DChoices { d }) => *d = value,
                (Ok(1..=1000), _) => return Err(lacks("only the victim part d-choices draws blocks")),
                _ => return Err(bad("it can be a whole number from 1 to 1000")),
            },
            ("placement" | "placement.unknown" | "placement.on-random", _) => self.set_placement(name, value)?,
            ("sepbit.page-times", _) => self.set_sepbit(name, value)?,
            (
                "midas.groups" | "midas.epoch" | "quota.classes" | "oracle.windows" | "oracle.reach" | "oracle.spread",
                _,
            ) => {
                self.set_numbers(name, value)?;
            }
            ("dac.regions" | "dac.thresholds" | "dac.page-times", _) => self.set_dac(name, value)?,
            ("power", "scan") => self.power = PowerPart::Scan,
            ("power", "battery") => self.power = PowerPart::Battery,
            ("power", "gecko-rec") => self.power = PowerPart::GeckoRec,
            ("power", "synchronize") => self.power = PowerPart::Synchronize,
            ("power", "fast") => self.power = PowerPart::Fast,
            ("power", "nothing") => self.power = PowerPart::Nothing,
            ("power", _) => return Err(bad("it can be scan, battery, gecko-rec, synchronize, fast or nothing")),
            ("metadata", "collected") => self.metadata = MetadataPart::Collected,
            ("metadata", "left") => self.metadata = MetadataPart::Left,
            ("metadata", _) => return Err(bad("it can be collected or left")),
            ("wear", "none") => self.wear = WearPart::Nothing,
            ("wear", "levelling") => self.wear = LEVELLING,
            ("wear", _) => return Err(bad("it can be none or levelling")),
            ("wear.threshold" | "wear.looks", _) => self.set_wear(name, value)?,
            _ => {
                let known = PARAMETERS.iter().map(|(n, ..)| *n).collect::<Vec<_>>().join(", ");
                return Err(ConfigError::UnknownParameter { name: name.to_string(), known });
            }
        }
        Ok(())
    }

    fn set_integrity(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let part = match (name, value) {
            ("integrity", "noflush") => IntegrityPart::NoFlush,
            ("integrity", "page") => IntegrityPart::Page,
            ("integrity", "timeout") => IntegrityPart::Timeout { ms: TIMEOUT_MS },
            ("integrity", "req") => IntegrityPart::Request,
            ("integrity", _) => return Err(bad("it can be noflush, page, timeout or req")),
            _ => match (value.parse(), self.integrity) {
                (Ok(ms @ 1..=4_000_000_000), IntegrityPart::Timeout { .. }) => IntegrityPart::Timeout { ms },
                (Ok(1..=4_000_000_000), _) => return Err(lacks("only integrity=timeout has it")),
                _ => return Err(bad("it can be a whole number of milliseconds from 1 to 4000000000")),
            },
        };
        if part != IntegrityPart::NoFlush && !matches!(self.mapping, MappingPart::Paged { .. }) {
            return Err(lacks("only the mapping part paged has entries to write"));
        }
        self.integrity = part;
        Ok(())
    }

    fn set_dirty_limit(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let MappingPart::Paged { dirty, .. } = &mut self.mapping else {
            return Err(lacks("only the mapping part paged has it"));
        };
        match (name.replace('_', "-").as_str(), value) {
            ("mapping.dirty-limit", _) => match value.parse() {
                Ok(value @ 1..=100) => dirty.percent = value,
                _ => return Err(bad("it can be a whole number of percent from 1 to 100")),
            },
            (_, "translation-page") => dirty.synchronize = Synchronize::TranslationPage,
            (_, "physical-block") => dirty.synchronize = Synchronize::PhysicalBlock,
            _ => return Err(bad("it can be translation-page or physical-block")),
        }
        Ok(())
    }

    fn set_sample(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let VictimPart::Sampled { blocks, looks } = &mut self.victim else {
            return Err(lacks("only the victim part sampled has it"));
        };
        match (name, value.parse()) {
            ("victim.sample", Ok(value)) if value == 0 || value >= SAMPLE_MIN => *blocks = value,
            ("victim.sample", _) => return Err(bad("it can be 0 for the default, or 16 blocks or more")),
            (_, Ok(value @ 1..=64)) => *looks = value,
            _ => return Err(bad("it can be a whole number from 1 to 64")),
        }
        Ok(())
    }

    fn set_wear(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let WearPart::Levelling { threshold, looks } = &mut self.wear else {
            return Err(lacks("only wear=levelling has it"));
        };
        match (name, value.parse()) {
            ("wear.threshold", Ok(value @ 1..=10_000)) => *threshold = value,
            ("wear.threshold", _) => return Err(bad("it can be a whole number from 1 to 10000")),
            (_, Ok(value @ 1..=LOOKS_MAX)) => *looks = value,
            _ => return Err(bad("it can be a whole number from 1 to 32")),
        }
        Ok(())
    }

    fn set_directory(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let MappingPart::Paged { directory, .. } = &mut self.mapping else {
            return Err(lacks("only the mapping part paged has it"));
        };
        match (name.replace('_', "-").as_str(), value, directory) {
            ("mapping.directory", "b-tree", directory) => *directory = B_TREE,
            ("mapping.directory", "flat", directory) => *directory = DirectoryPart::Flat,
            ("mapping.directory", ..) => return Err(bad("it can be flat or b-tree")),
            (.., DirectoryPart::Flat) => return Err(lacks("only mapping.directory=b-tree has it")),
            ("mapping.nodes", _, DirectoryPart::BTree { nodes, .. }) => match value.parse() {
                Ok(value @ 0..=1_000_000) => *nodes = value,
                _ => return Err(bad("it can be a whole number from 0 to 1000000")),
            },
            (.., DirectoryPart::BTree { fanout, .. }) => match value.parse() {
                Ok(value) if value != 1 => *fanout = value,
                _ => return Err(bad("it can be 0 for the default, or 2 or more")),
            },
        }
        Ok(())
    }

    fn set_gecko(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let ValidityPart::Gecko { size_ratio, partitions, merge } = &mut self.validity else {
            return Err(lacks("only the validity part gecko has it"));
        };
        match (name.replace('_', "-").as_str(), value) {
            ("gecko.size-ratio", _) => match value.parse() {
                Ok(value @ 2..=64) => *size_ratio = value,
                _ => return Err(bad("it can be a whole number from 2 to 64")),
            },
            ("gecko.partitions", _) => match value.parse() {
                Ok(value @ 0..=8192) => *partitions = value,
                _ => return Err(bad("it can be a whole number from 0 to 8192")),
            },
            (_, "multi-way") => *merge = GeckoMerge::MultiWay,
            (_, "two-way") => *merge = GeckoMerge::TwoWay,
            _ => return Err(bad("it can be multi-way or two-way")),
        }
        Ok(())
    }
}

/// What is wrong with a value, and which part has a parameter that no part here has.
pub(super) fn refusals(
    name: &str,
    value: &str,
) -> (impl Fn(&'static str) -> ConfigError, impl Fn(&'static str) -> ConfigError) {
    (
        move |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right },
        move |only| ConfigError::NoSuchPart { name: name.to_string(), value: value.to_string(), only },
    )
}

#[cfg(test)]
mod tests {
    use crate::presets::with;
    use crate::{PowerPart, VictimPart, WearPart};
    use alloc::string::ToString;

    #[test]
    fn parameters_of_levelling_are_those_of_levelling_alone() {
        let parts = with("geckoftl", &[("wear.looks", "4"), ("wear", "levelling"), ("wear.threshold", "20")]).unwrap();
        assert_eq!(parts.wear, WearPart::Levelling { threshold: 20, looks: 4 });
        assert_eq!(parts.name_of_wear().unwrap(), "levelling(threshold=20, looks=4)");
        for wrong in [("wear.looks", "4"), ("wear", "some")] {
            assert!(with("page", &[wrong]).is_err());
        }
        for wrong in [("wear.looks", "33"), ("wear.looks", "0"), ("wear.threshold", "0")] {
            assert!(with("page", &[("wear", "levelling"), wrong]).is_err());
        }
    }

    #[test]
    fn parameters_of_a_sample_are_those_of_the_sample_alone() {
        let parts = with("dftl", &[("victim.looks", "8"), ("victim", "sampled"), ("victim.sample", "512")]).unwrap();
        assert_eq!(parts.victim, VictimPart::Sampled { blocks: 512, looks: 8 });
        assert_eq!(parts.names()[2], "sampled(blocks=512, looks=8)");
        assert_eq!(parts.power, PowerPart::Battery);
        assert_eq!(with("page", &[("victim", "sampled")]).unwrap().names()[2], "sampled(looks=4)");
        for alone in [("victim.sample", "512"), ("victim.looks", "4")] {
            let error = with("d-choices", &[alone]).unwrap_err().to_string();
            assert!(error.ends_with("only the victim part sampled has it"), "{error}");
        }
        assert!(with("page", &[("victim", "sampled"), ("victim.d", "4")]).is_err());
        let wrong = [
            ("victim.sample", "15"),
            ("victim.sample", "-1"),
            ("victim.sample", "5000000000"),
            ("victim.sample", "a quarter"),
            ("victim.looks", "0"),
            ("victim.looks", "65"),
        ];
        for wrong in wrong {
            assert!(with("page", &[("victim", "sampled"), wrong]).is_err(), "{wrong:?}");
        }
    }
}
