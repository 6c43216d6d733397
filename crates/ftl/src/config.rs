//! What an FTL is put together from, and the parameters that change it.

#[cfg(feature = "mutants")]
use crate::barriers::Barrier;
use crate::barriers::Barriers;
use crate::blocks::LOOKS_MAX;
use alloc::format;
use alloc::string::{String, ToString};
use thiserror::Error;

/// Where each logical page is: the mapping part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingPart {
    /// The whole table in RAM.
    RamTable,
    /// Translation pages on flash, their directory and a cache of entries in RAM (DFTL; GeckoFTL section 4).
    Paged {
        /// C, the entries that the cache holds; 0 for the default: 1/512 of the table at 8 bytes an entry, at
        /// least 1,024.
        cache_entries: u32,
        /// What a write does when its entry is not cached.
        on_miss: OnMiss,
        /// How many of the entries may be dirty.
        dirty: DirtyLimit,
        /// How it is known where each translation page is.
        directory: DirectoryPart,
    },
}

/// How it is known where each translation page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirectoryPart {
    /// By a directory in RAM, four bytes a translation page (GMD; GeckoFTL section 2).
    Flat,
    /// The translation pages are the leaves of a B+-tree on flash, of which RAM holds the root (GeckoFTL section 5.3).
    BTree {
        /// Inner nodes cached; 0 for the default: an eighth of them, at least 8.
        nodes: u32,
        /// Children of a node; 0 for as many as a page has room for.
        fanout: u32,
    },
}

/// How many cached entries may be dirty, and what is synchronized when there are more (LazyFTL as GeckoFTL sections 5.3
/// and 6 take it).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirtyLimit {
    /// Percent of C, from 1 to 100: 100 is none.
    pub percent: u32,
    /// What goes with an entry that leaves the dirty ones.
    pub synchronize: Synchronize,
}

impl DirtyLimit {
    /// Every entry may be dirty.
    pub const NONE: Self = Self { percent: 100, synchronize: Synchronize::TranslationPage };

    /// D, the entries that may be dirty in a cache of so many.
    pub(crate) fn entries(self, cache_entries: u32) -> u32 {
        ((u64::from(cache_entries) * u64::from(self.percent) / 100) as u32).max(1)
    }
}

/// What is synchronized when a dirty entry must go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchronize {
    /// Its translation page.
    TranslationPage,
    /// Those as well of all dirty entries whose pages lie in the same block (GeckoFTL section 6 of LazyFTL).
    PhysicalBlock,
}

/// What a host write does when the mapping entry is not cached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnMiss {
    /// It reads the translation page, and so learns which page it makes stale.
    Fetch,
    /// It leaves that to the next synchronization (GeckoFTL section 4.1).
    Lazy,
}

/// Which physical pages are live: the validity part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValidityPart {
    /// A bitmap in RAM (PVB).
    RamBitmap,
    /// A bitmap in flash.
    FlashBitmap,
    /// A log of stale pages in flash, chained by block (PVL; IB-FTL as GeckoFTL appendix E has it).
    PageValidityLog,
    /// Logarithmic Gecko (GeckoFTL section 3).
    Gecko {
        /// T, the size ratio of neighbouring levels, 2 or more.
        size_ratio: u32,
        /// S, the parts of a block's bitmap; 0 for the default: one for each 32 pages of a block.
        partitions: u32,
        /// How runs are merged.
        merge: GeckoMerge,
    },
}

/// How the runs of Logarithmic Gecko are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeckoMerge {
    /// Two at a time, level by level (GeckoFTL section 3).
    TwoWay,
    /// All that are going to be merged, at once (GeckoFTL appendix A).
    MultiWay,
}

/// What becomes of blocks of metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataPart {
    /// They are collected like all others.
    Collected,
    /// They are left until all of their pages are stale (GeckoFTL section 4.2), unless they take too much space.
    Left,
}

/// Which block is collected next: the victim part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VictimPart {
    /// The fewest live pages.
    Greedy,
    /// Closed longest ago.
    Fifo,
    /// The fewest live pages among `d` drawn at random.
    DChoices {
        /// How many are drawn.
        d: u32,
    },
    /// The fewest live pages among those whose live pages RAM counts: a sample of the blocks, and those of metadata
    /// (GeckoFTL section 5.3).
    Sampled {
        /// Blocks in the sample, all where there are no more; 0 for the default: a sixteenth of them, at least 16.
        blocks: u32,
        /// Blocks that are not in it and are asked about before each collection.
        looks: u32,
    },
}

/// Which stream a page is written to: the placement part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementPart {
    /// Everything to one.
    OneStream,
    /// Host writes to one, moved pages to another.
    HostGc,
}

/// How a drive survives a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PowerPart {
    /// By scanning spare areas when the power is back. For a mapping table and validity in RAM.
    Scan,
    /// A battery keeps the flash going while what RAM alone knows is saved
    /// ([`Ftl::power_fail`](crate::Ftl::power_fail)). For a demand-paged mapping with a bitmap in RAM or in flash.
    Battery,
    /// By checkpoints and GeckoRec (GeckoFTL section 4.3 and appendix C). For a demand-paged mapping with Logarithmic
    /// Gecko.
    GeckoRec,
    /// By synchronizing everything before the drive goes on, and reading the whole translation table, or the whole page
    /// validity log (LazyFTL and IB-FTL as GeckoFTL sections 5.3 and 6 take them). For a demand-paged mapping with
    /// validity in RAM or in such a log.
    Synchronize,
    /// Not at all.
    Nothing,
}

/// Whether blocks are worn evenly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WearPart {
    /// As it comes.
    Nothing,
    /// Erase counts in spare areas, static and dynamic levelling (GeckoFTL appendix D).
    Levelling {
        /// How far below the average the erase count of a block of static data must be for it to be emptied.
        threshold: u32,
        /// How many free blocks are looked at before one is opened; with 1 there is no dynamic levelling.
        looks: u32,
    },
}

/// A page-mapped FTL as a composition of parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Composition {
    /// Where each logical page is.
    pub mapping: MappingPart,
    /// Which physical pages are live.
    pub validity: ValidityPart,
    /// Which block is collected next.
    pub victim: VictimPart,
    /// Which stream a page is written to.
    pub placement: PlacementPart,
    /// What becomes of blocks of metadata.
    pub metadata: MetadataPart,
    /// How a power cut is survived.
    pub power: PowerPart,
    /// Whether blocks are worn evenly.
    pub wear: WearPart,
}

/// An FTL with everything it needs to know besides the flash.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The name the drive is formatted under: a preset's.
    pub name: String,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// Seed of everything random in the FTL.
    pub seed: u64,
    /// Its parts.
    pub composition: Composition,
    /// The barrier that this FTL forgets: for the proof that the crash laboratory notices.
    #[cfg(feature = "mutants")]
    pub forgets: Option<Barrier>,
}

impl Config {
    /// The FTL called `name` with these parts.
    pub fn new(name: &str, composition: Composition, logical_pages: u32, seed: u64) -> Self {
        Self {
            name: name.to_string(),
            logical_pages,
            seed,
            composition,
            #[cfg(feature = "mutants")]
            forgets: None,
        }
    }

    pub(crate) fn barriers(&self) -> Barriers {
        Barriers {
            #[cfg(feature = "mutants")]
            forgets: self.forgets,
        }
    }
}

/// A parameter that is not one, or a value it cannot have.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConfigError {
    /// No such parameter.
    #[error("unknown parameter '{name}'; known are {known}")]
    UnknownParameter {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A value that the parameter cannot have.
    #[error("'{name}' cannot be '{value}': {right}")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value asked for.
        value: String,
        /// What would be right.
        right: &'static str,
    },
    /// One parameter, given more than once.
    #[error("'{0}' is set more than once; once would be right")]
    Repeated(String),
    /// More parts of a block's bitmap than the block has pages.
    #[error(
        "'gecko.partitions' cannot be '{partitions}': a block has {pages_per_block} pages and cannot have more parts"
    )]
    Partitions {
        /// S, as asked for.
        partitions: u32,
        /// Pages of a block.
        pages_per_block: u32,
    },
    /// A cache larger than the mapping table.
    #[error(
        "a cache of {entries} mapping entries and {logical_pages} logical pages: a cache of at most as many entries ({} \
         bytes) would be right",
        u64::from(*logical_pages) * ENTRY_BYTES
    )]
    Cache {
        /// C, as asked for.
        entries: u32,
        /// Logical pages of the drive.
        logical_pages: u32,
    },
    /// No such preset.
    #[error("unknown FTL '{name}'; known are {known}")]
    UnknownPreset {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

/// A cached mapping entry, at packed size.
pub const ENTRY_BYTES: u64 = 8;

/// The smallest cache of mapping entries.
pub(crate) const CACHE_MIN: u32 = 16;

/// The smallest sample of counters.
pub(crate) const SAMPLE_MIN: u32 = 16;

/// A B+-tree of translation pages with its defaults.
pub(crate) const B_TREE: DirectoryPart = DirectoryPart::BTree { nodes: 0, fanout: 0 };

/// The demand-paged mapping with its defaults.
pub(crate) const LAZY: MappingPart = MappingPart::Paged {
    cache_entries: 0,
    on_miss: OnMiss::Lazy,
    dirty: DirtyLimit::NONE,
    directory: DirectoryPart::Flat,
};

/// Logarithmic Gecko with its defaults.
pub(crate) const GECKO: ValidityPart =
    ValidityPart::Gecko { size_ratio: 2, partitions: 0, merge: GeckoMerge::MultiWay };

/// A sample of the counters with its defaults.
const SAMPLED: VictimPart = VictimPart::Sampled { blocks: 0, looks: 4 };

/// Levelling of wear with its defaults.
const LEVELLING: WearPart = WearPart::Levelling { threshold: 12, looks: 8 };

/// Every parameter: its name, what it can be, what it means.
pub const PARAMETERS: &[(&str, &str, &str)] = &[
    ("mapping", "ram-table | paged", "where each logical page is"),
    ("mapping.cache", "entries; 0 for the default", "mapping entries cached by paged, at 8 bytes each"),
    ("mapping.on-miss", "fetch | lazy", "what a write does whose entry is not cached"),
    ("mapping.directory", "flat | b-tree", "where translation pages are: all in RAM, or the root alone"),
    ("mapping.nodes", "0 to 1000000 (0: an eighth of them, at least 8)", "inner nodes cached by b-tree, a page each"),
    ("mapping.fanout", "0, or 2 and more (0: what a page has room for)", "children of a node of b-tree"),
    ("mapping.dirty-limit", "1 to 100 (100: none)", "percent of the cached entries that may be dirty"),
    (
        "mapping.synchronize",
        "translation-page | physical-block",
        "what is synchronized with a dirty entry that must go",
    ),
    ("validity", "ram-bitmap | flash-bitmap | page-validity-log | gecko", "which physical pages are live"),
    ("gecko.size-ratio", "2 to 64 (default 2)", "T, the size ratio of neighbouring levels"),
    ("gecko.partitions", "0 to pages per block (0: a 32nd of them)", "S, the parts of a block's bitmap"),
    ("gecko.merge", "multi-way | two-way", "how runs are merged"),
    ("victim", "greedy | fifo | d-choices | sampled", "which block is collected next"),
    ("victim.d", "1 to 1000 (default 10)", "blocks drawn by d-choices"),
    (
        "victim.sample",
        "0, or 16 and more (0: a 16th of the blocks, at least 16)",
        "blocks whose live pages sampled counts in RAM",
    ),
    ("victim.looks", "1 to 64 (default 4)", "blocks that sampled asks about before each collection"),
    ("placement", "one-stream | host-gc", "which stream a page is written to"),
    ("power", "scan | battery | gecko-rec | synchronize | nothing", "how a power cut is survived"),
    ("metadata", "collected | left", "whether blocks of metadata are collected or left until they are stale"),
    ("wear", "none | levelling", "whether blocks are worn evenly"),
    ("wear.threshold", "1 to 10000 (default 12)", "erases that a block of static data may lag behind the average"),
    ("wear.looks", "1 to 32 (default 8)", "free blocks looked at for the least or the most worn"),
];

impl Composition {
    /// Changes all of these, whatever their order: what names a part comes before what changes it. Where the parts are
    /// such that power cuts are not survived in the way that was, and no other was asked for, they are not at all.
    ///
    /// # Errors
    /// [`ConfigError`]: as [`set`](Self::set); a parameter that is there twice; `power` that cannot be with these parts.
    pub fn set_all(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        let same = |a: &str, b: &str| a.replace('_', "-") == b.replace('_', "-");
        for (n, (name, _)) in settings.iter().enumerate() {
            if settings.iter().take(n).any(|(earlier, _)| same(earlier, name)) {
                return Err(ConfigError::Repeated(name.to_string()));
            }
        }
        // A part of the mapping has parameters of its own.
        let rank = |name: &str| if name == "mapping.directory" { 1 } else { 2 * usize::from(name.contains('.')) };
        for wanted in 0..3 {
            for (name, value) in settings.iter().filter(|(name, _)| rank(name) == wanted) {
                self.set(name, value)?;
            }
        }
        let Some(why) = self.why_not_survivable().filter(|_| self.power != PowerPart::Nothing) else { return Ok(()) };
        match settings.iter().find(|(name, _)| *name == "power") {
            Some((name, value)) => {
                Err(ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right: why })
            }
            None => {
                self.power = PowerPart::Nothing;
                Ok(())
            }
        }
    }

    /// Refuses parameters that a drive of this shape cannot have.
    ///
    /// # Errors
    /// [`ConfigError::Partitions`] and [`ConfigError::Cache`].
    pub fn check_on(&self, pages_per_block: u32, logical_pages: u32) -> Result<(), ConfigError> {
        match (self.validity, self.mapping) {
            (ValidityPart::Gecko { partitions, .. }, _) if partitions > pages_per_block => {
                Err(ConfigError::Partitions { partitions, pages_per_block })
            }
            (_, MappingPart::Paged { cache_entries: entries, .. }) if entries > logical_pages.max(CACHE_MIN) => {
                Err(ConfigError::Cache { entries, logical_pages })
            }
            _ => Ok(()),
        }
    }

    /// Changes one parameter. The one that names a part puts it in with its defaults.
    ///
    /// # Errors
    /// [`ConfigError`]: no such parameter, or a value it cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        // Names may be written with either.
        match (name.replace('_', "-").as_str(), value) {
            ("mapping", "ram-table") => self.mapping = MappingPart::RamTable,
            ("mapping", "paged") => self.mapping = LAZY,
            ("mapping", _) => return Err(bad("it can be ram-table or paged")),
            ("mapping.cache", _) => match (value.parse(), &mut self.mapping) {
                (Ok(value), MappingPart::Paged { cache_entries, .. }) if value == 0 || value >= CACHE_MIN => {
                    *cache_entries = value;
                }
                (Ok(_), MappingPart::Paged { .. }) => {
                    return Err(bad("it can be 0 for the default, or 16 entries or more"));
                }
                (Ok(_), _) => return Err(bad("only the mapping part paged has a cache")),
                _ => return Err(bad("it can be a whole number of entries")),
            },
            ("mapping.on-miss", "fetch" | "lazy") => match &mut self.mapping {
                MappingPart::Paged { on_miss, .. } => {
                    *on_miss = if value == "fetch" { OnMiss::Fetch } else { OnMiss::Lazy };
                }
                MappingPart::RamTable => return Err(bad("only the mapping part paged misses")),
            },
            ("mapping.on-miss", _) => return Err(bad("it can be fetch or lazy")),
            ("mapping.dirty-limit" | "mapping.synchronize", _) => self.set_dirty_limit(name, value)?,
            ("mapping.directory" | "mapping.nodes" | "mapping.fanout", _) => self.set_directory(name, value)?,
            ("validity", "ram-bitmap") => self.validity = ValidityPart::RamBitmap,
            ("validity", "flash-bitmap") => self.validity = ValidityPart::FlashBitmap,
            ("validity", "page-validity-log") => self.validity = ValidityPart::PageValidityLog,
            ("validity", "gecko") => self.validity = GECKO,
            ("validity", _) => return Err(bad("it can be ram-bitmap, flash-bitmap, page-validity-log or gecko")),
            ("gecko.size-ratio" | "gecko.partitions" | "gecko.merge", _) => self.set_gecko(name, value)?,
            ("victim", "greedy") => self.victim = VictimPart::Greedy,
            ("victim", "fifo") => self.victim = VictimPart::Fifo,
            ("victim", "d-choices") => self.victim = VictimPart::DChoices { d: 10 },
            ("victim", "sampled") => self.victim = SAMPLED,
            ("victim", _) => return Err(bad("it can be greedy, fifo, d-choices or sampled")),
            ("victim.sample" | "victim.looks", _) => self.set_sample(name, value)?,
            ("victim.d", _) => match (value.parse(), &mut self.victim) {
                (Ok(value @ 1..=1000), VictimPart::DChoices { d }) => *d = value,
                (Ok(1..=1000), _) => return Err(bad("only the victim part d-choices draws blocks")),
                _ => return Err(bad("it can be a whole number from 1 to 1000")),
            },
            ("placement", "one-stream") => self.placement = PlacementPart::OneStream,
            ("placement", "host-gc") => self.placement = PlacementPart::HostGc,
            ("placement", _) => return Err(bad("it can be one-stream or host-gc")),
            ("power", "scan") => self.power = PowerPart::Scan,
            ("power", "battery") => self.power = PowerPart::Battery,
            ("power", "gecko-rec") => self.power = PowerPart::GeckoRec,
            ("power", "synchronize") => self.power = PowerPart::Synchronize,
            ("power", "nothing") => self.power = PowerPart::Nothing,
            ("power", _) => return Err(bad("it can be scan, battery, gecko-rec, synchronize or nothing")),
            ("metadata", "collected") => self.metadata = MetadataPart::Collected,
            ("metadata", "left") => self.metadata = MetadataPart::Left,
            ("metadata", _) => return Err(bad("it can be collected or left")),
            ("wear", "none") => self.wear = WearPart::Nothing,
            ("wear", "levelling") => self.wear = LEVELLING,
            ("wear", _) => return Err(bad("it can be none or levelling")),
            ("wear.threshold" | "wear.looks", _) => self.set_wear(name, value)?,
            _ => {
                let known = PARAMETERS.iter().map(|(n, ..)| *n).collect::<alloc::vec::Vec<_>>().join(", ");
                return Err(ConfigError::UnknownParameter { name: name.to_string(), known });
            }
        }
        Ok(())
    }

    fn set_dirty_limit(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        let MappingPart::Paged { dirty, .. } = &mut self.mapping else {
            return Err(bad("only the mapping part paged has it"));
        };
        match (name.replace('_', "-").as_str(), value) {
            ("mapping.dirty-limit", _) => match value.parse() {
                Ok(value @ 1..=100) => dirty.percent = value,
                _ => return Err(bad("it can be a whole number of percent from 1 to 100")),
            },
            (_, "translation-page") => dirty.synchronize = Synchronize::TranslationPage,
            (_, "physical-block") => dirty.synchronize = Synchronize::PhysicalBlock,
            _ => return Err(bad("it can be translation-page or physical-block")),
        }
        Ok(())
    }

    fn set_sample(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        let VictimPart::Sampled { blocks, looks } = &mut self.victim else {
            return Err(bad("only the victim part sampled has it"));
        };
        match (name, value.parse()) {
            ("victim.sample", Ok(value)) if value == 0 || value >= SAMPLE_MIN => *blocks = value,
            ("victim.sample", _) => return Err(bad("it can be 0 for the default, or 16 blocks or more")),
            (_, Ok(value @ 1..=64)) => *looks = value,
            _ => return Err(bad("it can be a whole number from 1 to 64")),
        }
        Ok(())
    }

    fn set_wear(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        let WearPart::Levelling { threshold, looks } = &mut self.wear else {
            return Err(bad("only wear=levelling has it"));
        };
        match (name, value.parse()) {
            ("wear.threshold", Ok(value @ 1..=10_000)) => *threshold = value,
            ("wear.threshold", _) => return Err(bad("it can be a whole number from 1 to 10000")),
            (_, Ok(value @ 1..=LOOKS_MAX)) => *looks = value,
            _ => return Err(bad("it can be a whole number from 1 to 32")),
        }
        Ok(())
    }

    fn set_directory(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        let MappingPart::Paged { directory, .. } = &mut self.mapping else {
            return Err(bad("only the mapping part paged has it"));
        };
        match (name.replace('_', "-").as_str(), value, directory) {
            ("mapping.directory", "b-tree", directory) => *directory = B_TREE,
            ("mapping.directory", "flat", directory) => *directory = DirectoryPart::Flat,
            ("mapping.directory", ..) => return Err(bad("it can be flat or b-tree")),
            (.., DirectoryPart::Flat) => return Err(bad("only mapping.directory=b-tree has it")),
            ("mapping.nodes", _, DirectoryPart::BTree { nodes, .. }) => match value.parse() {
                Ok(value @ 0..=1_000_000) => *nodes = value,
                _ => return Err(bad("it can be a whole number from 0 to 1000000")),
            },
            (.., DirectoryPart::BTree { fanout, .. }) => match value.parse() {
                Ok(value) if value != 1 => *fanout = value,
                _ => return Err(bad("it can be 0 for the default, or 2 or more")),
            },
        }
        Ok(())
    }

    fn set_gecko(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let bad = |right| ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right };
        let ValidityPart::Gecko { size_ratio, partitions, merge } = &mut self.validity else {
            return Err(bad("only the validity part gecko has it"));
        };
        match (name.replace('_', "-").as_str(), value) {
            ("gecko.size-ratio", _) => match value.parse() {
                Ok(value @ 2..=64) => *size_ratio = value,
                _ => return Err(bad("it can be a whole number from 2 to 64")),
            },
            ("gecko.partitions", _) => match value.parse() {
                Ok(value @ 0..=8192) => *partitions = value,
                _ => return Err(bad("it can be a whole number from 0 to 8192")),
            },
            (_, "multi-way") => *merge = GeckoMerge::MultiWay,
            (_, "two-way") => *merge = GeckoMerge::TwoWay,
            _ => return Err(bad("it can be multi-way or two-way")),
        }
        Ok(())
    }

    /// The parts that decide what stands on flash, as a drive's description keeps them: one that was written with
    /// others cannot be recovered. Victim and placement may change from one start to the next.
    pub(crate) fn structures_on_flash(&self) -> String {
        let mapping = match self.mapping {
            MappingPart::RamTable => "ram-table".to_string(),
            MappingPart::Paged { directory: DirectoryPart::Flat, .. } => "paged".to_string(),
            MappingPart::Paged { directory: DirectoryPart::BTree { fanout, .. }, .. } => format!("b-tree({fanout})"),
        };
        let validity = match self.validity {
            ValidityPart::RamBitmap => "ram-bitmap".to_string(),
            ValidityPart::FlashBitmap => "flash-bitmap".to_string(),
            ValidityPart::PageValidityLog => "page-validity-log".to_string(),
            ValidityPart::Gecko { size_ratio, partitions, .. } => format!("gecko({size_ratio}, {partitions})"),
        };
        format!("{mapping} {validity}")
    }

    /// The entries that its mapping caches, 0 for the default; none where it has no cache.
    pub fn cache_entries(&self) -> Option<u32> {
        match self.mapping {
            MappingPart::RamTable => None,
            MappingPart::Paged { cache_entries, .. } => Some(cache_entries),
        }
    }

    /// Whether it has a cache of mapping entries.
    pub fn has_cache(&self) -> bool {
        self.cache_entries().is_some()
    }

    /// Whether a battery saves what RAM alone knows when the power fails.
    pub fn has_battery(&self) -> bool {
        self.power == PowerPart::Battery
    }

    /// Whether a drive put together like this comes up again after a power cut, by itself or with a battery.
    pub fn survives_power_cuts(&self) -> bool {
        self.why_not_survivable().is_none()
    }

    /// Which part stands in the way of surviving a power cut, in a few words; none where it is survived.
    pub fn why_not_survivable(&self) -> Option<&'static str> {
        let paged = matches!(self.mapping, MappingPart::Paged { .. });
        let ram_bitmap = self.validity == ValidityPart::RamBitmap;
        let log = self.validity == ValidityPart::PageValidityLog;
        let levels = self.wear != WearPart::Nothing;
        let fetches = matches!(self.mapping, MappingPart::Paged { on_miss: OnMiss::Fetch, .. });
        let flat = matches!(self.mapping, MappingPart::Paged { directory: DirectoryPart::Flat, .. });
        match self.power {
            PowerPart::Scan if paged => Some("scan needs mapping=ram-table"),
            PowerPart::Scan if !ram_bitmap => Some("scan needs validity=ram-bitmap"),
            PowerPart::Battery if !paged => Some("battery needs mapping=paged"),
            PowerPart::Battery
                if matches!(self.validity, ValidityPart::Gecko { .. } | ValidityPart::PageValidityLog) =>
            {
                Some("battery needs validity=ram-bitmap or flash-bitmap")
            }
            PowerPart::GeckoRec if !paged => Some("gecko-rec needs mapping=paged"),
            PowerPart::GeckoRec if !matches!(self.validity, ValidityPart::Gecko { .. }) => {
                Some("gecko-rec needs validity=gecko")
            }
            PowerPart::Synchronize if levels => {
                Some("synchronize keeps its marks in spare areas where wear=levelling keeps erase counts")
            }
            PowerPart::Synchronize if !paged => Some("synchronize needs mapping=paged"),
            PowerPart::Synchronize if !ram_bitmap && !log => {
                Some("synchronize needs validity=ram-bitmap or page-validity-log")
            }
            PowerPart::Synchronize if log && !fetches => {
                Some("synchronize with validity=page-validity-log needs mapping.on-miss=fetch")
            }
            PowerPart::GeckoRec if !flat => Some("gecko-rec needs mapping.directory=flat"),
            PowerPart::GeckoRec if self.metadata == MetadataPart::Collected => Some("gecko-rec needs metadata=left"),
            PowerPart::Scan | PowerPart::Battery | PowerPart::GeckoRec | PowerPart::Synchronize => None,
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
                ValidityPart::RamBitmap => "power=nothing; power=scan would be right for its parts",
            }),
        }
    }

    /// How a power cut is survived, in a few words.
    pub fn power_loss(&self) -> &'static str {
        match self.power {
            _ if !self.survives_power_cuts() => "no recovery",
            PowerPart::Scan => "scan of spare areas",
            PowerPart::Battery => "battery",
            PowerPart::GeckoRec => "checkpoints and GeckoRec",
            PowerPart::Synchronize => "synchronization at recovery",
            PowerPart::Nothing => "no recovery",
        }
    }

    /// What becomes of metadata and how a power cut is survived, as in results.
    pub fn names_of_metadata_and_power(&self) -> [&'static str; 2] {
        let metadata = match self.metadata {
            MetadataPart::Collected => "collected",
            MetadataPart::Left => "left",
        };
        let power = match self.power {
            PowerPart::Scan => "scan",
            PowerPart::Battery => "battery",
            PowerPart::GeckoRec => "gecko-rec",
            PowerPart::Synchronize => "synchronize",
            PowerPart::Nothing => "nothing",
        };
        [metadata, power]
    }

    /// How wear is levelled, as in results; none where it is not.
    pub fn name_of_wear(&self) -> Option<String> {
        match self.wear {
            WearPart::Nothing => None,
            WearPart::Levelling { threshold, looks } => {
                Some(format!("levelling(threshold={threshold}, looks={looks})"))
            }
        }
    }

    /// The names of the four parts, as in results: mapping, validity, victim, placement.
    pub fn names(&self) -> [String; 4] {
        let victim = match self.victim {
            VictimPart::Greedy => "greedy".into(),
            VictimPart::Fifo => "fifo".into(),
            VictimPart::DChoices { d } => format!("d-choices(d={d})"),
            VictimPart::Sampled { blocks: 0, looks } => format!("sampled(looks={looks})"),
            VictimPart::Sampled { blocks, looks } => format!("sampled(blocks={blocks}, looks={looks})"),
        };
        let placement = match self.placement {
            PlacementPart::OneStream => "one-stream",
            PlacementPart::HostGc => "host-gc",
        };
        let mapping = match self.mapping {
            MappingPart::RamTable => "ram-table".into(),
            MappingPart::Paged { cache_entries, on_miss, dirty, directory } => {
                let on_miss = if on_miss == OnMiss::Fetch { "fetch" } else { "lazy" };
                let mut name = format!("paged({on_miss}");
                if cache_entries > 0 {
                    name += &format!(", cache={cache_entries}");
                }
                if dirty.percent < 100 {
                    name += &format!(", dirty={}%", dirty.percent);
                }
                if dirty.synchronize == Synchronize::PhysicalBlock {
                    name += ", physical-block";
                }
                if let DirectoryPart::BTree { nodes, fanout } = directory {
                    name += ", b-tree";
                    for (what, value) in [("nodes", nodes), ("fanout", fanout)].iter().filter(|(_, value)| *value > 0) {
                        name += &format!(", {what}={value}");
                    }
                }
                name + ")"
            }
        };
        let validity = match self.validity {
            ValidityPart::RamBitmap => "ram-bitmap".into(),
            ValidityPart::FlashBitmap => "flash-bitmap".into(),
            ValidityPart::PageValidityLog => "page-validity-log".into(),
            ValidityPart::Gecko { size_ratio, partitions, merge } => {
                let merge = if merge == GeckoMerge::TwoWay { "two-way" } else { "multi-way" };
                match partitions {
                    0 => format!("gecko(T={size_ratio}, {merge})"),
                    parts => format!("gecko(T={size_ratio}, S={parts}, {merge})"),
                }
            }
        };
        [mapping, validity, victim, placement.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use alloc::vec::Vec;

    fn with(ftl: &str, settings: &[(&str, &str)]) -> Result<Composition, ConfigError> {
        let mut composition = Preset::named(ftl).unwrap().composition;
        composition.set_all(settings).map(|()| composition)
    }

    #[test]
    fn the_order_of_settings_does_not_matter() {
        let settings =
            [("mapping", "paged"), ("mapping.cache", "64"), ("power", "battery"), ("mapping.on-miss", "fetch")];
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
        assert_eq!(parts.victim, VictimPart::Sampled { blocks: 512, looks: 8 });
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
    fn what_cannot_survive_is_refused_if_asked_for_and_given_up_if_not() {
        let refused = [
            ("dftl", "power=scan", "scan needs mapping=ram-table"),
            ("geckoftl", "power=battery", "battery needs validity=ram-bitmap or flash-bitmap"),
            ("ib-ftl", "power=gecko-rec", "gecko-rec needs validity=gecko"),
            ("page", "power=battery", "battery needs mapping=paged"),
        ];
        for (ftl, setting, why) in refused {
            let error = with(ftl, &[setting.split_once('=').unwrap()]).unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
        let parts = with("page", &[("validity", "flash-bitmap"), ("power", "scan")]);
        assert!(parts.unwrap_err().to_string().ends_with("scan needs validity=ram-bitmap"));
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
            let promises = preset.composition.power != PowerPart::Nothing;
            assert_eq!(preset.composition.survives_power_cuts(), promises, "{}", preset.name);
            assert!(with(preset.name, &[("power", "nothing")]).is_ok());
        }
    }

    #[test]
    fn what_a_drive_has_no_room_for_is_refused() {
        let parts = with("geckoftl", &[("gecko.partitions", "128"), ("mapping.cache", "1000")]).unwrap();
        assert!(parts.check_on(128, 1000).is_ok());
        assert!(parts.check_on(64, 1000).is_err());
        assert!(parts.check_on(128, 999).is_err());
    }
}
