//! FTL-MM: FTLs made for one channel, put together to use many (Shim et al. 2012, as LAST++ section 5.1 has it).
//!
//! Each channel has an FTL of its own, and consecutive logical pages are dealt to them in turn: logical page l is page
//! `l / channels` of channel `l mod channels`.
//!
//! Faithful: the paper has "independent instances" that manage "individual flash chips", and distributes pages "over
//! multiple chips". It sets the number of *channels*. So an instance has a channel here, with all of its dies. Where
//! the paper is silent, this was decided:
//!
//! - **The description of the drive** is one for all, in two blocks as in every other FTL here. Where the first blocks
//!   are good, the two are on two channels. So a format that is cut leaves a blank or a lost drive. It never leaves
//!   some channels blank and others as they were.
//! - **Nothing else is shared.** No instance waits for another, not even in a recovery. Each page is one instance's,
//!   and between pages a host is promised no order. Each has its own clocks: versions and seqs in spare areas can be
//!   compared on one channel alone.
//! - **A request** is dealt page by page, as each instance would split it anyway. It is done when the last page is.
//! - **The number of log blocks** (and of cached maps) is the drive's, and dealt to the instances.
//! - **A channel without a free block** mounts read-only, and then the whole drive does. What could not be written anew
//!   there would be at risk in every further cut that a drive in use meets.
//!
//! With one channel it is the FTL that it is made of, bit by bit.

mod room;
mod together;

use super::lane::{Channel, Lane};
use super::log_block_ftl::LogBlockFtl;
use super::shape::LogConfig;
use crate::ftl::{Ftl, HostPage, ReadSink, Shape, WriteRequest};
use crate::medium::{Phase, Steps, anchor};
use crate::{BlockLook, Counter, Finding, FtlError, RamLedger, RecoveryReport};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, LogicalPage, Nand, Purpose, Time};

/// An FTL for each channel.
#[derive(Clone, Preserve)]
pub(crate) struct FtlMm {
    shape: Shape,
    page_bytes: u32,
    #[preserve(each)]
    channels: Vec<Instance>,
    /// Where a channel is read only, all of the drive is.
    phase: Phase,
}

/// The FTL of one channel.
#[derive(Clone, Preserve)]
#[preserve(in_place)]
struct Instance {
    lane: Lane,
    ftl: LogBlockFtl,
}

impl Instance {
    /// It, on flash of a channel.
    fn on<'n, N: Nand>(&mut self) -> &mut dyn Ftl<Channel<'n, N>> {
        self.ftl.as_ftl_mut()
    }

    /// It, for calls that need no flash.
    fn seen<'n, N: Nand>(&self) -> &dyn Ftl<Channel<'n, N>> {
        self.ftl.as_ftl()
    }

    /// Blocks that are bad, or about to be.
    fn bad_blocks(&self) -> u32 {
        match self.ftl.pool().full() {
            FtlError::Full { bad_blocks } => bad_blocks,
            _ => 0,
        }
    }
}

impl FtlMm {
    /// Makes a blank drive.
    pub(crate) fn format<N: Nand>(nand: &mut N, config: &LogConfig, at: Time) -> Result<(Self, Time), FtlError> {
        let drive = *nand.geometry();
        let lanes = Lane::all(&drive)?;
        let described = anchor::blocks(nand);
        room::check(&lanes, &drive, config, &described, |block| nand.is_bad(block))?;
        let (anchors, done) = anchor::format(nand, config, at)?;
        // Erasing may have found more of them.
        room::check(&lanes, &drive, config, &anchors, |block| nand.is_bad(block))?;
        let channels: Result<Vec<Instance>, FtlError> = lanes
            .into_iter()
            .map(|lane| {
                let own = room::of_lane(&lane, config, lane.logical_pages(config.logical_pages));
                let anchors = room::of_lane_alone(&lane, &anchors);
                let flash = lane.on(nand);
                Ok(Instance { lane, ftl: LogBlockFtl::blank(&flash, &own, anchors)? })
            })
            .collect();
        Ok((Self::of::<N>(channels?, config, drive.page_bytes()), done))
    }

    /// Mounts a drive from its flash: its description, then all channels side by side.
    pub(crate) fn recover<N: Nand>(
        nand: &mut N,
        config: &LogConfig,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let drive = *nand.geometry();
        let lanes = Lane::all(&drive)?;
        let mut steps = Steps::new(at);
        let anchors = anchor::find_as_step(nand, config, &mut steps)?;
        steps.end();
        room::check(&lanes, &drive, config, &anchors, |_| false)?;
        let (mut channels, mut reports) = (Vec::new(), Vec::new());
        for lane in lanes {
            let own = room::of_lane(&lane, config, lane.logical_pages(config.logical_pages));
            let anchors = room::of_lane_alone(&lane, &anchors);
            let mut flash = lane.on(nand);
            let from = Steps::new(steps.now);
            let (ftl, report) = LogBlockFtl::recover_described(&mut flash, &own, anchors, from)?;
            channels.push(Instance { lane, ftl });
            reports.push(report);
        }
        let report = together::reports(RecoveryReport { done: steps.now, ..steps.report }, reports);
        Ok((Self::of::<N>(channels, config, drive.page_bytes()), report))
    }

    fn of<N: Nand>(channels: Vec<Instance>, config: &LogConfig, page_bytes: u32) -> Self {
        let own_pages = channels.iter().map(|instance| instance.seen::<N>().shape().logical_pages);
        debug_assert_eq!(own_pages.sum::<u32>(), config.logical_pages, "a page is on no channel, or on two");
        let shape = together::shape(channels.iter().map(|c| c.seen::<N>().shape()), config.logical_pages);
        let is_read_only = channels.iter().any(|instance| instance.ftl.pool().phase.is_read_only());
        let phase = if is_read_only { Phase::ReadOnly } else { Phase::Serving };
        Self { shape, page_bytes, channels, phase }
    }

    /// The channel of a logical page, and which page of the channel's it is.
    #[inline]
    fn split(&self, key: u32) -> (usize, LogicalPage) {
        let channels = self.channels.len() as u32;
        ((key % channels) as usize, LogicalPage(key / channels))
    }

    /// No block is left on a channel: with how many are bad on the whole drive.
    fn full(&self) -> FtlError {
        FtlError::Full { bad_blocks: self.channels.iter().map(Instance::bad_blocks).sum() }
    }

    /// The error of a channel, in the numbers of the drive's host.
    fn on_drive(&self, error: FtlError) -> FtlError {
        if matches!(error, FtlError::Full { .. }) { self.full() } else { error }
    }
}

// None of the FTLs here has work of its own, a cache to warm, or a battery: of `due` and the like the trait's own
// answers hold.
impl<N: Nand> Ftl<N> for FtlMm {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        request.check(&self.shape, self.page_bytes)?;
        if self.phase.is_read_only() {
            return Err(self.full());
        }
        let mut done = at;
        for index in 0..request.pages {
            let (channel, first) = self.split(request.first.0 + index);
            let data = request.data.alone(index, self.page_bytes);
            let one = WriteRequest { first, pages: 1, data, hint: request.hint };
            let instance = &mut self.channels[channel];
            let mut flash = instance.lane.on(nand);
            done = done.max(instance.on().write(&mut flash, &one, at).map_err(|error| self.on_drive(error))?);
        }
        Ok(done)
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
        self.shape.check_range(first, pages)?;
        let mut done = at;
        for index in 0..pages {
            let key = LogicalPage(first.0 + index);
            let (channel, own) = self.split(key.0);
            let mut named = |_: LogicalPage, page: HostPage<'_>| sink.page(key, page);
            let instance = &mut self.channels[channel];
            let mut flash = instance.lane.on(nand);
            done = done.max(instance.on().read(&mut flash, own, 1, cause, at, &mut named)?);
        }
        Ok(done)
    }

    fn find_mapped(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
        found: &mut dyn FnMut(LogicalPage, bool),
    ) -> Result<Time, FtlError> {
        self.shape.check_range(first, pages)?;
        let mut done = at;
        for index in 0..pages {
            let key = LogicalPage(first.0 + index);
            let (channel, own) = self.split(key.0);
            let mut named = |_: LogicalPage, is_mapped: bool| found(key, is_mapped);
            let instance = &mut self.channels[channel];
            let mut flash = instance.lane.on(nand);
            done = done.max(instance.on().find_mapped(&mut flash, own, 1, at, &mut named)?);
        }
        Ok(done)
    }

    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.shape.check_range(first, pages)?;
        if self.phase.is_read_only() {
            return Err(self.full());
        }
        let mut done = at;
        for channel in 0..self.channels.len() {
            let instance = &mut self.channels[channel];
            // The pages of a channel are adjacent there.
            let own = instance.lane.keys_below(first.0);
            let pages = instance.lane.keys_below(first.0 + pages) - own;
            if pages > 0 {
                let mut flash = instance.lane.on(nand);
                let trimmed = instance.on().trim(&mut flash, LogicalPage(own), pages, at);
                done = done.max(trimmed.map_err(|error| self.on_drive(error))?);
            }
        }
        Ok(done)
    }

    fn flush(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        for channel in 0..self.channels.len() {
            let instance = &mut self.channels[channel];
            let mut flash = instance.lane.on(nand);
            let flushed = instance.on().flush(&mut flash, at);
            done = done.max(flushed.map_err(|error| self.on_drive(error))?);
        }
        Ok(done)
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn phelsuma_nand::state::Preserve + '_>, phelsuma_nand::state::StateError> {
        Ok(Box::new(self))
    }

    fn ram(&self) -> RamLedger {
        let mut all = together::ram(self.channels.iter().map(|instance| instance.seen::<N>().ram()));
        all.index("index.channels", (self.channels.capacity() * size_of::<Instance>()) as u64);
        all
    }

    fn counters(&self) -> Vec<Counter> {
        together::counters(self.channels.iter().map(|instance| instance.seen::<N>().counters()))
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        // Among adjacent blocks of the drive those of one channel are adjacent within it: so many are looked up at a
        // time.
        let mut looks = [BlockLook::default(); 64];
        let channels = self.channels.len();
        for instance in &self.channels {
            let lane = &instance.lane;
            let mut own = lane.keys_below(first.0);
            while own < lane.geometry().blocks() {
                let from = (lane.block(Block(own)).0 - first.0) as usize;
                let Some(places) = out.get_mut(from..) else { break };
                looks.fill(BlockLook::default());
                instance.seen::<N>().look_at_blocks(Block(own), &mut looks);
                let there = (lane.geometry().blocks() - own) as usize;
                for (place, look) in places.iter_mut().step_by(channels).zip(looks.iter().take(there)) {
                    *place = *look;
                }
                own += looks.len() as u32;
            }
        }
        true
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_one = self.channels.len() == 1;
        for (number, instance) in self.channels.iter().enumerate() {
            let lane = &instance.lane;
            let mut flash = lane.on(nand);
            let found = instance.ftl.findings(&mut flash, lane);
            findings.extend(found.into_iter().map(|Finding { about, line }| {
                let line = if is_one { line } else { format!("channel {number}: {line}") };
                Finding { about, line }
            }));
        }
        findings
    }
}
