//! The integrity methods that LAST++ section 5.3 gives DFTL: NOFLUSH, PAGE, TIMEOUT and REQ.
//!
//! They decide when dirty entries are written to flash besides when they must be. To *flush* is to synchronize
//! translation pages. Each is read and written anew with all of its dirty entries, one after the other. None is written
//! before the pages that its entries name are on flash. PAGE flushes after each host page, REQ after each request,
//! which is then acknowledged. TIMEOUT flushes when the oldest change is as old as the paper's 30 seconds. The paper's
//! period begins anew at each flush. Here it begins with the first change after a flush. So no change ever grows older,
//! and a drive with nothing to write is not woken. The mapping writes trims through, whatever the method.
//!
//! As the paper has it, REQ makes a request atomic. That is so where its entries stand on one translation page. Where
//! they stand on several, each of these switches alone.

use super::fast::FastRecovery;
use crate::config::{IntegrityPart, PowerPart};
use crate::{Counter, PageParts, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

/// A millisecond of simulated time.
const MS: u64 = 1_000_000;

/// Translation pages written, by why.
#[derive(Clone, Copy, Default, Debug, Preserve)]
struct FlushTally {
    after_host: u64,
    at_timeout: u64,
    for_host_flush: u64,
    for_collection: u64,
    timeouts: u64,
}

/// Why translation pages are flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushCause {
    /// PAGE and REQ: host writes are to be acknowledged.
    Host,
    /// TIMEOUT.
    Timeout,
    /// The host requests it.
    Flush,
    /// A victim is about to be released.
    Collection,
}

/// A recovery's knowledge of entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
enum Known {
    /// Those that are dirty as well, by a scan, or saved by a battery.
    All,
    /// Those in translation pages alone.
    InTranslationPages,
}

/// Translation pages that REQ flushes at once at the most. A longer request has its first ones flushed before it ends, which
/// no host can tell apart. The reserve need not be for every translation page of the drive.
const REQUEST_PARTS_MOST: u32 = 16;

/// The flushes that are due, and when.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Integrity {
    method: IntegrityPart,
    known: Known,
    /// Translation pages of host writes with REQ that are not acknowledged yet: those of them that are dirty.
    request: Range<u32>,
    /// When the oldest change was made that TIMEOUT has not flushed.
    changed: Option<Time>,
    tally: FlushTally,
}

impl Integrity {
    pub(crate) fn of(parts: &PageParts) -> Self {
        let known = if parts.power == PowerPart::Fast { Known::InTranslationPages } else { Known::All };
        Self { method: parts.integrity, known, request: 0..0, changed: None, tally: FlushTally::default() }
    }

    /// Programs during one collection, of `entries` cached ones and so many translation pages: each page moved may make
    /// a translation page dirty, and REQ may have to flush those of a request.
    pub(crate) fn programs(parts: &PageParts, block: u64, entries: u32, translation_pages: u64) -> u64 {
        if parts.power != PowerPart::Fast {
            return 0;
        }
        let of_request = match parts.integrity {
            IntegrityPart::Request => translation_pages.min(u64::from(entries)).min(u64::from(REQUEST_PARTS_MOST)),
            _ => 0,
        };
        block + of_request
    }

    /// The host has written a page whose entry stands in `part`. Whether its request is to be flushed now.
    #[inline]
    pub(crate) fn page_written(&mut self, part: impl FnOnce() -> u32, at: Time) -> bool {
        match self.method {
            IntegrityPart::NoFlush => false,
            IntegrityPart::Timeout { .. } => {
                self.changed(at);
                false
            }
            IntegrityPart::Page | IntegrityPart::Request => {
                self.add_to_request(part());
                self.method == IntegrityPart::Page || self.request.len() as u32 >= REQUEST_PARTS_MOST
            }
        }
    }

    /// Entries of this translation page are of the request in progress.
    fn add_to_request(&mut self, part: u32) {
        self.request = match self.request.is_empty() {
            true => part..part + 1,
            false => self.request.start.min(part)..self.request.end.max(part + 1),
        };
    }

    /// Translation pages of the request in progress.
    #[inline]
    pub(crate) fn request(&self) -> Range<u32> {
        self.request.clone()
    }

    /// All of them are flushed.
    pub(crate) fn request_flushed(&mut self) {
        self.request = 0..0;
    }

    /// An entry has changed.
    pub(crate) fn changed(&mut self, at: Time) {
        if matches!(self.method, IntegrityPart::Timeout { .. }) {
            self.changed.get_or_insert(at);
        }
    }

    /// Nothing is dirty.
    pub(crate) fn all_flushed(&mut self) {
        self.changed = None;
    }

    /// Whether a host that flushes has dirty entries written: a recovery would not find them.
    pub(crate) fn flushes_for_host(&self) -> bool {
        self.known == Known::InTranslationPages
    }

    /// Whether acknowledged writes are safe only when they are flushed.
    pub(crate) fn is_safe_when_flushed(&self) -> bool {
        self.known == Known::InTranslationPages && !self.method.acknowledges_what_is_mapped()
    }

    /// From when on there is something to flush.
    pub(crate) fn due(&self) -> Option<Time> {
        match (self.method, self.changed) {
            (IntegrityPart::Timeout { ms }, Some(changed)) => Some(Time(changed.0.saturating_add(u64::from(ms) * MS))),
            _ => None,
        }
    }

    /// A translation page is flushed.
    pub(crate) fn count(&mut self, cause: FlushCause) {
        *match cause {
            FlushCause::Host => &mut self.tally.after_host,
            FlushCause::Timeout => &mut self.tally.at_timeout,
            FlushCause::Flush => &mut self.tally.for_host_flush,
            FlushCause::Collection => &mut self.tally.for_collection,
        } += 1;
    }

    /// TIMEOUT has come.
    pub(crate) fn count_timeout(&mut self) {
        self.tally.timeouts += 1;
    }

    /// It never flushes anything: as without it.
    fn is_plain(&self) -> bool {
        self.method == IntegrityPart::NoFlush && self.known == Known::All
    }

    /// With the list of moved pages, which takes `moved` bytes.
    pub(super) fn ram(&self, moved: u64, ledger: &mut RamLedger) {
        if self.is_plain() {
            return;
        }
        ledger.structure("mapping.integrity", (size_of::<Self>() + size_of::<FastRecovery>()) as u64);
        ledger.index("buffer.moved_translation_pages", moved);
    }

    pub(crate) fn counters(&self, out: &mut Vec<Counter>) {
        if self.is_plain() {
            return;
        }
        let tally = &self.tally;
        out.extend([
            Counter::sum("flushed_after_host_writes", tally.after_host),
            Counter::sum("flushed_at_timeouts", tally.at_timeout),
            Counter::sum("flushed_for_host_flushes", tally.for_host_flush),
            Counter::sum("flushed_for_collections", tally.for_collection),
            Counter::sum("timeouts", tally.timeouts),
        ]);
    }
}
