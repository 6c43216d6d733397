//! Parts and parameters by name.

use super::by_name::Parts;
use super::{ConfigError, MappingPart, PowerPart, ValidityPart, WearPart};
use crate::Preset;
use crate::presets::with;
use alloc::string::ToString;
use alloc::vec::Vec;

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

#[test]
fn the_order_of_settings_does_not_matter() {
    let settings = [("mapping", "paged"), ("mapping.cache", "64"), ("power", "battery"), ("mapping.on-miss", "fetch")];
    let forth = with("page", &settings).unwrap();
    let back: Vec<_> = settings.iter().rev().copied().collect();
    assert_eq!(with("page", &back).unwrap(), forth);
    assert_eq!(forth.power, PowerPart::Battery);
    assert!(forth.survives_power_cuts());
}

#[test]
fn a_parameter_is_set_once() {
    let twice = with("page", &[("victim", "fifo"), ("victim", "greedy")]);
    assert_eq!(twice, Err(ConfigError::Repeated("victim".into())));
    assert!(with("geckoftl", &[("gecko.size-ratio", "4"), ("gecko.size_ratio", "4")]).is_err());
}

#[test]
fn what_is_there_is_set_and_the_rest_is_told() {
    let settings = [("gecko.size_ratio", "4"), ("wear.looks", "4"), ("victim.d", "3"), ("victim", "d-choices")];
    let set = |ftl: &str| {
        let mut parts = Preset::named(ftl).unwrap().composition.page_mapped().unwrap();
        let lacking = parts.set_those_there(&settings).unwrap();
        assert!(lacking.iter().all(|error| matches!(error, ConfigError::NoSuchPart { .. })));
        (parts, lacking.iter().map(|error| error.to_string()).collect::<Vec<_>>())
    };
    let levelling = "'wear.looks' cannot be '4': only wear=levelling has it";
    let (parts, lacking) = set("geckoftl");
    assert_eq!(lacking, [levelling]);
    let right = with("geckoftl", &[("gecko.size-ratio", "4"), ("victim", "d-choices"), ("victim.d", "3")]);
    assert_eq!(Ok(parts), right);
    let (parts, lacking) = set("page");
    assert_eq!(lacking, ["'gecko.size_ratio' cannot be '4': only the validity part gecko has it", levelling]);
    assert_eq!(Ok(parts), with("page", &[("victim", "d-choices"), ("victim.d", "3")]));
    // An error for another reason is one, and changes nothing.
    let mut parts = Preset::named("page").unwrap().composition;
    for wrong in [("victim", "none"), ("nonsense", "1"), ("power", "battery"), ("gecko.merge", "multi-way")] {
        let outcome = parts.set_what_is_there(&[("placement", "host-gc"), ("gecko.merge", "two-way"), wrong]);
        assert!(outcome.is_err(), "{wrong:?}");
        assert_eq!(parts, Preset::named("page").unwrap().composition);
    }
}

#[test]
fn policies_are_set_with_their_parameters() {
    let settings = [("placement.unknown", "fetch"), ("placement", "dual-greedy"), ("victim", "dual-greedy")];
    let parts = with("geckoftl", &settings).unwrap();
    assert_eq!(parts.names()[2..], ["dual-greedy", "dual-greedy(unknown=fetch)"]);
    let parts = with("dac", &[("dac.thresholds", "10/20"), ("dac.regions", "3"), ("cat.wear", "on")]).unwrap();
    assert_eq!(parts.names()[2..], ["cat", "dac(regions=3, thresholds=10/20)"]);
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
    assert_eq!(midas.names()[3], "midas(groups=3, epoch=2)");
    let oracle = with("oracle", &[("oracle.windows", "8"), ("oracle.reach", "300"), ("oracle.spread", "100")]).unwrap();
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

#[test]
fn parameters_of_mu_ftl_are_those_of_its_parts_alone() {
    let settings = [
        ("mapping.read-pages", "3"),
        ("mapping.write_pages", "0"),
        ("mapping.record-bits", "40"),
        ("validity.bitmap-cache", "0"),
        ("partitions.pages", "100"),
    ];
    let parts = with("mu-ftl", &settings).unwrap();
    assert_eq!(parts.mapping, MappingPart::MuTree { read_pages: 3, write_pages: 0, record_bits: 40, extent_pages: 1 });
    assert_eq!(parts.validity, ValidityPart::MuTree { bitmap_cache: 0 });
    assert_eq!(parts.names()[3], "partitions(pages=100)");
    assert!(parts.survives_power_cuts());
    for setting in settings {
        assert!(with("page", &[setting]).is_err(), "{setting:?}");
    }
    let wrong = [
        ("mapping.read-pages", "0"),
        ("mapping.record-bits", "33"),
        ("partitions.pages", "0"),
        ("validity.bitmap-cache", "-1"),
    ];
    for wrong in wrong {
        assert!(with("mu-ftl", &[wrong]).is_err(), "{wrong:?}");
    }
}

#[test]
fn bitmap_entries_need_the_tree_of_the_mapping() {
    let error = with("page", &[("validity", "mu-tree")]).unwrap_err().to_string();
    assert!(error.ends_with("validity=mu-tree needs mapping=mu-tree"), "{error}");
    assert!(with("mu-ftl", &[("victim", "sampled")]).is_err());
    assert!(with("page", &[("mapping", "mu-tree")]).unwrap().survives_power_cuts());
}
