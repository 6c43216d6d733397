//! The parts that an FTL can be put together from, and their defaults. With which of them a power cut is survived is in
//! `power.rs`.

use crate::spec::words;

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

words!(Synchronize { TranslationPage = "translation-page", PhysicalBlock = "physical-block" });

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

words!(OnMiss { Fetch = "fetch", Lazy = "lazy" });

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

words!(GeckoMerge { MultiWay = "multi-way", TwoWay = "two-way" });

/// What becomes of blocks of metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetadataPart {
    /// They are collected like all others.
    Collected,
    /// They are left until all of their pages are stale (GeckoFTL section 4.2), unless they take too much space.
    Left,
}

words!(MetadataPart { Collected = "collected", Left = "left" });

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
    /// From the translation pages alone: no page of the host's is looked at. What they do not know is as old as they
    /// are, or a read error; what of it was acknowledged, [`IntegrityPart`] says. For a
    /// demand-paged mapping with a bitmap in RAM.
    Fast,
    /// Not at all.
    Nothing,
}

words!(PowerPart {
    Scan = "scan",
    Battery = "battery",
    GeckoRec = "gecko-rec",
    Synchronize = "synchronize",
    Fast = "fast",
    Nothing = "nothing"
});

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

/// Extents in a µ-Tree with the defaults: caches of 44 KiB with pages of 4 KiB, as µ-FTL has for its PIC trace (figure 8).
pub(crate) const MU_TREE: MappingPart = MappingPart::MuTree { read_pages: 2, write_pages: 9, record_bits: 0 };

/// Bitmap entries in the same tree with the default: 4 KiB of bitmap cache (µ-FTL figure 8).
pub(crate) const MU_BITMAPS: ValidityPart = ValidityPart::MuTree { bitmap_cache: 1024 };

/// The most free blocks that levelling looks at before one is opened.
pub(crate) const LOOKS_MAX: u32 = 32;

/// Levelling of wear with its defaults.
pub(super) const LEVELLING: WearPart = WearPart::Levelling { threshold: 12, looks: 8 };
