//! The drive's two clocks: versions order contents, seqs order programs.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;

/// How far both clocks skip ahead at a recovery: more than can have been in flight and left no readable trace.
pub(crate) const EPOCH: u64 = 1 << 16;

/// Version and seq, and the moments that barriers are made of.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Clock {
    /// Of the content made last: a page that the host writes, or a page (or run) of metadata. A copy is none.
    version: u64,
    /// Of the page programmed last.
    seq: u64,
    /// When each of the last `window` programs, and all before it, complete; by seq.
    in_flight: Vec<Time>,
    /// When every program so far has completed.
    horizon: Time,
}

/// How many programs of a drive with this many dies may be in flight at once.
pub(crate) fn window(dies: u32) -> usize {
    if dies == 1 { 1 } else { 2 * dies as usize }
}

impl Clock {
    pub(crate) fn new(dies: u32, version: u64, seq: u64) -> Self {
        Self { version, seq, in_flight: vec![Time::ZERO; window(dies)], horizon: Time::ZERO }
    }

    /// A new content: its version.
    #[inline]
    pub(crate) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// The version of the content made last.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The seq of the page programmed last.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// A new program: its seq, and the moment before which it must not start.
    ///
    /// No program starts before all up to the one `window` programs earlier have completed. So the pages that a power
    /// cut met lie, in program order, within the last `window` pages: recovery relies on it.
    #[inline]
    pub(crate) fn next_program(&mut self, at: Time) -> (u64, Time) {
        self.seq += 1;
        debug_assert!(self.seq <= phelsuma_nand::CLOCK_MAX, "program order has run out of numbers");
        let window = self.in_flight.len() as u64;
        let slot = if window == 1 { 0 } else { (self.seq % window) as usize };
        (self.seq, at.max(self.in_flight[slot]))
    }

    /// The program just begun completes at `done`.
    #[inline]
    pub(crate) fn programmed(&mut self, done: Time) {
        let window = self.in_flight.len() as u64;
        let slot = if window == 1 { 0 } else { (self.seq % window) as usize };
        self.horizon = self.horizon.max(done);
        // The latest so far, not this one's own: programs need not complete in the order of their numbers.
        self.in_flight[slot] = self.horizon;
    }

    /// When every program so far has completed: what must not be undone by a cut is safe from then on.
    #[inline]
    pub(crate) fn horizon(&self) -> Time {
        self.horizon
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("clock.counters", 3 * 8);
        ledger.index("index.in_flight", self.in_flight.len() as u64 * 8);
    }
}
