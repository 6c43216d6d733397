//! A log-block FTL as a composition of parts, in the order in which an image keeps them. Each has its choices,
//! parameters and meanings.

use super::by_name::Parts;
use crate::spec::{Param, Part, Row, Stated, group, part, values, with};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use phelsuma_nand::Geometry;

/// A log-block FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogParts {
    /// Where pages are written, and which log block is merged.
    pub scheme: LogScheme,
    /// Log blocks at the most. 0 is for the default: a 32nd of the drive's blocks, at least 4, for LAST++ of each
    /// channel. Plain block mapping has one. Of superblocks these are the update blocks: those beyond a block for each
    /// logical one. Where each channel has an FTL of its own, they are dealt to these, and the default is each one's.
    pub log_blocks: u32,
    /// Who has a drive's channels.
    pub instances: LogInstances,
}

part! { "log" "how a log-block FTL uses its log blocks";
    LogScheme "How a log-block FTL uses its log blocks." {
        Block "block" "None but the block that is being copied: plain block mapping (LAST++ section 2.1)."
        Bast "bast" "One for each logical block that is written (BAST; LAST++ section 3)."
        Fast "fast" "One for sequential writes, all others for whatever comes (FAST; LAST++ section 3)." (FastParts)
        Superblock "superblock" "Those of superblocks, in which pages stand anywhere (SUPERBLOCK; µ-FTL section 3)."
            (SuperblockParts)
        Last "last++" "Sequential ones and random ones over all channels, those in a hot and a cold partition (LAST++ \
            section 4)." (LastParts)
    }
}

const BLOCKS: Param = Param::number_or_default(
    "log.blocks",
    2,
    u32::MAX,
    "a 32nd of all blocks, at least 4",
    "log blocks of bast, fast and last++ (3 and more of each channel), update blocks of superblock; of all channels together",
)
.said("it can be 0 for the default, or a whole number of blocks from {least}")
.does("have it: plain block mapping has one");

part! { "log.instances" "whether one log-block FTL has all channels, or each has its own and pages are dealt to them (FTL-MM)"
    .younger("only other log-block FTLs have it: last++ has segments over all channels");
    LogInstances "Who has a drive's channels." {
        One "one" "One FTL has all of them."
        PerChannel "per-channel" "Each has an FTL of its own, and logical pages are dealt to them in turn (FTL-MM; LAST++ \
            section 5.1). With one channel that is the same."
    }
}

group! {
    SuperblockParts "What a SUPERBLOCK FTL's superblocks are." {
        blocks: u32 "logical blocks of a superblock"
            ["superblock.blocks", number_or_default(1, 64, "4, or what fits a map page")];
        most: u32 "physical blocks of a superblock at the most"
            ["superblock.most", number_or_default(2, 128, "twice as many")];
        maps: u32 "superblocks whose page maps are cached"
            ["superblock.maps", number_or_default(2, u32::MAX, "as update blocks, at least 8")
                .said("it can be 0 for the default, or a whole number of maps from {least}")];
    }
}

group! {
    FastParts "What FAST goes by." {
        sequential: FastSequential "what fast does where the sequential log block's owner is written elsewhere than behind it"
            ["fast.sequential", each_of(FastSequential::EACH)];
    }
}

values! { FastSequential "What FAST does with a page of the sequential log block's owner that is not the next one." {
    Kept "kept" "It goes to a random log block, and the sequential one stays."
    Published "published" "The sequential log block is merged at once (FAST, 2007, section 3.2)."
} }

group! {
    LastParts "What LAST++ goes by. The defaults are the paper's." {
        threshold: u32 "from which on a request is sequential to last++ (LAST++ section 4.2)"
            ["last.threshold", number(1, 1_000_000, 16).unit("pages").said("it can be {least} to {most} pages")];
        sequential_percent: u32 "of the log blocks of last++ that are sequential ones; at least a segment's"
            ["last.sequential", number(1, 90, 25).unit("percent").said("it can be {least} to {most} percent")];
        merge_costs: MergeCosts "whether the merge-cost table has room for 32 data blocks of a log block"
            ["last.merge-costs", each_of(MergeCosts::EACH)];
        partitions: bool "whether random log blocks are in a hot and a cold partition"
            ["last.partitions", words(&["one", "two"]).default_is(1)];
        copies_skipped: bool "what last++ does with pages that a sequential request skips in its log block"
            ["last.skipped", words(&["holes", "copied"])];
        summary: Switch "whether a random log block of last++ ends with a summary of its pages"
            ["last.summary", each_of(Switch::EACH)];
        background: LastBackground "what last++ merges while the host is idle"
            ["last.background", each_of(LastBackground::EACH).default_is(2)];
        idle_ms: u32 "how long the host is idle before that" ["last.idle",
            number(0, 1_000_000, 2_000).unit("milliseconds").said("it can be {least} to {most} milliseconds")];
        trims: TrimPages "how large the table of trims is that no merge of last++ has carried out yet"
            ["last.trims", each_of(TrimPages::EACH)];
        swaps: bool "whether last++ moves cold data to worn blocks (LAST++ section 4.9)"
            ["last.wear", words(&["none", "swap"])];
        swap_lag: u32 "by which the block of cold data must be behind the most worn free one"
            ["last.wear-lag", number(1, 10_000, 8).unit("erases").said("it can be {least} to {most} erases")];
    }
}

values! { MergeCosts "How much room the merge-cost table has for each log block (LAST++ section 4.4)." {
    Reduced "reduced" "For 32 data blocks, and a flag that says if there are more."
    Full "full" "For as many data blocks as a log block has pages."
} }

values! { Switch "Whether something is." {
    On "on" "It is."
    Off "off" "It is not."
} }

values! { TrimPages "How large the table of trims of LAST++ is." {
    One "one-page" "A page for each channel: the only size of earlier versions, whose drives have it."
    BySize "by-size" "A page for each 512 logical blocks of a channel, and no more than eight."
} }

values! { LastBackground "What LAST++ merges while the host is idle (LAST++ section 4.5)." {
    Foreground "none" "Nothing: all merges are in the foreground."
    Aggressive "aggressive" "Whatever log block of the cold partition is the cheapest."
    Conservative "conservative"
        "Those whose merge cost is not likely to get smaller before a foreground merge would take them."
} }

impl Parts for LogParts {
    fn rows() -> impl Iterator<Item = Row<Self>> {
        let blocks = Row::<Self>::own(BLOCKS, Some(("log", &["bast", "fast", "superblock", "last++"])), |parts, _| {
            (parts.scheme != LogScheme::Block).then_some(&mut parts.log_blocks)
        });
        Row::<Self>::part::<LogScheme>(|parts, name| parts.scheme.at(name))
            .chain([blocks])
            .chain(Row::<Self>::part::<LogInstances>(|parts, name| parts.instances.at(name)))
            .chain(Row::<Self>::group::<SuperblockParts>(("log", &["superblock"]), |parts, name| {
                match &mut parts.scheme {
                    LogScheme::Superblock(of) => of.param(name),
                    _ => None,
                }
            }))
            .chain(Row::<Self>::group::<FastParts>(("log", &["fast"]), |parts, name| match &mut parts.scheme {
                LogScheme::Fast(of) => of.param(name),
                _ => None,
            }))
            .chain(Row::<Self>::group::<LastParts>(("log", &["last++"]), |parts, name| match &mut parts.scheme {
                LogScheme::Last(of) => of.param(name),
                _ => None,
            }))
    }

    fn follows(&mut self) {
        match self.scheme {
            LogScheme::Block => self.log_blocks = 0,
            LogScheme::Last(_) => self.instances = LogInstances::One,
            _ => {}
        }
    }
}

impl LogParts {
    /// By how many erases a block of cold data must be behind for a move of its data; none without wear levelling.
    pub(crate) fn swap_lag(&self) -> Option<u32> {
        match self.scheme {
            LogScheme::Last(parts) => parts.swaps.then_some(parts.swap_lag),
            _ => None,
        }
    }

    /// How wear is levelled, as in results; none where it is not.
    pub fn name_of_wear(&self) -> Option<String> {
        self.swap_lag().map(|lag| format!("swap(lag={lag})"))
    }

    /// The parts that decide what stands on flash. The scheme may change from one start to the next: the log blocks
    /// that are there are merged.
    pub(crate) fn structures(&self, geometry: &Geometry) -> String {
        let channels = geometry.channels();
        let structures = match self.scheme {
            LogScheme::Superblock(of) => format!("superblocks({}, {}) map-blocks", of.blocks, of.most),
            LogScheme::Last(_) => match self.trim_pages_on(geometry) / channels {
                1 => format!("segments({channels}) log-blocks map-blocks"),
                pages => format!("segments({channels}) log-blocks map-blocks trims({pages})"),
            },
            _ => "data-blocks log-blocks map-blocks".to_string(),
        };
        match self.instances {
            LogInstances::PerChannel if channels > 1 => format!("per-channel {structures}"),
            _ => structures,
        }
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        let blocks: Vec<String> = BLOCKS.shown(&[self.log_blocks], false).into_iter().collect();
        let log = with(self.scheme.word(), blocks.clone());
        let (mapping, [validity, victim, placement]) = match self.scheme {
            LogScheme::Block => ("data-blocks".into(), ["log-map", "the one there is", "by logical block"]),
            LogScheme::Bast => {
                (format!("data-blocks + {log}"), ["log-map", "least recently written", "by logical block"])
            }
            LogScheme::Fast(FastParts { sequential }) => {
                let placement = match sequential {
                    FastSequential::Kept => "sequential or random",
                    FastSequential::Published => "sequential, left at once, or random",
                };
                (format!("data-blocks + {log}"), ["log-map", "round robin", placement])
            }
            LogScheme::Superblock(of) => {
                // Its log blocks are those of updates.
                let updates = blocks.iter().map(|blocks| blocks.replace("blocks", "updates")).collect();
                let mapping = with("superblocks", [updates, of.shown()].concat());
                (mapping, ["superblock-map", "fewest live pages", "hot or cold in a superblock"])
            }
            LogScheme::Last(of) => {
                let mapping = [[format!("data-segments + {log}")].into(), of.shown()].concat().join(", ");
                (mapping, ["log-map", "merge-cost table", "sequential, hot or cold"])
            }
        };
        let per_channel = if self.instances == LogInstances::PerChannel { "per channel: " } else { "" };
        [format!("{per_channel}{mapping}"), validity.into(), victim.into(), placement.into()]
    }

    /// What becomes of metadata, how a power cut is survived, and how blocks are collected, as in results.
    pub fn other_names(&self) -> [String; 3] {
        ["collected", "map-blocks", "whole"].map(String::from)
    }

    /// How a power cut is survived, in a few words.
    pub fn power_loss(&self) -> &'static str {
        match self.scheme {
            LogScheme::Superblock(_) => "map blocks, and a scan of what is younger",
            LogScheme::Last(_) => "map blocks, summary pages, and a scan of open log blocks",
            _ => "map blocks, and a scan of log blocks",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Composition, ConfigError, Preset};

    fn set(ftl: &str, settings: &[(&str, &str)]) -> Result<Composition, ConfigError> {
        let mut composition = Preset::named(ftl).unwrap().composition;
        composition.set_all(settings).map(|()| composition)
    }

    #[test]
    fn parameters_are_those_of_the_family_alone() {
        let bast = set("bast", &[("log.blocks", "17"), ("log", "fast")]).unwrap();
        let instances = LogInstances::One;
        assert_eq!(
            bast,
            Composition::LogBlock(LogParts { scheme: LogScheme::Fast(FastParts::DEFAULT), log_blocks: 17, instances })
        );
        assert_eq!(bast.names()[0], "data-blocks + fast(blocks=17)");
        let message = |ftl: &str, setting| set(ftl, &[setting]).unwrap_err().to_string();
        assert!(message("bast", ("victim", "fifo")).contains("only page-mapped FTLs have it"));
        assert!(message("page", ("log.blocks", "8")).contains("only log-block FTLs"));
        assert!(message("block", ("log.blocks", "8")).contains("plain block mapping has one"));
        assert!(message("fast", ("log.blocks", "1")).contains("from 2"));
        assert!(message("fast", ("log", "slow")).contains("block, bast, fast, superblock or last++"));
        assert!(message("fast", ("superblock.blocks", "4")).contains("only log=superblock"));
        assert!(message("superblock", ("superblock.blocks", "65")).contains("1 to 64"));
        assert!(message("superblock", ("superblock.most", "1")).contains("2 to 128"));
        assert!(message("superblock", ("superblock.maps", "1")).contains("from 2"));
        assert!(message("fast", ("log.nonsense", "1")).contains("unknown parameter"));
        assert!(message("fast", ("nonsense", "1")).contains("unknown parameter"));
        assert!(set("fast", &[("log.blocks", "3"), ("log.blocks", "4")]).is_err());
    }

    #[test]
    fn what_is_there_is_set_and_the_rest_is_told() {
        let settings = [("victim", "fifo"), ("log.blocks", "9"), ("gecko.merge", "two-way")];
        let of = |ftl: &str| {
            let mut composition = Preset::named(ftl).unwrap().composition;
            let lacking = composition.set_what_is_there(&settings).unwrap();
            let name = |error: &ConfigError| match error {
                ConfigError::NoSuchPart { name, .. } => name.clone(),
                other => panic!("{other}"),
            };
            (composition, lacking.iter().map(name).collect::<Vec<_>>())
        };
        assert_eq!(of("bast").1, ["victim", "gecko.merge"]);
        assert_eq!(of("bast").0, set("bast", &[("log.blocks", "9")]).unwrap());
        assert_eq!(of("block").1, ["victim", "gecko.merge", "log.blocks"]);
        assert_eq!(of("page").1, ["log.blocks", "gecko.merge"]);
        // What another log-block FTL alone has does not keep back what this one has as well.
        let mut fast = Preset::named("fast").unwrap().composition;
        let lacking =
            fast.set_what_is_there(&[("log.blocks", "9"), ("superblock.most", "9"), ("superblock.maps", "9")]);
        assert_eq!((lacking.unwrap().len(), fast), (2, set("fast", &[("log.blocks", "9")]).unwrap()));
    }

    #[test]
    fn what_is_dealt_to_the_channels_is_at_least_two_for_each() {
        let settings = [("log.blocks", "11"), ("superblock.maps", "9"), ("superblock.most", "7")];
        let dealt = set("ftl-mm:superblock", &settings).unwrap();
        assert_eq!(dealt.names()[0], "per channel: superblocks(updates=11, most=7, maps=9)");
        let of_channels = set("fast", &[("log.instances", "per-channel")]).unwrap();
        assert_eq!(of_channels, Preset::named("ftl-mm:fast").unwrap().composition);
        let check = |settings: &[(&str, &str)], channels| {
            let drive = Geometry::new(512, 16, 64, channels, 1).unwrap();
            set("ftl-mm:superblock", settings).unwrap().check_on(&drive, 100).map_err(|error| error.to_string())
        };
        for (name, value) in [("log.blocks", "7"), ("superblock.maps", "7")] {
            assert_eq!(check(&[(name, "8")], 4), Ok(()));
            assert_eq!(check(&[(name, value)], 1), Ok(()));
            let error = check(&[(name, value)], 4).unwrap_err();
            assert!(error.contains(name) && error.contains("8 or more"), "{error}");
        }
        assert!(set("fast", &[("log.instances", "two")]).is_err());
    }

    #[test]
    fn a_drive_of_fewer_blocks_than_log_blocks_is_refused() {
        let parts = set("bast", &[("log.blocks", "64")]).unwrap();
        let drive = |blocks| Geometry::new(512, 16, blocks, 1, 1).unwrap();
        assert!(parts.check_on(&drive(65), 100).is_ok());
        let error = parts.check_on(&drive(64), 100).unwrap_err().to_string();
        assert_eq!(error, "64 log blocks (log.blocks) cannot be had: the drive has 64 blocks in all");
    }
}
