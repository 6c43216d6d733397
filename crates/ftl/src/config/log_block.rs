//! What a log-block FTL is put together from, and its parameters by name.

use super::{ConfigError, PARAMETERS};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
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

impl LastBackground {
    fn name(self) -> &'static str {
        match self {
            Self::Foreground => "none",
            Self::Aggressive => "aggressive",
            Self::Conservative => "conservative",
        }
    }
}

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

    fn shown(&self) -> String {
        let (own, default) = (self.settings(), Self::PAPERS.settings());
        let mut shown = String::new();
        for ((name, value), _) in own.iter().zip(&default).filter(|(own, default)| own != default) {
            shown.push_str(&format!(", {}={value}", name.trim_start_matches("last.")));
        }
        shown
    }

    /// Its parameters with their values.
    pub fn settings(&self) -> [(&'static str, String); 10] {
        let switch = |on| if on { "on" } else { "off" }.to_string();
        [
            ("last.threshold", self.threshold.to_string()),
            ("last.sequential", self.sequential_percent.to_string()),
            ("last.merge-costs", if self.reduced_merge_costs { "reduced" } else { "full" }.to_string()),
            ("last.partitions", if self.partitions { "two" } else { "one" }.to_string()),
            ("last.skipped", if self.copies_skipped { "copied" } else { "holes" }.to_string()),
            ("last.summary", switch(self.summary)),
            ("last.background", self.background.name().to_string()),
            ("last.idle", self.idle_ms.to_string()),
            ("last.wear", if self.swaps { "swap" } else { "none" }.to_string()),
            ("last.wear-lag", self.swap_lag.to_string()),
        ]
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let number = value.parse::<u32>().ok();
        match (name, value, number) {
            ("last.threshold", _, Some(pages @ 1..=1_000_000)) => self.threshold = pages,
            ("last.threshold", ..) => return Err("it can be 1 to 1000000 pages"),
            ("last.sequential", _, Some(percent @ 1..=90)) => self.sequential_percent = percent,
            ("last.sequential", ..) => return Err("it can be 1 to 90 percent"),
            ("last.merge-costs", "reduced" | "full", _) => self.reduced_merge_costs = value == "reduced",
            ("last.merge-costs", ..) => return Err("it can be reduced or full"),
            ("last.partitions", "one" | "two", _) => self.partitions = value == "two",
            ("last.partitions", ..) => return Err("it can be one or two"),
            ("last.skipped", "holes" | "copied", _) => self.copies_skipped = value == "copied",
            ("last.skipped", ..) => return Err("it can be holes or copied"),
            ("last.background", "none", _) => self.background = LastBackground::Foreground,
            ("last.background", "aggressive", _) => self.background = LastBackground::Aggressive,
            ("last.background", "conservative", _) => self.background = LastBackground::Conservative,
            ("last.background", ..) => return Err("it can be none, aggressive or conservative"),
            ("last.idle", _, Some(ms @ 0..=1_000_000)) => self.idle_ms = ms,
            ("last.idle", ..) => return Err("it can be 0 to 1000000 milliseconds"),
            ("last.wear", "none" | "swap", _) => self.swaps = value == "swap",
            ("last.wear", ..) => return Err("it can be none or swap"),
            ("last.wear-lag", _, Some(lag @ 1..=10_000)) => self.swap_lag = lag,
            ("last.wear-lag", ..) => return Err("it can be 1 to 10000 erases"),
            ("last.summary", "on" | "off", _) => self.summary = value == "on",
            _ => return Err("it can be on or off"),
        }
        Ok(())
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

impl LogScheme {
    /// Its name as the parameter `log` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Bast => "bast",
            Self::Fast => "fast",
            Self::Superblock(_) => "superblock",
            Self::Last(_) => "last++",
        }
    }
}

/// The parameters of LAST++.
const LAST: &[&str] = &[
    "last.threshold",
    "last.sequential",
    "last.merge-costs",
    "last.partitions",
    "last.skipped",
    "last.summary",
    "last.background",
    "last.idle",
    "last.wear",
    "last.wear-lag",
];

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
        let blocks = match (self.scheme, self.log_blocks) {
            (LogScheme::Block, _) | (_, 0) => String::new(),
            (_, blocks) => format!("(blocks={blocks})"),
        };
        let (victim, placement) = match self.scheme {
            LogScheme::Block => ("the one there is", "by logical block"),
            LogScheme::Bast => ("least recently written", "by logical block"),
            LogScheme::Fast => ("round robin", "sequential or random"),
            LogScheme::Superblock(_) => ("fewest live pages", "hot or cold in a superblock"),
            LogScheme::Last(_) => ("merge-cost table", "sequential, hot or cold"),
        };
        let mapping = match self.scheme {
            LogScheme::Block => "data-blocks".to_string(),
            LogScheme::Superblock(parts) => {
                let mut shown = Vec::new();
                let named = [("updates", self.log_blocks), ("blocks", parts.blocks), ("most", parts.most)];
                for (name, number) in named.into_iter().chain([("maps", parts.maps)]).filter(|(_, n)| *n != 0) {
                    shown.push(format!("{name}={number}"));
                }
                let shown = if shown.is_empty() { String::new() } else { format!("({})", shown.join(", ")) };
                return [format!("superblocks{shown}"), "superblock-map".into(), victim.into(), placement.into()];
            }
            LogScheme::Last(parts) => {
                let shown = parts.shown();
                format!("data-segments + last++{blocks}{shown}")
            }
            scheme => format!("data-blocks + {}{blocks}", scheme.name()),
        };
        [mapping, "log-map".into(), victim.into(), placement.into()]
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

    /// Whether a parameter is one of this family.
    pub(crate) fn has(name: &str) -> bool {
        name == "log" || ["log.", "superblock.", "last."].iter().any(|family| name.starts_with(family))
    }

    /// Changes one parameter.
    ///
    /// # Errors
    /// [`ConfigError`]: no such parameter, or a value it cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        match (name, value) {
            ("log", "block") => *self = Self { scheme: LogScheme::Block, log_blocks: 0, ..*self },
            ("log", "bast") => self.scheme = LogScheme::Bast,
            ("log", "fast") => self.scheme = LogScheme::Fast,
            ("log", "superblock") => self.scheme = LogScheme::Superblock(SuperblockParts::default()),
            ("log", "last++") => {
                *self = Self { scheme: LogScheme::Last(LastParts::PAPERS), instances: LogInstances::One, ..*self }
            }
            ("log", _) => return Err(bad("it can be block, bast, fast, superblock or last++")),
            ("log.instances", "per-channel") if matches!(self.scheme, LogScheme::Last(_)) => {
                let only = "only other log-block FTLs have it: last++ has segments over all channels";
                return Err(ConfigError::NoSuchPart { name: name.to_string(), value: value.to_string(), only });
            }
            ("log.instances", "one") => self.instances = LogInstances::One,
            ("log.instances", "per-channel") => self.instances = LogInstances::PerChannel,
            ("log.instances", _) => return Err(bad("it can be one or per-channel")),
            ("log.blocks", _) if self.scheme == LogScheme::Block => {
                let only =
                    "only log=bast, log=fast, log=superblock and log=last++ have it: plain block mapping has one";
                return Err(ConfigError::NoSuchPart { name: name.to_string(), value: value.to_string(), only });
            }
            ("log.blocks", _) => match value.parse() {
                Ok(blocks) if blocks != 1 => self.log_blocks = blocks,
                _ => return Err(bad("it can be 0 for the default, or a whole number of blocks from 2")),
            },
            (name, _) if name.starts_with("last.") && self::LAST.contains(&name) => {
                let LogScheme::Last(parts) = &mut self.scheme else {
                    let only = "only log=last++ has it";
                    return Err(ConfigError::NoSuchPart { name: name.to_string(), value: value.to_string(), only });
                };
                parts.set(name, value).map_err(bad)?;
            }
            ("superblock.blocks" | "superblock.most" | "superblock.maps", _) => {
                let LogScheme::Superblock(parts) = &mut self.scheme else {
                    let only = "only log=superblock has it";
                    return Err(ConfigError::NoSuchPart { name: name.to_string(), value: value.to_string(), only });
                };
                let number = value.parse().ok();
                match (name, number) {
                    ("superblock.blocks", Some(blocks @ 0..=64)) => parts.blocks = blocks,
                    ("superblock.most", Some(most @ (0 | 2..=128))) => parts.most = most,
                    ("superblock.maps", Some(maps)) if maps != 1 => parts.maps = maps,
                    ("superblock.blocks", _) => return Err(bad("it can be 0 for the default, or 1 to 64")),
                    ("superblock.most", _) => return Err(bad("it can be 0 for the default, or 2 to 128")),
                    _ => return Err(bad("it can be 0 for the default, or a whole number of maps from 2")),
                }
            }
            _ => {
                let known = PARAMETERS.iter().map(|(n, ..)| *n).collect::<Vec<_>>().join(", ");
                return Err(ConfigError::UnknownParameter { name: name.to_string(), known });
            }
        }
        Ok(())
    }

    /// Changes all of these, whatever their order.
    ///
    /// # Errors
    /// As [`set`](Self::set), or a parameter that is there twice.
    pub fn set_all(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        let mut changed = *self;
        for (n, (name, _)) in settings.iter().enumerate() {
            if settings.iter().take(n).any(|(earlier, _)| earlier == name) {
                return Err(ConfigError::Repeated(name.to_string()));
            }
        }
        for of_scheme in [true, false] {
            for (name, value) in settings.iter().filter(|(name, _)| (*name == "log") == of_scheme) {
                changed.set(name, value)?;
            }
        }
        *self = changed;
        Ok(())
    }

    /// As [`set_all`](Self::set_all), but for parameters that this scheme does not have.
    ///
    /// # Errors
    /// As [`set_all`](Self::set_all).
    pub fn set_what_is_there(&mut self, settings: &[(&str, &str)]) -> Result<Vec<ConfigError>, ConfigError> {
        let (mut settings, mut lacking) = (settings.to_vec(), Vec::new());
        loop {
            match self.set_all(&settings) {
                Ok(()) => return Ok(lacking),
                // One fewer each time.
                Err(ConfigError::NoSuchPart { name, value, only }) => {
                    settings.retain(|(other, _)| *other != name);
                    lacking.push(ConfigError::NoSuchPart { name, value, only });
                }
                Err(error) => return Err(error),
            }
        }
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
