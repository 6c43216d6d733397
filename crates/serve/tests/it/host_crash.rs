//! The machine under a served drive crashes.
//!
//! Of the writes to the image since the last `fdatasync` any part may be missing, sector by sector, in any order.
//! Everything that a flush, or FUA, has acknowledged on any connection is there when the drive is served again. This is
//! the path of requests, [`Served`] and the device below it. The image by itself is tried in
//! `src/image/tests/crash.rs`.
//!
//! Not tested: a disk that loses data which it has acknowledged as durable.

use crate::boxed;
use phelsuma_ftl::{Config, PRESETS, Preset, format, recover};
use phelsuma_nand::{Geometry, Time};
use phelsuma_serve::device::{
    Flash, Host, ImageDrive, ImageFlash, Open, OpenError, Opened, Served, Serving,
    options::{Backing, Options},
};
use phelsuma_serve::image::{CreateOptions, Durability, ImageNand, Storage};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const PAGE: usize = 512;
const PAGES: usize = 400;
/// The unit that a host writes to its disk at once.
const SECTOR: usize = 512;

/// Something that was done to the file.
enum Event {
    Write { at: usize, bytes: Vec<u8> },
    Sync,
}

/// A file in memory that notes its operations.
#[derive(Clone)]
struct File {
    inner: Arc<Mutex<(Vec<u8>, Vec<Event>)>>,
    durability: Durability,
    /// An `fdatasync` does nothing now.
    deaf: Arc<AtomicBool>,
}

/// A drive's misbehaviour that this is to notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Forgets {
    Nothing,
    /// Writes, trims and zeroes with FUA do not reach the disk.
    Fua,
    /// Flushes do not.
    Flush,
}

impl File {
    fn new(bytes: Vec<u8>, durability: Durability) -> Self {
        Self { inner: Arc::new(Mutex::new((bytes, Vec::new()))), durability, deaf: Arc::default() }
    }

    fn events(&self) -> usize {
        self.inner.lock().unwrap().1.len()
    }
}

impl Storage for File {
    fn len(&self) -> io::Result<u64> {
        Storage::len(&self.inner.lock().unwrap().0)
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.lock().unwrap().0.read_at(at, out)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.inner.lock().unwrap();
        inner.0.write_at(at, bytes)?;
        inner.1.push(Event::Write { at: at as usize, bytes: bytes.to_vec() });
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if !self.deaf.load(Ordering::Relaxed) {
            self.inner.lock().unwrap().1.push(Event::Sync);
        }
        Ok(())
    }
}

impl Open for File {
    type Flash = ImageFlash;

    fn open(&self) -> Result<Opened<Self::Flash>, OpenError> {
        let failed = |error: &dyn std::fmt::Display| OpenError::Failed(error.to_string());
        let nand = ImageNand::open_on(boxed(self.clone()), self.durability).map_err(|error| failed(&error))?;
        let config = nand.config().clone();
        let mut flash = ImageFlash::new(nand);
        let (ftl, report) = recover(&mut flash, &config, Time::ZERO).map_err(|error| failed(&error))?;
        let battery = config.composition.has_battery();
        let name = String::new();
        Ok(Opened { name, flash, ftl, battery, ready: report.done, about: String::new() })
    }
}

struct Silent;

impl Host for Silent {
    fn log(&self, _: &str) {}
    fn drop_connections(&self) {}
    fn exit(&self, _: u8) {}
}

/// An image of a small drive, formatted and closed.
fn made(ftl: &str) -> Vec<u8> {
    let mut composition = Preset::named(ftl).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    // Many streams and several structures on flash need a larger drive.
    let blocks = if ftl == "phelsuma" { 256 } else { 64 };
    let geometry = Geometry::new(PAGE as u32, 16, blocks, 1, 1).unwrap();
    let config = Config::new(ftl, composition, PAGES as u32, 1);
    // Few, so that it has to make the file durable for itself, which must not be what keeps a flush.
    let options = CreateOptions { spare_slots: Some(24), ..CreateOptions::default() };
    let bytes = vec![0; ImageNand::file_bytes_of(&geometry, &options).unwrap() as usize];
    let file = File::new(bytes, Durability::Flush);
    let nand = ImageNand::create_on(boxed(file.clone()), &geometry, &config, &options).unwrap();
    let mut flash = ImageFlash::new(nand);
    let (mut ftl, ready) = format(&mut flash, &config, Time::ZERO).unwrap();
    ftl.close(&mut flash, ready).unwrap();
    Flash::close(&mut flash).unwrap();
    drop(flash);
    std::mem::take(&mut file.inner.lock().unwrap().0)
}

type Content = [u8; PAGE];

/// A request: the operations on the file before it and when it was acknowledged. Also the content that it gave which
/// page, and the pages that it has made durable.
struct Asked {
    from: usize,
    to: usize,
    pages: Vec<(usize, Content)>,
    durable: Durable,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    Nothing,
    /// This request: it had FUA.
    Itself,
    /// Everything acknowledged before it, on every connection: a flush.
    All,
}

/// Requests of chance on two connections, of any offset and length.
fn work(served: &Served, file: &File, requests: usize, forgets: Forgets, rng: &mut impl RngCore) -> Vec<Asked> {
    let connections = [served.connect(), served.connect()];
    let mut now = vec![[0u8; PAGE]; PAGES];
    let mut asked = Vec::new();
    for n in 0..requests {
        let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
        let connection = &connections[below(2)];
        let whole = below(2) == 0;
        let (mut offset, mut length) = (below((PAGES - 8) * PAGE), 1 + below(6 * PAGE));
        if whole {
            (offset, length) = (offset / PAGE * PAGE, length.div_ceil(PAGE) * PAGE);
        }
        let kind = below(24);
        let fua = below(8) == 0;
        let from = file.events();
        let flush = kind < 2;
        let deaf = if flush { forgets == Forgets::Flush } else { fua && forgets == Forgets::Fua };
        file.deaf.store(deaf, Ordering::Relaxed);
        let mut bytes = None;
        let durable = match kind {
            0 | 1 => {
                served.flush(connection).unwrap();
                Durable::All
            }
            2 => {
                served.trim(connection, offset as u64, length as u64, fua).unwrap();
                (offset, length) = {
                    let (first, end) = (offset.div_ceil(PAGE), (offset + length) / PAGE);
                    (first * PAGE, end.saturating_sub(first) * PAGE)
                };
                bytes = Some(vec![0; length]);
                if fua { Durable::Itself } else { Durable::Nothing }
            }
            3 => {
                let how = phelsuma_serve::device::Zeroes { may_trim: below(2) == 0, fua, fast: false };
                served.write_zeroes(connection, offset as u64, length as u64, how).unwrap();
                bytes = Some(vec![0; length]);
                if fua { Durable::Itself } else { Durable::Nothing }
            }
            _ => {
                let data: Vec<u8> = (0..length).map(|at| (n * 37 + at * 11) as u8 | 1).collect();
                served.write(connection, offset as u64, &data, fua).unwrap();
                bytes = Some(data);
                if fua { Durable::Itself } else { Durable::Nothing }
            }
        };
        file.deaf.store(false, Ordering::Relaxed);
        let mut pages = Vec::new();
        if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
            for page in offset / PAGE..(offset + length).div_ceil(PAGE) {
                let (start, end) = (offset.max(page * PAGE), (offset + length).min((page + 1) * PAGE));
                now[page][start - page * PAGE..end - page * PAGE].copy_from_slice(&bytes[start - offset..end - offset]);
                pages.push((page, now[page]));
            }
        }
        asked.push(Asked { from, to: file.events(), pages, durable });
    }
    asked
}

/// What each page may hold after a crash with so many events done.
fn allowed(asked: &[Asked], events: usize) -> Vec<Vec<Content>> {
    let mut may = vec![vec![[0u8; PAGE]]; PAGES];
    for request in asked.iter().take_while(|request| request.from <= events) {
        request.pages.iter().for_each(|(page, content)| may[*page].push(*content));
        let keep_last = |may: &mut Vec<Content>| *may = may.split_off(may.len() - 1);
        match request.durable {
            // No completion was returned.
            _ if request.to > events => {}
            Durable::Nothing => {}
            Durable::Itself => request.pages.iter().for_each(|(page, _)| keep_last(&mut may[*page])),
            Durable::All => may.iter_mut().for_each(keep_last),
        }
    }
    may
}

/// The remains of the file after the machine's crash. That is everything up to the last `fdatasync` that was done, and
/// of each sector written since whatever chance leaves of it.
fn crashed(base: &[u8], events: &[Event], rng: &mut impl RngCore) -> Vec<u8> {
    let synced = events.iter().rposition(|event| matches!(event, Event::Sync)).map_or(0, |at| at + 1);
    let mut file = base.to_vec();
    let likely = [0, 5, 50, 95][(rng.next_u64() % 4) as usize];
    for (n, event) in events.iter().enumerate() {
        let Event::Write { at, bytes } = event else { continue };
        let mut from = 0;
        while from < bytes.len() {
            let len = (SECTOR - (at + from) % SECTOR).min(bytes.len() - from);
            if n < synced || rng.next_u64() % 100 < likely {
                file[at + from..at + from + len].copy_from_slice(&bytes[from..from + len]);
            }
            from += len;
        }
    }
    file
}

/// Serves what is left, and compares it with what may be there; then all of it is written.
fn verify(file: Vec<u8>, may: &[Vec<Content>]) -> Result<(), String> {
    let file = File::new(file, Durability::Flush);
    let served = Served::open(file, &Serving::default(), Box::new(Silent)).map_err(|error| error.to_string())?;
    let connection = served.connect();
    let mut buf = [0; PAGE];
    for (page, may) in may.iter().enumerate() {
        served.read(&connection, (page * PAGE) as u64, &mut buf).map_err(|error| error.to_string())?;
        if !may.contains(&buf) {
            return Err(format!("page {page} begins {:?}, and may hold {} other things", &buf[..8], may.len()));
        }
    }
    for page in 0..PAGES {
        let data = [page as u8; PAGE];
        served.write(&connection, (page * PAGE) as u64, &data, false).map_err(|error| error.to_string())?;
    }
    if served.close() { Ok(()) } else { Err("it does not close".into()) }
}

/// Crashes of a machine under load: the first one after which something is not as it may be.
fn storm(ftl: &str, durability: Durability, forgets: Forgets, crashes: usize, seed: u64) -> Result<usize, String> {
    let base = made(ftl);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let file = File::new(base.clone(), durability);
    let served =
        Served::open(file.clone(), &Serving::default(), Box::new(Silent)).map_err(|error| error.to_string())?;
    let asked = work(&served, &file, 400, forgets, &mut rng);
    drop(served);
    let events = &file.inner.lock().unwrap().1;
    let mut told = 0;
    for _ in 0..crashes {
        let cut = (rng.next_u64() % events.len() as u64) as usize;
        let image = crashed(&base, &events[..cut], &mut rng);
        let may = allowed(&asked, cut);
        told += may.iter().filter(|may| may.len() == 1 && may[0] != [0; PAGE]).count();
        // A panic is noticed as well.
        catch_unwind(AssertUnwindSafe(|| verify(image, &may)))
            .unwrap_or_else(|_| Err("a panic".into()))
            .map_err(|error| format!("{ftl}, seed {seed}, crash at {cut} of {}: {error}", events.len()))?;
    }
    Ok(told)
}

#[test]
fn what_a_flush_or_fua_has_acknowledged_survives_the_crash_of_the_machine() {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1");
    let (seeds, crashes) = if thorough { (20, 400) } else { (2, 60) };
    // A battery gets no warning; and where a cut may take back writes that were not flushed, a page may be a read
    // error.
    let keeps = |p: &&Preset| !p.composition.has_battery() && !p.composition.may_lose_what_is_not_flushed();
    // With an FTL for each channel a drive is served as with one for all.
    let alone = |p: &&Preset| !p.composition.is_per_channel();
    let kept = PRESETS.iter().filter(|p| ImageDrive::may_be(p.name, &p.composition).is_ok()).filter(keeps);
    for preset in kept.filter(alone) {
        for seed in 0..seeds {
            let durable = storm(preset.name, Durability::Flush, Forgets::Nothing, crashes, seed)
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(durable > 50 * crashes, "{}: {durable} pages had to be there", preset.name);
        }
    }
}

/// `--durability process` promises nothing here, and a drive that promised and did not keep it is noticed.
#[test]
fn a_drive_whose_flush_or_fua_does_not_reach_the_disk_is_noticed() {
    let tries = [
        (Durability::Process, Forgets::Nothing),
        (Durability::Flush, Forgets::Fua),
        (Durability::Flush, Forgets::Flush),
    ];
    for (durability, forgets) in tries {
        let noticed = (0..10).find_map(|seed| storm("page", durability, forgets, 100, seed).err());
        assert!(noticed.is_some(), "{durability:?}, {forgets:?}");
    }
}

/// The image is opened with the options of the command line.
#[test]
fn the_durability_that_is_asked_for_reaches_the_image() {
    let mut options = Options::default();
    assert_eq!(options.durability, Durability::Flush);
    options.set("image", "/nowhere").unwrap();
    options.set("durability", "process").unwrap();
    assert_eq!((options.durability, options.backing.is_some()), (Durability::Process, true));
    assert!(matches!(options.backing, Some(Backing::Image(_))));
}
