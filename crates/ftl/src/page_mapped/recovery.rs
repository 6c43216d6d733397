//! Recovery by scanning: the spare area of every page is read, and the newest copy of each logical page wins.
//!
//! Newest is by version, then by program order. What a power cut met cannot be told from its spare area: a page may be
//! torn where only the data's CRC knows, or read well now and fail later. So the pages that may have been in flight
//! (*suspects*: the last ones in program order, as many as [`Clock`](crate::blocks::Clock) lets be in flight) are held
//! back, read in full, believed only where their CRC fits, and copied to a fresh page before the host sees anything. A
//! copy is labelled as one: if the power fails again during recovery, a bad copy makes its original a suspect again.
//!
//! Blocks that were open stay as they are and become candidates for collection; no page is ever programmed behind one
//! that a cut may have met.

use super::mapping::Place;
use super::trim_map::TrimMap;
use super::{PageMapped, anchor};
use crate::blocks::{Clock, EPOCH, NewPage, RECOVERY_STREAM, window};
use crate::config::Barrier;
use crate::recovery_report::{RecoveryReport, RecoveryStep};
use crate::{Config, FtlError};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Op, Page, PageRead, Purpose, Spare, SpareRead, Time};

/// A page with its spare area, as the scan found it.
#[derive(Clone, Copy)]
struct Found {
    page: Page,
    spare: Spare,
}

/// The last pages in program order: what may have been in flight, and behind it what recoveries before this one may
/// have been copying.
struct Tail {
    window: u64,
    room: usize,
    /// Ascending by seq.
    pages: Vec<Found>,
}

impl Tail {
    fn new(dies: u32) -> Self {
        let window = window(dies);
        Self { window: window as u64, room: 4 * window + 8, pages: Vec::new() }
    }

    /// Takes a page in; gives back one that has become too old to be a suspect.
    fn offer(&mut self, found: Found) -> Option<Found> {
        if self.pages.len() == self.room && found.spare.seq < self.pages[0].spare.seq {
            return Some(found);
        }
        let at = self.pages.partition_point(|p| p.spare.seq < found.spare.seq);
        self.pages.insert(at, found);
        (self.pages.len() > self.room).then(|| self.pages.remove(0))
    }

    /// Divides what is left into pages that cannot have been in flight and suspects, both ascending by seq.
    fn split(mut self) -> (Vec<Found>, Vec<Found>) {
        let Some(last) = self.pages.last() else { return (Vec::new(), Vec::new()) };
        let mut floor = last.spare.seq.saturating_sub(self.window);
        let mut first_suspect = self.pages.len();
        for (at, found) in self.pages.iter().enumerate().rev() {
            if found.spare.seq <= floor {
                let after_copy = self.pages.get(at + 1).is_some_and(|p| p.spare.stream == RECOVERY_STREAM);
                if !after_copy {
                    break;
                }
                floor = found.spare.seq.saturating_sub(self.window);
            }
            first_suspect = at;
        }
        let suspects = self.pages.split_off(first_suspect);
        (self.pages, suspects)
    }
}

/// Counts what a step does.
struct Steps {
    report: RecoveryReport,
    now: Time,
    step: RecoveryStep,
    began: Time,
}

impl Steps {
    fn new(at: Time) -> Self {
        Self { report: RecoveryReport::default(), now: at, step: step(""), began: at }
    }

    fn begin(&mut self, name: &'static str) {
        self.end();
        self.step = step(name);
    }

    fn end(&mut self) {
        if !self.step.name.is_empty() {
            self.step.nanos = self.now.0 - self.began.0;
            self.report.steps.push(self.step);
        }
        self.began = self.now;
    }

    fn read_spare<N: Nand>(&mut self, nand: &mut N, page: Page) -> SpareRead {
        self.step.spare_reads += 1;
        let (read, done) = nand.read_spare(page, Op::new(self.began, Purpose::Recovery));
        self.now = self.now.max(done);
        read
    }

    fn read<'n, N: Nand>(&mut self, nand: &'n mut N, page: Page) -> PageRead<'n> {
        self.step.reads += 1;
        let (read, done) = nand.read(page, Op::new(self.began, Purpose::Recovery));
        self.now = self.now.max(done);
        read
    }
}

fn step(name: &'static str) -> RecoveryStep {
    RecoveryStep { name, reads: 0, spare_reads: 0, programs: 0, nanos: 0 }
}

/// The newest tombstone page of a region found so far.
type Tombstone = Option<Found>;

fn newer(a: &Spare, b: &Spare) -> bool {
    (a.version, a.seq) > (b.version, b.seq)
}

impl PageMapped {
    /// Brings a drive up from what is on flash.
    pub(crate) fn recover<N: Nand>(
        nand: &mut N,
        config: &Config,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let mut steps = Steps::new(at);

        steps.begin("find the drive's description");
        let (anchors, reads, found_at) = anchor::find(nand, config, at)?;
        steps.step.reads += reads;
        steps.now = steps.now.max(found_at);
        let clock = Clock::new(geometry.dies(), 0, 0);
        let mut ftl = Self::empty(&geometry, config, anchors, clock)?;
        let usable = ftl.usable_blocks(nand);

        steps.begin("scan spare areas");
        let mut scan = Scan::new(&ftl, &geometry);
        for block in &usable {
            for index in 0..geometry.pages_per_block() {
                let page = geometry.page(*block, index);
                if let SpareRead::Written(spare) = steps.read_spare(nand, page) {
                    scan.found(&mut ftl, nand, &mut steps, *block, Found { page, spare });
                }
            }
        }
        ftl.blocks.clock = Clock::new(geometry.dies(), scan.version_max + EPOCH, scan.seq_max + EPOCH);

        steps.begin("read suspects in full");
        let suspects = scan.end(&mut ftl, nand, &mut steps);
        steps.report.suspects = suspects.len() as u64;
        let mut kept = Vec::new();
        // Blocks whose pages a suspect has made stale: until it is copied they are what a further cut falls back to.
        let mut held: Vec<Block> = Vec::new();
        for found in suspects {
            let verified = match steps.read(nand, found.page) {
                // Not the spare area of the scan: the page may have gone bad between the two.
                PageRead::Written { content, .. } if ftl.barriers.forget(Barrier::SuspectsVerified) => {
                    Some(own(content))
                }
                read => read.verified().map(|(content, _)| own(content)),
            };
            match verified {
                Some(data) => {
                    if found.spare.kind == Kind::User {
                        held.extend(scan.enter(&mut ftl, nand, &mut steps, found));
                    }
                    kept.push((found, data));
                }
                None => steps.report.suspects_bad += 1,
            }
        }

        steps.begin("apply tombstones");
        for found in scan.tombstones.iter().flatten() {
            if let Some(Content::Bytes(bytes)) = steps.read(nand, found.page).verified().map(|(content, _)| content) {
                let bitmap = bytes.to_vec();
                ftl.apply_tombstone(nand, &mut steps, found, &bitmap);
            }
        }
        // Then the suspects among them, which are not read again: it may have been the last time that they read well.
        // What they make stale beyond what the settled ones did is held.
        for (found, data) in &kept {
            let region = found.spare.key as usize;
            let Some(slot) = scan.tombstones.get_mut(region) else { continue };
            if let (Kind::Tombstone, Content::Bytes(bitmap)) = (found.spare.kind, data.content())
                && slot.is_none_or(|other| newer(&found.spare, &other.spare))
            {
                held.extend(slot.map(|old| geometry.block_of(old.page)));
                *slot = Some(*found);
                held.extend(ftl.apply_tombstone(nand, &mut steps, found, bitmap));
            }
        }

        steps.begin("sort out blocks");
        held.sort_unstable();
        held.dedup();
        let holding = ftl.settle_blocks(nand, &usable, &held, &scan.first_seq, &scan.streams);

        steps.begin("copy suspects");
        let copies = if ftl.barriers.forget(Barrier::SuspectsCopied) { Vec::new() } else { kept };
        for (found, data) in copies {
            match found.spare.kind {
                Kind::User => ftl.copy_suspect(nand, &mut steps, &found, &data)?,
                Kind::Tombstone => {
                    if ftl.trims.page_of(found.spare.key) == Some(found.page) {
                        ftl.trims.mark_pending(found.spare.key);
                    }
                }
                Kind::Anchor => {}
            }
        }
        let before = ftl.tally.tombstones_written;
        let done = ftl.write_pending_trims(nand, RECOVERY_STREAM, Purpose::Recovery, steps.now)?;
        steps.step.programs += ftl.tally.tombstones_written - before;
        steps.now = steps.now.max(done).max(ftl.blocks.clock.horizon());
        for block in holding {
            ftl.blocks.release(nand, block);
        }
        steps.end();
        let mut report = steps.report;
        report.done = steps.now;
        Ok((ftl, report))
    }

    /// Unmaps what a region's tombstone page says was trimmed after it was written, and takes it for the region's newest.
    /// The blocks of the pages unmapped.
    fn apply_tombstone<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        tombstone: &Found,
        bitmap: &[u8],
    ) -> Vec<Block> {
        let mut dropped_from = Vec::new();
        let region = tombstone.spare.key;
        let trimmed: Vec<LogicalPage> = self.trims.trimmed_in(region, bitmap).collect();
        for key in trimmed {
            match self.mapping.lookup(key) {
                Place::At(page) => {
                    if let SpareRead::Written(spare) = steps.read_spare(nand, page)
                        && spare.version < tombstone.spare.version
                    {
                        self.mapping.set(key, Place::Trimmed);
                        self.drop_user_page(page);
                        dropped_from.push(self.blocks.geometry().block_of(page));
                    }
                }
                _ => {
                    self.mapping.set(key, Place::Trimmed);
                }
            }
        }
        if let Some(before) = self.trims.set_page(region, Some(tombstone.page)) {
            self.drop_count(before);
        }
        self.blocks.counters.add(self.blocks.geometry().block_of(tombstone.page));
        dropped_from
    }

    /// Blocks with live pages become candidates, in the order of their first pages; all others go into the pool, those
    /// without a readable page first, but for those that must be held, which are given back.
    fn settle_blocks<N: Nand>(
        &mut self,
        nand: &mut N,
        usable: &[Block],
        held: &[Block],
        first_seq: &[u64],
        streams: &[u8],
    ) -> Vec<Block> {
        let mut order: Vec<Block> = usable.to_vec();
        order.sort_by_key(|b| first_seq[b.index()]);
        let mut holding = Vec::new();
        for block in order {
            if self.blocks.counters.live(block) > 0 {
                self.blocks.close(block, streams[block.index()]);
                self.hear_of_closed();
            } else if held.contains(&block) && !self.barriers.forget(Barrier::FallbacksHeld) {
                holding.push(block);
            } else {
                self.blocks.release(nand, block);
            }
        }
        holding
    }

    fn copy_suspect<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        found: &Found,
        data: &Owned,
    ) -> Result<(), FtlError> {
        let key = LogicalPage(found.spare.key);
        if self.mapping.lookup(key) != Place::At(found.page) {
            return Ok(());
        }
        let copy = NewPage {
            kind: Kind::User,
            key: key.0,
            version: found.spare.version,
            content: data.content(),
            data_crc: found.spare.data_crc,
        };
        let stream = self.placement.host();
        let (to, safe) = self.blocks.append(nand, stream, RECOVERY_STREAM, &copy, Purpose::Recovery, steps.now)?;
        steps.step.programs += 1;
        steps.now = steps.now.max(safe);
        self.validity.validate(to);
        self.mapping.set(key, Place::At(to));
        self.drop_user_page(found.page);
        self.hear_of_closed();
        Ok(())
    }
}

/// Data that outlive the read that brought them.
enum Owned {
    Hollow(u64),
    Bytes(Vec<u8>),
}

impl Owned {
    fn content(&self) -> Content<'_> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}

fn own(content: Content<'_>) -> Owned {
    match content {
        Content::Hollow(tag) => Owned::Hollow(tag),
        Content::Bytes(bytes) => Owned::Bytes(bytes.to_vec()),
    }
}

/// What the scan gathers besides the mapping.
struct Scan {
    tail: Tail,
    version_max: u64,
    seq_max: u64,
    /// By block: seq of its first readable page (0 where none is), and the stream it was written by.
    first_seq: Vec<u64>,
    streams: Vec<u8>,
    /// By region.
    tombstones: Vec<Tombstone>,
    trim_stream: u8,
}

impl Scan {
    fn new(ftl: &PageMapped, geometry: &phelsuma_nand::Geometry) -> Self {
        Self {
            tail: Tail::new(geometry.dies()),
            version_max: 0,
            seq_max: 0,
            first_seq: vec![0; geometry.blocks() as usize],
            streams: vec![0; geometry.blocks() as usize],
            tombstones: vec![None; regions_of(&ftl.trims)],
            trim_stream: ftl.trim_stream,
        }
    }

    /// A page with a readable spare area.
    fn found<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps, block: Block, found: Found) {
        let spare = &found.spare;
        self.version_max = self.version_max.max(spare.version);
        self.seq_max = self.seq_max.max(spare.seq);
        let first = &mut self.first_seq[block.index()];
        if *first == 0 {
            *first = spare.seq;
        }
        if spare.kind == Kind::Tombstone {
            self.streams[block.index()] = self.trim_stream;
        }
        if let Some(settled) = self.tail.offer(found) {
            self.enter(ftl, nand, steps, settled);
        }
    }

    /// The scan is over: settles what cannot have been in flight, gives back the suspects.
    fn end<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps) -> Vec<Found> {
        let tail = core::mem::replace(&mut self.tail, Tail::new(1));
        let (settled, suspects) = tail.split();
        for found in settled {
            self.enter(ftl, nand, steps, found);
        }
        suspects
    }

    /// A page that is what it says: it wins its logical page, or its region, if it is the newest so far. What it is
    /// newer than is read again rather than remembered: a version a logical page would double the mapping's RAM. The
    /// block of the page that it makes stale, if any.
    fn enter<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps, found: Found) -> Option<Block> {
        let key = found.spare.key;
        let mut stale = None;
        match found.spare.kind {
            Kind::User if key < ftl.shape.logical_pages => {
                let key = LogicalPage(key);
                if let Place::At(page) = ftl.mapping.lookup(key) {
                    if let SpareRead::Written(other) = steps.read_spare(nand, page) {
                        let older = if ftl.barriers.forget(Barrier::VersionOrder) {
                            page > found.page
                        } else {
                            newer(&other, &found.spare)
                        };
                        if older {
                            return None;
                        }
                    }
                    ftl.drop_user_page(page);
                    stale = Some(ftl.blocks.geometry().block_of(page));
                }
                ftl.mapping.set(key, Place::At(found.page));
                ftl.validity.validate(found.page);
                ftl.blocks.counters.add(ftl.blocks.geometry().block_of(found.page));
            }
            Kind::Tombstone => {
                if let Some(slot) = self.tombstones.get_mut(key as usize)
                    && slot.is_none_or(|other| newer(&found.spare, &other.spare))
                {
                    *slot = Some(found);
                }
            }
            _ => {}
        }
        stale
    }
}

fn regions_of(trims: &TrimMap) -> usize {
    trims.regions() as usize
}
