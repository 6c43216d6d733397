//! A firmware whose plug is pulled time and again: each boot mounts, compares every page, and writes on.
//!
//! Its flash is memory that survives a reset. At an operation by chance the flash does a part of it and resets the machine.
//! What was acknowledged is kept in the same memory, where the FTL does not see it.
//!
//! Arguments: boots, parts (`gecko`, `smallest`, `ram-table`), a seed, and `in-page` for metadata in pages.

#![no_std]
#![no_main]

mod flash;
mod random;
mod record;
mod semihosting;
mod stack;

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use cortex_m_rt::{ExceptionFrame, entry, exception};
use flash::{Cells, Model, SHAPE};
use phelsuma_mcu::{Chip, Config, Drive, Error, Gecko, MetaPlace, Parts, RamTable, Smallest};
use random::Random;
use record::{Record, fill};
use stack::Painted;

/// `boot`: the surviving memory has been set up.
const MAGIC: u32 = 0x746f_6f62;

/// What survives. Any bits are one of these.
#[repr(C)]
struct Survivor {
    magic: u32,
    /// Boots begun.
    boots: u32,
    /// Of them those that were cut before the mount had returned.
    cut_mounts: u32,
    random: Random,
    cells: Cells,
    record: Record,
}

/// Memory that is lent once.
struct Once<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: there is one core, and `main`, which lends it, runs once.
unsafe impl<T> Sync for Once<T> {}

#[unsafe(link_section = ".survivor")]
static SURVIVOR: Once<Survivor> = Once(UnsafeCell::new(MaybeUninit::uninit()));

/// As much as any of the drives needs.
const MEMORY: usize = 16 * 1024;

static OWN: Once<[u8; MEMORY]> = Once(UnsafeCell::new(MaybeUninit::uninit()));
static PAGES: Once<[[u8; SHAPE.page_bytes as usize]; 2]> = Once(UnsafeCell::new(MaybeUninit::uninit()));

#[entry]
fn main() -> ! {
    let mut buffer = [0; 128];
    let mut words = semihosting::command_line(&mut buffer).split(' ').skip(1);
    let boots = words.next().and_then(|word| word.parse().ok()).unwrap_or(200);
    let parts = words.next().unwrap_or("gecko");
    let seed = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let meta = if words.next() == Some("in-page") { MetaPlace::InPage } else { MetaPlace::Spare };
    // SAFETY: they are lent here alone, and any bits are values of these types.
    let (survivor, own, pages) = unsafe { (&mut *SURVIVOR.0.get(), &mut *OWN.0.get(), &mut *PAGES.0.get()) };
    let (survivor, own, pages) =
        unsafe { (survivor.assume_init_mut(), own.assume_init_mut(), pages.assume_init_mut()) };
    // A reset reads it, as far as the compiler knows.
    let survivor = core::hint::black_box(survivor);
    let is_first = survivor.magic != MAGIC;
    if is_first {
        (survivor.boots, survivor.cut_mounts, survivor.random) = (0, 0, Random(seed));
        survivor.cells.erase();
        survivor.record.clear();
        survivor.magic = MAGIC;
    }
    let host = Host { survivor, own, pages, boots, is_first, chip: Chip { meta, ..SHAPE } };
    match parts {
        "gecko" => host.boot::<Gecko>("gecko"),
        "smallest" => host.boot::<Smallest>("smallest"),
        "ram-table" => host.boot::<RamTable>("ram-table"),
        other => {
            say!("no such parts: {other}");
            semihosting::exit(2)
        }
    }
}

/// The largest drive of these parts on the chip.
const fn config<P: Parts>(chip: Chip) -> Config {
    let config = Config::new(chip, 1, 64);
    Config { logical_pages: config.most_logical_pages::<P>(), ..config }
}

struct Host {
    survivor: &'static mut Survivor,
    own: &'static mut [u8; MEMORY],
    pages: &'static mut [[u8; SHAPE.page_bytes as usize]; 2],
    boots: u32,
    is_first: bool,
    chip: Chip,
}

impl Host {
    fn boot<P: Parts>(self, name: &str) -> ! {
        let config = match self.chip.meta {
            MetaPlace::Spare => const { config::<P>(SHAPE) },
            MetaPlace::InPage => const { config::<P>(Chip { meta: MetaPlace::InPage, ..SHAPE }) },
        };
        let Survivor { boots, cut_mounts, random, cells, record, .. } = self.survivor;
        // Nothing of the drive outlives a power cut but what is on flash.
        let garbage = random.below(256) as u8;
        self.own.fill(garbage);
        cells.power_on();
        let is_last = *boots >= self.boots;
        let mut flash = Model { cells, left: u32::MAX, fault: 0, stack: Painted::below_here() };
        if !self.is_first && !is_last {
            flash.arm(random);
        }
        *boots += 1;
        *cut_mounts += 1;
        let made = match self.is_first {
            true => Drive::<P, _>::format(&mut flash, &config, &mut self.own[..]),
            false => Drive::<P, _>::mount(&mut flash, &config, &mut self.own[..]),
        };
        let mut drive = match made {
            Ok(drive) if !drive.info().read_only => drive,
            Ok(_) => fail(*boots, "the drive can only be read"),
            Err(error) => lost(*boots, u32::MAX, error),
        };
        *cut_mounts -= 1;
        let mut session = Session { record, random, pages: self.pages, boots: *boots, config };
        session.compare(&mut drive, &mut flash);
        if self.is_first {
            flash.arm(session.random);
        }
        let requests = if is_last { 2_000 } else { u32::MAX };
        for _ in 0..requests {
            session.request(&mut drive, &mut flash);
        }
        session.compare(&mut drive, &mut flash);
        let deepest = flash.cells.deepest.max(flash.stack.depth());
        let [programs, erases] = flash.cells.cuts;
        let Record { newest, compared, .. } = session.record;
        say!(
            "{name}: boots {}, of which {} were cut in the mount; cut programs {programs}, cut erases {erases}; \
             writes {newest}, pages compared {compared}, lost 0; stack {deepest} bytes",
            *boots,
            *cut_mounts,
        );
        semihosting::exit(0)
    }
}

/// From a mount on.
struct Session<'a> {
    record: &'a mut Record,
    random: &'a mut Random,
    pages: &'a mut [[u8; SHAPE.page_bytes as usize]; 2],
    boots: u32,
    config: Config,
}

impl Session<'_> {
    /// Every page reads as one of what is possible, and stays so.
    fn compare<P: Parts>(&mut self, drive: &mut Drive<P, &mut [u8]>, flash: &mut Model) {
        let bytes = self.config.chip.data_bytes() as usize;
        let [read, expected] = &mut *self.pages;
        let (read, expected) = (&mut read[..bytes], &mut expected[..bytes]);
        for page in 0..self.config.logical_pages {
            if let Err(error) = drive.read(flash, page, read) {
                lost(self.boots, page, error);
            }
            let found = self.record.of(page).iter().copied().rev().find(|write| {
                fill(expected, page, *write);
                *read == *expected
            });
            let Some(found) = found else {
                say!("page {page} reads {:02x?}, and may be of writes {:?}", &read[..8], self.record.of(page));
                fail(self.boots, "a page is not what was acknowledged")
            };
            self.record.set(page, found);
            self.record.compared += 1;
        }
    }

    /// A write, a trim, a sync, or work while there is nothing to do.
    fn request<P: Parts>(&mut self, drive: &mut Drive<P, &mut [u8]>, flash: &mut Model) {
        // Some pages are hot.
        let all = self.config.logical_pages;
        let pages = if self.random.below(3) > 0 { all.min(24) } else { all };
        let page = self.random.below(pages);
        let done = match self.random.below(14) {
            0 => {
                self.record.add(page, 0);
                drive.trim(flash, page, 1)
            }
            1 => {
                let synced = drive.sync(flash);
                self.record.sync();
                synced
            }
            2 => drive.maintain(flash, 4).map(|_| ()),
            _ => {
                self.record.newest += 1;
                let write = self.record.newest;
                let data = &mut self.pages[0][..self.config.chip.data_bytes() as usize];
                fill(data, page, write);
                if cfg!(feature = "acknowledges-too-early") {
                    self.record.set(page, write);
                } else {
                    self.record.add(page, write);
                }
                let written = drive.write(flash, page, data);
                self.record.set(page, write);
                written
            }
        };
        if let Err(error) = done {
            lost(self.boots, page, error);
        }
    }
}

fn lost(boots: u32, page: u32, error: Error) -> ! {
    say!("page {page}: {error:?}");
    fail(boots, "there is an error")
}

fn fail(boots: u32, what: &str) -> ! {
    say!("boot {boots}: {what}");
    semihosting::exit(1)
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    say!("a fault of the processor: {frame:?}");
    semihosting::exit(3)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    say!("{info}");
    semihosting::exit(4)
}
