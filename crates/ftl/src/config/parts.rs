//! The parts that an FTL can be put together from, and their defaults. How a power cut is survived is in `power.rs`.

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
    /// Extents in a µ-Tree on flash (µ-FTL section 4.2).
    MuTree {
        /// Pages of its read cache, 1 or more.
        read_pages: u32,
        /// Pages of its write cache; with 0 each update is programmed at once.
        write_pages: u32,
        /// Bits of a record: 32 or 40, or 0 for as many as it takes to name a page of the drive.
        record_bits: u32,
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

/// When dirty entries are written to flash besides when they must go: the integrity methods of DFTL (LAST++ section
/// 5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegrityPart {
    /// Only when they must go (NOFLUSH).
    NoFlush,
    /// After each page that the host writes, before that is acknowledged (PAGE).
    Page,
    /// All of them, once the oldest change is so old (TIMEOUT).
    Timeout {
        /// In milliseconds of simulated time, 1 or more.
        ms: u32,
    },
    /// After each request of the host's, before it is acknowledged (REQ).
    Request,
}

impl IntegrityPart {
    /// Whether a write is acknowledged only when its entries are in translation pages.
    pub fn acknowledges_what_is_mapped(self) -> bool {
        matches!(self, Self::Page | Self::Request)
    }
}

/// The timeout of LAST++ section 5.3, in milliseconds: 30 seconds.
pub(crate) const TIMEOUT_MS: u32 = 30_000;

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
    /// Bitmap entries in the µ-Tree of the mapping, with the bitmap cache (µ-FTL section 4.3). Only with the mapping part
    /// `MuTree`.
    MuTree {
        /// Invalid extents that the bitmap cache holds, at four bytes each; with 0 there is none.
        bitmap_cache: u32,
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
    /// The emptiest or the most stable, as the multi-LRI lists have it (Dual Greedy, section IV).
    DualGreedy,
    /// The largest a (1 - u) / 2u of all, where u is the live share of a block and a the time since it lost a page
    /// (Kawaguchi, as Dual Greedy section II-C has it).
    CostBenefit,
    /// The same, where a is the time since the block was closed (SepBIT's paper has it so).
    CostBenefitSealed,
    /// The block that was closed first in the group that is over its size, the emptiest of the last group where none is
    /// (MiDAS). Only with the placement part `Midas`.
    Midas,
    /// The emptiest block of the class that is over its quota. Only with the placement part `StaticQuota`.
    StaticQuota,
    /// The largest L (1 - u) / u of all, where L is the mean of what its live pages have left to live. Only with the
    /// placement part `Oracle`.
    Oracle,
    /// The smallest u t / ((1 - u) a) of all, where t is the erase count (CAT, as Dual Greedy section II-C has it).
    Cat {
        /// Whether t counts; 1 otherwise.
        wear: bool,
    },
}

/// Which stream a page is written to: the placement part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementPart {
    /// Everything to one.
    OneStream,
    /// Host writes to one, moved pages to another.
    HostGc,
    /// Hot data of the host to one, other data of the host to another, moved pages to a third (Dual Greedy, section III).
    DualGreedy {
        /// What becomes of a page whose old copy is not known.
        unknown: UnknownOld,
        /// Whether it is looked for purely random writes, for which the victim part `DualGreedy` is greedy.
        detect_random: bool,
    },
    /// Regions from cold to hot: up when written again while young, down when old at collection (DAC, as Dual Greedy
    /// section II-B has it).
    Dac {
        /// What becomes of a page whose old copy is not known.
        unknown: UnknownOld,
        /// How many regions there are, from 2 to [`DAC_REGIONS_MAX`].
        regions: u8,
        /// By region, the coldest first: data that came to it less long ago are young; in percent of the logical pages
        /// written by the host.
        thresholds: [u16; DAC_REGIONS_MAX],
        /// Where the times of pages are.
        page_times: PageTimes,
    },
    /// Six classes by how long pages are likely to live (SepBIT).
    SepBit {
        /// What becomes of a page whose old copy is not known.
        unknown: UnknownOld,
        /// Where the times of pages are.
        page_times: PageTimes,
    },
    /// A HOT group and a chain of groups that pages go down as they grow old, of sizes that follow from how the host
    /// writes (MiDAS).
    Midas {
        /// Groups of the chain at the most, from 1 to [`MIDAS_GROUPS_MAX`].
        groups: u8,
        /// After so many logical capacities written the configuration is chosen anew.
        epoch: u32,
    },
    /// Partitions of the logical space, each to a block of its own (µ-FTL section 4.4).
    Partitions {
        /// Logical pages of each; larger where there would be more than [`PARTITIONS_MAX`].
        pages: u32,
    },
    /// Classes that the host names. An oracle.
    StaticQuota {
        /// How many there are, from 1 to [`QUOTA_CLASSES_MAX`].
        classes: u8,
    },
    /// Windows of the time that pages have left to live, which the host says. An oracle.
    Oracle {
        /// How many there are, from 2 to [`ORACLE_WINDOWS_MAX`].
        windows: u8,
        /// Where the last window begins, in percent of the logical pages written by the host.
        reach: u32,
        /// By how many percent each window reaches further than the one before it.
        spread: u32,
    },
}

/// The most groups of a chain that MiDAS can have.
pub const MIDAS_GROUPS_MAX: usize = 8;

/// The most partitions that there can be.
pub const PARTITIONS_MAX: u32 = 240;

/// The most classes that static quota can have.
pub const QUOTA_CLASSES_MAX: u8 = 32;

/// The most windows that the oracle can have.
pub const ORACLE_WINDOWS_MAX: usize = 32;

/// The most regions that DAC can have.
pub const DAC_REGIONS_MAX: usize = 8;

/// Where DAC has it from how long pages have been in their regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageTimes {
    /// From a table in RAM, four bytes a logical page.
    Ram,
    /// From the spare area of the copy that is replaced, which is read first.
    Spare,
}

/// What a placement does that goes by the copy that a page makes stale, where a lazy mapping does not know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownOld {
    /// It puts the page to a class of its own choosing.
    Class,
    /// The translation page is read first.
    Fetch,
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

/// A cached mapping entry, at packed size.
pub const ENTRY_BYTES: u64 = 8;

/// The smallest cache of mapping entries.
pub(crate) const CACHE_MIN: u32 = 16;

/// The smallest sample of counters.
pub(crate) const SAMPLE_MIN: u32 = 16;

/// The most free blocks that levelling looks at before one is opened.
pub(crate) const LOOKS_MAX: u32 = 32;

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
pub(super) const SAMPLED: VictimPart = VictimPart::Sampled { blocks: 0, looks: 4 };

/// Dual Greedy's placement with its defaults.
pub(crate) const DUAL_GREEDY: PlacementPart =
    PlacementPart::DualGreedy { unknown: UnknownOld::Class, detect_random: false };

/// DAC's placement with its defaults.
pub(crate) const DAC: PlacementPart = PlacementPart::Dac {
    unknown: UnknownOld::Class,
    regions: 4,
    thresholds: [50; DAC_REGIONS_MAX],
    page_times: PageTimes::Ram,
};

/// SepBIT's placement with its defaults.
pub(crate) const SEPBIT: PlacementPart =
    PlacementPart::SepBit { unknown: UnknownOld::Class, page_times: PageTimes::Ram };

/// MiDAS's placement with its defaults.
pub(crate) const MIDAS: PlacementPart = PlacementPart::Midas { groups: 6, epoch: 4 };

/// Extents in a µ-Tree with the defaults: caches of 44 KiB with pages of 4 KiB, as µ-FTL has for its PIC trace (figure 8).
pub(crate) const MU_TREE: MappingPart = MappingPart::MuTree { read_pages: 2, write_pages: 9, record_bits: 0 };

/// Bitmap entries in the same tree with the default: 4 KiB of bitmap cache (µ-FTL figure 8).
pub(crate) const MU_BITMAPS: ValidityPart = ValidityPart::MuTree { bitmap_cache: 1024 };

/// Partitions with the default: 256 MiB with pages of 4 KiB (µ-FTL section 4.4).
pub(crate) const PARTITIONS: PlacementPart = PlacementPart::Partitions { pages: 65_536 };

/// Known classes with their defaults.
pub(crate) const STATIC_QUOTA: PlacementPart = PlacementPart::StaticQuota { classes: 2 };

/// Future knowledge with its defaults.
pub(crate) const ORACLE: PlacementPart = PlacementPart::Oracle { windows: 16, reach: 400, spread: 50 };

/// Levelling of wear with its defaults.
pub(super) const LEVELLING: WearPart = WearPart::Levelling { threshold: 12, looks: 8 };
