//! A recovery's table of named steps, and reads that are counted in it.

use super::{Found, PageMapped};
use crate::blocks::{Blocks, FirstPages};
use crate::page_mapped::meta_io::MetaIo;
use crate::recovery_report::{RecoveryReport, RecoveryStep};
use alloc::vec::Vec;
use phelsuma_nand::{Content, Nand, Op, Page, PageRead, Purpose, SpareRead, Time};

/// Counts what each step does and how long it takes. Reads of one step do not wait for each other.
pub(super) struct Steps {
    pub(super) report: RecoveryReport,
    /// When everything so far has completed.
    pub(super) now: Time,
    pub(super) step: RecoveryStep,
    /// What it has come across in the first page of each block.
    pub(super) first: FirstPages,
    began: Time,
}

impl Steps {
    pub(super) fn new(at: Time) -> Self {
        Self { report: RecoveryReport::default(), now: at, step: step(""), first: FirstPages::default(), began: at }
    }

    pub(super) fn begin(&mut self, name: &'static str) {
        self.end();
        self.step = step(name);
    }

    pub(super) fn end(&mut self) {
        if !self.step.name.is_empty() {
            self.step.nanos = self.now.0 - self.began.0;
            self.report.steps.push(self.step);
        }
        self.began = self.now;
    }

    pub(super) fn read_spare<N: Nand>(&mut self, nand: &mut N, page: Page) -> SpareRead {
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

    pub(super) fn read<'n, N: Nand>(&mut self, nand: &'n mut N, page: Page) -> PageRead<'n> {
        self.step.reads += 1;
        let (read, done) = nand.read(page, Op::new(self.began, Purpose::Recovery));
        self.now = self.now.max(done);
        read
    }

    /// Counts what was done through `io`, and goes on when it has completed.
    pub(super) fn count<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) {
        let counts = io.take_counts();
        self.step.reads += counts.reads;
        self.step.spare_reads += counts.spare_reads;
        self.step.programs += counts.programs;
        self.now = self.now.max(io.done());
    }

    /// Does something through a [`MetaIo`], and counts it.
    pub(super) fn with_io<N: Nand, T>(
        &mut self,
        nand: &mut N,
        blocks: &mut Blocks,
        body: impl FnOnce(&mut MetaIo<'_, N>) -> T,
    ) -> T {
        let mut io = MetaIo::new(nand, blocks, 0, Purpose::Recovery, self.now);
        let result = body(&mut io);
        self.count(&mut io);
        result
    }
}

fn step(name: &'static str) -> RecoveryStep {
    RecoveryStep { name, reads: 0, spare_reads: 0, programs: 0, nanos: 0 }
}

/// Data that outlive the read that brought them.
pub(super) enum Owned {
    Hollow(u64),
    Bytes(Vec<u8>),
}

impl Owned {
    pub(super) fn of(content: Content<'_>) -> Self {
        match content {
            Content::Hollow(tag) => Self::Hollow(tag),
            Content::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    /// Keeps the bytes of a page of metadata where parts read theirs: it may have been the last time that it reads well.
    pub(super) fn keep_for_metadata(self, ftl: &mut PageMapped, found: &Found) {
        if let Self::Bytes(bytes) = self {
            ftl.blocks.read_before.push((found.page, found.spare, bytes));
        }
    }

    pub(super) fn content(&self) -> Content<'_> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}
