//! An FTL's parts as text: every parameter with its value, so that an image means the same whatever becomes of the
//! presets.

use phelsuma_ftl::{Composition, ConfigError, Preset};

/// Lines `key=value`, a part before what changes it.
pub(super) fn as_text(composition: &Composition) -> String {
    composition.settings().iter().flat_map(|(key, value)| [key, "=", value, "\n"]).collect()
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
        let settings: [&[(&str, &str)]; 25] = [
            &[],
            &[
                ("mapping", "paged"),
                ("mapping.evict", "two-level"),
                ("mapping.prefetch", "selective"),
                ("mapping.condense", "models"),
                ("mapping.condense-share", "33"),
            ],
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
            &[
                ("mapping.read-pages", "5"),
                ("mapping.write-pages", "6"),
                ("mapping.record-bits", "40"),
                ("validity.bitmap-cache", "77"),
                ("partitions.pages", "99"),
            ],
            &[("log.instances", "per-channel"), ("log.blocks", "19"), ("groups.translation-pages", "9")],
            &[("wear", "levelling"), ("wear.looks", "3"), ("wear.threshold", "99")],
            &[("slc", "cache"), ("slc.blocks", "9"), ("slc.bits", "4"), ("slc.full", "bypass")],
            &[("slc", "cache"), ("slc.room", "dynamic"), ("slc.blocks", "9"), ("collection", "batches")],
            &[("victim", "sampled"), ("victim.sample", "77"), ("victim.looks", "5"), ("placement", "host-gc")],
            &[
                ("mapping", "paged"),
                ("mapping.cache", "1234"),
                ("mapping.dirty-limit", "12"),
                ("mapping.on-miss", "fetch"),
            ],
            &[("mapping", "paged"), ("mapping.directory", "b-tree"), ("mapping.nodes", "9"), ("mapping.fanout", "7")],
            &[("integrity", "timeout"), ("integrity.timeout", "12345"), ("collection", "slices")],
            &[("placement", "dual-greedy"), ("placement.unknown", "fetch"), ("placement.on-random", "greedy")],
            &[("victim", "cost-benefit-sealed"), ("placement", "sepbit"), ("sepbit.page-times", "spare")],
            &[("placement", "lifetimes"), ("placement.unknown", "fetch")],
            &[("victim", "midas"), ("placement", "midas"), ("midas.groups", "3"), ("midas.epoch", "7")],
            &[("victim", "static-quota"), ("placement", "static-quota"), ("quota.classes", "5")],
            &[("victim", "oracle"), ("placement", "oracle"), ("oracle.windows", "9"), ("oracle.spread", "30")],
            &[("placement", "handles"), ("handles.count", "5"), ("handles.isolation", "initial")],
            &[("victim", "cost-benefit"), ("placement", "dac"), ("dac.regions", "7"), ("dac.thresholds", "1/20/300")],
            &[("victim", "cat"), ("cat.wear", "off"), ("placement", "dac"), ("dac.page-times", "spare")],
            &[("validity", "gecko"), ("gecko.size-ratio", "5"), ("gecko.partitions", "4"), ("gecko.merge", "two-way")],
            &[("validity", "gecko"), ("gecko.pages", "dense")],
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
            ("geckoftl", &[("power.block-log", "on"), ("gecko.pages", "dense")][..]),
            ("d-choices", &[("collection", "slices")][..]),
            ("page", &[("placement", "handles")][..]),
            (
                "fifo",
                &[
                    ("slc", "cache"),
                    ("slc.room", "dynamic"),
                    ("slc.blocks", "9"),
                    ("slc.bits", "4"),
                    ("slc.full", "bypass"),
                ][..],
            ),
            ("dual-greedy", &[][..]),
            ("dac", &[][..]),
            ("sepbit", &[][..]),
            ("midas", &[][..]),
            ("static-quota", &[][..]),
            ("oracle", &[][..]),
            ("learnedftl", &[][..]),
            ("fast", &[][..]),
            ("dftl-timeout", &[("mapping.condense", "runs"), ("mapping.condense-share", "9")][..]),
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
        for parameter in phelsuma_ftl::parameters() {
            assert!(named.iter().any(|n| n == parameter.name), "{}", parameter.name);
        }
    }

    #[test]
    fn a_parameter_that_a_text_lacks_is_as_it_was_before_there_was_one() {
        for (preset, name, now, before) in
            [("last++", "last.trims", "by-size", "one-page"), ("mu-ftl", "mapping.extent-pages", "1", "1")]
        {
            let text = as_text(&Preset::named(preset).unwrap().composition);
            assert!(text.contains(&format!("{name}={now}\n")), "{text}");
            let older: Vec<&str> = text.lines().filter(|line| !line.starts_with(name)).collect();
            let opened = as_text(&from_text(&older.join("\n")).unwrap());
            assert!(opened.contains(&format!("{name}={before}\n")), "{opened}");
        }
    }
}
