//! Synthetic workloads: seeded sequences of requests over a drive of L logical pages, endless but for `media`.
//!
//! | spec | what it asks |
//! | --- | --- |
//! | `uniform` | writes of one page, every page equally likely |
//! | `sequential` | writes of one page, in ascending order, over and over |
//! | `zipf:THETA` | writes of one page, the k-th most popular page with probability proportional to k^-THETA |
//! | `hotcold:WRITES/SPACE` | WRITES percent of the writes to SPACE percent of the pages |
//! | `mixed:OPTIONS:INNER` | any of the above with reads, trims, flushes and larger requests |
//! | `shifting:N:INNER` | any of the above but `sequential`, whose popular pages are others after every N drive writes |
//! | `media:KIND,OPTIONS` | files (`pic`, `mp3` or `mov`) are copied to a FAT32-like volume and deleted; ends |
//! | `desktop:OPTIONS` | a personal computer on an NTFS-like volume |
//! | `cache:OPTIONS` | a flash cache of small and large objects, as CacheLib's; with placement handles |
//! | `lsm:OPTIONS` | a key-value store of sorted files in levels, as RocksDB's; with placement handles |
//!
//! Popular pages are scattered over the drive by a seeded permutation, so that popularity does not mean adjacency.
//! `OPTIONS` are separated by commas:
//! - `read=P`, `trim=P`, `flush=P`: percent of requests; the rest are writes;
//! - `pages=N` or `pages=A-B`: pages per request, uniform;
//! - `bytes=N` or `bytes=A-B` instead: whole 512-byte sectors per request, uniform, beginning at any sector of the page
//!   that INNER names.
//!
//! A request that would run past the end of the drive is moved back to end there (`sequential` starts over instead).
//!
//! `media` copies 6 GB to a volume of 8 GB, then ten times deletes 2 GB and copies 2 GB. `desktop` has metadata,
//! temporary and cached files, documents and downloads. Both are workloads of files, which only write (`files` says
//! what and why). Their option `trim` trims deleted files. `media` also has `rounds=N` instead of ten, and
//! `delete=oldest` or `delete=folders` instead of any files. `media` ends after its rounds: by default a run of it
//! counts all of it. `desktop` has times ([`Workload::is_timed`]).
//!
//! `cache` and `lsm` are laid out on the whole drive; each says in its file how. The options of `cache` are `small=P` and
//! `writes=P` (percent of the space and of the bytes for small objects), `region=SIZE`, `zipf=THETA` and `trim`. Those of
//! `lsm` are `full=P` (percent of the drive that the last level has) and `no-trim`.
//!
//! Same spec, drive and seed: the same requests on any machine. Floating point is only used through operations that are
//! exact or implemented in Rust.

use std::fmt;
use std::str::FromStr;

use crate::TraceError;
use crate::request::{PageRequest, Source};

mod address;
mod cache;
mod classes;
mod error;
mod files;
mod generate;
mod lsm;
mod mixed;
mod parse;
mod permutation;
mod shifting;
mod single;
mod zipf;

pub use cache::Cache;
pub use classes::class_of_rank;
pub use error::WorkloadError;
pub use files::{DeletionOrder, Media, MediaKind};
pub(crate) use generate::check_drive;
pub use generate::{GenerateOptions, INTERVAL_NS, generate};
pub use lsm::Lsm;
pub use mixed::{Mix, RequestSize};
pub use permutation::Permutation;

/// The requests to a drive, apart from its size and the seed.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// Every page equally likely.
    Uniform,
    /// Ascending pages, over and over.
    Sequential,
    /// Zipf's law.
    Zipf {
        /// The exponent, above 0 and at most 10.
        theta: f64,
    },
    /// Two classes of pages.
    HotCold {
        /// Percent of the writes that go to the hot pages; above 0 and at most 100: then the others are never written.
        writes_percent: f64,
        /// Percent of the pages that are hot; above 0 and below 100.
        space_percent: f64,
    },
    /// A mix of operations and sizes over one of the others.
    Mixed {
        /// Shares and sizes.
        mix: Mix,
        /// Where requests go; not itself mixed.
        inner: Box<Workload>,
    },
    /// Popular pages change.
    Shifting {
        /// How long they stay popular: pages written, in logical pages of the drive; above 0 and at most 999.
        drive_writes: f64,
        /// Where requests go; not itself shifting.
        inner: Box<Workload>,
    },
    /// Large files that are copied and deleted; ends.
    Media(Media),
    /// A personal computer.
    Desktop {
        /// Whether deleted files are trimmed.
        trim: bool,
    },
    /// A flash cache of small and large objects.
    Cache(Cache),
    /// A key-value store of sorted files in levels.
    Lsm(Lsm),
}

/// One line for each workload: its spelling and its effect.
pub const LIST: &[(&str, &str)] = &[
    ("uniform", "writes of one page, every page equally likely"),
    ("sequential", "writes of one page in ascending order, over and over"),
    ("zipf:THETA", "writes of one page by Zipf's law with any exponent above 0, popular pages scattered"),
    ("hotcold:WRITES/SPACE", "WRITES % of the writes to SPACE % of the pages (80/20), hot pages scattered"),
    (
        "mixed:OPTIONS:INNER",
        "read=P,trim=P,flush=P (percent), pages=A-B or bytes=A-B per request, addresses by INNER: mixed:read=30,trim=5,pages=1-8:zipf:0.99",
    ),
    (
        "shifting:N:INNER",
        "any of the above but sequential; after every N drive writes other pages are popular: shifting:2:hotcold:80/20",
    ),
    (
        "media:pic|mp3|mov[,trim][,rounds=N][,delete=random|oldest|folders]",
        "three quarters of a FAT32-like volume (all of the drive, 8GiB at most) filled with files, then ten times a quarter deleted and copied; ends there (media:mov)",
    ),
    (
        "desktop[:trim]",
        "a personal computer on an NTFS-like volume (all of the drive, 40GiB at most): hot metadata, temporary and cached files, documents, downloads; with idle times",
    ),
    (
        "cache[:small=P,writes=P,region=SIZE,zipf=THETA,trim]",
        "a flash cache as CacheLib's: small objects in buckets (4 % of the space, 50 % of the bytes written; handle 1), large ones in a ring of regions (16MiB; handle 2)",
    ),
    (
        "lsm[:full=P,no-trim]",
        "a key-value store as RocksDB's: a log (handle 1), levels of files that compactions write and trim (level L: handle 2 + L), the last one with P % of the drive (70)",
    ),
];

impl Workload {
    /// Reads a specification.
    ///
    /// # Errors
    /// Says what would be right.
    pub fn parse(spec: &str) -> Result<Self, WorkloadError> {
        parse::parse(spec)
    }

    /// Whether its requests come to an end.
    #[must_use]
    pub fn ends(&self) -> bool {
        matches!(self, Workload::Media(_))
    }

    /// Whether its requests say when they arrive. Those of others all have time 0: each comes as soon as the drive has
    /// answered.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        matches!(self, Workload::Desktop { .. })
    }

    /// Whether its requests have placement handles.
    #[must_use]
    pub fn has_handles(&self) -> bool {
        matches!(self, Workload::Cache(_) | Workload::Lsm(_))
    }

    /// A source of requests over pages 0 to `logical_pages` - 1; endless, unless the workload [`ends`](Self::ends).
    ///
    /// A drive on which the workload cannot run (no pages at all, requests larger than the drive) makes a
    /// source whose every request is an error.
    #[must_use]
    pub fn source(&self, logical_pages: u64, page_bytes: u32, seed: u64) -> Box<dyn Source + Send> {
        match self.try_source(logical_pages, page_bytes, seed) {
            Ok(source) => source,
            Err(error) => Box::new(Impossible(error)),
        }
    }

    fn try_source(&self, pages: u64, page_bytes: u32, seed: u64) -> Result<Box<dyn Source + Send>, WorkloadError> {
        let impossible = |what: String| WorkloadError { spec: self.to_string(), what };
        if pages == 0 {
            return Err(impossible("the drive has no logical pages, 1 or more would be right".to_owned()));
        }
        Ok(match self {
            Workload::Uniform => Box::new(single::Writes::new(address::Uniform::new(pages), seed)),
            Workload::Sequential => Box::new(single::Writes::new(address::Sequential::new(pages), seed)),
            Workload::Zipf { theta } => Box::new(single::Writes::new(address::Zipf::new(pages, *theta, seed), seed)),
            Workload::HotCold { writes_percent, space_percent } => {
                let hot_cold = address::HotCold::new(pages, *writes_percent, *space_percent, seed);
                Box::new(single::Writes::new(hot_cold.map_err(impossible)?, seed))
            }
            Workload::Mixed { mix, inner } => {
                mix.check(pages, page_bytes).map_err(impossible)?;
                match inner.as_ref() {
                    Workload::Uniform => mix.over(address::Uniform::new(pages), pages, page_bytes, seed),
                    Workload::Sequential => mix.over(address::Sequential::new(pages), pages, page_bytes, seed),
                    Workload::Zipf { theta } => {
                        mix.over(address::Zipf::new(pages, *theta, seed), pages, page_bytes, seed)
                    }
                    Workload::HotCold { writes_percent, space_percent } => {
                        let hot_cold = address::HotCold::new(pages, *writes_percent, *space_percent, seed);
                        mix.over(hot_cold.map_err(impossible)?, pages, page_bytes, seed)
                    }
                    Workload::Mixed { .. }
                    | Workload::Shifting { .. }
                    | Workload::Media(_)
                    | Workload::Desktop { .. }
                    | Workload::Cache(_)
                    | Workload::Lsm(_) => {
                        return Err(impossible(format!("a mix of {inner} cannot be")));
                    }
                }
            }
            Workload::Shifting { drive_writes, inner } => {
                let inner = inner.clone();
                let of_seed = move |seed| inner.source(pages, page_bytes, seed);
                Box::new(shifting::Shifting::new(Box::new(of_seed), seed, (pages as f64 * drive_writes) as u64))
            }
            Workload::Media(media) => media.source(pages, page_bytes, seed).map_err(impossible)?,
            Workload::Desktop { trim } => files::Desktop::source(*trim, pages, page_bytes, seed).map_err(impossible)?,
            Workload::Cache(cache) => cache.source(pages, page_bytes, seed).map_err(impossible)?,
            Workload::Lsm(lsm) => lsm.source(pages, page_bytes, seed).map_err(impossible)?,
        })
    }
}

impl FromStr for Workload {
    type Err = WorkloadError;

    fn from_str(spec: &str) -> Result<Self, WorkloadError> {
        Workload::parse(spec)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Uniform => f.write_str("uniform"),
            Workload::Sequential => f.write_str("sequential"),
            Workload::Zipf { theta } => write!(f, "zipf:{theta}"),
            Workload::HotCold { writes_percent, space_percent } => {
                write!(f, "hotcold:{writes_percent}/{space_percent}")
            }
            Workload::Mixed { mix, inner } => write!(f, "mixed:{mix}:{inner}"),
            Workload::Shifting { drive_writes, inner } => write!(f, "shifting:{drive_writes}:{inner}"),
            Workload::Media(Media { kind, trim, rounds, delete }) => {
                write!(f, "media:{}", kind.name())?;
                if *trim {
                    f.write_str(",trim")?;
                }
                if *rounds != files::ROUNDS {
                    write!(f, ",rounds={rounds}")?;
                }
                if *delete != DeletionOrder::Random {
                    write!(f, ",delete={}", delete.name())?;
                }
                Ok(())
            }
            Workload::Cache(cache) => cache.fmt(f),
            Workload::Lsm(lsm) => lsm.fmt(f),
            Workload::Desktop { trim } => f.write_str(if *trim { "desktop:trim" } else { "desktop" }),
        }
    }
}

/// Stands for a workload that cannot run.
struct Impossible(WorkloadError);

impl Source for Impossible {
    fn next_request(&mut self) -> Result<Option<PageRequest>, TraceError> {
        Err(self.0.clone().into())
    }
}
