//! Images as files: a line says what is wrong with one, two processes never work on one, and a view changes nothing.

use phelsuma_ftl::{Config, Hint, HostData, Preset, WriteRequest};
use phelsuma_nand::{Geometry, LogicalPage, Time};
use phelsuma_serve::image::{CreateOptions, Durability, ImageError, ImageFile, ImageNand};
use std::path::{Path, PathBuf};

fn fresh(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn made(path: &Path) -> Config {
    let geometry = Geometry::new(512, 8, 48, 1, 1).unwrap();
    let config = Config::new("page", Preset::named("page").unwrap().composition, 150, 1);
    let mut nand = ImageNand::create(path, &geometry, &config, &CreateOptions::default()).unwrap();
    let (mut ftl, _) = nand.format().unwrap();
    ftl.close(&mut nand, Time::ZERO).unwrap();
    ImageFile::sync_with_name(path).unwrap();
    nand.close().unwrap();
    config
}

fn write(nand: &mut ImageNand, config: &Config, tag: u64) {
    let (mut ftl, _) = nand.recover().unwrap();
    for page in 0..config.logical_pages {
        let request =
            WriteRequest { first: LogicalPage(page), pages: 1, data: HostData::Hollow(tag), hint: Hint::None };
        ftl.write(nand, &request, Time::ZERO).unwrap();
    }
    ftl.flush(nand, Time::ZERO).unwrap();
    nand.sync().unwrap();
}

#[test]
fn nobody_else_works_on_an_image_that_is_open_and_a_file_that_is_there_is_not_made_again() {
    let path = fresh("locked.img");
    let config = made(&path);
    let nand = ImageNand::open(&path, Durability::Flush).unwrap();
    assert!(matches!(ImageNand::open(&path, Durability::Flush), Err(ImageError::Locked)));
    assert!(matches!(ImageNand::view(&path), Err(ImageError::Locked)));
    drop(nand);
    let views = [0, 1].map(|_| ImageNand::view(&path).unwrap());
    assert!(matches!(ImageNand::open(&path, Durability::Flush), Err(ImageError::Locked)));
    drop(views);
    ImageNand::open(&path, Durability::Flush).unwrap();
    let geometry = Geometry::new(512, 8, 48, 1, 1).unwrap();
    let again = ImageNand::create(&path, &geometry, &config, &CreateOptions::default());
    assert!(matches!(again, Err(ImageError::Exists)));
}

#[test]
fn a_view_changes_nothing_whatever_is_done_to_it() {
    let path = fresh("viewed.img");
    let config = made(&path);
    let mut nand = ImageNand::open(&path, Durability::Flush).unwrap();
    write(&mut nand, &config, 7);
    // Not closed: the view has something to undo, and recovers.
    drop(nand);
    let before = std::fs::read(&path).unwrap();
    let mut view = ImageNand::view(&path).unwrap();
    assert!(view.rolled_back().is_some());
    let (mut ftl, _) = view.recover().unwrap();
    let request = WriteRequest { first: LogicalPage(3), pages: 1, data: HostData::Hollow(9), hint: Hint::None };
    ftl.write(&mut view, &request, Time::ZERO).unwrap();
    assert_eq!(ftl.check(&mut view), []);
    view.sync().unwrap();
    view.close().unwrap();
    assert!(std::fs::read(&path).unwrap() == before, "the file has changed");
}

#[test]
fn what_a_process_has_written_is_there_without_a_close_and_without_an_fdatasync() {
    let path = fresh("process.img");
    let config = made(&path);
    let mut nand = ImageNand::open(&path, Durability::Process).unwrap();
    (1..6).for_each(|tag| write(&mut nand, &config, tag));
    assert_eq!(nand.file_counts().syncs, 0);
    drop(nand);
    let mut nand = ImageNand::open(&path, Durability::Flush).unwrap();
    assert!(nand.rolled_back().unwrap().undone == 0);
    let (mut ftl, _) = nand.recover().unwrap();
    let mut right = 0;
    let mut sink = |_: LogicalPage, data: phelsuma_ftl::HostPage<'_>| {
        let tag = phelsuma_nand::Content::Hollow(5);
        right += u32::from(data == phelsuma_ftl::HostPage::Data(tag));
    };
    ftl.read(&mut nand, LogicalPage(0), config.logical_pages, phelsuma_nand::Purpose::Host, Time::ZERO, &mut sink)
        .unwrap();
    assert_eq!(right, config.logical_pages);
}

#[test]
fn what_is_wrong_with_a_file_is_said_in_a_line() {
    let path = fresh("wrong.img");
    made(&path);
    let good = std::fs::read(&path).unwrap();
    let said = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match ImageNand::open(&path, Durability::Flush) {
            Ok(_) => panic!("it was opened"),
            Err(error) => {
                let line = error.to_string();
                assert!(!line.contains('\n') && !line.is_empty());
                line
            }
        }
    };
    assert_eq!(said(b""), "this is not a drive image; `phelsuma create` makes one");
    assert_eq!(said(&vec![0; good.len()]), "this is not a drive image; `phelsuma create` makes one");
    assert!(said(&good[..good.len() - 1]).contains("truncated"));
    assert!(said(&good[..20_000]).contains("truncated"));
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = good.clone();
        changes.iter().for_each(|(at, value)| bytes[*at] = *value);
        bytes
    };
    assert!(said(&with(&[(8, 9), (4096 + 8, 9)])).contains("the image has format 9"));
    assert!(said(&with(&[(100, 9), (4096 + 100, 9)])).contains("neither copy"));
    // The record of a slot, in an image that was closed cleanly: the first area behind the marks of bad blocks.
    let record = 8192 + 4096 + 9 * 64;
    assert!(said(&with(&[(record + 5, good[record + 5] ^ 1)])).contains("damaged: the record of slot 9"));
    assert!(matches!(ImageNand::open(Path::new("/dev/null"), Durability::Flush), Err(ImageError::NotAnImage)));
    assert!(matches!(ImageNand::open(Path::new("/nonexistent"), Durability::Flush), Err(ImageError::Io { .. })));
}

#[test]
fn data_that_have_gone_bad_in_the_file_are_found() {
    let path = fresh("decayed.img");
    let config = made(&path);
    let mut nand = ImageNand::open(&path, Durability::Flush).unwrap();
    write(&mut nand, &config, 0x0101_0101);
    nand.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // A byte of the first page of every slot; those that are programmed are noticed.
    let (slot, slots) = (8 * 512, 48 + 8);
    let data = bytes.len() - slots * slot;
    (0..slots).for_each(|n| bytes[data + n * slot + 33] ^= 4);
    std::fs::write(&path, &bytes).unwrap();
    let mut view = ImageNand::view(&path).unwrap();
    let mut lines = Vec::new();
    view.damage(|line| lines.push(line));
    assert!((10..=48).contains(&lines.len()), "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with("do not fit the checksum in its record")), "{lines:?}");
}
