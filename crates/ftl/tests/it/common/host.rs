//! A host with a memory: what each logical page reads as, and what it may read as after a power cut.

use super::{Plug, below, chips, config, most_pages, with_metadata};
use phelsuma_ftl::{Config, Ftl, FtlError, Hint, HostData, HostPage, WriteRequest, format, recover};
use phelsuma_nand::{Block, Content, Geometry, Kind, LogicalPage, Nand, Op, PageRead, Purpose, SimNand, Spare, Time};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

/// Never, as a moment of acknowledgement.
const NEVER: Time = Time(u64::MAX);

/// The host's next action.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Writes `pages` pages from `first`, as bytes or hollow.
    Write {
        /// The first page.
        first: u32,
        /// How many.
        pages: u32,
        /// Whether as bytes.
        bytes: bool,
    },
    /// Discards pages.
    Trim {
        /// The first page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Makes trims durable.
    Flush,
    /// Reads pages and compares.
    Read {
        /// The first page.
        first: u32,
        /// How many.
        pages: u32,
    },
    /// Waits until all requests are acknowledged.
    Wait,
    /// The power fails between operations, when everything has completed.
    Cut,
}

impl Step {
    /// A step by chance on a drive of this many pages.
    pub(crate) fn by_chance(rng: &mut impl RngCore, logical_pages: u32) -> Self {
        let first = below(rng, u64::from(logical_pages)) as u32;
        let room = logical_pages - first;
        let several = 1 + below(rng, 12) as u32;
        match below(rng, 100) {
            0..70 => Self::Write { first, pages: 1, bytes: below(rng, 4) == 0 },
            70..82 => Self::Write { first, pages: several.min(room), bytes: below(rng, 4) == 0 },
            82..90 => Self::Trim { first, pages: several.min(room) },
            90..95 => Self::Flush,
            95..98 => Self::Read { first, pages: several.min(room) },
            _ => Self::Wait,
        }
    }
}

/// One logical page: the content that is sure to survive, and later contents with the moment from which each is sure.
#[derive(Clone, Debug, Default)]
struct Expected {
    certain: u64,
    later: Vec<(u64, Time)>,
}

impl Expected {
    fn now(&self) -> u64 {
        self.later.last().map_or(self.certain, |(tag, _)| *tag)
    }

    /// Something newer, sure to survive a cut from a moment on. Contents that a newer one has made history by `now` go.
    fn push(&mut self, tag: u64, sure: Time, now: Time) {
        self.later.push((tag, sure));
        if self.later.len() > 8
            && let Some(last) = self.later.iter().rposition(|(_, sure)| *sure <= now)
        {
            self.certain = self.later[last].0;
            self.later.drain(..=last);
        }
    }
}

/// A host with its drive. Tag 0 stands for zeros, `u64::MAX` for a page that cannot be read.
pub(crate) struct Host {
    pub(crate) plug: Plug,
    pub(crate) config: Config,
    pub(crate) ftl: Option<Box<dyn Ftl<Plug>>>,
    expected: Vec<Expected>,
    /// The pages written or trimmed since the last flush.
    unflushed: Vec<u32>,
    /// The moment of the next request.
    pub(crate) at: Time,
    /// When all requests so far are acknowledged.
    pub(crate) acked: Time,
    next_tag: u64,
    /// Whether the host waits for each request before it makes the next.
    pub(crate) waits: bool,
    rng: Xoshiro256PlusPlus,
}

impl Host {
    /// A host with a newly formatted drive.
    pub(crate) fn new(sim: SimNand, config: Config, seed: u64) -> Self {
        let mut plug = Plug::new(sim, seed);
        let (ftl, at) = format(&mut plug, &config, Time::ZERO).unwrap();
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let expected = vec![Expected::default(); config.logical_pages as usize];
        Self {
            plug,
            config,
            ftl: Some(ftl),
            expected,
            unflushed: Vec::new(),
            at,
            acked: at,
            next_tag: 1,
            waits: true,
            rng,
        }
    }

    /// A host with a newly formatted drive of which `share` of what fits is logical pages.
    pub(crate) fn with_share(preset: &str, geometry: Geometry, share: f64) -> Self {
        let geometry = with_metadata(preset, geometry);
        let logical_pages = (f64::from(most_pages(preset, geometry)) * share) as u32;
        Self::new(chips(geometry), config(preset, logical_pages), 1)
    }

    /// Another host in the same state, with the drive not up.
    pub(crate) fn fork(&self, seed: u64) -> Self {
        assert!(self.ftl.is_none(), "what is in RAM cannot be copied");
        Self {
            plug: self.plug.fork(seed),
            config: self.config.clone(),
            ftl: None,
            expected: self.expected.clone(),
            unflushed: self.unflushed.clone(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            ..*self
        }
    }

    pub(crate) fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        let counters = self.ftl.as_ref().unwrap().counters();
        counters
            .iter()
            .find(|c| c.name == name)
            .map(|c| c.value)
            .unwrap_or_else(|| panic!("{}: no {name}", self.config.name))
    }

    fn acknowledged(&mut self, done: Time) {
        self.acked = self.acked.max(done);
        if self.waits {
            self.at = self.acked;
        }
    }

    /// Does a step. An error of the FTL comes back; after a power cut it stands for "not acknowledged".
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), FtlError> {
        match *step {
            Step::Write { first, pages, bytes } => self.write(first, pages, bytes),
            Step::Trim { first, pages } => self.trim(first, pages),
            Step::Flush => self.flush(),
            Step::Read { first, pages } => {
                self.compare(first, pages);
                Ok(())
            }
            Step::Wait => {
                self.at = self.acked;
                Ok(())
            }
            Step::Cut => {
                self.at = self.acked;
                // Where there is a battery, it pays for the state that is in RAM alone.
                self.at = self.at.max(self.ftl.as_mut().unwrap().power_fail(&mut self.plug, self.at)?);
                self.plug.pull(self.at);
                self.power_back();
                self.recover()
            }
        }
    }

    pub(crate) fn write(&mut self, first: u32, pages: u32, bytes: bool) -> Result<(), FtlError> {
        let tag = self.next_tag;
        self.next_tag += 1;
        let page_bytes = self.plug.geometry().page_bytes() as usize;
        let mut data = Vec::new();
        if bytes {
            for page in first..first + pages {
                data.extend_from_slice(&bytes_of(tag, page, page_bytes));
            }
        }
        let data = if bytes { HostData::Bytes(&data) } else { HostData::Hollow(tag) };
        let request = WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None };
        let result = self.ftl.as_mut().unwrap().write(&mut self.plug, &request, self.at);
        let sure = *result.as_ref().unwrap_or(&NEVER);
        for page in first..first + pages {
            self.expected[page as usize].push(tag, sure, self.at);
            self.unflushed.push(page);
        }
        result.map(|done| self.acknowledged(done))
    }

    pub(crate) fn trim(&mut self, first: u32, pages: u32) -> Result<(), FtlError> {
        let result = self.ftl.as_mut().unwrap().trim(&mut self.plug, LogicalPage(first), pages, self.at);
        for number in first..first + pages {
            let page = &mut self.expected[number as usize];
            if page.now() != 0 {
                page.push(0, NEVER, self.at);
                self.unflushed.push(number);
            }
        }
        result.map(|done| self.acknowledged(done))
    }

    pub(crate) fn flush(&mut self) -> Result<(), FtlError> {
        let done = self.ftl.as_mut().unwrap().flush(&mut self.plug, self.at)?;
        for page in self.unflushed.drain(..) {
            for (_, sure) in &mut self.expected[page as usize].later {
                *sure = done.min(*sure);
            }
        }
        self.acknowledged(done);
        Ok(())
    }

    /// A write was refused with the power on: its pages are old or new, and stay so.
    pub(crate) fn forgive_refused(&mut self) {
        for page in 0..self.logical_pages() {
            if self.expected[page as usize].later.last().is_some_and(|(_, sure)| *sure == NEVER) {
                let found = self.read(page, 1)[0];
                let expected = &mut self.expected[page as usize];
                let possible = expected.later.iter().rev().take_while(|(_, sure)| *sure == NEVER).count() + 1;
                let len = expected.later.len();
                let mut allowed = expected.later[len.saturating_sub(possible)..].iter().map(|(tag, _)| *tag);
                assert!(
                    allowed.any(|tag| tag == found) || possible > len && found == expected.certain,
                    "logical page {page} reads as {found} after a refused write: {expected:?}"
                );
                *expected = Expected { certain: found, later: Vec::new() };
            }
        }
    }

    /// The drive's content, from `first` on.
    pub(crate) fn read(&mut self, first: u32, pages: u32) -> Vec<u64> {
        let page_bytes = self.plug.geometry().page_bytes() as usize;
        let mut found = Vec::new();
        let mut sink = |page: LogicalPage, data: HostPage<'_>| {
            assert_eq!(page.0, first + found.len() as u32, "pages come in order, each once");
            found.push(match data {
                HostPage::Zeros => 0,
                HostPage::Unreadable => u64::MAX,
                HostPage::Data(Content::Hollow(tag)) => tag,
                HostPage::Data(Content::Bytes(bytes)) => {
                    let tag = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                    assert_eq!(bytes, bytes_of(tag, page.0, page_bytes), "{page} holds garbled bytes");
                    tag
                }
            });
        };
        let ftl = self.ftl.as_mut().unwrap();
        ftl.read(&mut self.plug, LogicalPage(first), pages, Purpose::Host, self.at, &mut sink).unwrap();
        assert_eq!(found.len(), pages as usize);
        found
    }

    /// Reads pages while the power is on, and compares.
    pub(crate) fn compare(&mut self, first: u32, pages: u32) {
        let found = self.read(first, pages);
        if self.plug.cut_at().is_some() {
            // To read is to write, where entries must be evicted for others.
            return;
        }
        for (page, found) in (first..).zip(found) {
            let expected = &self.expected[page as usize];
            assert_eq!(found, expected.now(), "logical page {page} is not what was written last: {expected:?}");
        }
    }

    /// As [`Host::compare_all`], but a page may be a read error as well.
    pub(crate) fn compare_or_unreadable(&mut self) {
        for (page, found) in self.read(0, self.logical_pages()).into_iter().enumerate() {
            let expected = &self.expected[page];
            assert!(
                found == expected.now() || found == u64::MAX,
                "logical page {page} reads as {found}, not as what was written last: {expected:?}"
            );
        }
    }

    /// As [`Host::compare_all`], but for these pages, which may be anything.
    pub(crate) fn compare_others(&mut self, than: &BTreeSet<u32>) {
        for page in (0..self.logical_pages()).filter(|page| !than.contains(page)) {
            self.compare(page, 1);
        }
    }

    /// The FTL's own check, which may find pages that are bad, and their consequences.
    pub(crate) fn check_but_for_bad_pages(&mut self) {
        let mut findings = self.ftl.as_mut().unwrap().check(&mut self.plug);
        findings.retain(|finding| !finding.is_of_unreadable_pages());
        assert!(findings.is_empty(), "the FTL's structures disagree: {findings:#?}");
    }

    /// Stops in good order, and goes on.
    pub(crate) fn close(&mut self) -> Result<(), FtlError> {
        let done = self.ftl.as_mut().unwrap().close(&mut self.plug, self.at)?;
        self.acknowledged(done);
        Ok(())
    }

    pub(crate) fn compare_all(&mut self) {
        self.compare(0, self.logical_pages());
    }

    /// The pages that are not mapped are those that read as zeros.
    pub(crate) fn compare_mapped(&mut self) {
        let pages = self.logical_pages();
        let expected: Vec<bool> = self.read(0, pages).iter().map(|found| *found != 0).collect();
        let mut mapped = Vec::new();
        let mut found = |page: LogicalPage, is_mapped| {
            assert_eq!(page.0, mapped.len() as u32, "pages come in order, each once");
            mapped.push(is_mapped);
        };
        let ftl = self.ftl.as_mut().unwrap();
        ftl.find_mapped(&mut self.plug, LogicalPage(0), pages, self.at, &mut found).unwrap();
        for (page, (mapped, expected)) in mapped.iter().zip(&expected).enumerate() {
            assert_eq!(mapped, expected, "{}: whether page {page} is mapped", self.config.name);
        }
        assert_eq!(mapped.len(), expected.len());
    }

    /// The FTL's own check, which must find nothing.
    pub(crate) fn check(&mut self) {
        let ftl = self.ftl.as_mut().unwrap();
        let before = ftl.counters();
        let findings = ftl.check(&mut self.plug);
        assert_eq!(ftl.counters(), before, "a check changes what the FTL has counted");
        assert!(findings.is_empty(), "the FTL's structures disagree: {findings:#?}");
    }

    /// The power is back after a cut; the drive is not up yet.
    pub(crate) fn power_back(&mut self) {
        let cut = self.plug.cut_at().expect("the power is on");
        self.ftl = None;
        for page in &mut self.expected {
            if let Some(sure) = page.later.iter().rposition(|(_, sure)| *sure <= cut) {
                page.certain = page.later[sure].0;
                page.later.drain(..=sure);
            }
            for (_, sure) in &mut page.later {
                *sure = NEVER;
            }
        }
        self.plug.restore();
        (self.at, self.acked) = (Time::ZERO, Time::ZERO);
    }

    /// Mounts the drive. The content that is read then must be acknowledged or later, and stays.
    pub(crate) fn recover(&mut self) -> Result<(), FtlError> {
        let (ftl, report) = recover(&mut self.plug, &self.config, Time::ZERO)?;
        self.ftl = Some(ftl);
        (self.at, self.acked) = (report.done, report.done);
        self.check();
        for page in 0..self.logical_pages() {
            let found = self.read(page, 1)[0];
            if self.plug.cut_at().is_some() {
                // To read is to write, where entries must be evicted for others.
                break;
            }
            let expected = &self.expected[page as usize];
            assert!(
                found == expected.certain || expected.later.iter().any(|(tag, _)| *tag == found),
                "logical page {page} reads as {} after a cut: {expected:?}; {}",
                if found == u64::MAX { "unreadable".to_string() } else { found.to_string() },
                self.what_flash_says(page),
            );
            self.expected[page as usize] = Expected { certain: found, later: Vec::new() };
        }
        Ok(())
    }

    /// The power fails and the battery saves everything; flash goes bad, and the power is back. A page may be a read
    /// error from then on, and nothing older than its last content.
    pub(crate) fn cut_and_damage(&mut self, damage: impl FnOnce(&mut Plug)) -> Result<(), FtlError> {
        self.restart(damage)?;
        self.check();
        self.compare_or_unreadable();
        Ok(())
    }

    /// The power fails when everything is on flash, or the battery sees to that, and is back.
    pub(crate) fn restart(&mut self, damage: impl FnOnce(&mut Plug)) -> Result<(), FtlError> {
        self.at = self.at.max(self.ftl.as_mut().unwrap().power_fail(&mut self.plug, self.at)?);
        self.plug.pull(self.at);
        for page in &mut self.expected {
            *page = Expected { certain: page.now(), later: Vec::new() };
        }
        self.power_back();
        damage(&mut self.plug);
        let (ftl, report) = recover(&mut self.plug, &self.config, Time::ZERO)?;
        self.ftl = Some(ftl);
        (self.at, self.acked) = (report.done, report.done);
        Ok(())
    }

    /// How many pages are read errors.
    pub(crate) fn unreadable(&mut self) -> u32 {
        self.read(0, self.logical_pages()).iter().filter(|found| **found == u64::MAX).count() as u32
    }

    /// Every copy of a logical page on flash, and every entry of it in a translation page.
    fn what_flash_says(&self, page: u32) -> String {
        let mut sim = self.plug.copy();
        let geometry = *sim.geometry();
        let entries = geometry.page_bytes() / 4;
        let mut text = String::new();
        for at in (0..geometry.blocks()).flat_map(|b| (0..geometry.pages_per_block()).map(move |i| (b, i))) {
            let physical = geometry.page(Block(at.0), at.1);
            let (read, _) = sim.read(physical, Op::new(Time::ZERO, Purpose::Recovery));
            let sound = read.verified().is_some();
            if let PageRead::Written { content, spare, .. } = read {
                let entry = match content {
                    Content::Bytes(bytes) if spare.kind == Kind::Translation && spare.key == page / entries => {
                        let at = (page % entries) as usize * 4;
                        format!("-> {}", u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
                    }
                    content if spare.kind == Kind::User && spare.key == page => format!("{content:?}"),
                    _ => continue,
                };
                let Spare { kind, version, seq, stream, .. } = spare;
                text += &format!("\n  {physical} {kind:?} v{version} s{seq} stream {stream} sound {sound} {entry}");
            }
        }
        text
    }

    /// Writes every page once, in an order by chance: so collection always has something to move.
    pub(crate) fn overwrite(&mut self) -> Result<(), FtlError> {
        let mut order: Vec<u32> = (0..self.logical_pages()).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, below(&mut self.rng, n as u64 + 1) as usize);
        }
        for page in order {
            self.write(page, 1, false)?;
        }
        Ok(())
    }
}

/// The bytes of `page` in the write with this tag.
pub(crate) fn bytes_of(tag: u64, page: u32, page_bytes: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..page_bytes).map(|n| (n as u64 * 7 + tag * 31 + u64::from(page)) as u8).collect();
    bytes[..8].copy_from_slice(&tag.to_le_bytes());
    bytes
}
