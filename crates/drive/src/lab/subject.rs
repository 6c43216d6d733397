//! The subject of an experiment: an FTL as the laboratory sees it.
//!
//! [`Config`] is one, so every FTL of this project is. Others bring their own; the rest of the laboratory does not
//! depend on the difference.

use super::cut_nand::CutNand;
use super::model::Loses;
use super::path::{Defect, Fault};
use phelsuma_ftl::{
    Composition, Config, Ftl, FtlError, Hint, Knowledge, LogParts, LogScheme, PowerPart, RecoveryReport, ValidityPart,
};
use phelsuma_nand::{Geometry, Time, Timing};
use std::fmt::Debug;
use std::sync::Arc;

/// An FTL that has been mounted, and the moment it is ready or the report of its mount.
pub type Ready<T> = Result<(Box<dyn Ftl<CutNand>>, T), FtlError>;

/// An FTL that the laboratory can try: how a drive of it is formatted and mounted, and its properties for workloads,
/// cuts and reports. It is the configuration, not the running FTL, so several threads use the same value again and
/// again. Everything that it makes must follow from itself and the flash alone.
///
/// An FTL from outside is given to [`LabConfig`](super::LabConfig) or [`SoakConfig`](super::SoakConfig) in the place of
/// a [`Config`]. This one is of this project under another name:
///
/// ```
/// use phelsuma_drive::lab::{CutNand, Fault, LabConfig, Points, Ready, Subject, Sweep, Workload};
/// use phelsuma_ftl::{Config, Preset, RecoveryReport};
/// use phelsuma_nand::{Geometry, Time, Timing};
///
/// #[derive(Clone, Debug)]
/// struct Mine(Config);
///
/// impl Subject for Mine {
///     fn name(&self) -> &str {
///         "mine"
///     }
///     fn logical_pages(&self) -> u32 {
///         self.0.logical_pages
///     }
///     fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
///         phelsuma_ftl::format(nand, &self.0, at)
///     }
///     fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
///         phelsuma_ftl::recover(nand, &self.0, at)
///     }
/// }
///
/// let config = LabConfig {
///     geometry: Geometry::new(512, 16, 32, 1, 1)?,
///     timing: Timing::preset("gecko").unwrap(),
///     ftl: Mine(Config::new("page", Preset::named("page")?.composition, 200, 1)),
///     workload: Workload::Mixed,
///     writes: 20,
///     points: Points::Some(10),
///     faults: Fault::all(),
///     depth: 1,
///     seed: 1,
///     threads: 1,
/// };
/// let report = Sweep::new(&config).run()?;
/// assert!(report.ftl == "mine" && report.cuts > 10 && !report.failed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Subject: Debug + Send + Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// All that determines it besides name and size, in a line: counts of equal ones add up.
    fn about(&self) -> String {
        format!("{self:?}")
    }

    /// Logical pages that the host sees.
    fn logical_pages(&self) -> u32;

    /// Makes a blank drive; the moment it is ready.
    ///
    /// # Errors
    /// [`FtlError::DoesNotFit`], or what the flash refuses.
    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time>;

    /// Mounts the drive that is on the flash, from flash alone. An error is a finding: *stuck*. So is a report whose
    /// bound is less than what the flash counts, or whose steps, if it has any, do not add up.
    ///
    /// # Errors
    /// Why the drive does not mount.
    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport>;

    /// Mapping entries that RAM caches, 0 where that is left to a default; none where there is no cache. Workloads use
    /// fewer pages than that, or more.
    fn cache_entries(&self) -> Option<u32> {
        None
    }

    /// Whether cuts are announced ([`Ftl::power_fail`]). Then they come after requests, otherwise at any program and
    /// erase.
    fn has_battery(&self) -> bool {
        false
    }

    /// Whether every recovery reads the whole mapping table, where that is on flash.
    fn reads_table(&self) -> bool {
        true
    }

    /// Whether a power cut may take back writes acknowledged since the last flush, the FTL's own or the host's. Each
    /// page reads then as it did at some moment since that flush, or right before it. Or it is a read error, if it was
    /// written since. What was trimmed stays so, and data that were never written there are never read.
    fn may_lose_what_is_not_flushed(&self) -> bool {
        false
    }

    /// Whether there is a write cache that a power cut empties. Each page reads then as it did at some moment since the
    /// last flush, or right before it, trimmed or not.
    fn has_volatile_cache(&self) -> bool {
        false
    }

    /// Whether the FTL below a volatile cache may lose what was not flushed as well: a page may be a read error then.
    fn may_lose_below_cache(&self) -> bool {
        false
    }

    /// Whether it mounts from pages of metadata alone. If one does not say any more which it was, there is no other
    /// record. Then every page that it may have mapped is a read error.
    fn recovers_from_metadata_alone(&self) -> bool {
        self.has_battery()
    }

    /// Whether it gets hints that no real FTL has.
    fn is_oracle(&self) -> bool {
        false
    }

    /// The host's hint with its write of `page`, the `number`-th of the experiment. It need not be true: no hint may
    /// cause a loss.
    fn hint(&self, _page: u32, _number: u32) -> Hint {
        Hint::None
    }

    /// Why it is not made to survive a power cut, if it is not: it is not tried then.
    fn why_not_survivable(&self) -> Option<String> {
        None
    }

    /// Its promise where this befalls it. Unpromised survival is tried all the same, and counted apart.
    fn promise(&self, _fault: Fault) -> Promise {
        if self.may_lose_what_is_not_flushed() { Promise::Flushed } else { Promise::Kept }
    }
}

/// What an FTL promises where something befalls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Everything acknowledged reads as it was written, and the drive can be written.
    Kept,
    /// So does everything that was flushed. Later writes may be as they were at any time since, or a read error
    /// ([`Subject::may_lose_what_is_not_flushed`]).
    Flushed,
    /// Lost data are a read error, for the pages concerned and no others, and the drive can be written. (Of decayed
    /// metadata: or what the page held before, where there is no other record on flash.)
    Detected,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// An FTL on a flash, in a line.
pub(crate) fn described(ftl: &dyn Subject, g: &Geometry, timing: &Timing) -> String {
    format!(
        "{} {} on {} blocks of {} pages of {} B, {} channels of {} dies, {} logical pages, {timing:?}",
        ftl.name(),
        ftl.about(),
        g.blocks(),
        g.pages_per_block(),
        g.page_bytes(),
        g.channels(),
        g.dies() / g.channels(),
        ftl.logical_pages()
    )
}

impl Subject for Config {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> String {
        match self.write_cache {
            None => format!("{:?}", self.composition),
            Some(cache) => format!("{:?} behind {cache:?}", self.composition),
        }
    }

    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        phelsuma_ftl::format(nand, self, at)
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        phelsuma_ftl::recover(nand, self, at)
    }

    fn cache_entries(&self) -> Option<u32> {
        self.composition.cache_entries()
    }

    fn has_battery(&self) -> bool {
        Config::has_battery(self)
    }

    fn reads_table(&self) -> bool {
        // Stale pages stand on flash as well, and recovery goes by that.
        self.composition.page_mapped().is_none_or(|parts| parts.validity == ValidityPart::RamBitmap)
    }

    fn may_lose_what_is_not_flushed(&self) -> bool {
        Config::may_lose_what_is_not_flushed(self)
    }

    fn has_volatile_cache(&self) -> bool {
        Config::has_volatile_cache(self)
    }

    fn may_lose_below_cache(&self) -> bool {
        self.composition.may_lose_what_is_not_flushed()
    }

    fn recovers_from_metadata_alone(&self) -> bool {
        self.composition.has_battery() || self.composition.power() == Some(PowerPart::Fast)
    }

    fn is_oracle(&self) -> bool {
        self.composition.knowledge().is_some()
    }

    fn hint(&self, page: u32, number: u32) -> Hint {
        let mixed = page.wrapping_mul(0x9e37_79b9) ^ number.wrapping_mul(0x85eb_ca6b);
        match self.composition.knowledge() {
            // Any handle, one that the drive does not have among them.
            None => {
                let handles = self.composition.page_mapped().and_then(|parts| parts.placement.handles());
                handles.map_or(Hint::None, |count| {
                    Hint::Handle(((u64::from(mixed) * (u64::from(count) + 1)) >> u32::BITS) as u8)
                })
            }
            Some(Knowledge::Classes(classes)) => Hint::Class((page % u32::from(classes)) as u8),
            // Of all lengths; some never, and some of nothing.
            Some(Knowledge::Deaths) => match mixed >> 28 {
                0 => Hint::NEVER,
                1 => Hint::None,
                doublings => Hint::Death(1 << doublings),
            },
        }
    }

    fn why_not_survivable(&self) -> Option<String> {
        self.composition.why_not_survivable()
    }

    fn promise(&self, fault: Fault) -> Promise {
        let battery = self.composition.has_battery();
        match fault {
            Fault::Program(_) | Fault::Erase(_) if Config::has_battery(self) => Promise::Nothing(match battery {
                true => "its battery tells of cuts (GeckoFTL section 5.3)",
                false => "capacitors save the write cache, and complete what is in progress",
            }),
            Fault::Program(_) | Fault::Erase(_) | Fault::Announced | Fault::Defect(Defect::Fails) => {
                if Config::may_lose_what_is_not_flushed(self) {
                    Promise::Flushed
                } else {
                    Promise::Kept
                }
            }
            Fault::Defect(Defect::MetadataDecays) if self.composition.page_mapped().is_none() => {
                Promise::Nothing(match self.composition {
                    Composition::LogBlock(LogParts { scheme: LogScheme::Superblock(_), .. }) => {
                        "of a superblock whose map page goes bad only an older one tells, and spare areas of what is younger"
                    }
                    _ => "of where data blocks are only map pages tell, and nobody rebuilds one",
                })
            }
            Fault::Defect(Defect::HostDecays | Defect::MetadataDecays)
                if battery || self.composition.cache_entries().is_none() =>
            {
                Promise::Detected
            }
            Fault::Defect(Defect::HostDecays)
                if matches!(self.composition.power(), Some(PowerPart::GeckoRec { .. })) =>
            {
                Promise::Nothing(
                    "of an entry that was dirty only its page tells; without it the translation page may name a place that \
                 was written anew",
                )
            }
            Fault::Defect(Defect::HostDecays | Defect::MetadataDecays) => Promise::Detected,
        }
    }
}

/// What a cut may take back of its drive.
pub(crate) fn losses(subject: &dyn Subject) -> Loses {
    match (subject.has_volatile_cache(), subject.may_lose_what_is_not_flushed()) {
        (true, _) => Loses::OfCache { of_ftl: subject.may_lose_below_cache() },
        (false, true) => Loses::OfFtl,
        (false, false) => Loses::Nothing,
    }
}

/// A subject whose type is of no more interest.
pub(crate) type Any = Arc<dyn Subject>;

/// What stands for the entries of a cache where the FTL has none.
const ENTRIES_WITHOUT_CACHE: u32 = 64;

/// Entries that a workload is drawn for. A cache of the default size holds all of a drive as small as the laboratory's.
pub(crate) fn entries_drawn_for(subject: &dyn Subject) -> u32 {
    match subject.cache_entries() {
        Some(0) | None => ENTRIES_WITHOUT_CACHE,
        Some(entries) => entries,
    }
}
