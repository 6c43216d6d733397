//! Mounting the drive anew when a page of its µ-Tree cannot be read.
//!
//! The whole content of the tree is in spare areas and tombstones as well. So where a page of it goes bad nothing is
//! lost. The operation in progress is given up. The drive mounts from flash as after a power cut, with a new tree, and
//! the operation is repeated. A trim is written through for this, because only the flash counts then.

use super::durability;
use super::mapping::{Mapping, Place, TREE_UNREADABLE};
use super::parts::{PageConfig, PageMapped};
use crate::barriers::Barriers;
use crate::ftl::{Ftl, ReadSink, Shape, Step, WriteRequest};
use crate::medium::host_read::{self, FindPages, Sought};
use crate::{BlockLook, Counter, ExtentLook, Finding, FtlError, GeckoLook, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, LogicalPage, Nand, Purpose, Time};

/// A drive with a µ-Tree, which is mounted anew when the tree cannot be read.
#[derive(Clone, Preserve)]
pub(super) struct Mending {
    ftl: PageMapped,
    /// The configuration that it is mounted with.
    #[preserve(fixed)]
    config: PageConfig,
    /// What counters had come to before, where they began anew.
    #[preserve(fixed)]
    carried: Vec<Counter>,
    trees_written_anew: u64,
    /// RAM that this took while it lasted, in bytes, at the most.
    bytes_max: u64,
}

impl Mending {
    pub(super) fn new(ftl: PageMapped, config: &PageConfig) -> Self {
        Self { ftl, config: config.clone(), carried: Vec::new(), trees_written_anew: 0, bytes_max: 0 }
    }

    /// Does something, and does it once more if it met a page of the tree that cannot be read.
    #[inline]
    fn mending<N: Nand>(
        &mut self,
        nand: &mut N,
        at: Time,
        act: impl Fn(&mut PageMapped, &mut N, Time) -> Result<Time, FtlError>,
    ) -> Result<Time, FtlError> {
        match act(&mut self.ftl, nand, at) {
            Err(TREE_UNREADABLE) => {
                let at = self.mend(nand, at)?;
                act(&mut self.ftl, nand, at)
            }
            Ok(done) if self.ftl.is_tree_unreadable() => Ok(self.mend(nand, at)?.max(done)),
            done => done,
        }
    }

    /// Where a logical page is, and when that is known. If the tree could not be read, and the drive is mounted anew,
    /// by the new one.
    fn find<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Place, Time) {
        if let Some(found) = self.ftl.mapping.cached(key, at) {
            return found;
        }
        let mut found = self.ftl.find_on_flash(nand, key, at);
        if self.ftl.mapping.is_unreadable()
            && let Ok(at) = self.mend(nand, at)
        {
            found = self.ftl.look_up(nand, key, at);
        }
        self.ftl.settle_after_lookup(nand, at);
        found
    }

    /// Mounts the drive anew.
    #[cold]
    fn mend<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.ftl.save_trims(nand, at);
        let at = at.max(self.ftl.blocks.clock.horizon());
        let (mut ftl, report) = durability::recover(nand, &self.config, at)?;
        let before = Ftl::<N>::counters(self);
        ftl.tally = self.ftl.tally;
        self.ftl = ftl;
        self.trees_written_anew += 1;
        self.bytes_max = self.bytes_max.max(report.scratch_bytes);
        self.carried = Vec::new();
        let after = Ftl::<N>::counters(self);
        for before in before.iter().filter(|counter| !counter.is_level) {
            let now = after.iter().find(|counter| counter.name == before.name).map_or(0, |counter| counter.value);
            if now < before.value {
                self.carried.push(Counter::sum(before.name, before.value - now));
            }
        }
        Ok(report.done)
    }
}

impl<N: Nand> FindPages<N> for Mending {
    fn shape(&self) -> Shape {
        self.ftl.shape
    }

    fn barriers(&self) -> Barriers {
        FindPages::<N>::barriers(&self.ftl)
    }

    fn find(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Sought, Time) {
        PageMapped::sought(Self::find(self, nand, key, at), at)
    }

    fn count_unreadable(&mut self) {
        FindPages::<N>::count_unreadable(&mut self.ftl);
    }
}

impl<N: Nand> Ftl<N> for Mending {
    fn shape(&self) -> Shape {
        Ftl::<N>::shape(&self.ftl)
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, |ftl, nand, at| ftl.write_pages(nand, request, at))
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        host_read::read(self, nand, (first, pages), cause, at, sink)
    }

    fn find_mapped(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
        found: &mut dyn FnMut(LogicalPage, bool),
    ) -> Result<Time, FtlError> {
        host_read::find_mapped(self, nand, (first, pages), at, found)
    }

    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, |ftl, nand, at| ftl.trim_pages(nand, first, pages, at))
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, PageMapped::make_durable)
    }

    fn is_safe_when_flushed(&self) -> bool {
        Ftl::<N>::is_safe_when_flushed(&self.ftl)
    }

    fn due(&self) -> Option<Time> {
        Ftl::<N>::due(&self.ftl)
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        self.ftl.background_step(nand, at)
    }

    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.mending(nand, at, PageMapped::make_all_durable)
    }

    fn power_fail(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.ftl.power_fail(nand, at)
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    fn warm(&self, nand: &N, pages: &[LogicalPage]) {
        self.ftl.warm(nand, pages);
    }

    fn reports_stale(&self) -> bool {
        Ftl::<N>::reports_stale(&self.ftl)
    }

    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn phelsuma_nand::state::Preserve + '_>, phelsuma_nand::state::StateError> {
        if !self.carried.is_empty() {
            return Err(phelsuma_nand::state::StateError::Unsaved("a drive that has written its tree anew"));
        }
        Ok(Box::new(self))
    }

    fn ram(&self) -> RamLedger {
        Ftl::<N>::ram(&self.ftl)
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = Ftl::<N>::counters(&self.ftl);
        if let Some(height) = counters.iter().position(|counter| counter.name == "mu_tree_height") {
            let own = [
                Counter::sum("mu_trees_written_anew", self.trees_written_anew),
                Counter::level("mu_tree_mending_bytes", self.bytes_max),
            ];
            counters.splice(height + 1..height + 1, own);
        }
        for carried in &self.carried {
            counters.iter_mut().filter(|counter| counter.name == carried.name).for_each(|c| c.value += carried.value);
        }
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        Ftl::<N>::look_at_blocks(&self.ftl, first, out)
    }

    fn look_at_gecko(&self) -> Option<GeckoLook> {
        Ftl::<N>::look_at_gecko(&self.ftl)
    }

    fn look_at_extents(&self, nand: &mut N) -> Option<Vec<ExtentLook>> {
        self.ftl.look_at_extents(nand)
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        self.ftl.check(nand)
    }
}
