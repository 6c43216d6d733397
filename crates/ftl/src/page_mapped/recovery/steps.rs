//! What the recoveries of page-mapped FTLs add to the table of steps.

use super::Found;
use crate::blocks::Blocks;
pub(super) use crate::medium::{Owned, Steps};
use crate::page_mapped::durability::{Durability, Unreported};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use phelsuma_nand::{Nand, Purpose};

impl Steps {
    /// Counts what was done through `io`, and goes on when it has completed.
    pub(super) fn count<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) {
        self.add(io.take_counts());
        self.now = self.now.max(io.done());
    }

    /// Counts what else was done by then, at the recovery's end.
    pub(super) fn count_rest(&mut self, durability: &mut Durability) {
        if let Some(mounting) = durability.mounting() {
            self.add(core::mem::take(&mut mounting.counts));
        }
    }

    fn add(&mut self, counts: Unreported) {
        self.step.reads += counts.reads;
        self.step.spare_reads += counts.spare_reads;
        self.step.programs += counts.programs;
    }

    /// Does something through a [`MetaIo`], and counts it.
    pub(super) fn with_io<N: Nand, T>(
        &mut self,
        nand: &mut N,
        lent: (&mut Blocks, &mut Durability),
        body: impl FnOnce(&mut MetaIo<'_, N>) -> T,
    ) -> T {
        let mut io = MetaIo::new(nand, lent, 0, Purpose::Recovery, self.now);
        let result = body(&mut io);
        self.count(&mut io);
        result
    }
}

impl Owned {
    /// Keeps the bytes of a page of metadata where parts read theirs: it may have been the last time that it reads well.
    pub(super) fn keep_for_metadata(self, ftl: &mut PageMapped, found: &Found) {
        if let Self::Bytes(bytes) = self
            && let Some(mounting) = ftl.durability.mounting()
        {
            mounting.keep(found.page, found.spare, bytes);
        }
    }
}
