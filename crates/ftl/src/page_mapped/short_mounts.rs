//! Which drives are written so that mounts are short, with a block log; and what a mount finds besides tables.

use crate::config::{PageParts, PowerPart, Switch, WearPart};
use alloc::format;
use alloc::string::String;

impl PowerPart {
    /// GeckoRec without a block log.
    pub const GECKO_REC: Self = Self::GeckoRec { block_log: Switch::Off };
}

impl PageParts {
    /// Whether it keeps a block log.
    pub(crate) fn has_block_log(&self) -> bool {
        self.power == PowerPart::GeckoRec { block_log: Switch::On }
    }

    /// Why there can be no block log that was asked for: its name, its value, and what would be right.
    pub(crate) fn why_no_block_log(&self) -> Option<(&'static str, String, String)> {
        let needing = if self.wear != WearPart::Nothing {
            "wear=levelling".into()
        } else if !self.victim.wants().can_wait() {
            format!("victim={}", self.victim.part().spec.name)
        } else if !self.placement.wants().can_wait() {
            format!("placement={}", self.placement.part().spec.name)
        } else {
            return None;
        };
        let right = format!("{needing} has a mount read the first spare area of every block; beside it off is right");
        self.has_block_log().then(|| ("power.block-log", "on".into(), right))
    }

    /// The same of either log, of prefetching, and of a share.
    pub(crate) fn why_no_log(&self) -> Option<(&'static str, String, String)> {
        self.why_no_block_log()
            .or_else(|| self.why_no_mapping_log())
            .or_else(|| self.why_no_prefetch())
            .or_else(|| self.why_no_share())
    }

    /// What a mount finds on flash besides mapping and validity, as a drive's description keeps it.
    pub(crate) fn structures_of_power(&self) -> &'static str {
        match (self.power, self.has_block_log(), self.has_mapping_log()) {
            // Writes that were not flushed at the mount of such a drive are gone for good: no other recovery may bring
            // them back.
            (PowerPart::Fast, ..) => " fast",
            (_, true, true) => " block-log mapping-log",
            (_, true, false) => " block-log",
            (_, false, true) => " mapping-log",
            (_, false, false) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::OnFlash;
    use crate::presets::with;
    use alloc::format;
    use alloc::string::ToString;
    use phelsuma_nand::Geometry;

    #[test]
    fn a_block_log_is_refused_where_a_mount_needs_every_first_page() {
        let on = ("power.block-log", "on");
        let needing: [&[(&str, &str)]; 4] = [
            &[("wear", "levelling")],
            &[("victim", "cost-benefit")],
            &[("placement", "dac")],
            &[("victim", "midas"), ("placement", "midas")],
        ];
        for settings in needing {
            assert!(with("geckoftl", settings).is_ok());
            let error = with("geckoftl", &[settings, &[on]].concat()).unwrap_err().to_string();
            let (name, value) = settings[0];
            let expected =
                format!("{name}={value} has a mount read the first spare area of every block; beside it off is right");
            assert!(error.ends_with(&expected), "{error}");
        }
        assert!(with("geckoftl", &[("victim", "cost-benefit-learned"), ("placement", "lifetimes"), on]).is_ok());
        assert!(with("dftl", &[on]).unwrap_err().to_string().ends_with("only power=gecko-rec has it"));
    }

    /// Drives that were written before there were logs are opened as those without.
    #[test]
    fn logs_are_in_the_description_and_off_unless_requested() {
        let large = Geometry::new(4096, 128, 4_194_304, 1, 1).unwrap();
        let on_flash = |settings: &[(&str, &str)]| with("geckoftl", settings).unwrap().structures_on_flash(&large);
        let (block_log, mapping_log) = (("power.block-log", "on"), ("mapping.log", "20"));
        assert_eq!(on_flash(&[]), "paged gecko(2, 0)");
        assert_eq!(on_flash(&[block_log]), "paged gecko(2, 0) block-log");
        assert_eq!(on_flash(&[mapping_log]), "paged gecko(2, 0) mapping-log");
        assert_eq!(on_flash(&[("gecko.pages", "dense"), block_log]), "paged gecko(2, 0, dense) block-log");
        assert_eq!(on_flash(&[block_log, mapping_log]), "paged gecko(2, 0) block-log mapping-log");
    }
}
