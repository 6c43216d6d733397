//! When dirty entries are written to flash besides when they must go: the integrity methods that LAST++ section 5.3
//! gives DFTL (NOFLUSH, PAGE, TIMEOUT, REQ), and what a recovery from translation pages alone needs with each of them.
//!
//! To *flush* is to synchronize translation pages: each is read and written anew with all of its dirty entries, one
//! after the other, not before the pages that they name are on flash. PAGE does so after each page of the host's, REQ
//! after each request, which is then acknowledged. TIMEOUT does so when the oldest change is as old as the paper's 30
//! seconds; the paper's period begins anew at each flush, here with the first change after it, so that none ever grows
//! older and a drive with nothing to write is not woken. Trims are written through by the mapping, whatever the method.
//!
//! With [`PowerPart::Fast`](crate::PowerPart::Fast) the translation pages are all that a recovery knows, and a block
//! that they name must not be erased while what they name counts. So **a collection flushes before its victim is
//! released**:
//! - The entries of what it has moved, with every method. Their translation pages name the victim, and nothing else
//!   tells where the pages went that the host wrote long ago. NOFLUSH and TIMEOUT would lose them besides what they are
//!   said to lose. ([`Barrier::MovedFlushed`])
//! - Those of the request in progress, with REQ: the victim may hold what their translation pages name still. A cut in
//!   the middle of the request leaves each of its pages old or new. ([`Barrier::RequestFlushedBeforeReuse`])
//!
//! Not what NOFLUSH and TIMEOUT have written since they flushed: what their translation pages name may be erased. A
//! recovery sees that the block was begun after the translation page was written, and makes the page a read error;
//! where it was not erased, the older content comes back. Nobody else's ever does: the host's read holds the page's key
//! against it as well.
//!
//! As the paper has it, REQ makes a request atomic. That is so where its entries stand on one translation page; where
//! they stand on several, each of these switches alone.

use super::mapping::Mapping;
use super::{MetaIo, PageMapped, mapping_io};
use crate::barriers::Barrier;
use crate::config::{IntegrityPart, PowerPart};
use crate::{Counter, FtlError, PageParts, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{LogicalPage, Nand, Time};

/// A millisecond of simulated time.
const MS: u64 = 1_000_000;

/// Translation pages written, by why.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    after_host: u64,
    at_timeout: u64,
    for_host_flush: u64,
    for_collection: u64,
    timeouts: u64,
}

/// Why translation pages are flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// PAGE and REQ: what the host has written is to be acknowledged.
    Host,
    /// TIMEOUT.
    Timeout,
    /// The host asks for it.
    Flush,
    /// A victim is about to be released.
    Collection,
}

/// What is to be flushed, and when.
#[derive(Clone, Debug)]
pub(super) struct Integrity {
    method: IntegrityPart,
    /// A recovery knows the translation pages alone.
    fast: bool,
    /// Translation pages of what the host has written with REQ and is not acknowledged yet: those of them that are
    /// dirty.
    request: Range<u32>,
    /// Translation pages of what was moved out of victims and is not flushed.
    moved: Vec<u32>,
    /// When the oldest change was made that TIMEOUT has not flushed.
    changed: Option<Time>,
    tally: Tally,
}

impl Integrity {
    pub(super) fn of(parts: &PageParts, pages_per_block: u32) -> Self {
        let fast = parts.power == PowerPart::Fast;
        Self {
            method: parts.integrity,
            fast,
            request: 0..0,
            moved: Vec::with_capacity(if fast { pages_per_block as usize } else { 0 }),
            changed: None,
            tally: Tally::default(),
        }
    }

    /// Programs during one collection, of `entries` cached ones and so many translation pages: each page moved may make
    /// a translation page dirty, and REQ may have to flush as many as can have dirty entries.
    pub(super) fn programs(parts: &PageParts, block: u64, entries: u32, translation_pages: u64) -> u64 {
        if parts.power != PowerPart::Fast {
            return 0;
        }
        let of_request = match parts.integrity {
            IntegrityPart::Request => translation_pages.min(u64::from(entries)),
            _ => 0,
        };
        block + of_request
    }

    /// Entries of this translation page are of the request in progress.
    fn add_to_request(&mut self, part: u32) {
        self.request = match self.request.is_empty() {
            true => part..part + 1,
            false => self.request.start.min(part)..self.request.end.max(part + 1),
        };
    }

    /// A collection has moved a page whose entry stands in this translation page.
    pub(super) fn moved(&mut self, part: u32) {
        if self.fast && self.moved.last() != Some(&part) {
            self.moved.push(part);
        }
    }

    /// An entry has changed.
    fn changed(&mut self, at: Time) {
        if matches!(self.method, IntegrityPart::Timeout { .. }) {
            self.changed.get_or_insert(at);
        }
    }

    /// Whether what is acknowledged is safe only when it is flushed.
    pub(super) fn is_safe_when_flushed(&self) -> bool {
        self.fast && !self.method.acknowledges_what_is_mapped()
    }

    /// From when on there is something to flush.
    pub(super) fn due(&self) -> Option<Time> {
        match (self.method, self.changed) {
            (IntegrityPart::Timeout { ms }, Some(changed)) => Some(Time(changed.0.saturating_add(u64::from(ms) * MS))),
            _ => None,
        }
    }

    fn count(&mut self, cause: Cause) {
        *match cause {
            Cause::Host => &mut self.tally.after_host,
            Cause::Timeout => &mut self.tally.at_timeout,
            Cause::Flush => &mut self.tally.for_host_flush,
            Cause::Collection => &mut self.tally.for_collection,
        } += 1;
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        if self.is_plain() {
            return;
        }
        ledger.structure("mapping.integrity", size_of::<Self>() as u64);
        ledger.index("buffer.moved_translation_pages", self.moved.capacity() as u64 * 4);
    }

    /// It never flushes anything: as without it.
    fn is_plain(&self) -> bool {
        self.method == IntegrityPart::NoFlush && !self.fast
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
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

impl PageMapped {
    /// The host has written a page: PAGE flushes its entry, the others note it. When that is done.
    #[inline]
    pub(super) fn written_by_host<N: Nand>(
        &mut self,
        nand: &mut N,
        key: LogicalPage,
        at: Time,
    ) -> Result<Time, FtlError> {
        match self.integrity.method {
            IntegrityPart::NoFlush => Ok(at),
            IntegrityPart::Timeout { .. } => {
                self.integrity.changed(at);
                Ok(at)
            }
            IntegrityPart::Page | IntegrityPart::Request => {
                self.integrity.add_to_request(self.mapping.part_of(key));
                if self.integrity.method == IntegrityPart::Page { self.flush_request(nand, at) } else { Ok(at) }
            }
        }
    }

    /// All of a request is written. When it may be acknowledged.
    #[inline]
    pub(super) fn request_written<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.integrity.request.is_empty() { Ok(at) } else { self.flush_request(nand, at) }
    }

    fn flush_request<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if !self.barriers.keeps(Barrier::EntriesBeforeAcknowledged) {
            self.integrity.request = 0..0;
            return Ok(at);
        }
        for part in self.integrity.request.clone() {
            self.flush_one(nand, part, Cause::Host, at)?;
        }
        self.integrity.request = 0..0;
        // Others may have written some of them: a collection meanwhile, or the cache, for want of room.
        Ok(at.max(self.blocks.clock.horizon()))
    }

    /// Flushes a translation page if it is dirty, with the reserve full before.
    fn flush_one<N: Nand>(&mut self, nand: &mut N, part: u32, cause: Cause, at: Time) -> Result<(), FtlError> {
        if !self.mapping.is_dirty(part) {
            return Ok(());
        }
        if self.blocks.free() < self.shape.reserve_blocks {
            // It may flush this one. A drive that is full acknowledges what it has written from what is left of its
            // reserve, and refuses the next request.
            let made = self.make_space(nand, at);
            if cause != Cause::Host {
                made?;
            }
        }
        self.flush_now(nand, part, cause, at)
    }

    /// The same from what is free.
    fn flush_now<N: Nand>(&mut self, nand: &mut N, part: u32, cause: Cause, at: Time) -> Result<(), FtlError> {
        if !self.mapping.is_dirty(part) {
            return Ok(());
        }
        self.mapping.synchronize_part(mapping_io!(self, nand, at), part, &mut self.before)?;
        self.integrity.count(cause);
        self.settle(nand, at)
    }

    /// All that is dirty. When that is done.
    fn flush_all<N: Nand>(&mut self, nand: &mut N, cause: Cause, at: Time) -> Result<Time, FtlError> {
        for part in 0..self.mapping.parts() {
            self.flush_one(nand, part, cause, at)?;
        }
        self.integrity.changed = None;
        Ok(at.max(self.blocks.clock.horizon()))
    }

    /// The host asks that everything be durable. A recovery by scanning finds what is not flushed. When it is done.
    pub(super) fn flush_for_host<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.integrity.fast { self.flush_all(nand, Cause::Flush, at) } else { Ok(at) }
    }

    /// What TIMEOUT has to do by now; none where nothing is.
    pub(super) fn flush_what_is_due<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Option<Time>, FtlError> {
        if self.integrity.due().is_none_or(|due| due > at) {
            return Ok(None);
        }
        self.integrity.tally.timeouts += 1;
        self.flush_all(nand, Cause::Timeout, at).map(Some)
    }

    /// A victim is about to be released: what a recovery from translation pages alone would look for in it is flushed
    /// first. The victim is not erased before that is on flash.
    pub(super) fn flush_before_release<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if !self.integrity.fast {
            self.integrity.changed(at);
            return Ok(());
        }
        if self.barriers.keeps(Barrier::RequestFlushedBeforeReuse) {
            for part in self.integrity.request.clone() {
                self.flush_now(nand, part, Cause::Collection, at)?;
            }
        }
        if self.barriers.keeps(Barrier::MovedFlushed) {
            // Those that cannot be flushed now stay for the next victim: this one may come again.
            while let Some(part) = self.integrity.moved.last().copied() {
                self.flush_now(nand, part, Cause::Collection, at)?;
                self.integrity.moved.pop();
            }
        }
        self.integrity.moved.clear();
        Ok(())
    }
}
