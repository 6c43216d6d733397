//! Which bytes are mapped, by every kind of FTL: what a read would find without data, for what a read costs without data.

use crate::common::{Model, PAGE, device, drive, mapped, pattern};
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{FlashStats, Geometry, Purpose, TIMINGS, Time};
use phelsuma_serve::device::{Device, Extent, Flash, MemoryDrive, MemoryFlash, Open};

const FTLS: [&str; 11] =
    ["page", "dftl", "dftl-page", "lazyftl", "ib-ftl", "geckoftl", "mu-ftl", "block", "bast", "fast", "superblock"];

fn done(device: &mut Device<MemoryFlash>) -> FlashStats {
    device.flash().stats()
}

fn answer(device: &mut Device<MemoryFlash>, offset: u64, length: u64, only_first: bool) -> Vec<Extent> {
    let mut extents = Vec::new();
    device.extents(offset, length, only_first, Time::ZERO, &mut |extent| extents.push(extent)).unwrap();
    extents
}

/// A drive with four channels and large pages where the FTL takes them, small ones elsewhere.
fn made(ftl: &str) -> MemoryDrive {
    match ftl {
        "mu-ftl" | "ftl-mm:fast" | "last++" => {
            let geometry = Geometry::new(PAGE as u32, 32, 512, 2, 1).unwrap();
            let composition = Preset::named(ftl).unwrap().composition;
            MemoryDrive { geometry, timing: TIMINGS[0].2, config: Config::new(ftl, composition, 1000, 1) }
        }
        _ => drive(ftl),
    }
}

/// Does to the device and to the model the same.
fn write(device: &mut Device<MemoryFlash>, model: &mut Model, offset: usize, length: usize) {
    let data = pattern(5, offset, length);
    device.write(offset as u64, &data, false, Time::ZERO).unwrap();
    model.write(offset, &data);
}

#[test]
fn what_was_written_is_mapped_and_what_was_trimmed_is_not_under_every_ftl_and_after_a_cut() {
    for ftl in FTLS.into_iter().chain(["last++", "ftl-mm:fast"]) {
        let drive = made(ftl);
        let mut device = device(&drive);
        let size = device.size_bytes();
        let mut model = Model::new(size);
        let whole = [Extent { offset: 0, length: size, is_mapped: false }];
        assert_eq!(answer(&mut device, 0, size, false), whole, "{ftl}: a fresh drive");

        write(&mut device, &mut model, 10 * PAGE + 100, 5 * PAGE);
        write(&mut device, &mut model, 400 * PAGE, 200 * PAGE);
        write(&mut device, &mut model, 999 * PAGE + 7, 1);
        assert_eq!(mapped(&mut device), model.mapped, "{ftl}: after writes");

        for (offset, length) in [(10 * PAGE, 2 * PAGE), (450 * PAGE + 1, 100 * PAGE), (700 * PAGE, 10 * PAGE)] {
            device.trim(offset as u64, length as u64, false, Time::ZERO).unwrap();
            model.trim(offset, length);
        }
        assert_eq!(mapped(&mut device), model.mapped, "{ftl}: after trims");
        // Whole pages are trimmed, and parts of pages are written.
        for (offset, length, may_trim) in [(500 * PAGE + 9, 60 * PAGE, true), (20 * PAGE, 3 * PAGE, false)] {
            device.write_zeroes(offset as u64, length as u64, may_trim, false, false, Time::ZERO).unwrap();
            model.zero(offset, length, may_trim);
        }
        assert_eq!(mapped(&mut device), model.mapped, "{ftl}: after zeroes");

        device.flush(Time::ZERO).unwrap();
        model.flush();
        device.cut_now(Time::ZERO);
        let mut device = Device::new(drive.power_on(device.into_flash()).unwrap());
        assert_eq!(mapped(&mut device), model.mapped, "{ftl}: after a cut");
        let mut found = vec![1; size as usize];
        device.read(0, &mut found, Time::ZERO).unwrap();
        assert!(found == model.bytes, "{ftl}: what is there after the cut is something else");
    }
}

#[test]
fn ranges_that_are_parts_of_pages_and_the_first_extent_alone_are_answered_for() {
    let mut device = device(&drive("page"));
    let page = PAGE as u64;
    device.write(3 * page, &vec![1; 2 * PAGE], false, Time::ZERO).unwrap();
    let extent = |offset, length, is_mapped| Extent { offset, length, is_mapped };
    assert_eq!(
        answer(&mut device, page + 5, 5 * page, false),
        [extent(page + 5, 2 * page - 5, false), extent(3 * page, 2 * page, true), extent(5 * page, page + 5, false)]
    );
    assert_eq!(answer(&mut device, 4 * page + 1, 7, false), [extent(4 * page + 1, 7, true)]);
    assert_eq!(answer(&mut device, 9, 0, false), []);
    // It is looked no further than it takes.
    let first = answer(&mut device, 0, 900 * page, true);
    assert_eq!(first[0], extent(0, 3 * page, false));
    let told: u64 = first.iter().map(|extent| extent.length).sum();
    assert!(told <= 64 * page, "{first:?}");
    assert!(device.extents(999 * page, page + 1, false, Time::ZERO, &mut |_| {}).is_err(), "past the end");
}

#[test]
fn no_data_are_read_for_it_and_translation_pages_are_as_for_a_read() {
    for ftl in FTLS.into_iter().filter(|ftl| !["block", "bast", "fast"].contains(ftl)) {
        let mut device = device(&made(ftl));
        let size = device.size_bytes() as usize;
        device.write(0, &pattern(1, 0, size), false, Time::ZERO).unwrap();
        let mut read = device.flash().stats();
        let before = read;
        mapped(&mut device);
        let looked_up = done(&mut device).since(&before);
        read = done(&mut device);
        device.read(0, &mut vec![0; size], Time::ZERO).unwrap();
        let read = done(&mut device).since(&read);
        assert_eq!(looked_up.of(Purpose::Host).reads, 0, "{ftl}: data were read");
        assert_eq!(read.of(Purpose::Host).reads, 1000, "{ftl}");
        let of_map = |stats: &FlashStats| stats.total().reads - stats.of(Purpose::Host).reads;
        let (looked_up, read) = (of_map(&looked_up), of_map(&read));
        if ["page", "superblock"].contains(&ftl) {
            continue;
        }
        // Had it come from an oracle, it would be for nothing.
        assert!(looked_up > 0 && looked_up.abs_diff(read) <= read / 4, "{ftl}: {looked_up} of {read}");
    }
}

#[test]
fn one_answer_is_for_so_many_pages_however_large_the_drive() {
    let geometry = Geometry::new(PAGE as u32, 32, 1024, 1, 1).unwrap();
    let composition = Preset::named("page").unwrap().composition;
    let config = Config::new("page", composition, 20_000, 1);
    let mut device = device(&MemoryDrive { geometry, timing: TIMINGS[0].2, config });
    let size = device.size_bytes();
    let answered = [Extent { offset: 0, length: 8192 * PAGE as u64, is_mapped: false }];
    assert_eq!(answer(&mut device, 0, size, false), answered);
    device.write(19_999 * PAGE as u64, &[1], false, Time::ZERO).unwrap();
    assert_eq!(mapped(&mut device).into_iter().collect::<Vec<_>>(), [19_999], "the rest is asked for");
}
