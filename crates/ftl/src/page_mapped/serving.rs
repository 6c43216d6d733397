//! The FTL as its host sees it.

use super::mapping::{Mapping, Place};
use super::parts::PageMapped;
use super::validity::{AnyValidity, Validity};
use super::wear;
use crate::barriers::{Barrier, Barriers};
use crate::ftl::{Ftl, ReadSink, Shape, Step, WriteRequest};
use crate::medium::host_read::{self, FindPages, Sought};
use crate::{BlockLook, Counter, ExtentLook, Finding, FtlError, GeckoLook, RamLedger};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Nand, Page, Purpose, Time};

impl PageMapped {
    /// The result of a place for a host's read.
    #[inline]
    pub(super) fn sought((place, found): (Place, Time), at: Time) -> (Sought, Time) {
        match place {
            Place::At(page) => (Sought::At(page), found),
            // A page that is not read is answered at once.
            Place::Lost => (Sought::Lost, at),
            Place::Nowhere | Place::Trimmed => (Sought::Nowhere, at),
        }
    }
}

impl<N: Nand> FindPages<N> for PageMapped {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn barriers(&self) -> Barriers {
        self.blocks.barriers()
    }

    #[inline]
    fn find(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Sought, Time) {
        Self::sought(Self::find(self, nand, key, at), at)
    }

    fn count_unreadable(&mut self) {
        self.tally.unreadable_reads += 1;
    }
}

impl<N: Nand> Ftl<N> for PageMapped {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        self.write_pages(nand, request, at)
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
        self.mapping.requested(first.0..first.0.saturating_add(pages));
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
        self.trim_pages(nand, first, pages, at)
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.make_durable(nand, at)
    }

    fn is_safe_when_flushed(&self) -> bool {
        self.durability.integrity.is_safe_when_flushed()
    }

    fn due(&self) -> Option<Time> {
        self.durability.integrity.due()
    }

    fn background_step(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        match self.flush_what_is_due(nand, at)? {
            Some(done) => Ok(Step::Did(done)),
            None => match self.collect_while_idle(nand, at)? {
                Step::Nothing if self.streams.slc.is_some() => self.fold_while_idle(nand, at),
                step => Ok(step),
            },
        }
    }

    fn close(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        self.make_all_durable(nand, at)
    }

    fn power_fail(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if !self.durability.has_battery() || !self.blocks.keeps(Barrier::BatterySaves) {
            return Ok(at);
        }
        self.save(nand, at)?;
        Ok(at.max(self.blocks.clock.horizon()))
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    fn warm(&self, nand: &N, pages: &[LogicalPage]) {
        if self.mapping.warm(nand, pages.iter().copied(), true) {
            return;
        }
        // Loads that do not wait for each other: first the entries, then the bits of the pages they name.
        let mut old = [Page(0); 16];
        for chunk in pages.chunks(old.len()) {
            for (old, page) in old.iter_mut().zip(chunk) {
                let known = page.0 < self.shape.logical_pages;
                *old = match if known { self.mapping.in_table(*page) } else { None } {
                    Some(Place::At(page)) => page,
                    _ => Page(0),
                };
            }
            let (validity, blocks) = (&self.validity, &self.blocks);
            let live = old.iter().filter(|page| validity.touch(**page)).count();
            let counted = old.iter().map(|page| blocks.counters.live(blocks.geometry().block_of(*page)));
            core::hint::black_box((live, counted.fold(0, u16::wrapping_add)));
        }
    }

    fn reports_stale(&self) -> bool {
        // A tree may still read a page of the path that it has just replaced.
        self.tree.is_none()
    }

    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn phelsuma_nand::state::Preserve + '_>, phelsuma_nand::state::StateError> {
        Ok(Box::new(self))
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        self.mapping.ram(&mut ledger);
        self.validity.ram(&mut ledger);
        self.victim.enter(&mut ledger);
        self.placement.enter(&mut ledger);
        // µ-FTL section 4.3.2 has a byte a block: that a block may be collected says its use.
        let counter_bytes = if self.tree.is_some() && self.blocks.geometry().pages_per_block() < 256 { 1 } else { 2 };
        self.blocks.ram(counter_bytes, &mut ledger);
        self.durability.ram(&mut ledger);
        self.ram_of_tree(&mut ledger);
        self.collecting.ram(self.blocks.geometry().page_bytes().into(), &mut ledger);
        let died = self.tree.as_ref().map_or(0, |shared| shared.died.capacity());
        ledger.index("buffer.before", (self.before.capacity() + died) as u64 * 4);
        if self.merge_pages.bytes() > 0 {
            let is_geckos = matches!(self.validity, AnyValidity::Gecko(_));
            let name = if is_geckos { "validity.merge_buffers" } else { "mapping.log_merge_buffers" };
            ledger.structure(name, self.merge_pages.bytes());
        }
        ledger.index("index.anchors", self.anchors.capacity() as u64 * 4);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = vec![
            Counter::sum("collections", self.tally.collections),
            Counter::sum("pages_moved", self.tally.pages_moved),
            Counter::sum("pages_lost_moving", self.tally.pages_lost_moving),
            Counter::sum("emergency_collections", self.tally.emergency_collections),
            Counter::sum("metadata_collections", self.tally.metadata_collections),
            Counter::sum("metadata_pages_moved", self.tally.metadata_pages_moved),
            Counter::sum("metadata_fallbacks", self.tally.metadata_fallbacks),
            Counter::sum("unreadable_reads", self.tally.unreadable_reads),
            Counter::sum("victim_choices", self.tally.choices),
            Counter::sum("blocks_examined", self.tally.blocks_examined),
            Counter::level("blocks_examined_max", self.tally.blocks_examined_max),
            Counter::level("free_blocks", u64::from(self.blocks.free())),
            Counter::level("bad_blocks", u64::from(self.blocks.bad())),
        ];
        if self.collecting.early > 0 {
            counters.push(Counter::sum("collection_slices", self.tally.slices));
            counters.push(Counter::sum("collections_given_up", self.tally.slices_given_up));
        }
        if self.collecting.groups.is_some() {
            counters.push(Counter::sum("group_collections", self.tally.groups));
            counters.push(Counter::sum("groups_given_up", self.tally.groups_given_up));
            counters.push(Counter::sum("pages_moved_in_order", self.tally.pages_in_order));
        }
        counters.extend(self.blocks.taken_over().map(|blocks| Counter::sum("blocks_taken_over", blocks)));
        self.mapping.counters(&mut counters);
        self.durability.integrity.counters(&mut counters);
        self.validity.counters(&mut counters);
        self.counters_of_tree(&mut counters);
        if self.tally.policy_answers_replaced > 0 {
            counters.push(Counter::sum("policy_answers_replaced", self.tally.policy_answers_replaced));
        }
        self.victim.counters(&mut counters);
        self.placement.counters(&mut counters);
        if let Some(pages) = self.blocks.log_pages() {
            counters.push(Counter::sum("block_log_pages", pages));
        }
        if let Some(slc) = self.blocks.slc() {
            counters.extend([
                Counter::sum("slc_pages", self.tally.slc_pages),
                Counter::sum("slc_bypassed", self.tally.slc_bypassed),
                Counter::sum("slc_folds", self.tally.folds),
                Counter::sum("slc_pages_folded", self.tally.pages_folded),
                Counter::level("slc_full_blocks", u64::from(slc.full())),
                Counter::level("slc_blocks", u64::from(slc.most())),
            ]);
        }
        if let Some(wear) = &self.blocks.wear {
            wear::counters(&self.tally, wear, &mut counters);
        }
        if let Some(sampling) = &self.collecting.sampling {
            sampling.counters(&mut counters);
        }
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        self.blocks_seen(first, out);
        true
    }

    fn look_at_gecko(&self) -> Option<GeckoLook> {
        self.validity.look()
    }

    fn look_at_extents(&self, nand: &mut N) -> Option<Vec<ExtentLook>> {
        self.tree.as_ref().and_then(|shared| self.mapping.extents(nand, &shared.tree))
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        // Asking counts, and finds pages that cannot be read: both are left to the copy.
        self.clone().findings(nand)
    }
}
