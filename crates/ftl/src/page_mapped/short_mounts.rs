//! Which drives are written so that mounts are short: with a block log.

use super::mapping::PagedMapping;
use crate::config::{PageParts, PowerPart, WearPart};
use crate::medium::log_part::BlockLogPart;
use alloc::string::String;
use phelsuma_nand::Geometry;

/// A smaller drive mounts fast without a block log: its first spare areas take at most 0.2 s at 3 µs each.
const BLOCK_LOG_FROM: u32 = 65_536;

impl PowerPart {
    /// GeckoRec, with a block log where that is large enough to pay.
    pub const GECKO_REC: Self = Self::GeckoRec { block_log: BlockLogPart::Auto };
}

impl PageParts {
    /// Whether it keeps a block log on a drive of this shape.
    pub(crate) fn has_block_log(&self, geometry: &Geometry) -> bool {
        match self.power {
            PowerPart::GeckoRec { block_log: BlockLogPart::On } => true,
            PowerPart::GeckoRec { block_log: BlockLogPart::Auto } => {
                geometry.blocks() >= BLOCK_LOG_FROM && !self.needs_first_pages()
            }
            _ => false,
        }
    }

    /// Whether a mount reads every block's first spare area for wear levelling or for a policy.
    fn needs_first_pages(&self) -> bool {
        self.wear != WearPart::Nothing || self.victim.wants().or(self.placement.wants()).is_any()
    }

    /// Why there can be no block log that was asked for: its name, its value, and what would be right.
    pub(crate) fn why_no_block_log(&self) -> Option<(&'static str, String, String)> {
        let asked = self.power == PowerPart::GeckoRec { block_log: BlockLogPart::On };
        let right = "a mount needs the first spare area of every block with wear=levelling, and with a policy that goes by \
                     when blocks were written; with those auto and off are right";
        (asked && self.needs_first_pages()).then(|| ("power.block-log", "on".into(), right.into()))
    }

    /// What a mount finds on flash besides mapping and validity, as a drive's description keeps it.
    pub(crate) fn structures_of_power(&self, geometry: &Geometry) -> &'static str {
        match self.power {
            // Writes that were not flushed at the mount of such a drive are gone for good: no other recovery may bring
            // them back.
            PowerPart::Fast => " fast",
            _ if PagedMapping::has_log_in(self) && self.has_block_log(geometry) => " block-log mapping-log",
            _ if PagedMapping::has_log_in(self) => " mapping-log",
            _ if self.has_block_log(geometry) => " block-log",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::OnFlash;
    use crate::presets::with;
    use alloc::string::ToString;
    use phelsuma_nand::Geometry;

    #[test]
    fn a_block_log_is_refused_where_a_mount_needs_every_first_page() {
        let on = ("power.block-log", "on");
        let large = Geometry::new(4096, 128, 65_536, 1, 1).unwrap();
        let small = Geometry::new(4096, 128, 65_535, 1, 1).unwrap();
        let has = |settings: &[(&str, &str)], geometry| with("geckoftl", settings).unwrap().has_block_log(geometry);
        assert!(has(&[], &large) && !has(&[], &small));
        assert!(has(&[on], &small) && !has(&[("power.block-log", "off")], &large));
        let needing: [&[(&str, &str)]; 2] = [&[("wear", "levelling")], &[("victim", "cost-benefit")]];
        for settings in needing {
            assert!(!has(settings, &large));
            let error = with("geckoftl", &[settings, &[on]].concat()).unwrap_err().to_string();
            assert!(error.contains("those auto and off are right"), "{error}");
        }
        assert!(with("dftl", &[on]).unwrap_err().to_string().ends_with("only power=gecko-rec has a block log"));
        let on_flash = |log| with("geckoftl", &[("power.block-log", log)]).unwrap().structures_on_flash(&large);
        assert_eq!(on_flash("on"), on_flash("off") + " block-log");
    }
}
