//! A small drive in an image, a host that writes to it, and what that host may find after a crash.

use super::Forgets;
use super::recorder::Recorder;
use crate::image::{CreateOptions, Durability, ImageNand};
use phelsuma_ftl::{Config, Ftl, FtlError, Hint, HostData, HostPage, Preset, WriteRequest, format, recover};
use phelsuma_nand::{Content, Geometry, LogicalPage, Purpose, Time};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(super) const PAGE: usize = 512;

/// A page's content is named by a tag; tag 0 is zeros.
fn fill(tag: u64) -> Vec<u8> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(tag);
    let mut page = tag.to_le_bytes().to_vec();
    while page.len() < PAGE {
        page.extend(rng.next_u64().to_le_bytes());
    }
    page
}

/// The effect of a request, and how long the log was before and after it.
pub(super) struct Done {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Write { first: u32, pages: u32, tag: u64 },
    Trim { first: u32, pages: u32 },
    Flush,
}

/// The possible content of a page.
#[derive(Clone, Default)]
struct Allowed {
    tags: Vec<u64>,
    trimmed: bool,
}

/// The host's expectations.
pub(super) struct Expected(Vec<Allowed>);

impl Expected {
    /// After the death of the process (or of the host) with so many events done.
    pub(super) fn after(logical_pages: u32, requests: &[Done], events: usize, of_host: bool) -> Self {
        let begun = requests.iter().take_while(|done| done.from <= events).count();
        let solid = if of_host {
            let flushed = |done: &Done| matches!(done.what, What::Flush) && done.to <= events;
            requests[..begun].iter().rposition(flushed).map_or(0, |at| at + 1)
        } else {
            requests[..begun].iter().take_while(|done| done.to <= events).count()
        };
        let mut pages = vec![Allowed { tags: vec![0], trimmed: false }; logical_pages as usize];
        for (n, done) in requests[..begun].iter().enumerate() {
            let solid = n < solid;
            match done.what {
                What::Write { first, pages: count, tag } => {
                    for n in 0..count {
                        let page = &mut pages[(first + n) as usize];
                        if solid {
                            page.tags.clear();
                            page.trimmed = false;
                        }
                        page.tags.push(tag + u64::from(n));
                    }
                }
                What::Trim { first, pages: count } => {
                    for page in &mut pages[first as usize..(first + count) as usize] {
                        page.tags.push(0);
                        page.trimmed = true;
                    }
                }
                What::Flush if solid => {
                    for page in pages.iter_mut().filter(|page| page.trimmed) {
                        page.tags = vec![0];
                        page.trimmed = false;
                    }
                }
                What::Flush => {}
            }
        }
        Self(pages)
    }
}

type Drive = (ImageNand<Recorder>, Box<dyn Ftl<ImageNand<Recorder>>>);

/// The description of a drive, and its image as it was closed after formatting.
pub(super) struct Formatted {
    pub(super) config: Config,
    pub(super) image: Vec<u8>,
}

/// A small drive of this preset, as large as it takes for an eighth of it to be of use.
pub(super) fn formatted(preset: &str, spare_slots: u32) -> Formatted {
    let parts = Preset::named(preset).unwrap().composition;
    let options = CreateOptions { spare_slots: Some(spare_slots), durability: Durability::Process };
    let mut blocks = 24;
    // Some have two dies.
    let channels = if spare_slots == 5 || parts.is_per_channel() { 2 } else { 1 };
    loop {
        let geometry = Geometry::new(PAGE as u32, 8, blocks, channels, 1).unwrap();
        let logical_pages = (geometry.pages() / 2) as u32;
        let config = Config::new(preset, parts, logical_pages, 7);
        let bytes = vec![0; ImageNand::file_bytes_of(&geometry, &options).unwrap() as usize];
        let mut nand = ImageNand::create_on(Recorder::new(bytes), &geometry, &config, &options).unwrap();
        match format(&mut nand, &config, Time::ZERO) {
            Ok((mut ftl, _)) => {
                ftl.close(&mut nand, Time::ZERO).unwrap();
                return Formatted { config, image: nand.close().unwrap().bytes };
            }
            Err(FtlError::DoesNotFit { .. }) => blocks += 8,
            Err(error) => panic!("{error}"),
        }
    }
}

pub(super) fn up(storage: Recorder, forgets: Forgets) -> Result<Drive, String> {
    let mut nand = ImageNand::open_with(storage, Durability::Flush, forgets).map_err(|error| error.to_string())?;
    let config = nand.config().clone();
    let (ftl, _) = recover(&mut nand, &config, Time::ZERO).map_err(|error| error.to_string())?;
    Ok((nand, ftl))
}

fn write((nand, ftl): &mut Drive, first: u32, pages: u32, tag: u64) -> Result<(), String> {
    let bytes: Vec<u8> = (0..u64::from(pages)).flat_map(|n| fill(tag + n)).collect();
    let data = HostData::Bytes(&bytes);
    let request = WriteRequest { first: LogicalPage(first), pages, data, hint: Hint::None };
    ftl.write(nand, &request, Time::ZERO).map(drop).map_err(|error| error.to_string())
}

/// What every page reads as, by its tag.
fn read((nand, ftl): &mut Drive, logical_pages: u32) -> Result<Vec<u64>, String> {
    let mut tags = Vec::new();
    let mut wrong = None;
    let mut sink = |page: LogicalPage, data: HostPage<'_>| match data {
        HostPage::Zeros => tags.push(0),
        HostPage::Data(Content::Bytes(bytes)) => {
            let tag = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            if bytes != fill(tag) {
                wrong = Some(format!("{page} holds what nobody wrote"));
            }
            tags.push(tag);
        }
        other => {
            wrong = Some(format!("{page} reads as {other:?}"));
            tags.push(u64::MAX);
        }
    };
    let read = ftl.read(nand, LogicalPage(0), logical_pages, Purpose::Host, Time::ZERO, &mut sink);
    read.map_err(|error| error.to_string())?;
    wrong.map_or(Ok(tags), Err)
}

/// Requests of chance, one in `flush_each` of them a flush, until the image is off; their effects.
pub(super) fn work(drive: &mut Drive, logical_pages: u32, requests: u32, flush_each: u64, seed: u64) -> Vec<Done> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut tag = 1;
    let mut log = Vec::new();
    for _ in 0..requests {
        let pages = 1 + (rng.next_u64() % 6) as u32;
        let first = (rng.next_u64() % u64::from(logical_pages - pages)) as u32;
        let from = drive.0.storage.events.len();
        let flushes = rng.next_u64().is_multiple_of(flush_each);
        let what = match rng.next_u64() % 16 {
            _ if flushes => What::Flush,
            0 => What::Trim { first, pages },
            _ => {
                tag += u64::from(pages);
                What::Write { first, pages, tag: tag - u64::from(pages) }
            }
        };
        let done = ask(drive, what);
        if drive.0.is_off() {
            // No completion was returned.
            log.push(Done { from, to: usize::MAX, what });
            return log;
        }
        done.unwrap();
        log.push(Done { from, to: drive.0.storage.events.len(), what });
    }
    log
}

fn ask(drive: &mut Drive, what: What) -> Result<(), String> {
    let (nand, ftl) = drive;
    let done = match what {
        What::Write { first, pages, tag } => return write(drive, first, pages, tag),
        What::Trim { first, pages } => ftl.trim(nand, LogicalPage(first), pages, Time::ZERO),
        What::Flush => ftl.flush(nand, Time::ZERO),
    };
    done.map_err(|error| error.to_string())?;
    match what {
        What::Flush => nand.sync().map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

/// Mounts what a crash has left, and compares it with what the host may find; then uses the drive in full.
pub(super) fn verify(image: Vec<u8>, expected: &Expected, forgets: Forgets) -> Result<(), String> {
    let logical_pages = expected.0.len() as u32;
    let mut drive = up(Recorder::new(image), forgets)?;
    checked(&mut drive, "after the crash")?;
    let found = read(&mut drive, logical_pages)?;
    for (page, (tag, allowed)) in found.iter().zip(&expected.0).enumerate() {
        if !allowed.tags.contains(tag) {
            return Err(format!("page {page} reads as {tag}, allowed are {:?}", allowed.tags));
        }
    }
    let base = 1 << 40;
    for page in 0..logical_pages {
        write(&mut drive, page, 1, base + u64::from(page))?;
    }
    checked(&mut drive, "written over")?;
    let (mut nand, mut ftl) = drive;
    ftl.close(&mut nand, Time::ZERO).map_err(|error| error.to_string())?;
    let mut drive = up(nand.close().map_err(|error| error.to_string())?, forgets)?;
    let wanted: Vec<u64> = (0..logical_pages).map(|page| base + u64::from(page)).collect();
    if read(&mut drive, logical_pages)? != wanted {
        return Err("what was written over the drive is not there".to_string());
    }
    checked(&mut drive, "opened again")
}

fn checked((nand, ftl): &mut Drive, when: &str) -> Result<(), String> {
    let findings = ftl.check(nand);
    if let Some(error) = nand.failure() {
        return Err(format!("{when}: {error}"));
    }
    findings.first().map_or(Ok(()), |finding| Err(format!("{when}: {finding}")))
}
