//! FAT on a disk: blocks whose write returned are there after a power cut, and the volume mounts.
//!
//! FAT promises no more: a cut in the midst of a file's change may leave its entry and its chain at odds.

use crate::chip::{Cut, RamChip, Random};
use crate::fat16;
use crate::ground::{Made, SMALL, armed, config, cuts, flash_of, format, mount, operations};
use embedded_sdmmc::{Block, BlockCount, BlockDevice, BlockIdx, Mode, TimeSource, Timestamp, VolumeIdx, VolumeManager};
use phelsuma_mcu::{Chip, Config, MetaPlace};
use phelsuma_mcu_storage::{Disk, Error, Fat};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Four blocks a page, or three where metadata stand in it.
const LARGE: Chip = Chip { page_bytes: 2048, pages_per_block: 16, blocks: 200, meta: MetaPlace::Spare };

fn large(meta: MetaPlace) -> Config {
    let chip = Chip { meta, ..LARGE };
    config(chip, fat16::BLOCKS.div_ceil(chip.data_bytes() / 512))
}

/// Remembers what was written: blocks whose write has returned, and those of the write that has not.
struct Watched {
    fat: Fat<Made>,
    returned: RefCell<BTreeMap<u32, [u8; 512]>>,
    in_flight: RefCell<BTreeMap<u32, [u8; 512]>>,
}

impl Watched {
    fn new(disk: Made, returned: &BTreeMap<u32, [u8; 512]>) -> Self {
        Self { fat: Fat::new(disk).unwrap(), returned: RefCell::new(returned.clone()), in_flight: RefCell::default() }
    }
}

impl BlockDevice for Watched {
    type Error = Error;

    fn read(&self, blocks: &mut [Block], start: BlockIdx) -> Result<(), Error> {
        self.fat.read(blocks, start)
    }

    fn write(&self, blocks: &[Block], start: BlockIdx) -> Result<(), Error> {
        let numbered = || blocks.iter().zip(start.0..).map(|(block, number)| (number, block.contents));
        let done = self.fat.write(blocks, start);
        match done {
            Ok(()) => self.returned.borrow_mut().extend(numbered()),
            // The first that fails is the one that was cut: what comes later meets a dead chip.
            Err(_) if self.in_flight.borrow().is_empty() => self.in_flight.borrow_mut().extend(numbered()),
            Err(_) => {}
        }
        done
    }

    fn num_blocks(&self) -> Result<BlockCount, Error> {
        self.fat.num_blocks()
    }
}

struct NoClock;

impl TimeSource for NoClock {
    fn get_timestamp(&self) -> Timestamp {
        Timestamp::from_fat(0, 0)
    }
}

/// What a file is given: other bytes at each length.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 7 + bytes) as u8).collect()
}

const FILES: [(&str, usize); 6] = [
    ("ONE.BIN", 700),
    ("TWO.BIN", 3_000),
    ("THREE.BIN", 10),
    ("FOUR.BIN", 6_100),
    ("FIVE.BIN", 2_048),
    ("SIX.BIN", 900),
];

/// Files that were written and closed, until a call fails.
fn run(manager: &VolumeManager<Watched, NoClock>) -> usize {
    let done = Cell::new(0);
    let _ = (|| -> Result<(), embedded_sdmmc::Error<Error>> {
        let volume = manager.open_volume(VolumeIdx(0))?;
        let root = volume.open_root_dir()?;
        for (name, bytes) in FILES {
            let file = root.open_file_in_dir(name, Mode::ReadWriteCreate)?;
            // In two parts, so that blocks are written in part.
            let content = content(bytes);
            let (first, rest) = content.split_at(bytes / 3);
            file.write(first)?;
            file.flush()?;
            file.write(rest)?;
            file.close()?;
            done.set(done.get() + 1);
        }
        Ok(())
    })();
    done.get()
}

fn read_file(manager: &VolumeManager<Fat<Made>, NoClock>, name: &str) -> Vec<u8> {
    let volume = manager.open_volume(VolumeIdx(0)).unwrap();
    let root = volume.open_root_dir().unwrap();
    let file = root.open_file_in_dir(name, Mode::ReadOnly).unwrap();
    let mut out = vec![0; file.length() as usize];
    let mut at = 0;
    while !file.is_eof() {
        at += file.read(&mut out[at..]).unwrap();
    }
    out
}

/// A formatted chip, overwritten until the FTL collects, and its blocks.
fn formatted(config: &Config) -> (RamChip, BTreeMap<u32, [u8; 512]>) {
    let watched = Watched::new(format(config), &BTreeMap::new());
    let mut random = Random(21);
    for write in 0..9_000 {
        let first = random.below(fat16::BLOCKS - 3);
        let blocks: Vec<Block> = (0..1 + random.below(4)).map(|_| Block { contents: [write as u8; 512] }).collect();
        watched.write(&blocks, BlockIdx(first)).unwrap();
    }
    fat16::format(&watched);
    let flash = flash_of(watched.fat.into_inner());
    assert!(flash.erases > 2 * u64::from(config.chip.blocks), "{} erases", flash.erases);
    (flash, watched.returned.into_inner())
}

fn cut_everywhere(meta: MetaPlace) {
    let config = large(meta);
    let (flash, before) = formatted(&config);
    let start =
        |left, cut| VolumeManager::<_, _>::new(Watched::new(armed(&flash, &config, left, cut), &before), NoClock);
    let manager = start(u64::MAX, Cut::Done);
    assert_eq!(run(&manager), FILES.len());
    let mounted = operations(&flash_of(mount(flash.clone(), &config)));
    let all = operations(&flash_of(manager.free().0.fat.into_inner())) - mounted;
    let mut tried = 0;
    for (left, cut) in cuts(all, 16) {
        let manager = start(left, cut);
        let closed = run(&manager);
        let (Watched { fat, returned, in_flight }, _) = manager.free();
        let (returned, in_flight) = (returned.into_inner(), in_flight.into_inner());
        let what = format!("{cut:?} in {left}, {closed} files closed");
        let fat = Fat::new(mount(flash_of(fat.into_inner()), &config)).unwrap();
        for (number, expected) in &returned {
            let mut found = [Block::new()];
            fat.read(&mut found, BlockIdx(*number)).unwrap();
            let is_new = in_flight.get(number) == Some(&found[0].contents);
            assert!(found[0].contents == *expected || is_new, "{what}: block {number}");
        }
        let manager = VolumeManager::<_, _>::new(fat, NoClock);
        for (name, bytes) in &FILES[..closed] {
            assert!(read_file(&manager, name) == content(*bytes), "{what}: {name}");
        }
        tried += 1;
    }
    println!("{meta:?}: {all} programs and erases, {tried} power cuts");
}

#[test]
fn blocks_whose_write_returned_are_there_after_a_power_cut_anywhere() {
    cut_everywhere(MetaPlace::Spare);
    cut_everywhere(MetaPlace::InPage);
}

#[test]
fn blocks_of_one_page_are_one_program() {
    let config = large(MetaPlace::Spare);
    let fat = Fat::new(format(&config)).unwrap();
    let blocks: Vec<Block> = (0..12).map(|n| Block { contents: [n; 512] }).collect();
    let (fat, [reads, _, programs, _]) = counted(fat);
    // Two whole pages, and a block of a third.
    fat.write(&blocks[..9], BlockIdx(4)).unwrap();
    let (fat, [reads_after, _, programs_after, _]) = counted(fat);
    assert_eq!(programs_after - programs, 3);
    // The third page was never written: it is not on flash.
    assert_eq!(reads_after - reads, 0);
    fat.write(&blocks[..8], BlockIdx(4)).unwrap();
    let (fat, [reads, _, programs, _]) = counted(fat);
    // A whole page is not read before it is written, and the data of a page are read once.
    assert_eq!((reads - reads_after, programs - programs_after), (0, 2));
    fat.write(&blocks[9..], BlockIdx(2)).unwrap();
    let mut out = vec![Block::new(); 12];
    fat.read(&mut out, BlockIdx(2)).unwrap();
    let first_bytes: Vec<u8> = out.iter().map(|block| block.contents[0]).collect();
    assert_eq!(first_bytes, [9, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
}

fn counted(fat: Fat<Made>) -> (Fat<Made>, [u64; 4]) {
    let (drive, flash, buffer) = fat.into_inner().into_parts();
    let counts = flash.counts();
    (Fat::new(Disk::new(drive, flash, buffer).unwrap()).unwrap(), counts)
}

#[test]
fn what_is_not_on_the_device_is_refused_and_nothing_of_it_done() {
    let config = large(MetaPlace::InPage);
    let fat = Fat::new(format(&config)).unwrap();
    let BlockCount(end) = fat.num_blocks().unwrap();
    assert_eq!(end, 3 * config.logical_pages);
    let blocks = [Block { contents: [1; 512] }, Block::new()];
    assert_eq!(fat.write(&blocks, BlockIdx(end - 1)), Err(Error::OutOfRange));
    assert_eq!(fat.write(&blocks, BlockIdx(u32::MAX)), Err(Error::OutOfRange));
    let mut out = [Block { contents: [1; 512] }];
    fat.read(&mut out, BlockIdx(end - 1)).unwrap();
    assert_eq!(out[0].contents, [0; 512]);
    assert_eq!(fat.read(&mut out, BlockIdx(end)), Err(Error::OutOfRange));
    // 496 bytes a page.
    let tiny = self::config(Chip { meta: MetaPlace::InPage, ..SMALL }, 60);
    assert!(matches!(Fat::new(format(&tiny)), Err(Error::Shape)));
}
