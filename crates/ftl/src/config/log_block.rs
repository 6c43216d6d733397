//! What a log-block FTL is put together from, and its parameters by name.

use super::ConfigError;
use super::names::with;
use super::rows::{Parts, Row, own, part};
use crate::spec::{Number, Param, words};
use alloc::format;
use alloc::string::{String, ToString};
use phelsuma_nand::Geometry;

/// How a log-block FTL uses its log blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogScheme {
    /// None but the block that is being copied: plain block mapping (LAST++ section 2.1).
    Block,
    /// One for each logical block that is written (BAST; LAST++ section 3).
    Bast,
    /// One for sequential writes, all others for whatever comes (FAST; LAST++ section 3).
    Fast,
    /// Those of superblocks, in which pages stand anywhere (SUPERBLOCK; µ-FTL section 3).
    Superblock(SuperblockParts),
    /// Sequential ones and random ones over all channels, those in a hot and a cold partition (LAST++ section 4).
    Last(LastParts),
}

/// What LAST++ goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastParts {
    /// Pages from which on a request is sequential (LAST++ section 4.2).
    pub threshold: u32,
    /// Percent of the log blocks that are sequential ones; at least a segment's.
    pub sequential_percent: u32,
    /// Whether the merge-cost table has room for 32 data blocks of a log block and a flag that says if there are more.
    pub reduced_merge_costs: bool,
    /// Whether random log blocks are in a hot and a cold partition.
    pub partitions: bool,
    /// Whether pages that a sequential request skips in a log block are copied there, so that it may still become a data
    /// block; or left out as the paper has it (LAST++ section 4.3), so that its merge is a full one.
    pub copies_skipped: bool,
    /// Whether a random log block ends with a summary of its pages, where a page has room for it.
    pub summary: bool,
    /// What is merged while the host is idle.
    pub background: LastBackground,
    /// For how long the host is idle before anything is, in milliseconds.
    pub idle_ms: u32,
    /// Whether cold data are moved to worn blocks (LAST++ section 4.9).
    pub swaps: bool,
    /// By how many erases the block of cold data must be behind the most worn free block.
    pub swap_lag: u32,
}

/// What LAST++ merges while the host is idle (LAST++ section 4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastBackground {
    /// Nothing: all merges are in the foreground.
    Foreground,
    /// Whatever log block of the cold partition is the cheapest.
    Aggressive,
    /// Those whose merge cost is not likely to get smaller before a foreground merge would take them.
    Conservative,
}

words!(LastBackground { Foreground = "none", Aggressive = "aggressive", Conservative = "conservative" });

impl Default for LastParts {
    fn default() -> Self {
        Self::PAPERS
    }
}

impl LastParts {
    /// As the paper has it.
    pub(crate) const PAPERS: Self = Self {
        threshold: 16,
        sequential_percent: 25,
        reduced_merge_costs: true,
        partitions: true,
        copies_skipped: false,
        summary: true,
        background: LastBackground::Conservative,
        idle_ms: 100,
        swaps: false,
        swap_lag: 8,
    };

    /// Segments of sequential log blocks, of so many log blocks on so many channels: each has a log block on each.
    pub(crate) fn segments_of(&self, log_blocks: u32, channels: u32) -> u32 {
        let share = u64::from(log_blocks) * u64::from(self.sequential_percent) / 100;
        // Each channel keeps two random ones, which are both open at most times.
        let most = (log_blocks / channels).saturating_sub(2).max(1);
        ((share / u64::from(channels)) as u32).clamp(1, most)
    }
}

/// What a SUPERBLOCK FTL's superblocks are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SuperblockParts {
    /// Logical blocks of a superblock; 0 for the default: 4, or as many as a map page has room for.
    pub blocks: u32,
    /// Physical blocks of a superblock at the most; 0 for the default: twice as many as logical ones.
    pub most: u32,
    /// Superblocks whose page maps RAM caches; 0 for the default: as many as there are update blocks, at least 8.
    pub maps: u32,
}

impl SuperblockParts {
    /// All as it comes.
    pub(crate) const DEFAULT: Self = Self { blocks: 0, most: 0, maps: 0 };
}

/// Who has a drive's channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogInstances {
    /// One FTL has all of them.
    #[default]
    One,
    /// Each has an FTL of its own, and logical pages are dealt to them in turn (FTL-MM; LAST++ section 5.1). With one
    /// channel that is the same.
    PerChannel,
}

words!(LogInstances { One = "one", PerChannel = "per-channel" });

/// A log-block FTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogParts {
    /// What is written to which log block, and which is merged.
    pub scheme: LogScheme,
    /// Log blocks at the most; 0 for the default: a 32nd of the drive's blocks, at least 4, for LAST++ of each channel. Plain block mapping has one.
    /// Of superblocks these are the update blocks: what they have beyond a block for each logical one. Where each channel
    /// has an FTL of its own, they are dealt to these, and the default is each one's.
    pub log_blocks: u32,
    /// Who has a drive's channels.
    pub instances: LogInstances,
}

impl LogParts {
    /// By how many erases a block of cold data must be behind for its data to be moved; none where wear is not levelled.
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

    /// What the FTL of one channel is put together from, where each has its own: log blocks and cached maps are dealt to
    /// them. Two of each are the least that any has.
    pub(crate) fn of_channel(&self, channel: u32, channels: u32) -> Self {
        let share = |all: u32| match all {
            0 => 0,
            all => (all / channels + u32::from(channel < all % channels)).max(2),
        };
        let scheme = match self.scheme {
            LogScheme::Superblock(parts) => LogScheme::Superblock(SuperblockParts { maps: share(parts.maps), ..parts }),
            scheme => scheme,
        };
        Self { scheme, log_blocks: share(self.log_blocks), instances: LogInstances::One }
    }

    /// Log blocks of an FTL that has all of a drive of this shape.
    pub fn log_blocks_on(&self, geometry: &Geometry) -> u32 {
        match (self.scheme, self.log_blocks) {
            (LogScheme::Block, _) => 1,
            (LogScheme::Last(_), 0) => (geometry.blocks() / 32).max(4 * geometry.channels()),
            (_, 0) => (geometry.blocks() / 32).max(4),
            (_, blocks) => blocks,
        }
    }

    /// The parts that decide what stands on flash. The scheme may change from one start to the next: whatever log blocks
    /// there are, are merged.
    pub(crate) fn structures(&self, channels: u32) -> String {
        let structures = match self.scheme {
            LogScheme::Superblock(SuperblockParts { blocks, most, .. }) => {
                format!("superblocks({blocks}, {most}) map-blocks")
            }
            LogScheme::Last(_) => format!("segments({channels}) log-blocks map-blocks"),
            _ => "data-blocks log-blocks map-blocks".to_string(),
        };
        match self.instances {
            LogInstances::PerChannel if channels > 1 => format!("per-channel {structures}"),
            _ => structures,
        }
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        let [mapping, rest @ ..] = self.names_of_one();
        let mapping = match self.instances {
            LogInstances::One => mapping,
            LogInstances::PerChannel => format!("per channel: {mapping}"),
        };
        let [validity, victim, placement] = rest;
        [mapping, validity, victim, placement]
    }

    fn names_of_one(&self) -> [String; 4] {
        let unless_0 = |what: &str, number: u32| (number > 0).then(|| format!("{what}={number}"));
        let (victim, placement) = match self.scheme {
            LogScheme::Block => ("the one there is", "by logical block"),
            LogScheme::Bast => ("least recently written", "by logical block"),
            LogScheme::Fast => ("round robin", "sequential or random"),
            LogScheme::Superblock(_) => ("fewest live pages", "hot or cold in a superblock"),
            LogScheme::Last(_) => ("merge-cost table", "sequential, hot or cold"),
        };
        let (mapping, validity) = match self.scheme {
            LogScheme::Block => ("data-blocks".to_string(), "log-map"),
            LogScheme::Superblock(SuperblockParts { blocks, most, maps }) => {
                let shown = [("updates", self.log_blocks), ("blocks", blocks), ("most", most), ("maps", maps)];
                let shown = shown.into_iter().filter_map(|(what, number)| unless_0(what, number)).collect();
                (with("superblocks".to_string(), shown), "superblock-map")
            }
            scheme => {
                let blocks = unless_0("blocks", self.log_blocks).into_iter().collect();
                let data = if matches!(scheme, LogScheme::Last(_)) { "data-segments" } else { "data-blocks" };
                let log = with(self.value("log"), blocks);
                (format!("{data} + {log}{}", self.shown_of_last()), "log-map")
            }
        };
        [mapping, validity.into(), victim.into(), placement.into()]
    }

    /// What LAST++ shows of itself: what is not as the paper has it.
    fn shown_of_last(&self) -> String {
        let as_papers = Self { scheme: LogScheme::Last(LastParts::PAPERS), ..*self };
        let changed =
            self.all_settings().into_iter().zip(as_papers.all_settings()).filter(|(own, papers)| own != papers);
        let of_last = changed.filter_map(|((name, value), _)| Some((name.strip_prefix("last.")?, value)));
        of_last.map(|(name, value)| format!(", {name}={value}")).collect()
    }

    /// What becomes of metadata and how a power cut is survived, as in results.
    pub fn names_of_metadata_and_power(&self) -> [&'static str; 2] {
        ["collected", "map-blocks"]
    }

    /// How a power cut is survived, in a few words.
    pub fn power_loss(&self) -> &'static str {
        match self.scheme {
            LogScheme::Superblock(_) => "map blocks, and a scan of what is younger",
            LogScheme::Last(_) => "map blocks, summary pages, and a scan of open log blocks",
            _ => "map blocks, and a scan of log blocks",
        }
    }

    /// Refuses parameters that a drive of this shape cannot have.
    ///
    /// # Errors
    /// [`ConfigError::LogBlocks`] and [`ConfigError::TooFewForChannels`].
    pub fn check_on(&self, geometry: &Geometry, _logical_pages: u32) -> Result<(), ConfigError> {
        let (blocks, channels) = (geometry.blocks(), geometry.channels());
        let log_blocks = match (self.instances, self.log_blocks) {
            (LogInstances::PerChannel, 0) => 0,
            _ => self.log_blocks_on(geometry),
        };
        if log_blocks >= blocks {
            return Err(ConfigError::LogBlocks { log_blocks, blocks });
        }
        if matches!(self.scheme, LogScheme::Last(_)) && log_blocks < 3 * channels {
            return Err(ConfigError::TooFewForSegments { log_blocks, channels });
        }
        let maps = match self.scheme {
            LogScheme::Superblock(parts) => parts.maps,
            _ => 0,
        };
        let dealt = [("log.blocks", self.log_blocks), ("superblock.maps", maps)];
        let too_few = dealt.into_iter().find(|(_, number)| *number > 0 && number / 2 < channels);
        match (self.instances, too_few) {
            (LogInstances::PerChannel, Some((name, number))) => {
                Err(ConfigError::TooFewForChannels { name, number, channels })
            }
            _ => Ok(()),
        }
    }
}

const OF_SUPERBLOCK: &str = "only log=superblock has it";
const OF_LAST: &str = "only log=last++ has it";

/// A parameter of LAST++'s, and where it is.
macro_rules! last {
    ($field:ident, $param:expr) => {
        last!($field, $param, |value| Number::number(value), |number| Number::of(number))
    };
    // The first word says that it is so.
    (not $field:ident, $param:expr) => {
        last!($field, $param, |value: bool| Number::number(!value), |number| number == 0)
    };
    ($field:ident, $param:expr, $number:expr, $of:expr) => {
        own(
            $param,
            |parts| match parts.scheme {
                LogScheme::Last(last) => Some($number(last.$field)),
                _ => None,
            },
            |parts, number| match &mut parts.scheme {
                LogScheme::Last(last) => {
                    last.$field = $of(number);
                    Ok(())
                }
                _ => Err(OF_LAST),
            },
        )
    };
}

/// A parameter of superblocks, and where it is.
macro_rules! superblock {
    ($field:ident, $param:expr) => {
        own(
            $param,
            |parts| match parts.scheme {
                LogScheme::Superblock(of) => Some(of.$field),
                _ => None,
            },
            |parts, number| match &mut parts.scheme {
                LogScheme::Superblock(of) => {
                    of.$field = number;
                    Ok(())
                }
                _ => Err(OF_SUPERBLOCK),
            },
        )
    };
}

static ROWS: [Row<LogParts>; 16] = [
    part!(LogParts, "log", "how a log-block FTL uses its log blocks", scheme, [
        "block" => LogScheme::Block, "bast" => LogScheme::Bast, "fast" => LogScheme::Fast,
        "superblock" => LogScheme::Superblock(SuperblockParts::DEFAULT), "last++" => LogScheme::Last(LastParts::PAPERS)
    ])
    .then(|parts| match parts.scheme {
        LogScheme::Block => parts.log_blocks = 0,
        LogScheme::Last(_) => parts.instances = LogInstances::One,
        _ => {}
    }),
    own(
        Param::number_or_default(
            "log.blocks", 2, u32::MAX, "a 32nd of all blocks, at least 4",
            "log blocks of bast, fast and last++ (3 and more of each channel), update blocks of superblock; of all channels together",
        )
        .said("it can be 0 for the default, or a whole number of blocks from {least}"),
        |parts| (parts.scheme != LogScheme::Block).then_some(parts.log_blocks),
        |parts, number| match parts.scheme {
            LogScheme::Block => {
                Err("only log=bast, log=fast, log=superblock and log=last++ have it: plain block mapping has one")
            }
            _ => {
                parts.log_blocks = number;
                Ok(())
            }
        },
    ),
    // Images are older than the other.
    own(
        Param::words(
            "log.instances", LogInstances::WORDS,
            "whether one log-block FTL has all channels, or each has its own and pages are dealt to them (FTL-MM)",
        ),
        |parts: &LogParts| Some(parts.instances.number()),
        |parts, number| match (parts.scheme, LogInstances::of(number)) {
            (LogScheme::Last(_), LogInstances::PerChannel) => {
                Err("only other log-block FTLs have it: last++ has segments over all channels")
            }
            (_, instances) => {
                parts.instances = instances;
                Ok(())
            }
        },
    )
    .left_out(0),
    superblock!(blocks, Param::number_or_default(
        "superblock.blocks", 1, 64, "4, or what fits a map page", "logical blocks of a superblock",
    )),
    superblock!(most, Param::number_or_default(
        "superblock.most", 2, 128, "twice as many", "physical blocks of a superblock at the most",
    )),
    superblock!(maps, Param::number_or_default(
        "superblock.maps", 2, u32::MAX, "as update blocks, at least 8", "superblocks whose page maps are cached",
    ).said("it can be 0 for the default, or a whole number of maps from {least}")),
    last!(threshold, Param::number(
        "last.threshold", 1, 1_000_000, 16, "from which on a request is sequential to last++",
    ).unit("pages").said("it can be {least} to {most} pages")),
    last!(sequential_percent, Param::number(
        "last.sequential", 1, 90, 25, "of the log blocks of last++ that are sequential ones",
    ).unit("percent").said("it can be {least} to {most} percent")),
    last!(not reduced_merge_costs, Param::words(
        "last.merge-costs", &["reduced", "full"],
        "whether the merge-cost table has room for 32 data blocks of a log block",
    )),
    last!(partitions, Param::words(
        "last.partitions", &["one", "two"], "whether random log blocks are in a hot and a cold partition",
    )),
    last!(copies_skipped, Param::words(
        "last.skipped", &["holes", "copied"],
        "what last++ does with pages that a sequential request skips in its log block",
    )),
    last!(not summary, Param::words(
        "last.summary", &["on", "off"], "whether a random log block of last++ ends with a summary of its pages",
    )),
    last!(background, Param::words(
        "last.background", LastBackground::WORDS, "what last++ merges while the host is idle",
    )),
    last!(idle_ms, Param::number(
        "last.idle", 0, 1_000_000, 100, "how long the host is idle before that",
    ).unit("milliseconds").said("it can be {least} to {most} milliseconds")),
    last!(swaps, Param::words("last.wear", &["none", "swap"], "whether last++ moves cold data to worn blocks")),
    last!(swap_lag, Param::number(
        "last.wear-lag", 1, 10_000, 8, "by which the block of cold data must be behind the most worn free one",
    ).unit("erases").said("it can be {least} to {most} erases")),
];

impl Parts for LogParts {
    fn rows() -> &'static [Row<Self>] {
        &ROWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Composition, Preset};

    fn set(ftl: &str, settings: &[(&str, &str)]) -> Result<Composition, ConfigError> {
        let mut composition = Preset::named(ftl).unwrap().composition;
        composition.set_all(settings).map(|()| composition)
    }

    #[test]
    fn parameters_are_those_of_the_family_alone() {
        let bast = set("bast", &[("log.blocks", "17"), ("log", "fast")]).unwrap();
        let instances = LogInstances::One;
        assert_eq!(bast, Composition::LogBlock(LogParts { scheme: LogScheme::Fast, log_blocks: 17, instances }));
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
    fn log_blocks_and_cached_maps_are_dealt_to_the_channels() {
        let settings = [("log.blocks", "11"), ("superblock.maps", "9"), ("superblock.most", "7")];
        let Composition::LogBlock(parts) = set("ftl-mm:superblock", &settings).unwrap() else { panic!("page-mapped") };
        assert_eq!(parts.names()[0], "per channel: superblocks(updates=11, most=7, maps=9)");
        let dealt = |channel| {
            let of = parts.of_channel(channel, 4);
            let LogScheme::Superblock(SuperblockParts { maps, most: 7, .. }) = of.scheme else { panic!("{of:?}") };
            assert_eq!(of.instances, LogInstances::One);
            (of.log_blocks, maps)
        };
        assert_eq!([0, 1, 2, 3].map(dealt), [(3, 3), (3, 2), (3, 2), (2, 2)]);
        // The default is each one's own.
        let Composition::LogBlock(parts) = set("fast", &[("log.instances", "per-channel")]).unwrap() else { panic!() };
        assert_eq!(parts.of_channel(3, 4).log_blocks, 0);
        assert_eq!(Composition::LogBlock(parts), Preset::named("ftl-mm:fast").unwrap().composition);
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
        assert_eq!(parts.check_on(&drive(64), 100), Err(ConfigError::LogBlocks { log_blocks: 64, blocks: 64 }));
    }
}
