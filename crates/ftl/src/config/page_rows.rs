//! The parts of a page-mapped FTL and their parameters, in the order in which an image keeps them.

use super::parts::{B_TREE, CACHE_MIN, GECKO, LAZY, LEVELLING, LOOKS_MAX, MU_BITMAPS, MU_TREE, TIMEOUT_MS};
use super::rows::{Open, Parts, Row, of, own, part, settings_of};
use super::{
    ConfigError, DirectoryPart, GeckoMerge, IntegrityPart, MappingPart, MetadataPart, OnMiss, PageParts, PowerPart,
    Synchronize, ValidityPart, WearPart,
};
use crate::policy::registered::{placements, victims};
use crate::spec::{Number, Param};
use alloc::string::ToString;

const OF_PAGED: &str = "only the mapping part paged has it";
const OF_MU_TREE: &str = "only the mapping part mu-tree has it";
const OF_GECKO: &str = "only the validity part gecko has it";
const OF_LEVELLING: &str = "only wear=levelling has it";

/// Bits of a record of a µ-Tree, in the order of their words.
const RECORD_BITS: [u32; 3] = [32, 40, 0];

static ROWS: [Row<PageParts>; 25] = [
    part!(PageParts, "mapping", "where each logical page is", mapping, [
        "ram-table" => MappingPart::RamTable, "paged" => LAZY, "mu-tree" => MU_TREE
    ])
    .then(|parts| {
        if !matches!(parts.mapping, MappingPart::Paged { .. }) {
            parts.integrity = IntegrityPart::NoFlush;
        }
    }),
    own(
        Param::words(
            "mapping.record-bits",
            &["32", "40", "0"],
            "bits of a record of mu-tree: 32 are enough for 128 GiB of pages of 4 KiB",
        )
        .default_word(2, "what a page number takes"),
        |parts| match parts.mapping {
            MappingPart::MuTree { record_bits, .. } => {
                RECORD_BITS.iter().position(|bits| *bits == record_bits).map(|n| n as u32)
            }
            _ => None,
        },
        |parts, number| match &mut parts.mapping {
            MappingPart::MuTree { record_bits, .. } => {
                *record_bits = RECORD_BITS.get(number as usize).copied().unwrap_or_default();
                Ok(())
            }
            _ => Err(OF_MU_TREE),
        },
    ),
    of!(mapping: MappingPart::MuTree { read_pages }, OF_MU_TREE,
        Param::number("mapping.read-pages", 1, 65_536, 2, "pages that mu-tree's read cache holds")),
    of!(mapping: MappingPart::MuTree { write_pages }, OF_MU_TREE, Param::number(
        "mapping.write-pages", 0, 65_536, 9,
        "pages that mu-tree's write cache holds; with 0 each update is programmed",
    )),
    of!(mapping: MappingPart::Paged { cache_entries }, "only the mapping part paged has a cache", Param::number_or_default(
        "mapping.cache", CACHE_MIN, u32::MAX, "1/512 of the table, at least 1024",
        "mapping entries cached by paged, at 8 bytes each",
    ).unit("entries").no_number("it can be a whole number of entries")),
    of!(mapping: MappingPart::Paged { on_miss }, "only the mapping part paged misses",
        Param::words("mapping.on-miss", OnMiss::WORDS, "what a write does whose entry is not cached")),
    own(
        Param::number("mapping.dirty-limit", 1, 100, 100, "cached entries that may be dirty")
            .unit("percent")
            .default_means("none"),
        |parts| match parts.mapping {
            MappingPart::Paged { dirty, .. } => Some(dirty.percent),
            _ => None,
        },
        |parts, number| match &mut parts.mapping {
            MappingPart::Paged { dirty, .. } => {
                dirty.percent = number;
                Ok(())
            }
            _ => Err(OF_PAGED),
        },
    ),
    own(
        Param::words("mapping.synchronize", Synchronize::WORDS, "what is synchronized with a dirty entry that must go"),
        |parts| match parts.mapping {
            MappingPart::Paged { dirty, .. } => Some(dirty.synchronize.number()),
            _ => None,
        },
        |parts, number| match &mut parts.mapping {
            MappingPart::Paged { dirty, .. } => {
                dirty.synchronize = Synchronize::of(number);
                Ok(())
            }
            _ => Err(OF_PAGED),
        },
    ),
    own(
        Param::words(
            "mapping.directory",
            &["flat", "b-tree"],
            "where translation pages are: all in RAM, or the root alone",
        ),
        |parts| match parts.mapping {
            MappingPart::Paged { directory, .. } => Some((directory != DirectoryPart::Flat).into()),
            _ => None,
        },
        |parts, number| match &mut parts.mapping {
            MappingPart::Paged { directory, .. } => {
                *directory = if number == 0 { DirectoryPart::Flat } else { B_TREE };
                Ok(())
            }
            _ => Err(OF_PAGED),
        },
    ),
    own(
        Param::number("mapping.nodes", 0, 1_000_000, 0, "inner nodes cached by b-tree, a page each")
            .default_means("an eighth of them, at least 8"),
        |parts| parts.b_tree().ok().map(|(nodes, _)| nodes),
        |parts, number| parts.set_b_tree(|(_, fanout)| (number, fanout)),
    ),
    own(
        Param::number_or_default(
            "mapping.fanout",
            2,
            u32::MAX,
            "what a page has room for",
            "children of a node of b-tree",
        ),
        |parts| parts.b_tree().ok().map(|(_, fanout)| fanout),
        |parts, number| parts.set_b_tree(|(nodes, _)| (nodes, number)),
    ),
    part!(PageParts, "integrity", "when paged writes dirty entries that need not go yet", integrity, [
        "noflush" => IntegrityPart::NoFlush, "page" => IntegrityPart::Page,
        "timeout" => IntegrityPart::Timeout { ms: TIMEOUT_MS }, "req" => IntegrityPart::Request
    ])
    .only_if(|parts, number| match parts.mapping {
        MappingPart::Paged { .. } => Ok(()),
        _ if number == 0 => Ok(()),
        _ => Err("only the mapping part paged has entries to write"),
    })
    .left_out(0),
    of!(integrity: IntegrityPart::Timeout { ms }, "only integrity=timeout has it", Param::number(
        "integrity.timeout", 1, 4_000_000_000, TIMEOUT_MS,
        "how old a change of an entry may grow before timeout writes all that are dirty",
    ).unit("milliseconds")),
    part!(PageParts, "validity", "which physical pages are live", validity, [
        "ram-bitmap" => ValidityPart::RamBitmap, "flash-bitmap" => ValidityPart::FlashBitmap,
        "page-validity-log" => ValidityPart::PageValidityLog, "gecko" => GECKO, "mu-tree" => MU_BITMAPS
    ]),
    of!(validity: ValidityPart::MuTree { bitmap_cache }, "only the validity part mu-tree has it", Param::number(
        "validity.bitmap-cache", 0, 1 << 24, 1024,
        "invalid extents that mu-tree's bitmap cache holds, at 4 bytes each",
    )),
    of!(validity: ValidityPart::Gecko { size_ratio }, OF_GECKO,
        Param::number("gecko.size-ratio", 2, 64, 2, "T, the size ratio of neighbouring levels")),
    of!(validity: ValidityPart::Gecko { partitions }, OF_GECKO,
        Param::number("gecko.partitions", 0, 8192, 0, "S, the parts of a block's bitmap, at most its pages")
            .default_means("a 32nd of them")),
    of!(validity: ValidityPart::Gecko { merge }, OF_GECKO,
        Param::words("gecko.merge", GeckoMerge::WORDS, "how runs are merged")),
    Row::Open(Open {
        name: "victim",
        about: "which block is collected next",
        all: || victims().map(|part| &part.spec).collect(),
        choose: |parts, place| {
            if let Some(part) = victims().nth(place) {
                parts.victim = part.chosen();
            }
        },
        settings: |parts| settings_of("victim", &parts.victim),
        find: |parts, name| parts.victim.find(name),
    }),
    Row::Open(Open {
        name: "placement",
        about: "which stream a page is written to",
        all: || placements().map(|part| &part.spec).collect(),
        choose: |parts, place| {
            if let Some(part) = placements().nth(place) {
                parts.placement = part.chosen();
            }
        },
        settings: |parts| settings_of("placement", &parts.placement),
        find: |parts, name| parts.placement.find(name),
    }),
    own(
        Param::words(
            "metadata",
            MetadataPart::WORDS,
            "whether blocks of metadata are collected or left until they are stale",
        ),
        |parts| Some(parts.metadata.number()),
        |parts, number| {
            parts.metadata = MetadataPart::of(number);
            Ok(())
        },
    ),
    own(
        Param::words(
            "power",
            PowerPart::WORDS,
            "how a power cut is survived: by reading all spare areas; a battery; GeckoRec; synchronizing translation pages anew; from translation pages alone, which loses what these do not say (dftl-timeout, dftl-noflush); not at all",
        ),
        |parts| Some(parts.power.number()),
        |parts, number| {
            parts.power = PowerPart::of(number);
            Ok(())
        },
    ),
    part!(PageParts, "wear", "whether blocks are worn evenly", wear, ["none" => WearPart::Nothing, "levelling" => LEVELLING]),
    of!(wear: WearPart::Levelling { threshold }, OF_LEVELLING, Param::number(
        "wear.threshold", 1, 10_000, 12, "erases that a block of static data may lag behind the average",
    )),
    of!(wear: WearPart::Levelling { looks }, OF_LEVELLING, Param::number(
        "wear.looks", 1, LOOKS_MAX, 8, "free blocks looked at for the least or the most worn",
    )),
];

impl PageParts {
    /// Nodes cached and fanout of the B+-tree of its directory, or which part has one.
    fn b_tree(&self) -> Result<(u32, u32), &'static str> {
        match self.mapping {
            MappingPart::Paged { directory: DirectoryPart::BTree { nodes, fanout }, .. } => Ok((nodes, fanout)),
            MappingPart::Paged { .. } => Err("only mapping.directory=b-tree has it"),
            _ => Err(OF_PAGED),
        }
    }

    fn set_b_tree(&mut self, change: impl FnOnce((u32, u32)) -> (u32, u32)) -> Result<(), &'static str> {
        let (nodes, fanout) = change(self.b_tree()?);
        if let MappingPart::Paged { directory, .. } = &mut self.mapping {
            *directory = DirectoryPart::BTree { nodes, fanout };
        }
        Ok(())
    }
}

impl Parts for PageParts {
    fn rows() -> &'static [Row<Self>] {
        &ROWS
    }

    /// Where the parts are such that power cuts are not survived in the way that was, and no other was asked for, they are
    /// not at all.
    fn settle(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        if let Some((part, right)) = self.why_not_together() {
            let [_, validity, _, placement] = self.names();
            let value = if part == "validity" { validity } else { placement };
            return Err(ConfigError::BadValue { name: part.into(), value, right });
        }
        let Some(why) = self.why_not_survivable().filter(|_| self.power != PowerPart::Nothing) else { return Ok(()) };
        match settings.iter().find(|(name, _)| *name == "power") {
            Some((name, value)) => {
                Err(ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right: why.to_string() })
            }
            None => {
                self.power = PowerPart::Nothing;
                Ok(())
            }
        }
    }
}
