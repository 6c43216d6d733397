//! With which parts a drive survives a power cut.

use super::{IntegrityPart, MappingPart, MetadataPart, OnMiss, PageParts, PowerPart, ValidityPart, WearPart};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl PageParts {
    /// Whether a battery saves the state that is in RAM alone when the power fails.
    pub fn has_battery(&self) -> bool {
        self.power == PowerPart::Battery
    }

    /// Whether a drive put together like this mounts again after a power cut, by itself or with a battery.
    pub fn survives_power_cuts(&self) -> bool {
        self.why_not_survivable().is_none()
    }

    /// Which part stands in the way of surviving a power cut, in a few words; none where it is survived.
    pub fn why_not_survivable(&self) -> Option<String> {
        let power = self.power.word();
        if self.power == PowerPart::Nothing {
            return Some(format!("power=nothing{}", self.what_would_be_right()));
        }
        if let Some((what, part)) = self.shares_bits() {
            return Some(format!("{power} keeps its marks in spare areas where {part} keeps {what}"));
        }
        if let Some(lacks) = self.lacks("power", power) {
            return Some(format!("{power} {lacks}"));
        }
        let fetches = matches!(self.mapping, MappingPart::Paged { on_miss: OnMiss::Fetch, .. });
        (self.power == PowerPart::Synchronize && self.validity == ValidityPart::PageValidityLog && !fetches)
            .then(|| format!("{power} with validity=page-validity-log needs mapping.on-miss=fetch"))
    }

    /// How a power cut could be survived with these parts, or with others.
    fn what_would_be_right(&self) -> String {
        let all = [PowerPart::Scan, PowerPart::Battery, PowerPart::GECKO_REC, PowerPart::Synchronize];
        let right = all.iter().filter(|power| Self { power: **power, ..*self }.survives_power_cuts());
        let right: Vec<String> = right.map(|power| format!("power={}", power.word())).collect();
        let left = Self { metadata: MetadataPart::Left, power: PowerPart::GECKO_REC, ..*self };
        let as_it_comes = Self { wear: WearPart::Nothing, power: PowerPart::Synchronize, ..*self };
        match self.validity {
            _ if !right.is_empty() => format!("; {} would be right for its parts", right.join(" or ")),
            _ if left.survives_power_cuts() => {
                "; with metadata=left power=gecko-rec would be right for its parts".into()
            }
            _ if as_it_comes.survives_power_cuts() => {
                "; with wear=none power=synchronize would be right for its parts".into()
            }
            ValidityPart::PageValidityLog => {
                ", and validity=page-validity-log is recovered with mapping=paged, on-miss=fetch".into()
            }
            ValidityPart::Gecko { .. } => ", and validity=gecko is recovered with mapping=paged, directory=flat".into(),
            validity => format!(", and there is no recovery for validity={}", validity.word()),
        }
    }

    /// Whether a power cut may take back acknowledged writes that were not flushed. This is so with a recovery from
    /// translation pages alone, if a drive acknowledges writes that are not in them yet.
    pub fn may_lose_what_is_not_flushed(&self) -> bool {
        self.power == PowerPart::Fast && !self.integrity.acknowledges_what_is_mapped()
    }

    /// How a power cut is survived, in a few words.
    pub fn power_loss(&self) -> &'static str {
        match self.power {
            _ if !self.survives_power_cuts() => "no recovery",
            PowerPart::Scan => "scan of spare areas",
            PowerPart::Battery => "battery",
            PowerPart::GeckoRec { .. } => "checkpoints and GeckoRec",
            PowerPart::Synchronize => "synchronization at recovery",
            PowerPart::Fast if self.may_lose_what_is_not_flushed() => {
                "translation pages alone: loses what is not flushed"
            }
            PowerPart::Fast => "translation pages alone",
            PowerPart::Nothing => "no recovery",
        }
    }
}

impl IntegrityPart {
    /// Whether a write is acknowledged only when its entries are in translation pages.
    pub(crate) fn acknowledges_what_is_mapped(self) -> bool {
        matches!(self, Self::Page | Self::Request)
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
