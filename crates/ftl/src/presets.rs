//! The named FTLs, each a line that puts parts together, and the two ways to get one: format and recover.

use crate::barriers::Barriers;
use crate::cache_part::{CONDENSE_SHARE, Condense, Evict, Prefetch};
use crate::config::{
    CollectionPart, Composition, Config, ConfigError, DirectoryPart, DirtyLimit, FastParts, IntegrityPart, LastParts,
    LogInstances, LogParts, LogScheme, MappingPart, MetadataPart, OnMiss, PageParts, PowerPart, SuperblockParts,
    Switch, Synchronize, TIMEOUT_MS, TrimPages, ValidityPart,
};
use crate::ftl::Ftl;
use crate::gecko_part::{GeckoMerge, GeckoPages};
use crate::log_block;
use crate::page_mapped;
use crate::policy::{placements, victims};
use crate::write_cache::Cached;
use crate::{FtlError, RecoveryReport};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Time};

/// A named FTL.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its description, in a line.
    pub about: &'static str,
    /// Its parts.
    pub composition: Composition,
}

const PAGE: PageParts = PageParts::PAGE;

/// A demand-paged mapping, its cache of the default size.
const fn paged(
    (evict, prefetch, condense): (Evict, Prefetch, Condense),
    on_miss: OnMiss,
    log: u32,
    dirty: DirtyLimit,
    directory: DirectoryPart,
) -> MappingPart {
    MappingPart::Paged {
        cache_entries: 0,
        on_miss,
        evict,
        prefetch,
        condense,
        share: CONDENSE_SHARE,
        log,
        dirty,
        directory,
    }
}

/// A cache of entries alone, the one used longest ago going first.
const ENTRIES: (Evict, Prefetch, Condense) = (Evict::Lru, Prefetch::Nothing, Condense::Nothing);

const B_TREE: DirectoryPart = DirectoryPart::BTree { nodes: 0, fanout: 0 };

/// A tenth of the cache may be dirty.
const fn a_tenth_dirty(synchronize: Synchronize) -> DirtyLimit {
    DirtyLimit { percent: 10, synchronize }
}

const PAGED: MappingPart = paged(ENTRIES, OnMiss::Fetch, 0, DirtyLimit::DEFAULT, DirectoryPart::Flat);

const LAZY: MappingPart = paged(ENTRIES, OnMiss::Lazy, 0, DirtyLimit::DEFAULT, DirectoryPart::Flat);

const MU_TREE: MappingPart = MappingPart::MuTree { read_pages: 2, write_pages: 9, record_bits: 0, extent_pages: 1 };

const GECKO: ValidityPart =
    ValidityPart::Gecko { size_ratio: 2, partitions: 0, merge: GeckoMerge::MultiWay, pages: GeckoPages::Listed };

const DFTL: PageParts = PageParts { mapping: PAGED, power: PowerPart::Battery, ..PAGE };

/// DFTL with another cache.
const fn caching(cache: (Evict, Prefetch, Condense)) -> PageParts {
    let mapping = paged(cache, OnMiss::Fetch, 0, DirtyLimit::DEFAULT, DirectoryPart::Flat);
    PageParts { mapping, ..DFTL }
}

const GECKOFTL: PageParts =
    PageParts { mapping: LAZY, validity: GECKO, metadata: MetadataPart::Left, power: PowerPart::GECKO_REC, ..PAGE };

/// The mapping log holds two percent of the logical pages.
const PHELSUMA: PageParts = PageParts {
    mapping: paged(ENTRIES, OnMiss::Lazy, 30, DirtyLimit::DEFAULT, DirectoryPart::Flat),
    collection: CollectionPart::Slices,
    power: PowerPart::GeckoRec { block_log: Switch::On },
    victim: victims::learned::SPEC.chosen(),
    placement: placements::lifetimes::FETCHING,
    ..GECKOFTL
};

const SUPERBLOCK: LogScheme = LogScheme::Superblock(SuperblockParts::DEFAULT);

const fn log_block(scheme: LogScheme) -> Composition {
    Composition::LogBlock(LogParts { scheme, log_blocks: 0, instances: LogInstances::One })
}

const fn per_channel(scheme: LogScheme) -> Composition {
    Composition::LogBlock(LogParts { scheme, log_blocks: 0, instances: LogInstances::PerChannel })
}

/// Every named FTL.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "page",
        about: "page mapping and validity in RAM, greedy, one stream: the analytic reference",
        composition: Composition::PageMapped(PAGE),
    },
    Preset {
        name: "fifo",
        about: "as page, collecting the block closed longest ago",
        composition: Composition::PageMapped(PageParts { victim: victims::fifo::SPEC.chosen(), ..PAGE }),
    },
    Preset {
        name: "d-choices",
        about: "as page, collecting the emptiest of 10 blocks drawn at random",
        composition: Composition::PageMapped(PageParts { victim: victims::d_choices::SPEC.chosen(), ..PAGE }),
    },
    Preset {
        name: "pl-greedy",
        about: "as page, with moved pages apart from what the host writes (Dual Greedy, section V)",
        composition: Composition::PageMapped(PageParts { placement: placements::host_gc::SPEC.chosen(), ..PAGE }),
    },
    Preset {
        name: "dual-greedy",
        about: "as page, hot data told by lifetimes of blocks, victims by lists of ages (Dual Greedy)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::dual_greedy::SPEC.chosen(),
            placement: placements::dual_greedy::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "cost-benefit",
        about: "as pl-greedy, collecting by live pages and age (Kawaguchi, as Dual Greedy has it)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::cost_age::COST_BENEFIT.chosen(),
            placement: placements::host_gc::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "cat",
        about: "as pl-greedy, collecting by live pages, age and erase count (Chiang's CAT, as Dual Greedy has it)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::cost_age::CAT.chosen(),
            placement: placements::host_gc::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "dac",
        about: "as page, regions from cold to hot by ages of pages, cat without wear (DAC, as Dual Greedy has it)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::cost_age::CAT_WITHOUT_WEAR,
            placement: placements::dac::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "dac-sealed",
        about: "as dac, cost-benefit by the age of blocks: each class comes to about its best share of the spare space",
        composition: Composition::PageMapped(PageParts {
            victim: victims::cost_age::COST_BENEFIT_SEALED.chosen(),
            placement: placements::dac::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "sepbit",
        about: "as page, six classes by inferred lifespans and ages, cost-benefit by the age of blocks (SepBIT)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::cost_age::COST_BENEFIT_SEALED.chosen(),
            placement: placements::sepbit::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "midas",
        about: "as page, a HOT group and a chain of groups by age, their sizes from a model of how the host writes (MiDAS)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::chain::SPEC.chosen(),
            placement: placements::midas::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "static-quota",
        about: "oracle: as page, told the class of each page, each class with its best share of the spare space",
        composition: Composition::PageMapped(PageParts {
            victim: victims::static_quota::SPEC.chosen(),
            placement: placements::static_quota::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "oracle",
        about: "oracle: as page, told when each page dies: what can be reached with the future known",
        composition: Composition::PageMapped(PageParts {
            victim: victims::oracle::SPEC.chosen(),
            placement: placements::oracle::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "dftl",
        about: "demand-paged mapping, validity in RAM, greedy over user data and metadata alike (DFTL)",
        composition: Composition::PageMapped(DFTL),
    },
    Preset {
        name: "tpftl",
        about: "as dftl with a cache of two levels, which fetches what a request and a run need along (TPFTL)",
        composition: Composition::PageMapped(caching((Evict::TwoLevel, Prefetch::Selective, Condense::Nothing))),
    },
    Preset {
        name: "s-ftl",
        about: "as dftl with three quarters of its cache for translation pages as runs (S-FTL)",
        composition: Composition::PageMapped(caching((Evict::Lru, Prefetch::Nothing, Condense::Runs))),
    },
    Preset {
        name: "leaftl",
        about: "as s-ftl, its translation pages as learned segments (LeaFTL's, with an error bound of 0)",
        composition: Composition::PageMapped(caching((Evict::Lru, Prefetch::Nothing, Condense::Segments))),
    },
    Preset {
        name: "learnedftl",
        about: "as tpftl with models of translation pages, whose groups are collected at once, in order (LearnedFTL)",
        composition: Composition::PageMapped(PageParts {
            victim: victims::group::SPEC.chosen(),
            placement: placements::groups::SPEC.chosen(),
            collection: CollectionPart::Groups,
            ..caching((Evict::TwoLevel, Prefetch::Selective, Condense::Models))
        }),
    },
    Preset {
        name: "dftl-noflush",
        about: "as dftl without a battery: a cut is followed by a scan, and nothing is lost (NOFLUSH, LAST++ section 5.3)",
        composition: Composition::PageMapped(PageParts { power: PowerPart::Synchronize, ..DFTL }),
    },
    Preset {
        name: "dftl-page",
        about: "as dftl, the translation page written after each page; recovery from these alone (PAGE, LAST++)",
        composition: Composition::PageMapped(PageParts {
            integrity: IntegrityPart::Page,
            power: PowerPart::Fast,
            ..DFTL
        }),
    },
    Preset {
        name: "dftl-timeout",
        about: "as dftl, dirty entries written after 30 s; a cut takes back what is younger (TIMEOUT, LAST++)",
        composition: Composition::PageMapped(PageParts {
            integrity: IntegrityPart::Timeout { ms: TIMEOUT_MS },
            power: PowerPart::Fast,
            ..DFTL
        }),
    },
    Preset {
        name: "dftl-req",
        about: "as dftl, translation pages written after each request; recovery from these alone (REQ, LAST++)",
        composition: Composition::PageMapped(PageParts {
            integrity: IntegrityPart::Request,
            power: PowerPart::Fast,
            ..DFTL
        }),
    },
    Preset {
        name: "lazyftl",
        about: "as dftl without a battery: a tenth of the cache may be dirty (LazyFTL, as GeckoFTL takes it)",
        composition: Composition::PageMapped(PageParts {
            mapping: paged(ENTRIES, OnMiss::Fetch, 0, a_tenth_dirty(Synchronize::PhysicalBlock), DirectoryPart::Flat),
            power: PowerPart::Synchronize,
            ..PAGE
        }),
    },
    Preset {
        name: "ib-ftl",
        about: "a B+-tree as mu-ftl-pvb, a dirty limit as lazyftl, stale pages in a log chained by block (IB-FTL)",
        composition: Composition::PageMapped(PageParts {
            mapping: paged(ENTRIES, OnMiss::Fetch, 0, a_tenth_dirty(Synchronize::TranslationPage), B_TREE),
            validity: ValidityPart::PageValidityLog,
            power: PowerPart::Synchronize,
            ..PAGE
        }),
    },
    Preset {
        name: "mu-ftl",
        about: "extents and bitmap entries in a µ-Tree, a bitmap cache, a block for each partition (µ-FTL)",
        composition: Composition::PageMapped(PageParts {
            mapping: MU_TREE,
            validity: ValidityPart::MuTree { bitmap_cache: 1024 },
            placement: placements::partitions::SPEC.chosen(),
            ..PAGE
        }),
    },
    Preset {
        name: "mu-ftl-pvb",
        about: "as dftl, with the root alone in RAM of a B+-tree of translation pages, and a bitmap in flash (µ-FTL)",
        composition: Composition::PageMapped(PageParts {
            mapping: paged(ENTRIES, OnMiss::Fetch, 0, DirtyLimit::DEFAULT, B_TREE),
            validity: ValidityPart::FlashBitmap,
            power: PowerPart::Battery,
            ..PAGE
        }),
    },
    Preset {
        name: "geckoftl",
        about: "demand-paged mapping, stale pages in Logarithmic Gecko, metadata left until it is stale (GeckoFTL)",
        composition: Composition::PageMapped(GECKOFTL),
    },
    Preset {
        name: "geckoftl-classes",
        about: "as geckoftl, user data in dac's regions by times in spare areas, victims as dac-sealed",
        composition: Composition::PageMapped(PageParts {
            victim: victims::cost_age::COST_BENEFIT_SEALED.chosen(),
            placement: placements::dac::FROM_FLASH,
            ..GECKOFTL
        }),
    },
    Preset {
        name: "phelsuma",
        about: "as geckoftl, with logs of mapping and blocks, classes by lifetimes, a learned victim, slices (our own)",
        composition: Composition::PageMapped(PHELSUMA),
    },
    Preset {
        name: "block",
        about: "data blocks alone: what overwrites a page copies its block (block-level FTL, LAST++ section 2.1)",
        composition: log_block(LogScheme::Block),
    },
    Preset {
        name: "bast",
        about: "data blocks, and a log block for each logical block that is written (BAST, LAST++ section 3)",
        composition: log_block(LogScheme::Bast),
    },
    Preset {
        name: "fast",
        about: "data blocks, one sequential log block, and log blocks that all share (FAST, LAST++ section 3)",
        composition: log_block(LogScheme::Fast(FastParts::DEFAULT)),
    },
    Preset {
        name: "superblock",
        about: "adjacent logical blocks share blocks in which pages stand anywhere (SUPERBLOCK, µ-FTL section 3)",
        composition: log_block(SUPERBLOCK),
    },
    Preset {
        name: "last++",
        about: "segments over all channels, sequential log blocks, random ones in a hot and a cold partition (LAST++)",
        composition: log_block(LogScheme::Last(LastParts { trims: TrimPages::BySize, ..LastParts::DEFAULT })),
    },
    Preset {
        name: "ftl-mm:block",
        about: "as block, an FTL for each channel, pages dealt to them in turn (FTL-MM, LAST++ section 5.1)",
        composition: per_channel(LogScheme::Block),
    },
    Preset {
        name: "ftl-mm:bast",
        about: "as bast, an FTL for each channel, pages dealt to them in turn (FTL-MM, LAST++ section 5.1)",
        composition: per_channel(LogScheme::Bast),
    },
    Preset {
        name: "ftl-mm:fast",
        about: "as fast, an FTL for each channel, pages dealt to them in turn (FTL-MM, LAST++ section 5.1)",
        composition: per_channel(LogScheme::Fast(FastParts::DEFAULT)),
    },
    Preset {
        name: "ftl-mm:superblock",
        about: "as superblock, an FTL for each channel, pages dealt to them in turn (FTL-MM, LAST++ section 5.1)",
        composition: per_channel(SUPERBLOCK),
    },
];

impl Preset {
    /// The preset called `name`.
    ///
    /// # Errors
    /// [`ConfigError::UnknownPreset`] lists those there are.
    pub fn named(name: &str) -> Result<&'static Self, ConfigError> {
        Self::all().find(|p| p.name == name).ok_or_else(|| ConfigError::UnknownPreset {
            name: name.to_string(),
            known: Self::all().map(|p| p.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// All of them: [`PRESETS`], and those of a [`Registry`](crate::Registry).
    pub fn all() -> impl Iterator<Item = &'static Self> {
        PRESETS.iter().chain(brought())
    }
}

#[cfg(feature = "std")]
static BROUGHT: std::sync::OnceLock<Vec<Preset>> = std::sync::OnceLock::new();

/// These as well from now on. Whether it is the first call, and before the first look-up.
#[cfg(feature = "std")]
pub(crate) fn bring_presets(presets: Vec<Preset>) -> bool {
    BROUGHT.set(presets).is_ok()
}

/// Those of a registry. There is none without an operating system.
fn brought() -> &'static [Preset] {
    #[cfg(feature = "std")]
    return BROUGHT.get_or_init(Vec::new);
    #[cfg(not(feature = "std"))]
    &[]
}

impl<C> Config<C> {
    /// The same FTL, seen as its family sees it.
    pub(crate) fn of<P>(&self, parts: P) -> Config<P> {
        Config {
            name: self.name.clone(),
            logical_pages: self.logical_pages,
            seed: self.seed,
            composition: parts,
            write_cache: self.write_cache,
            #[cfg(phelsuma_mutants)]
            forgets: self.forgets,
        }
    }

    pub(crate) fn barriers(&self) -> Barriers {
        Barriers {
            #[cfg(phelsuma_mutants)]
            forgets: self.forgets,
        }
    }
}

impl Config {
    /// The preset called `name`, under that name and with the parts that it has.
    ///
    /// # Errors
    /// [`ConfigError::UnknownPreset`] lists those there are.
    pub fn preset(name: &str, logical_pages: u32, seed: u64) -> Result<Self, ConfigError> {
        Ok(Self::new(name, Preset::named(name)?.composition, logical_pages, seed))
    }
}

/// Makes a blank drive on `nand`: everything on it is erased. Returns the FTL and the moment it is ready.
///
/// If it is cut while it erases, [`recover`] finds a drive that is lost or blank; while it writes the description, one
/// that is blank or there. Each may be formatted again.
///
/// # Errors
/// [`FtlError::DoesNotFit`], or what the flash refuses.
pub fn format<N: Nand + 'static>(nand: &mut N, config: &Config, at: Time) -> Result<(Box<dyn Ftl<N>>, Time), FtlError> {
    let (ftl, ready) = match config.composition {
        Composition::PageMapped(parts) => page_mapped::format(nand, &config.of(parts), at)?,
        Composition::LogBlock(parts) => log_block::format(nand, &config.of(parts), at)?,
    };
    Ok((behind_cache(nand, config, ftl), ready))
}

/// Mounts the drive that is on `nand`, from flash alone.
///
/// The geometry must be the one that the drive was formatted with, and of `config` the name, the number of logical pages
/// and the parts that decide what stands on flash. The seed, victims, placement, the size of a cache and the write cache may change.
///
/// # Errors
/// [`FtlError::Blank`], [`FtlError::Lost`], [`FtlError::OtherDrive`], or what the flash refuses.
pub fn recover<N: Nand + 'static>(
    nand: &mut N,
    config: &Config,
    at: Time,
) -> Result<(Box<dyn Ftl<N>>, RecoveryReport), FtlError> {
    let (ftl, report) = match config.composition {
        Composition::PageMapped(parts) => page_mapped::recover(nand, &config.of(parts), at)?,
        Composition::LogBlock(parts) => log_block::recover(nand, &config.of(parts), at)?,
    };
    Ok((behind_cache(nand, config, ftl), report))
}

fn behind_cache<N: Nand + 'static>(nand: &N, config: &Config, ftl: Box<dyn Ftl<N>>) -> Box<dyn Ftl<N>> {
    match config.write_cache {
        None => ftl,
        Some(how) => Box::new(Cached::new(ftl, how, nand.geometry())),
    }
}

/// A preset with other parts, for tests.
#[cfg(test)]
pub(crate) fn with(ftl: &str, settings: &[(&str, &str)]) -> Result<crate::PageParts, ConfigError> {
    let mut composition = Preset::named(ftl).unwrap().composition;
    composition.set_all(settings).map(|()| composition.page_mapped().unwrap())
}
