//! A recovery's table of named steps, and reads that are counted in it. Both families use it.

use super::FirstPages;
use crate::recovery_report::{RecoveryReport, RecoveryStep};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Nand, Op, Page, PageRead, Purpose, SpareRead, Time};

/// Counts what each step does and how long it takes. Reads of one step do not wait for each other.
pub(crate) struct Steps {
    pub(crate) report: RecoveryReport,
    /// When everything so far has completed.
    pub(crate) now: Time,
    pub(crate) step: RecoveryStep,
    /// The first page of each block, as far as it has met it.
    pub(crate) first: FirstPages,
    began: Time,
}

impl Steps {
    pub(crate) fn new(at: Time) -> Self {
        Self { report: RecoveryReport::default(), now: at, step: step(""), first: FirstPages::default(), began: at }
    }

    pub(crate) fn begin(&mut self, name: &'static str) {
        debug_assert!(!name.is_empty(), "a step has no name");
        self.end();
        self.step = step(name);
    }

    pub(crate) fn end(&mut self) {
        if !self.step.name.is_empty() {
            self.step.nanos = self.now.0 - self.began.0;
            self.report.steps.push(self.step);
        }
        self.began = self.now;
    }

    /// When the step began: so early its reads can.
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    pub(crate) fn read_spare<N: Nand>(&mut self, nand: &mut N, page: Page) -> SpareRead {
        self.step.spare_reads += 1;
        let (read, done) = nand.read_spare(page, Op::new(self.began, Purpose::Recovery));
        self.now = self.now.max(done);
        if let SpareRead::Written(spare) = &read
            && nand.geometry().index_of(page) == 0
        {
            self.first.read(nand.geometry().block_of(page), spare);
        }
        read
    }

    pub(crate) fn read<'n, N: Nand>(&mut self, nand: &'n mut N, page: Page) -> PageRead<'n> {
        self.step.reads += 1;
        let (read, done) = nand.read(page, Op::new(self.began, Purpose::Recovery));
        self.now = self.now.max(done);
        read
    }
}

fn step(name: &'static str) -> RecoveryStep {
    RecoveryStep { name, reads: 0, spare_reads: 0, programs: 0, nanos: 0 }
}

/// Data that outlive the read that brought them.
#[derive(Clone, Preserve)]
pub(crate) enum Owned {
    Hollow(u64),
    Bytes(Vec<u8>),
}

impl Owned {
    pub(crate) fn of(content: Content<'_>) -> Self {
        match content {
            Content::Hollow(tag) => Self::Hollow(tag),
            Content::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    pub(crate) fn content(&self) -> Content<'_> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}
