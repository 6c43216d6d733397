//! The parts of an FTL of either family.

use super::by_name::Parts;
use super::{ConfigError, LogInstances, LogParts, MappingPart, PageParts, PowerPart};
use crate::policy::Knowledge;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use phelsuma_nand::Geometry;

/// What an FTL is put together from: one of two families.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Composition {
    /// Any page anywhere: a mapping, a validity store, a victim policy, a placement.
    PageMapped(PageParts),
    /// Data blocks with pages at their own offsets, log blocks, and merges; or superblocks.
    LogBlock(LogParts),
}

/// What stands on flash, as a drive's description keeps it.
pub(crate) trait OnFlash {
    /// The structures: a drive that was written with others cannot be recovered.
    fn structures_on_flash(&self, geometry: &Geometry) -> String;
}

impl OnFlash for LogParts {
    fn structures_on_flash(&self, geometry: &Geometry) -> String {
        self.structures(geometry)
    }
}

/// The error where a parameter is one of the other family's.
const OF_PAGE_MAPPED: &str = "only page-mapped FTLs have it; log, log.blocks, log.instances, superblock.* and last.* are those of log-block FTLs";
const OF_LOG_BLOCK: &str = "only log-block FTLs (block, bast, fast, superblock, last++) have it";

/// Calls the family that it is.
macro_rules! either {
    ($self:expr, $parts:ident => $answer:expr) => {
        match $self {
            Composition::PageMapped($parts) => $answer,
            Composition::LogBlock($parts) => $answer,
        }
    };
}

impl Composition {
    /// The parts of a page-mapped FTL.
    pub fn page_mapped(&self) -> Option<PageParts> {
        match self {
            Self::PageMapped(parts) => Some(*parts),
            Self::LogBlock(_) => None,
        }
    }

    /// Whether each channel has an FTL of its own ([`LogInstances::PerChannel`]). With one channel that is its FTL.
    pub fn is_per_channel(&self) -> bool {
        matches!(self, Self::LogBlock(LogParts { instances: LogInstances::PerChannel, .. }))
    }

    /// How a page-mapped FTL survives a power cut.
    pub fn power(&self) -> Option<PowerPart> {
        self.page_mapped().map(|parts| parts.power)
    }

    /// The entries that its mapping caches, 0 for the default; none where it has no cache.
    pub fn cache_entries(&self) -> Option<u32> {
        match self.page_mapped()?.mapping {
            MappingPart::Paged { cache_entries, .. } => Some(cache_entries),
            _ => None,
        }
    }

    /// Whether it has a cache of mapping entries.
    pub fn has_cache(&self) -> bool {
        self.cache_entries().is_some()
    }

    /// Whether a battery saves the state that is in RAM alone when the power fails.
    pub fn has_battery(&self) -> bool {
        self.page_mapped().is_some_and(|parts| parts.has_battery())
    }

    /// Whether a drive put together like this mounts again after a power cut, by itself or with a battery.
    pub fn survives_power_cuts(&self) -> bool {
        self.why_not_survivable().is_none()
    }

    /// Whether a power cut may take back acknowledged writes that were not flushed
    /// ([`PageParts::may_lose_what_is_not_flushed`]).
    pub fn may_lose_what_is_not_flushed(&self) -> bool {
        self.page_mapped().is_some_and(|parts| parts.may_lose_what_is_not_flushed())
    }

    /// Which part stands in the way of surviving a power cut, in a few words; none where it is survived.
    pub fn why_not_survivable(&self) -> Option<String> {
        self.page_mapped().and_then(|parts| parts.why_not_survivable())
    }

    /// How a power cut is survived, in a few words.
    pub fn power_loss(&self) -> &'static str {
        either!(self, parts => parts.power_loss())
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        either!(self, parts => parts.names())
    }

    /// What becomes of metadata, how a power cut is survived, and how blocks are collected, as in results.
    pub fn other_names(&self) -> [String; 3] {
        either!(self, parts => parts.other_names())
    }

    /// How wear is levelled, as in results; none where it is not.
    pub fn name_of_wear(&self) -> Option<String> {
        either!(self, parts => parts.name_of_wear())
    }

    /// Refuses parameters that a drive of this shape cannot have.
    ///
    /// # Errors
    /// [`ConfigError::NoRoom`].
    pub fn check_on(&self, geometry: &Geometry, logical_pages: u32) -> Result<(), ConfigError> {
        either!(self, parts => parts.check_on(geometry, logical_pages))
    }

    /// Changes one parameter. The one that names a part puts it in with its defaults.
    ///
    /// # Errors
    /// [`ConfigError`]: no such parameter, a value it cannot have, or a parameter of the other family.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        self.refuse_of_other_family(name, value)?;
        either!(self, parts => parts.set_one(name, value))
    }

    /// Changes all of these, whatever their order: a name of a part comes before changes of it. The parts may rule out
    /// the present recovery scheme. If no other was requested, power cuts are not survived then.
    ///
    /// # Errors
    /// As [`set`](Self::set); a parameter that is there twice; parts that cannot be together, and `power` that cannot
    /// be with them.
    pub fn set_all(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        settings.iter().try_for_each(|(name, value)| self.refuse_of_other_family(name, value))?;
        either!(self, parts => parts.set_each(settings))
    }

    /// As [`set_all`](Self::set_all), but for parameters that this FTL lacks the part for: it returns the errors of
    /// those ([`ConfigError::NoSuchPart`]). For settings that several FTLs are to have, as far as they can.
    ///
    /// # Errors
    /// As [`set_all`](Self::set_all).
    pub fn set_what_is_there(&mut self, settings: &[(&str, &str)]) -> Result<Vec<ConfigError>, ConfigError> {
        let (mut own, mut lacking) = (Vec::new(), Vec::new());
        for (name, value) in settings {
            match self.refuse_of_other_family(name, value) {
                Ok(()) => own.push((*name, *value)),
                Err(error) => lacking.push(error),
            }
        }
        lacking.extend(either!(self, parts => parts.set_those_there(&own)?));
        Ok(lacking)
    }

    /// The knowledge that it needs; none for all FTLs that could be built.
    pub fn knowledge(&self) -> Option<Knowledge> {
        self.page_mapped().and_then(|parts| parts.placement.knowledge())
    }

    /// Why it is not to hold real data, in a few words; none for all FTLs that could be built.
    pub fn why_oracle(&self) -> Option<&'static str> {
        Some(match self.knowledge()? {
            Knowledge::Classes(_) => {
                "it is an oracle: it has to be told the class of each page, which no real host knows"
            }
            Knowledge::Deaths => "it is an oracle: it has to be told when each page dies, which no real host knows",
        })
    }

    /// Every part and parameter with its value, a part before what changes it: what an image keeps.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        either!(self, parts => parts.all_settings())
    }

    fn refuse_of_other_family(&self, name: &str, value: &str) -> Result<(), ConfigError> {
        // The owners of a parameter report a value that it cannot have.
        let only = match (self, PageParts::has(name), LogParts::has(name)) {
            (Self::PageMapped(_), false, true) => OF_LOG_BLOCK,
            (Self::LogBlock(_), true, false) => OF_PAGE_MAPPED,
            _ => return Ok(()),
        };
        Err(ConfigError::NoSuchPart { name: name.to_string(), value: value.to_string(), only: only.into() })
    }
}

#[cfg(test)]
mod tests {
    use crate::PRESETS;
    use alloc::vec::Vec;

    #[test]
    fn two_presets_are_oracles() {
        let oracles: Vec<&str> = PRESETS
            .iter()
            .filter(|preset| preset.composition.why_oracle().is_some())
            .map(|preset| preset.name)
            .collect();
        assert_eq!(oracles, ["static-quota", "oracle"]);
    }
}
