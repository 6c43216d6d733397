//! The parts of a page-mapped FTL but its policies, in the order in which an image keeps them. Each has its choices,
//! their parameters with ranges and defaults, and what each of them means.

use super::Switch;
use crate::cache_part::{CONDENSE_SHARE, Condense, Evict, NO_CACHE, Prefetch};
use crate::gecko_part::{GeckoMerge, GeckoPages};
use crate::spec::{Requirement, group, part, values};

/// A cached mapping entry, at packed size.
pub const ENTRY_BYTES: u64 = 8;

/// The smallest cache of mapping entries.
pub(crate) const CACHE_MIN: u32 = 16;

/// The timeout of LAST++ section 5.3, in milliseconds: 30 seconds.
pub(crate) const TIMEOUT_MS: u32 = 30_000;

/// The most free blocks that levelling looks at before one is opened.
pub(crate) const LOOKS_MAX: u32 = 32;

/// The needs of the parameters of translation pages.
pub(super) const PAGED: Requirement = ("mapping", &["paged"]);

part! { "mapping" "where each logical page is";
    MappingPart "Where each logical page is: the mapping part." {
        RamTable "ram-table" "The whole table in RAM."
        Paged "paged" "Translation pages on flash, their directory and a cache of entries in RAM (DFTL; GeckoFTL section 4)." {
            cache_entries: u32 "mapping entries cached by paged, at 8 bytes each" ["mapping.cache",
                number_or_default(CACHE_MIN, u32::MAX, "1/512 of the table, at least 1024").unit("entries")
                    .no_number("it can be a whole number of entries").does("has a cache")];
            on_miss: OnMiss "what a write does whose entry is not cached" ["mapping.on-miss",
                each_of(OnMiss::EACH).default_is(1).does("misses").label("{}").shown_first()];
            evict: Evict "which entry goes where there is no room" ["mapping.evict",
                each_of(Evict::EACH).does("evicts").label("{}")];
            prefetch: Prefetch "entries that are cached with one that was missed" ["mapping.prefetch",
                each_of(Prefetch::EACH).label("{} prefetch")];
            condense: Condense "translation pages in RAM in fewer bytes, beside the cached entries" ["mapping.condense",
                each_of(Condense::EACH).younger(NO_CACHE).label("{}")];
            share: u32 "share of the cache's RAM that is for these translation pages" ["mapping.condense-share",
                number(1, 99, CONDENSE_SHARE).unit("percent").younger(NO_CACHE).label("{}% condensed")];
            log: u32 "share of the table that may wait in the mapping log of paged; with 0 there is none"
                ["mapping.log", number(0, 250, 0).unit("thousandths").default_means("none").label("log={}")];
            dirty: DirtyLimit "How many of the entries may be dirty." = (DirtyLimit::DEFAULT);
            directory: DirectoryPart "How it is known where each translation page is." = (DirectoryPart::Flat);
        }
        MuTree "mu-tree" "Extents in a µ-Tree on flash (µ-FTL section 4.2). The defaults are caches of 44 KiB with pages of \
            4 KiB, as µ-FTL has for its PIC trace (figure 8)." {
            record_bits: u32 "bits of a record of mu-tree: 32 are enough for 128 GiB of pages of 4 KiB"
                ["mapping.record-bits", one_of(&[32, 40, 0], 0).default_means("what a page number takes").label("records")];
            read_pages: u32 "pages that mu-tree's read cache holds"
                ["mapping.read-pages", number(1, 65_536, 2).label("read").shown_first()];
            write_pages: u32 "pages that mu-tree's write cache holds; with 0 each update is programmed"
                ["mapping.write-pages", number(0, 65_536, 9).label("write").shown_first()];
            extent_pages: u32 "pages of an extent, on average, for which mu-tree has room; with 1 it has room for any extents"
                ["mapping.extent-pages", number(1, 128, 1).label("extent-pages")];
        }
    }
}

values! { OnMiss "What a host write does when the mapping entry is not cached." {
    Fetch "fetch" "It reads the translation page, and so learns which page it makes stale."
    Lazy "lazy" "It leaves that to the next synchronization (GeckoFTL section 4.1)."
} }

group! {
    DirtyLimit "How many cached entries may be dirty, and what is synchronized when there are more (LazyFTL as GeckoFTL \
        sections 5.3 and 6 take it)." {
        percent: u32 "cached entries that may be dirty"
            ["mapping.dirty-limit", number(1, 100, 100).unit("percent").default_means("none").label("dirty={}%")];
        synchronize: Synchronize "what is synchronized with a dirty entry that must go"
            ["mapping.synchronize", each_of(Synchronize::EACH).label("{}")];
    }
}

values! { Synchronize "What is synchronized when a dirty entry must go." {
    TranslationPage "translation-page" "Its translation page."
    PhysicalBlock "physical-block"
        "Those as well of all dirty entries whose pages lie in the same block (GeckoFTL section 6 of LazyFTL)."
} }

part! { "mapping.directory" "where translation pages are: all in RAM, or the root alone" [PAGED];
    DirectoryPart "How it is known where each translation page is." {
        Flat "flat" "By a directory in RAM, four bytes a translation page (GMD; GeckoFTL section 2)."
        BTree "b-tree" "They are the leaves of a B+-tree on flash, of which RAM holds the root (GeckoFTL section 5.3)." {
            nodes: u32 "inner nodes cached by b-tree, a page each" ["mapping.nodes",
                number(0, 1_000_000, 0).default_means("an eighth of them, at least 8")];
            fanout: u32 "children of a node of b-tree" ["mapping.fanout",
                number_or_default(2, u32::MAX, "what a page has room for")];
        }
    }
}

part! { "integrity" "when paged writes dirty entries that need not go yet" [PAGED]
    .younger("only the mapping part paged has entries to write");
    IntegrityPart "When dirty entries are written to flash besides when they must go: the integrity methods of DFTL (LAST++ \
        section 5.3)." {
        NoFlush "noflush" "Only when they must go (NOFLUSH)."
        Page "page" "After each page that the host writes, before that is acknowledged (PAGE)."
        Timeout "timeout" "All of them, once the oldest change is so old (TIMEOUT)." {
            ms: u32 "how old a change of an entry may grow before timeout writes all that are dirty" ["integrity.timeout",
                number(1, 4_000_000_000, TIMEOUT_MS).unit("milliseconds")];
        }
        Request "req" "After each request of the host's, before it is acknowledged (REQ)."
    }
}

part! { "validity" "which physical pages are live";
    ValidityPart "Which physical pages are live: the validity part." {
        RamBitmap "ram-bitmap" "A bitmap in RAM (PVB)."
        FlashBitmap "flash-bitmap" "A bitmap in flash."
        PageValidityLog "page-validity-log"
            "A log of stale pages in flash, chained by block (PVL; IB-FTL as GeckoFTL appendix E has it)."
        Gecko "gecko" "Logarithmic Gecko (GeckoFTL section 3)." {
            size_ratio: u32 "T, the size ratio of neighbouring levels" ["gecko.size-ratio", number(2, 64, 2).label("T").always_shown()];
            partitions: u32 "S, the parts of a block's bitmap, at most its pages"
                ["gecko.partitions", number(0, 8192, 0).default_means("a 32nd of them").label("S")];
            merge: GeckoMerge "how runs are merged" ["gecko.merge", each_of(GeckoMerge::EACH).label("{}").always_shown()];
            pages: GeckoPages "how entries stand on pages of runs" ["gecko.pages", each_of(GeckoPages::EACH).label("{} pages").younger("only validity=gecko has runs")];
        }
        MuTree "mu-tree" "Bitmap entries in the µ-Tree of the mapping, with the bitmap cache (µ-FTL section 4.3). Only with \
            mapping=mu-tree. The default is 4 KiB (µ-FTL figure 8)." {
            bitmap_cache: u32 "invalid extents that mu-tree's bitmap cache holds, at 4 bytes each"
                ["validity.bitmap-cache", number(0, 1 << 24, 1024).label("cache").always_shown()];
        }
    }
}

part! { "metadata" "whether blocks of metadata are collected or left until they are stale";
    MetadataPart "What becomes of blocks of metadata." {
        Collected "collected" "They are collected like all others."
        Left "left" "They are left until all of their pages are stale (GeckoFTL section 4.2), unless they take too much space."
    }
}

part! { "collection" "whether blocks are collected one by one, as many as there are dies, a group at a time, or in slices".younger("only page-mapped FTLs collect in slices");
    CollectionPart "How much of a collection a write waits for." {
        Whole "whole" "All of it."
        Slices "slices" "A few pages: collections begin earlier."
        Batches "batches" "As many collections as there are dies: they read and erase side by side."
        Groups "groups" "All of a group's blocks at once, its pages in logical order (LearnedFTL)."
    }
}

part! { "power" "how a power cut is survived: by reading all spare areas; a battery; GeckoRec; synchronizing translation pages anew; from translation pages alone, which loses what these do not say (dftl-timeout, dftl-noflush); not at all";
    PowerPart "How a drive survives a power cut." {
        Scan "scan" "By scanning spare areas when the power is back."
        Battery "battery" "A battery keeps the flash going while what RAM alone knows is saved (`Ftl::power_fail`)."
        GeckoRec "gecko-rec" "By checkpoints and GeckoRec (GeckoFTL section 4.3 and appendix C)." {
            block_log: Switch "whether a mount finds what each block holds in a log, and not in the blocks' spare areas"
                ["power.block-log", each_of(Switch::EACH).default_is(1).label("block-log={}").younger("only power=gecko-rec has a block log")];
        }
        Synchronize "synchronize" "By synchronizing everything before the drive goes on, and reading the whole translation \
            table, or the whole page validity log (LazyFTL and IB-FTL as GeckoFTL sections 5.3 and 6 take them)."
        Fast "fast" "From the translation pages alone: no page of the host's is looked at. What they do not know is as old as \
            they are, or a read error; the integrity part says what of it was acknowledged."
        Nothing "nothing" "Not at all."
    }
}

part! { "wear" "whether blocks are worn evenly";
    WearPart "Whether blocks are worn evenly." {
        Nothing "none" "As it comes."
        Levelling "levelling" "Erase counts in spare areas, static and dynamic levelling (GeckoFTL appendix D)." {
            threshold: u32 "erases that a block of static data may lag behind the average"
                ["wear.threshold", number(1, 10_000, 12).always_shown()];
            looks: u32 "free blocks looked at for the least or the most worn; with 1 there is no dynamic levelling"
                ["wear.looks", number(1, LOOKS_MAX, 8).always_shown()];
        }
    }
}
