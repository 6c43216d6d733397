//! How a drive survives a power cut, and with which parts it does.

use super::{DirectoryPart, MappingPart, MetadataPart, OnMiss, PageParts, PowerPart, ValidityPart, WearPart};
use crate::medium::marks::{BACK_POINTER, DAMAGE, ERASE_COUNT, Owner, SCAN_MARK};

impl PageParts {
    /// Whether a battery saves what RAM alone knows when the power fails.
    pub fn has_battery(&self) -> bool {
        self.power == PowerPart::Battery
    }

    /// Whether a drive put together like this comes up again after a power cut, by itself or with a battery.
    pub fn survives_power_cuts(&self) -> bool {
        self.why_not_survivable().is_none()
    }

    /// Who else writes into spare areas, besides wear levelling, on a drive that survives power cuts like this.
    fn marks_of_power(&self) -> &'static [Owner] {
        match (self.power, self.validity) {
            (PowerPart::GeckoRec, _) => &[DAMAGE],
            (PowerPart::Synchronize, ValidityPart::PageValidityLog) => &[SCAN_MARK, BACK_POINTER],
            (PowerPart::Synchronize, _) => &[SCAN_MARK],
            (PowerPart::Scan | PowerPart::Battery | PowerPart::Fast | PowerPart::Nothing, _) => &[],
        }
    }

    /// Which part stands in the way of surviving a power cut, in a few words; none where it is survived.
    pub fn why_not_survivable(&self) -> Option<&'static str> {
        let paged = matches!(self.mapping, MappingPart::Paged { .. });
        let ram_bitmap = self.validity == ValidityPart::RamBitmap;
        let log = self.validity == ValidityPart::PageValidityLog;
        let tree = matches!(self.validity, ValidityPart::MuTree { .. });
        let levels = self.wear != WearPart::Nothing;
        let shares_marks = levels && !self.marks_of_power().iter().all(|owner| owner.is_apart_from(ERASE_COUNT));
        let fetches = matches!(self.mapping, MappingPart::Paged { on_miss: OnMiss::Fetch, .. });
        let flat = matches!(self.mapping, MappingPart::Paged { directory: DirectoryPart::Flat, .. });
        match self.power {
            PowerPart::Scan if paged => Some("scan needs mapping=ram-table or mu-tree"),
            PowerPart::Scan if !ram_bitmap && !tree => Some("scan needs validity=ram-bitmap or mu-tree"),
            PowerPart::Battery if !paged => Some("battery needs mapping=paged"),
            PowerPart::Battery
                if tree || matches!(self.validity, ValidityPart::Gecko { .. } | ValidityPart::PageValidityLog) =>
            {
                Some("battery needs validity=ram-bitmap or flash-bitmap")
            }
            PowerPart::GeckoRec if !paged => Some("gecko-rec needs mapping=paged"),
            PowerPart::GeckoRec if !matches!(self.validity, ValidityPart::Gecko { .. }) => {
                Some("gecko-rec needs validity=gecko")
            }
            PowerPart::Synchronize if shares_marks => {
                Some("synchronize keeps its marks in spare areas where wear=levelling keeps erase counts")
            }
            PowerPart::Synchronize if !paged => Some("synchronize needs mapping=paged"),
            PowerPart::Synchronize if !ram_bitmap && !log => {
                Some("synchronize needs validity=ram-bitmap or page-validity-log")
            }
            PowerPart::Synchronize if log && !fetches => {
                Some("synchronize with validity=page-validity-log needs mapping.on-miss=fetch")
            }
            PowerPart::Fast if !paged => Some("fast needs mapping=paged"),
            PowerPart::Fast if !ram_bitmap => Some("fast needs validity=ram-bitmap"),
            PowerPart::Fast if !flat => Some("fast needs mapping.directory=flat"),
            PowerPart::Fast if levels => Some("fast needs wear=none"),
            PowerPart::GeckoRec if !flat => Some("gecko-rec needs mapping.directory=flat"),
            PowerPart::GeckoRec if self.metadata == MetadataPart::Collected => Some("gecko-rec needs metadata=left"),
            PowerPart::Scan | PowerPart::Battery | PowerPart::GeckoRec | PowerPart::Synchronize | PowerPart::Fast => {
                None
            }
            PowerPart::Nothing => Some(match self.validity {
                ValidityPart::FlashBitmap if paged => "power=nothing; power=battery would be right for its parts",
                ValidityPart::FlashBitmap => "power=nothing, and there is no recovery for validity=flash-bitmap",
                ValidityPart::PageValidityLog if fetches && levels => {
                    "power=nothing; with wear=none power=synchronize would be right for its parts"
                }
                ValidityPart::PageValidityLog if fetches => {
                    "power=nothing; power=synchronize would be right for its parts"
                }
                ValidityPart::PageValidityLog => {
                    "power=nothing, and validity=page-validity-log is recovered with mapping=paged, on-miss=fetch"
                }
                ValidityPart::Gecko { .. } if flat && self.metadata == MetadataPart::Collected => {
                    "power=nothing; with metadata=left power=gecko-rec would be right for its parts"
                }
                ValidityPart::Gecko { .. } if flat => "power=nothing; power=gecko-rec would be right for its parts",
                ValidityPart::Gecko { .. } => {
                    "power=nothing, and validity=gecko is recovered with mapping=paged, directory=flat"
                }
                ValidityPart::RamBitmap if paged && levels => {
                    "power=nothing; power=battery would be right for its parts"
                }
                ValidityPart::RamBitmap if paged => {
                    "power=nothing; power=battery or power=synchronize would be right for its parts"
                }
                ValidityPart::RamBitmap | ValidityPart::MuTree { .. } => {
                    "power=nothing; power=scan would be right for its parts"
                }
            }),
        }
    }

    /// Whether a power cut may take back what was acknowledged and not flushed: a recovery from translation pages
    /// alone, of a drive that acknowledges what these do not know yet.
    pub fn may_lose_what_is_not_flushed(&self) -> bool {
        self.power == PowerPart::Fast && !self.integrity.acknowledges_what_is_mapped()
    }

    /// How a power cut is survived, in a few words.
    pub fn power_loss(&self) -> &'static str {
        match self.power {
            _ if !self.survives_power_cuts() => "no recovery",
            PowerPart::Scan => "scan of spare areas",
            PowerPart::Battery => "battery",
            PowerPart::GeckoRec => "checkpoints and GeckoRec",
            PowerPart::Synchronize => "synchronization at recovery",
            PowerPart::Fast if self.may_lose_what_is_not_flushed() => {
                "translation pages alone: loses what is not flushed"
            }
            PowerPart::Fast => "translation pages alone",
            PowerPart::Nothing => "no recovery",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::PowerPart;
    use crate::presets::with;
    use alloc::string::ToString;

    #[test]
    fn what_cannot_survive_is_refused_if_asked_for_and_given_up_if_not() {
        let refused = [
            ("dftl", "power=scan", "scan needs mapping=ram-table or mu-tree"),
            ("geckoftl", "power=battery", "battery needs validity=ram-bitmap or flash-bitmap"),
            ("ib-ftl", "power=gecko-rec", "gecko-rec needs validity=gecko"),
            ("page", "power=battery", "battery needs mapping=paged"),
        ];
        for (ftl, setting, why) in refused {
            let error = with(ftl, &[setting.split_once('=').unwrap()]).unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
        let parts = with("page", &[("validity", "flash-bitmap"), ("power", "scan")]);
        assert!(parts.unwrap_err().to_string().ends_with("scan needs validity=ram-bitmap or mu-tree"));
        for (ftl, setting) in [("page", ("mapping", "paged")), ("dftl", ("validity", "gecko"))] {
            let parts = with(ftl, &[setting]).unwrap();
            assert_eq!(parts.power, PowerPart::Nothing);
            assert!(parts.why_not_survivable().is_some());
        }
        for (ftl, setting, right) in [
            ("ib-ftl", ("wear", "levelling"), "with wear=none power=synchronize"),
            ("lazyftl", ("wear", "levelling"), "; power=battery would"),
            ("geckoftl", ("metadata", "collected"), "with metadata=left power=gecko-rec"),
        ] {
            let why = with(ftl, &[setting]).unwrap().why_not_survivable().unwrap();
            assert!(why.contains(right), "{why}");
        }
        for preset in crate::PRESETS {
            let promises = preset.composition.power() != Some(PowerPart::Nothing);
            assert_eq!(preset.composition.survives_power_cuts(), promises, "{}", preset.name);
            if preset.composition.page_mapped().is_none() {
                continue;
            }
            assert!(with(preset.name, &[("power", "nothing")]).is_ok());
        }
    }
}
