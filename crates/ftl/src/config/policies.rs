//! Victim and placement parts that go by the age of data: their parameters and names.

use super::parts::{DAC, DUAL_GREEDY, MIDAS, ORACLE, PARTITIONS, SEPBIT, STATIC_QUOTA};
use super::set::refusals;
use super::{
    ConfigError, DAC_REGIONS_MAX, MIDAS_GROUPS_MAX, ORACLE_WINDOWS_MAX, PageParts, PageTimes, PlacementPart,
    QUOTA_CLASSES_MAX, UnknownOld, VictimPart,
};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

impl PageParts {
    pub(super) fn set_cat(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let VictimPart::Cat { wear } = &mut self.victim else {
            return Err(lacks("only the victim part cat has it"));
        };
        match value {
            "on" => *wear = true,
            "off" => *wear = false,
            _ => return Err(bad("it can be on or off")),
        }
        Ok(())
    }

    pub(super) fn set_placement(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        match (name.replace('_', "-").as_str(), value, &mut self.placement) {
            ("placement", "one-stream", placement) => *placement = PlacementPart::OneStream,
            ("placement", "host-gc", placement) => *placement = PlacementPart::HostGc,
            ("placement", "dual-greedy", placement) => *placement = DUAL_GREEDY,
            ("placement", "dac", placement) => *placement = DAC,
            ("placement", "sepbit", placement) => *placement = SEPBIT,
            ("placement", "midas", placement) => *placement = MIDAS,
            ("placement", "partitions", placement) => *placement = PARTITIONS,
            ("placement", "static-quota", placement) => *placement = STATIC_QUOTA,
            ("placement", "oracle", placement) => *placement = ORACLE,
            ("placement", ..) => {
                return Err(bad(
                    "it can be one-stream, host-gc, dual-greedy, dac, sepbit, midas, partitions, static-quota or oracle",
                ));
            }
            (
                "placement.unknown",
                _,
                PlacementPart::DualGreedy { unknown, .. }
                | PlacementPart::Dac { unknown, .. }
                | PlacementPart::SepBit { unknown, .. },
            ) => match value {
                "class" => *unknown = UnknownOld::Class,
                "fetch" => *unknown = UnknownOld::Fetch,
                _ => return Err(bad("it can be class or fetch")),
            },
            ("placement.unknown", ..) => {
                return Err(lacks("only the placement parts dual-greedy, dac and sepbit ask for old copies"));
            }
            (_, _, PlacementPart::DualGreedy { detect_random, .. }) => match value {
                "greedy" => *detect_random = true,
                "keep" => *detect_random = false,
                _ => return Err(bad("it can be keep or greedy")),
            },
            _ => return Err(lacks("only the placement part dual-greedy has it")),
        }
        Ok(())
    }

    pub(super) fn set_dac(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let PlacementPart::Dac { regions, thresholds, page_times, .. } = &mut self.placement else {
            return Err(lacks("only the placement part dac has it"));
        };
        match (name.replace('_', "-").as_str(), value) {
            ("dac.regions", _) => match value.parse() {
                Ok(value) if (2..=DAC_REGIONS_MAX as u8).contains(&value) => *regions = value,
                _ => return Err(bad("it can be a whole number from 2 to 8")),
            },
            ("dac.thresholds", _) => match percents(value) {
                Some(percents) => *thresholds = percents,
                None => {
                    return Err(bad("it can be up to 8 whole numbers of percent from 1 to 10000, with / between them"));
                }
            },
            (_, "ram") => *page_times = PageTimes::Ram,
            (_, "spare") => *page_times = PageTimes::Spare,
            _ => return Err(bad("it can be ram or spare")),
        }
        Ok(())
    }

    pub(super) fn set_sepbit(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let PlacementPart::SepBit { page_times, .. } = &mut self.placement else {
            return Err(lacks("only the placement part sepbit has it"));
        };
        match value {
            "ram" => *page_times = PageTimes::Ram,
            "spare" => *page_times = PageTimes::Spare,
            _ => return Err(bad("it can be ram or spare")),
        }
        Ok(())
    }

    /// Parameters that are numbers, of the parts of MiDAS, static quota and the oracle.
    pub(super) fn set_numbers(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let number = value.parse::<u32>().ok();
        let within = |most: u32, least: u32| number.filter(|number| (least..=most).contains(number));
        let small = |most: usize, least: u32| within(most as u32, least).map(|number| number as u8);
        match (name.replace('_', "-").as_str(), &mut self.placement) {
            ("midas.groups", PlacementPart::Midas { groups, .. }) => {
                *groups = small(MIDAS_GROUPS_MAX, 1).ok_or_else(|| bad("it can be a whole number from 1 to 8"))?;
            }
            ("midas.epoch", PlacementPart::Midas { epoch, .. }) => {
                *epoch = within(1000, 1).ok_or_else(|| bad("it can be a whole number from 1 to 1000"))?;
            }
            ("quota.classes", PlacementPart::StaticQuota { classes }) => {
                *classes =
                    small(QUOTA_CLASSES_MAX.into(), 1).ok_or_else(|| bad("it can be a whole number from 1 to 32"))?;
            }
            ("oracle.windows", PlacementPart::Oracle { windows, .. }) => {
                *windows = small(ORACLE_WINDOWS_MAX, 2).ok_or_else(|| bad("it can be a whole number from 2 to 32"))?;
            }
            ("oracle.reach", PlacementPart::Oracle { reach, .. }) => {
                *reach =
                    within(100_000, 1).ok_or_else(|| bad("it can be a whole number of percent from 1 to 100000"))?;
            }
            ("oracle.spread", PlacementPart::Oracle { spread, .. }) => {
                *spread = within(900, 1).ok_or_else(|| bad("it can be a whole number of percent from 1 to 900"))?;
            }
            (name, _) if name.starts_with("midas") => return Err(lacks("only the placement part midas has it")),
            (name, _) if name.starts_with("quota") => return Err(lacks("only the placement part static-quota has it")),
            _ => return Err(lacks("only the placement part oracle has it")),
        }
        Ok(())
    }

    pub(super) fn name_of_placement(&self) -> String {
        match self.placement {
            PlacementPart::OneStream => "one-stream".into(),
            PlacementPart::HostGc => "host-gc".into(),
            PlacementPart::DualGreedy { unknown, detect_random } => {
                let with = [
                    (unknown == UnknownOld::Fetch).then_some("unknown=fetch"),
                    detect_random.then_some("on-random=greedy"),
                ];
                named("dual-greedy", with)
            }
            PlacementPart::Dac { unknown, regions, page_times, .. } => {
                let regions = format!("regions={regions}");
                let thresholds = self.dac_thresholds().map(|text| format!("thresholds={text}"));
                let with = [
                    Some(regions.as_str()),
                    thresholds.as_deref(),
                    (page_times == PageTimes::Spare).then_some("page-times=spare"),
                    (unknown == UnknownOld::Fetch).then_some("unknown=fetch"),
                ];
                named("dac", with)
            }
            PlacementPart::SepBit { unknown, page_times } => named(
                "sepbit",
                [
                    (page_times == PageTimes::Spare).then_some("page-times=spare"),
                    (unknown == UnknownOld::Fetch).then_some("unknown=fetch"),
                ],
            ),
            // What is not the default is named, together with what goes with it.
            MIDAS => "midas".into(),
            PARTITIONS => "partitions".into(),
            PlacementPart::Partitions { pages } => format!("partitions(pages={pages})"),
            STATIC_QUOTA => "static-quota".into(),
            ORACLE => "oracle".into(),
            PlacementPart::Midas { groups, epoch } => format!("midas(groups={groups}, epoch={epoch})"),
            PlacementPart::StaticQuota { classes } => format!("static-quota(classes={classes})"),
            PlacementPart::Oracle { windows, reach, spread } => {
                format!("oracle(windows={windows}, reach={reach}, spread={spread})")
            }
        }
    }

    /// The age thresholds of DAC's regions in percent of the logical pages, the coldest region first, as they are set; none
    /// where the placement part is another.
    pub fn dac_thresholds(&self) -> Option<String> {
        let PlacementPart::Dac { thresholds, .. } = self.placement else { return None };
        let mut used: Vec<String> = thresholds.iter().map(u16::to_string).collect();
        while used.len() > 1 && used[used.len() - 1] == used[used.len() - 2] {
            used.pop();
        }
        Some(used.join("/"))
    }

    /// Which parts cannot be together, in a few words.
    pub(super) fn why_not_together(&self) -> Option<&'static str> {
        let sampled = matches!(self.victim, VictimPart::Sampled { .. });
        if let Some(why) = self.why_no_mu_tree() {
            return Some(why);
        }
        match (self.victim, self.placement) {
            (_, PlacementPart::Midas { .. }) if sampled => {
                return Some("it needs the live pages of all blocks, and victim=sampled counts a part of them");
            }
            (VictimPart::Midas, placement) if !matches!(placement, PlacementPart::Midas { .. }) => {
                return Some("victim=midas needs placement=midas, which divides blocks into groups");
            }
            (VictimPart::StaticQuota, placement) if !matches!(placement, PlacementPart::StaticQuota { .. }) => {
                return Some("victim=static-quota needs placement=static-quota, whose classes have quotas");
            }
            (VictimPart::Oracle, placement) if !matches!(placement, PlacementPart::Oracle { .. }) => {
                return Some("victim=oracle needs placement=oracle, which is told when pages die");
            }
            _ => {}
        }
        match self.placement {
            PlacementPart::DualGreedy { .. } if sampled => {
                Some("it needs the live pages of all blocks, and victim=sampled counts a part of them")
            }
            _ => None,
        }
    }
}

/// Numbers with a slash between them; the last one holds for all that follow.
fn percents(text: &str) -> Option<[u16; DAC_REGIONS_MAX]> {
    let mut percents = [0; DAC_REGIONS_MAX];
    let mut given = text.split('/');
    let mut last = 0;
    for percent in &mut percents {
        if let Some(text) = given.next() {
            last = text.parse().ok().filter(|value| (1..=10_000).contains(value))?;
        }
        *percent = last;
    }
    given.next().is_none().then_some(percents)
}

/// A part with those of its parameters that are not the defaults.
fn named<const N: usize>(part: &str, with: [Option<&str>; N]) -> String {
    let mut name = String::from(part);
    let mut between = "(";
    for parameter in with.into_iter().flatten() {
        name = name + between + parameter;
        between = ", ";
    }
    if between == ", " { name + ")" } else { name }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;
    use crate::{PlacementPart, UnknownOld, VictimPart};
    use alloc::string::ToString;

    #[test]
    fn policies_are_set_with_their_parameters() {
        let settings = [("placement.unknown", "fetch"), ("placement", "dual-greedy"), ("victim", "dual-greedy")];
        let parts = with("geckoftl", &settings).unwrap();
        assert!(matches!(parts.placement, PlacementPart::DualGreedy { unknown: UnknownOld::Fetch, .. }));
        assert_eq!(parts.names()[2..], ["dual-greedy", "dual-greedy(unknown=fetch)"]);
        let parts = with("dac", &[("dac.thresholds", "10/20"), ("dac.regions", "3"), ("cat.wear", "on")]).unwrap();
        assert_eq!(parts.names()[2..], ["cat", "dac(regions=3, thresholds=10/20)"]);
        assert_eq!(parts.dac_thresholds().unwrap(), "10/20", "and 20 for all that follow");
        assert_eq!(parts.victim, VictimPart::Cat { wear: true });
    }

    #[test]
    fn what_a_policy_cannot_have_is_refused() {
        for (ftl, setting) in [
            ("page", ("placement.unknown", "fetch")),
            ("page", ("cat.wear", "off")),
            ("dual-greedy", ("dac.regions", "3")),
            ("dac", ("dac.regions", "1")),
            ("dac", ("dac.regions", "9")),
            ("dac", ("dac.thresholds", "0")),
            ("dac", ("dac.thresholds", "1/2/3/4/5/6/7/8/9")),
            ("dac", ("dac.thresholds", "10/")),
            ("dac", ("dac.page-times", "flash")),
            ("dac", ("placement.on-random", "greedy")),
            ("dual-greedy", ("placement.unknown", "guess")),
        ] {
            assert!(with(ftl, &[setting]).is_err(), "{ftl} {setting:?}");
        }
        // Lists of all blocks cannot be kept where some are not counted.
        let error = with("dual-greedy", &[("victim", "sampled")]).unwrap_err().to_string();
        assert!(error.ends_with("victim=sampled counts a part of them"), "{error}");
        assert!(with("dac", &[("victim", "sampled")]).is_ok());
    }

    #[test]
    fn parameters_of_the_modern_parts_are_those_of_their_parts_alone() {
        let sepbit = with("page", &[("sepbit.page_times", "spare"), ("placement", "sepbit")]).unwrap();
        assert_eq!(sepbit.names()[3], "sepbit(page-times=spare)");
        let midas = with("midas", &[("midas.groups", "3"), ("midas.epoch", "2")]).unwrap();
        assert_eq!(midas.placement, PlacementPart::Midas { groups: 3, epoch: 2 });
        let oracle =
            with("oracle", &[("oracle.windows", "8"), ("oracle.reach", "300"), ("oracle.spread", "100")]).unwrap();
        assert_eq!(oracle.names()[3], "oracle(windows=8, reach=300, spread=100)");
        for (ftl, wrong) in [
            ("midas", ("midas.groups", "9")),
            ("midas", ("midas.groups", "256")),
            ("midas", ("midas.epoch", "0")),
            ("static-quota", ("quota.classes", "33")),
            ("static-quota", ("quota.classes", "0")),
            ("oracle", ("oracle.windows", "1")),
            ("oracle", ("oracle.spread", "0")),
            ("oracle", ("oracle.reach", "-1")),
            ("sepbit", ("sepbit.page-times", "flash")),
            ("page", ("sepbit.page-times", "ram")),
            ("page", ("midas.groups", "2")),
            ("sepbit", ("quota.classes", "2")),
            ("midas", ("oracle.windows", "8")),
        ] {
            assert!(with(ftl, &[wrong]).is_err(), "{ftl} {wrong:?}");
        }
    }

    #[test]
    fn a_victim_part_that_needs_its_placement_says_so() {
        for part in ["midas", "static-quota", "oracle"] {
            let error = with("page", &[("victim", part)]).unwrap_err().to_string();
            assert!(error.contains(&(alloc::format!("needs placement={part}"))), "{error}");
            assert!(with("page", &[("victim", part), ("placement", part)]).is_ok());
            // The other way round it goes: pages are sorted, and the emptiest block is collected.
            assert!(with("page", &[("placement", part)]).is_ok());
        }
        assert!(with("midas", &[("victim", "sampled")]).is_err());
        assert!(with("sepbit", &[("victim", "sampled")]).is_ok());
    }
}
