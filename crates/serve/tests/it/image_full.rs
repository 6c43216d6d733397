//! A drive in an image whose file cannot be written any more, as on a full disk.
//!
//! It goes off with a line, and nothing panics. Nothing that was not done is acknowledged. Everything acknowledged is
//! there when there is room again.

use crate::boxed;
use phelsuma_ftl::{Config, PRESETS, Preset, format, recover};
use phelsuma_nand::{Geometry, LogicalPage, Time};
use phelsuma_serve::device::{
    Connection, DeviceError, EXIT_FAILED, Flash, Host, ImageDrive, ImageFlash, Off, Open, OpenError, Opened, Served,
    Serving,
};
use phelsuma_serve::image::{CreateOptions, Durability, ImageNand, Storage};
use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

const PAGE: usize = 512;
const LOGICAL: u32 = 980;

/// A file on a disk that has room for so many writes, which may end in the middle of one, and whose `fdatasync`s then
/// fail.
#[derive(Clone)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: Arc<AtomicI64>,
    /// What takes up the room: writes, or `fdatasync`s.
    syncs: bool,
}

fn full() -> io::Error {
    io::Error::from_raw_os_error(rustix_enospc())
}

/// ENOSPC, on every system that nbdkit runs on.
fn rustix_enospc() -> i32 {
    28
}

impl Disk {
    fn takes(&self, a_sync: bool) -> io::Result<()> {
        if a_sync == self.syncs && self.room.fetch_sub(1, Ordering::Relaxed) <= 0 {
            return Err(full());
        }
        Ok(())
    }
}

impl Storage for Disk {
    fn len(&self) -> io::Result<u64> {
        Storage::len(&*self.bytes.lock().unwrap())
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.bytes.lock().unwrap().read_at(at, out)
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let taken = self.takes(false);
        let some = if taken.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        self.bytes.lock().unwrap().write_at(at, some)?;
        taken
    }

    fn sync(&mut self) -> io::Result<()> {
        self.takes(true)
    }
}

impl Open for Disk {
    type Flash = ImageFlash;

    fn open(&self) -> Result<Opened<Self::Flash>, OpenError> {
        let failed = |error: &dyn std::fmt::Display| OpenError::Failed(error.to_string());
        let nand = ImageNand::open_on(boxed(self.clone()), Durability::Flush).map_err(|error| failed(&error))?;
        let config = nand.config().clone();
        let mut flash = ImageFlash::new(nand);
        let (ftl, report) = recover(&mut flash, &config, Time::ZERO).map_err(|error| failed(&error))?;
        let battery = config.composition.has_battery();
        Ok(Opened { flash, ftl, battery, ready: report.done, about: String::new(), name: String::new() })
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Vec<String>, Vec<u8>)>>);

impl Host for Kept {
    fn log(&self, line: &str) {
        self.0.lock().unwrap().0.push(line.to_string());
    }

    fn drop_connections(&self) {}

    fn exit(&self, code: u8) {
        self.0.lock().unwrap().1.push(code);
    }
}

/// A drive in an image, formatted and closed.
fn made(ftl: &str) -> Disk {
    // Many streams and several structures on flash need a larger drive.
    let blocks = if ftl == "phelsuma" { 256 } else { 64 };
    let geometry = Geometry::new(PAGE as u32, 32, blocks, 1, 1).unwrap();
    let mut composition = Preset::named(ftl).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    let config = Config::new(ftl, composition, LOGICAL, 1);
    let options = CreateOptions::default();
    let bytes = vec![0; ImageNand::file_bytes_of(&geometry, &options).unwrap() as usize];
    let room = Arc::new(AtomicI64::new(i64::MAX));
    let disk = Disk { bytes: Arc::new(Mutex::new(bytes)), room, syncs: false };
    let nand = ImageNand::create_on(boxed(disk.clone()), &geometry, &config, &options).unwrap();
    let mut flash = ImageFlash::new(nand);
    let (mut ftl, ready) = format(&mut flash, &config, Time::ZERO).unwrap();
    ftl.close(&mut flash, ready).unwrap();
    flash.close().unwrap();
    disk
}

fn content(step: u64) -> Vec<u8> {
    step.to_le_bytes().repeat(PAGE / 8)
}

/// Writes until that fails. The possible content of each page, the last of it that of the request in progress.
fn load(served: &Served, connection: &Connection) -> (Vec<Vec<u64>>, DeviceError) {
    let mut may = vec![vec![0]; LOGICAL as usize];
    for step in 1.. {
        let page = (step * 7919 % u64::from(LOGICAL)) as usize;
        may[page].push(step);
        // Now and then one that is to be durable.
        let done = served.write(connection, (page * PAGE) as u64, &content(step), step % 13 == 0);
        match done {
            Ok(()) => may[page] = vec![step],
            Err(error) => return (may, error),
        }
        assert!(step < 100_000, "there is always room");
    }
    unreachable!()
}

#[test]
fn a_full_disk_puts_the_drive_off_with_a_line_and_takes_nothing_that_was_acknowledged() {
    let keeps = |p: &&Preset| !p.composition.may_lose_what_is_not_flushed();
    // With an FTL for each channel a drive is served as with one for all.
    let alone = |p: &&Preset| !p.composition.is_per_channel();
    let kept = PRESETS.iter().filter(|p| ImageDrive::may_be(p.name, &p.composition).is_ok()).filter(keeps);
    for preset in kept.filter(alone) {
        let disk = made(preset.name);
        for (n, room) in [1, 2, 57, 500, 2_001, 9_000].into_iter().enumerate() {
            // A disk that is a battery's as well would have to hold what that saves.
            let disk = Disk { syncs: n % 2 == 1 && !preset.composition.has_battery(), ..disk.clone() };
            let host = Kept::default();
            let served = Served::open(disk.clone(), &Serving::default(), Box::new(host.clone())).unwrap();
            let connection = served.connect();
            // The content of the loads before is gone, so that zeroes are to be found where nothing is acknowledged.
            for page in 0..u64::from(LOGICAL) {
                served.write(&connection, page * PAGE as u64, &content(0), false).unwrap();
            }
            served.flush(&connection).unwrap();
            disk.room.store(if disk.syncs { room / 50 } else { room }, Ordering::Relaxed);
            let what = format!("{}, room for {room}", preset.name);
            let (may, error) = load(&served, &connection);
            let DeviceError::Off(Off::Failed(why)) = &error else { panic!("{what}: {error:?}") };
            assert!(why.contains("No space left") && !why.contains('\n'), "{what}: {why}");
            let (lines, codes) = host.0.lock().unwrap().clone();
            assert_eq!((lines.len(), &*codes), (1, &[EXIT_FAILED][..]), "{what}: {lines:?}");
            assert!(lines[0].contains(why.as_str()) && lines[0].contains("next start"), "{what}: {lines:?}");
            assert!(matches!(served.flush(&connection), Err(DeviceError::Off(_))), "{what}: off it stays");
            assert!(!served.close(), "{what}: that is no good end");
            drop(served);
            disk.room.store(i64::MAX, Ordering::Relaxed);
            if preset.composition.has_battery() {
                // The FTL was not warned: the state in its RAM alone is lost, and the drive mounts.
                Served::open(disk, &Serving::default(), Box::new(Kept::default())).unwrap();
                continue;
            }
            let Opened { mut flash, mut ftl, .. } = disk.open().unwrap();
            assert_eq!(ftl.check(&mut flash), [], "{what}");
            drop((flash, ftl));
            let served = Served::open(disk, &Serving::default(), Box::new(Kept::default())).unwrap();
            let connection = served.connect();
            let mut buf = vec![0; PAGE];
            for (page, may) in (0..).zip(&may) {
                served.read(&connection, page * PAGE as u64, &mut buf).unwrap();
                let found = u64::from_le_bytes(buf[..8].try_into().unwrap());
                assert!(buf == content(found) && may.contains(&found), "{what}: {}: {found}", LogicalPage(page as u32));
            }
            assert!(served.close(), "{what}");
        }
    }
}

#[test]
fn a_full_disk_at_the_end_is_no_good_end() {
    for syncs in [false, true] {
        let disk = Disk { syncs, ..made("page") };
        let host = Kept::default();
        let served = Served::open(disk.clone(), &Serving::default(), Box::new(host.clone())).unwrap();
        let connection = served.connect();
        served.write(&connection, 0, &content(5), false).unwrap();
        disk.room.store(0, Ordering::Relaxed);
        assert!(!served.close());
        let lines = host.0.lock().unwrap().0.clone();
        assert!(lines[0].contains("No space left") && lines[0].contains("not closed cleanly"), "{lines:?}");
        disk.room.store(i64::MAX, Ordering::Relaxed);
        let served = Served::open(disk, &Serving::default(), Box::new(host)).unwrap();
        let (connection, mut buf) = (served.connect(), vec![0; PAGE]);
        served.read(&connection, 0, &mut buf).unwrap();
        assert_eq!(buf, content(5));
    }
}
