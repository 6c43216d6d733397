//! The common ground of recoveries: a drive that is being mounted, its flash, and the steps so far.

use crate::barriers::Barrier;
use crate::blocks::{FoundLog, Spread};
use crate::medium::marks::SpareMarks;
use crate::medium::{FirstPages, HoldsOfBlocks, NewPage, Owned, Session, Steps, bad_blocks, usable_blocks};
use crate::page_mapped::compose;
use crate::page_mapped::durability::{Survival, Unreported};
use crate::page_mapped::mapping::{AnyMapping, Mapping};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::{PageConfig, PageMapped};
use crate::page_mapped::validity::{AnyValidity, Validity};
use crate::{ANCHOR_BLOCKS, FtlError, RecoveryReport, Shape};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, PageRead, Purpose, Spare, Time};

/// A page with its spare area.
#[derive(Clone, Copy, Preserve)]
pub(crate) struct FoundPage {
    pub(crate) page: Page,
    pub(crate) spare: Spare,
}

/// The state before anything but the drive's description was read.
pub(crate) struct Described<'s, N> {
    pub(crate) nand: &'s mut N,
    pub(crate) config: &'s PageConfig,
    pub(crate) shape: Shape,
    /// The blocks of the description.
    pub(crate) anchors: Vec<Block>,
    pub(crate) steps: Steps,
}

impl<'s, N: Nand> Described<'s, N> {
    pub(crate) fn geometry(&self) -> Geometry {
        *self.nand.geometry()
    }

    /// The list of blocks that may hold something else than the description.
    pub(crate) fn usable(&self) -> Vec<Block> {
        usable_blocks(self.nand, &self.anchors)
    }

    /// The mapping and the validity store of the drive, with nothing in them.
    ///
    /// # Errors
    /// They are others than these.
    pub(crate) fn parts<M, V>(&self) -> Result<(M, V), FtlError>
    where
        M: TryFrom<AnyMapping, Error = FtlError>,
        V: TryFrom<AnyValidity, Error = FtlError>,
    {
        let (mapping, validity) = compose::parts_of(&self.geometry(), self.config)?;
        Ok((mapping.try_into()?, validity.try_into()?))
    }

    /// A drive of these parts of which nothing is known yet. What its recovery copies is labelled and spread like this;
    /// without, it writes as a drive does that serves.
    pub(crate) fn drive<M: Mapping, V: Validity>(
        &mut self,
        parts: (M, V, Survival),
        copies: Option<Spread>,
    ) -> Result<PageMapped<M, V>, FtlError> {
        let geometry = self.geometry();
        debug_assert_eq!(self.anchors.len(), ANCHOR_BLOCKS as usize, "a block of the description would count as bad");
        let mut ftl = PageMapped::of(&geometry, self.config, self.shape, self.anchors.clone(), parts)?;
        let wanted = ftl.blocks.notes.any();
        self.steps.first = match ftl.blocks.region().is_empty() {
            true => FirstPages::new(geometry.blocks(), wanted),
            false => FirstPages::of_few(wanted),
        };
        ftl.blocks.begin_mounting(copies);
        ftl.durability.begin_mounting();
        ftl.blocks.found_bad(bad_blocks(self.nand));
        Ok(ftl)
    }
}

/// A recovery at work on a drive with this mapping and this validity store.
pub(crate) type Mount<'s, M, V, N> = Session<'s, PageMapped<M, V>, N>;

impl Steps {
    /// Counts the operations through `io`, and goes on when they have completed.
    pub(crate) fn count<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) {
        self.add(io.take_counts());
        self.now = self.now.max(io.done());
    }

    fn add(&mut self, counts: Unreported) {
        self.step.reads += counts.reads;
        self.step.spare_reads += counts.spare_reads;
        self.step.programs += counts.programs;
    }
}

impl<M: Mapping, V: Validity, N: Nand> Mount<'_, M, V, N> {
    pub(crate) fn geometry(&self) -> Geometry {
        *self.ftl.blocks.geometry()
    }

    pub(crate) fn keeps(&self, barrier: Barrier) -> bool {
        self.ftl.blocks.keeps(barrier)
    }

    /// Whether a block may hold something else than the description and the block log.
    pub(crate) fn is_usable(&self, block: Block) -> bool {
        !self.nand.is_bad(block) && !self.ftl.anchors.contains(&block) && !self.ftl.blocks.is_of_log(block)
    }

    pub(crate) fn begin(&mut self, step: &'static str) {
        self.steps.begin(step);
    }

    /// Reads a page in full.
    pub(crate) fn read_page(&mut self, page: Page) -> PageRead<'_> {
        self.steps.read(self.nand, page)
    }

    /// Has the mapping do something, which the step that is at work counts.
    pub(crate) fn mapping<T>(&mut self, act: impl FnOnce(&mut M, &mut MetaIo<'_, N>) -> T) -> T {
        let PageMapped { mapping, blocks, durability, streams, merge_pages, .. } = &mut *self.ftl;
        let lent = (blocks, durability);
        let mut io = MetaIo::new(self.nand, lent, streams.mapping, Purpose::Recovery, self.steps.now)
            .with_merge_pages(merge_pages);
        let done = act(mapping, &mut io);
        self.steps.count(&mut io);
        done
    }

    /// Has the mapping read pages of its own, side by side with all others that the step reads.
    pub(crate) fn read_mapping<T>(&mut self, act: impl FnOnce(&mut M, &mut MetaIo<'_, N>) -> T) -> T {
        let PageMapped { mapping, blocks, durability, streams, merge_pages, .. } = &mut *self.ftl;
        let (lent, at) = ((blocks, durability), self.steps.began());
        let mut io = MetaIo::new(self.nand, lent, streams.mapping, Purpose::Recovery, at)
            .side_by_side()
            .with_merge_pages(merge_pages);
        let done = act(mapping, &mut io);
        self.steps.count(&mut io);
        done
    }

    /// Has the validity store read pages of its own, side by side with all others that the step reads.
    pub(crate) fn read_validity<T>(&mut self, act: impl FnOnce(&mut V, &mut MetaIo<'_, N>) -> T) -> T {
        let PageMapped { validity, blocks, durability, streams, merge_pages, .. } = &mut *self.ftl;
        let (lent, at) = ((blocks, durability), self.steps.began());
        let mut io = MetaIo::new(self.nand, lent, streams.validity, Purpose::Recovery, at)
            .side_by_side()
            .with_merge_pages(merge_pages);
        let done = act(validity, &mut io);
        self.steps.count(&mut io);
        done
    }

    /// Has the mapping write something, with the list of pages that it makes stale. Counted if it succeeds.
    pub(crate) fn write_mapping<T>(
        &mut self,
        act: impl FnOnce(&mut M, &mut MetaIo<'_, N>, &mut Vec<Page>) -> Result<T, FtlError>,
    ) -> Result<T, FtlError> {
        let PageMapped { mapping, blocks, durability, streams, before, merge_pages, .. } = &mut *self.ftl;
        let lent = (blocks, durability);
        let mut io = MetaIo::new(self.nand, lent, streams.mapping, Purpose::Recovery, self.steps.now)
            .with_merge_pages(merge_pages);
        let done = act(mapping, &mut io, before)?;
        self.steps.count(&mut io);
        Ok(done)
    }

    /// Has the validity store do something, which the step that is at work counts.
    pub(crate) fn validity<T>(&mut self, act: impl FnOnce(&mut V, &mut MetaIo<'_, N>) -> T) -> T {
        let PageMapped { validity, blocks, durability, streams, merge_pages, .. } = &mut *self.ftl;
        let lent = (blocks, durability);
        let mut io = MetaIo::new(self.nand, lent, streams.validity, Purpose::Recovery, self.steps.now)
            .with_merge_pages(merge_pages);
        let done = act(validity, &mut io);
        self.steps.count(&mut io);
        done
    }

    /// Has the validity store write something. Counted if it succeeds.
    pub(crate) fn write_validity<T>(
        &mut self,
        act: impl FnOnce(&mut V, &mut MetaIo<'_, N>) -> Result<T, FtlError>,
    ) -> Result<T, FtlError> {
        let PageMapped { validity, blocks, durability, streams, merge_pages, .. } = &mut *self.ftl;
        let lent = (blocks, durability);
        let mut io = MetaIo::new(self.nand, lent, streams.validity, Purpose::Recovery, self.steps.now)
            .with_merge_pages(merge_pages);
        let done = act(validity, &mut io)?;
        self.steps.count(&mut io);
        Ok(done)
    }

    /// Passes on events of blocks.
    pub(crate) fn hear_news(&mut self) -> Result<(), FtlError> {
        self.ftl.hear_news(self.nand, self.steps.now)
    }

    /// Passes on the changes of the mapping.
    pub(crate) fn settle(&mut self) -> Result<(), FtlError> {
        self.ftl.settle(self.nand, self.steps.now)
    }

    /// Goes on when everything so far is on flash.
    pub(crate) fn wait_for_programs(&mut self) {
        self.steps.now = self.steps.now.max(self.ftl.blocks.clock.horizon());
    }

    /// A block of `stream` is written.
    pub(crate) fn close(&mut self, block: Block, stream: u8) {
        debug_assert!(self.ftl.blocks.counters.live(block) > 0, "nothing in {block} is live");
        debug_assert!(stream < self.ftl.streams.count, "{block} is of a stream that there is not");
        self.ftl.blocks.close(&mut self.ftl.durability, block, stream);
    }

    /// No block is left for pages that must be on flash before anything else is: what is there can be read.
    pub(crate) fn stop_writing(&mut self) {
        self.ftl.blocks.stop_writing(&mut self.ftl.durability);
    }

    /// A page that was entered is not the newest any more.
    pub(crate) fn drop_entered(&mut self, page: Page) {
        self.ftl.validity.leave(self.ftl.blocks.geometry(), page);
        self.ftl.drop_count(page);
    }

    /// Keeps the bytes of a page of metadata where parts read theirs: it may have been the last time that it reads
    /// well.
    pub(crate) fn keep(&mut self, found: &FoundPage, data: Owned) {
        if let (Owned::Bytes(bytes), Some(mounting)) = (data, self.ftl.durability.mounting()) {
            mounting.keep(found.page, found.spare, bytes);
        }
    }

    /// Copies of all that was kept are on flash.
    pub(crate) fn let_kept_go(&mut self) {
        if let Some(mounting) = self.ftl.durability.mounting() {
            mounting.let_go();
        }
    }

    /// Writes a copy of a user page, of which this was read before `at`. Where it is.
    pub(crate) fn copy_user_page(
        &mut self,
        of: &Spare,
        data: &Owned,
        marks: SpareMarks,
        at: Time,
    ) -> Result<Page, FtlError> {
        debug_assert_eq!(of.kind, Kind::User, "it is no user page");
        let Spare { key, version, data_crc, .. } = *of;
        let copy = NewPage { kind: Kind::User, key, version, content: data.content(), data_crc, marks };
        let stream = self.ftl.stream_for_recovered();
        let PageMapped { blocks, durability, .. } = &mut *self.ftl;
        let (to, safe) = blocks.append(self.nand, durability, stream, &copy, Purpose::Recovery, at)?;
        self.steps.step.programs += 1;
        self.steps.now = self.steps.now.max(safe);
        Ok(to)
    }

    /// The drive goes on with the block log that was found, or writes it anew.
    pub(crate) fn go_on_with_log(&mut self, holds: HoldsOfBlocks, found: FoundLog) -> Result<(), FtlError> {
        let is_whole = found.chain.is_some();
        let PageMapped { blocks, durability, .. } = &mut *self.ftl;
        blocks.go_on_with_log(holds, found);
        if !is_whole {
            let done = blocks.write_log(self.nand, durability, None, Purpose::Recovery, self.steps.now)?;
            self.steps.now = self.steps.now.max(done);
        }
        if let Some(mounting) = self.ftl.durability.mounting() {
            self.steps.add(core::mem::take(&mut mounting.counts));
        }
        Ok(())
    }

    /// The last resort where no block is left. Pages that were read well are given up, though they may be needed if a
    /// suspect page turns bad and the power fails before it is copied. A drive that mounts is worth more than that.
    pub(crate) fn let_go(&mut self, holding: &mut Vec<Block>) {
        for block in holding.drain(..) {
            self.ftl.blocks.release(block);
        }
    }

    /// The same, if no block is left.
    pub(crate) fn let_go_if_out_of_blocks(&mut self, holding: &mut Vec<Block>) {
        if self.ftl.blocks.to_open() == 0 {
            self.let_go(holding);
        }
    }

    /// A write that may be tried again. Everything that is held is let go where no block is left: before it, or after its
    /// program has failed in the last one.
    ///
    /// # Errors
    /// No block is left, nor was any held.
    pub(crate) fn write_in_need<R>(
        &mut self,
        holding: &mut Vec<Block>,
        let_go: impl Fn(&mut Self, &mut Vec<Block>),
        mut write: impl FnMut(&mut Self) -> Result<R, FtlError>,
    ) -> Result<R, FtlError> {
        if self.ftl.blocks.to_open() == 0 {
            let_go(self, holding);
        }
        match write(self) {
            Err(FtlError::Full { .. }) if !holding.is_empty() => {
                let_go(self, holding);
                write(self)
            }
            written => written,
        }
    }
}

impl<M: Mapping + Into<AnyMapping>, V: Validity + Into<AnyValidity>> PageMapped<M, V> {
    /// The recovery has come to its end, for which it took so many bytes for itself: the drive serves from now on.
    pub(crate) fn mounted(mut self, mut steps: Steps, scratch_bytes: u64) -> (PageMapped, RecoveryReport) {
        debug_assert!(self.before.is_empty(), "pages are stale that validity has not heard of");
        if let Some(mounting) = self.durability.mounting() {
            steps.add(core::mem::take(&mut mounting.counts));
        }
        steps.end();
        let mut report = steps.report;
        // A page is being read on each die.
        let geometry = self.blocks.geometry();
        let in_flight = u64::from(geometry.dies()) * u64::from(geometry.page_bytes());
        report.scratch_bytes = scratch_bytes + steps.first.bytes() + in_flight;
        report.done = steps.now;
        // Notes on blocks that policies need are made of what was read.
        self.blocks.note_first_pages(&steps.first, self.streams.placement);
        self.blocks.mounted();
        self.durability.mounted();
        (self.with(|mapping, validity| (mapping.into(), validity.into())), report)
    }
}
