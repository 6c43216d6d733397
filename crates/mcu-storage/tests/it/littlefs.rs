//! littlefs on a disk: what was synchronized survives a power cut at any operation.

use crate::chip::RamChip;
use crate::ground::{Made, SMALL, armed, config, cuts, flash_of, format, mount, operations};
use littlefs2::consts::{U4, U512};
use littlefs2::fs::Filesystem;
use littlefs2::io::{self, Error};
use littlefs2::path::PathBuf;
use phelsuma_mcu_storage::{LittleFs, Shape};
use std::collections::BTreeMap;

struct Half;

/// 192 KiB of the chip of 512 KiB.
impl Shape for Half {
    const PAGE_BYTES: usize = 512;
    const BLOCK_BYTES: usize = 2048;
    const BLOCKS: usize = 96;
    type CacheBytes = U512;
    type LookaheadWords = U4;
}

type Storage = LittleFs<Made, Half>;

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

/// One call, which littlefs makes durable before it returns.
#[derive(Clone, Debug)]
enum Step {
    Write(&'static str, usize),
    Rename(&'static str, &'static str),
    Remove(&'static str),
}

const SCRIPT: [Step; 14] = [
    Step::Write("log", 100),
    Step::Write("image", 5_000),
    Step::Write("log", 900),
    Step::Write("new", 3_000),
    Step::Rename("new", "image"),
    Step::Write("table", 7_000),
    Step::Write("log", 2_500),
    Step::Remove("table"),
    Step::Write("table", 300),
    Step::Write("new", 6_000),
    Step::Rename("new", "image"),
    Step::Write("log", 50),
    Step::Remove("image"),
    Step::Write("last", 4_000),
];

/// The script three times over, with other lengths each time.
fn script() -> Vec<Step> {
    let again = |round: usize| {
        SCRIPT.into_iter().map(move |step| match step {
            Step::Write(name, bytes) => Step::Write(name, bytes + 13 * round),
            step => step,
        })
    };
    (0..3).flat_map(again).collect()
}

fn path(name: &str) -> PathBuf {
    PathBuf::try_from(name).unwrap()
}

/// What a file is given: other bytes at each length.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 7 + bytes) as u8).collect()
}

impl Step {
    fn run(&self, fs: &Filesystem<'_, Storage>) -> io::Result<()> {
        match *self {
            Step::Write(name, bytes) => fs.write(&path(name), &content(bytes)),
            Step::Rename(from, to) => fs.rename(&path(from), &path(to)),
            Step::Remove(name) => fs.remove(&path(name)),
        }
    }

    fn on(&self, files: &Files) -> Files {
        let mut files = files.clone();
        match *self {
            Step::Write(name, bytes) => drop(files.insert(name.to_string(), content(bytes))),
            Step::Rename(from, to) => {
                let content = files.remove(from).unwrap();
                files.insert(to.to_string(), content);
            }
            Step::Remove(name) => drop(files.remove(name)),
        }
        files
    }

    /// What a cut in the midst may leave: all, nothing, or a new file without content.
    fn possible(&self, files: &Files) -> Vec<Files> {
        let mut possible = vec![files.clone(), self.on(files)];
        if let Step::Write(name, _) = *self
            && !files.contains_key(name)
        {
            let mut empty = files.clone();
            empty.insert(name.to_string(), Vec::new());
            possible.push(empty);
        }
        possible
    }
}

fn read_all(fs: &Filesystem<'_, Storage>) -> Files {
    let mut files = Files::new();
    fs.read_dir_and_then(&path("/"), |entries| {
        for entry in entries {
            let entry = entry?;
            if entry.file_type().is_file() {
                let content = fs.read::<8192>(entry.path())?;
                files.insert(entry.file_name().to_string(), content.to_vec());
            }
        }
        Ok(())
    })
    .unwrap();
    files
}

/// The script until a step fails: how many were done.
fn run(storage: &mut Storage) -> usize {
    let script = script();
    let done = Filesystem::mount_and_then(storage, |fs| {
        Ok(script.iter().position(|step| step.run(fs).is_err()).unwrap_or(script.len()))
    });
    // The power may fail in the mount.
    done.unwrap_or(0)
}

/// A formatted chip, overwritten until the FTL collects.
fn formatted(config: &phelsuma_mcu::Config) -> (RamChip, Files) {
    let mut storage = Storage::new(format(config)).unwrap();
    Filesystem::format(&mut storage).unwrap();
    let mut files = Files::new();
    for round in 0..80 {
        for name in ["old", "older"] {
            let step = Step::Write(name, 7_000 - round % 7 * 100);
            Filesystem::mount_and_then(&mut storage, |fs| step.run(fs)).unwrap();
            files = step.on(&files);
        }
    }
    let flash = flash_of(storage.into_inner());
    assert!(flash.erases > 2 * u64::from(config.chip.blocks), "{} erases", flash.erases);
    (flash, files)
}

#[test]
fn what_was_synchronized_is_there_after_a_power_cut_anywhere() {
    let config = config(SMALL, 384);
    let (flash, before) = formatted(&config);
    let mut whole = Storage::new(armed(&flash, &config, u64::MAX, crate::chip::Cut::Done)).unwrap();
    let script = script();
    assert_eq!(run(&mut whole), script.len());
    // Of the copy that `armed` makes, and so of the mount.
    let mounted = operations(&flash_of(mount(flash.clone(), &config)));
    let all = operations(&flash_of(whole.into_inner())) - mounted;
    let mut tried = 0;
    for (left, cut) in cuts(all, 40) {
        let mut storage = Storage::new(armed(&flash, &config, left, cut)).unwrap();
        let done = run(&mut storage);
        let files = script[..done].iter().fold(before.clone(), |files, step| step.on(&files));
        let possible = script.get(done).map_or(vec![files.clone()], |step| step.possible(&files));
        let mut storage = Storage::new(mount(flash_of(storage.into_inner()), &config)).unwrap();
        let what = format!("{cut:?} in {left}, in step {done}");
        let found = Filesystem::mount_and_then(&mut storage, |fs| Ok(read_all(fs))).expect(&what);
        assert!(possible.contains(&found), "{what}: {:?}", found.iter().map(|(n, c)| (n, c.len())).collect::<Vec<_>>());
        // It goes on from there.
        let next = Step::Write("after", 6_000);
        let after = Filesystem::mount_and_then(&mut storage, |fs| next.run(fs).map(|()| read_all(fs))).expect(&what);
        assert!(after == next.on(&found), "{what}");
        tried += 1;
    }
    println!("{all} programs and erases, {tried} power cuts");
}

struct TooLarge;

impl Shape for TooLarge {
    const BLOCKS: usize = 97;
    const PAGE_BYTES: usize = Half::PAGE_BYTES;
    const BLOCK_BYTES: usize = Half::BLOCK_BYTES;
    type CacheBytes = U512;
    type LookaheadWords = U4;
}

struct OtherPage;

impl Shape for OtherPage {
    const PAGE_BYTES: usize = 256;
    const BLOCK_BYTES: usize = Half::BLOCK_BYTES;
    const BLOCKS: usize = Half::BLOCKS;
    type CacheBytes = U512;
    type LookaheadWords = U4;
}

#[test]
fn a_shape_that_is_not_the_drives_is_refused() {
    let shape = phelsuma_mcu_storage::Error::Shape;
    let config = config(SMALL, 384);
    assert_eq!(LittleFs::<_, TooLarge>::new(format(&config)).err(), Some(shape));
    assert_eq!(LittleFs::<_, OtherPage>::new(format(&config)).err(), Some(shape));
}

#[test]
fn errors_have_the_kinds_that_littlefs_acts_on() {
    use littlefs2::driver::Storage as _;
    let config = config(SMALL, 384);
    let mut storage = Storage::new(format(&config)).unwrap();
    assert_eq!(storage.read(192 * 1024, &mut [0; 512]), Err(Error::INVALID));
    assert_eq!(storage.write(192 * 1024 - 512, &[0; 1024]), Err(Error::INVALID));
    assert_eq!(storage.erase(192 * 1024, 2048), Err(Error::INVALID));
    storage.write(0, &[3; 512]).unwrap();
    let (drive, mut flash, buffer) = storage.into_inner().into_parts();
    flash.is_off = true;
    let mut storage = Storage::new(phelsuma_mcu_storage::Disk::new(drive, flash, buffer).unwrap()).unwrap();
    assert_eq!(storage.read(0, &mut [0; 512]), Err(Error::CORRUPTION));
    assert_eq!(storage.write(0, &[0; 512]), Err(Error::IO));
}
