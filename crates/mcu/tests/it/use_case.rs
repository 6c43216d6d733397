//! Drives without power cuts: what is written reads back, and what it costs.

use crate::chip::{Cut, RamChip, Random, data};
use phelsuma_mcu::{
    Chip, Config, Drive, Error, Flash, Gecko, MetaPlace, Parts, RamTable, Smallest, WRITE_WHEN_MAINTAINED,
};

pub(crate) const SMALL: Chip = Chip { page_bytes: 512, pages_per_block: 16, blocks: 64, meta: MetaPlace::Spare };

/// A drive as large as its chip allows.
pub(crate) fn config<P: Parts>(chip: Chip, dirty_slots: u32) -> Config {
    let config = Config::new(chip, 1, dirty_slots);
    Config { logical_pages: config.most_logical_pages::<P>(), ..config }
}

fn reads_back<P: Parts>(chip: Chip) {
    let config = config::<P>(chip, 64);
    let mut flash = RamChip::new(chip);
    let memory = vec![0xa5; config.memory_bytes::<P>().unwrap()];
    assert!(matches!(Drive::<P, _>::mount(&mut flash, &config, memory.clone()), Err(Error::NotFormatted)));
    let mut drive = Drive::<P, _>::format(&mut flash, &config, memory.clone()).unwrap();
    let mut random = Random(7);
    let mut written = vec![0; config.logical_pages as usize];
    let bytes = chip.data_bytes();
    let mut out = vec![0; bytes as usize];
    for write in 1..20_000 {
        let page = random.below(config.logical_pages);
        if random.below(10) == 0 {
            drive.trim(&mut flash, page, 1).unwrap();
            written[page as usize] = 0;
        } else {
            drive.write(&mut flash, page, &data(bytes, page, write)).unwrap();
            written[page as usize] = write;
        }
        if write % 50 == 0 || write % 997 == 1 {
            let blocks = chip.blocks as usize;
            let checked = drive.check(&mut flash, &mut vec![0; blocks], &mut vec![0; blocks]);
            assert_eq!(checked, Ok(()), "after write {write}: {:?}", drive.info());
        }
        let page = random.below(config.logical_pages);
        drive.read(&mut flash, page, &mut out).unwrap();
        let expected = match written[page as usize] {
            0 => vec![0; bytes as usize],
            write => data(bytes, page, write),
        };
        assert!(out == expected, "page {page} after write {write}");
        if write % 997 == 0 {
            drive.sync(&mut flash).unwrap();
            drive = Drive::mount(&mut flash, &config, memory.clone()).unwrap();
        }
    }
    let tally = drive.info();
    println!("{:?} {config:?}: {tally:?}", P::VALIDITY);
}

#[test]
fn what_is_written_reads_back() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        let chip = Chip { meta, ..SMALL };
        reads_back::<Gecko>(chip);
        reads_back::<Smallest>(chip);
        reads_back::<RamTable>(chip);
    }
}

/// What is on a chip is nobody's to format, unless the chip is blank.
fn not_formatted<P: Parts>() {
    let config = config::<P>(SMALL, 64);
    let memory = vec![0; config.memory_bytes::<P>().unwrap()];
    let mut flash = RamChip::new(SMALL);
    let mounts = |flash: &mut RamChip, config: &Config| {
        let memory = vec![0; config.memory_bytes::<P>().unwrap()];
        Drive::<P, _>::mount(flash, config, memory).map(|_| ())
    };
    assert_eq!(mounts(&mut flash, &config), Err(Error::NotFormatted));
    // A chip that is protected from writes has no bad blocks.
    flash.is_worn_out = true;
    assert!(matches!(Drive::<P, _>::format(&mut flash, &config, memory.clone()), Err(Error::Full)));
    flash.is_worn_out = false;
    assert!((0..SMALL.blocks).all(|block| !flash.is_bad(block)));
    // A format that was cut at its first program may be done once more.
    flash.arm(2, Cut::Torn);
    assert!(Drive::<P, _>::format(&mut flash, &config, memory.clone()).is_err());
    flash.power_on();
    assert_eq!(mounts(&mut flash, &config), Err(Error::NotFormatted));
    let mut drive = Drive::<P, _>::format(&mut flash, &config, memory).unwrap();
    for page in 0..config.logical_pages {
        drive.write(&mut flash, page, &data(512, page, 1)).unwrap();
    }
    // Reads that fail, and metadata looked for in another place.
    flash.is_off = true;
    assert_eq!(mounts(&mut flash, &config), Err(Error::OtherDrive));
    flash.is_off = false;
    let in_page = Config { chip: Chip { meta: MetaPlace::InPage, ..SMALL }, ..config };
    let fewer = Config { logical_pages: config.logical_pages - 1, ..config };
    assert_eq!(mounts(&mut flash, &in_page), Err(Error::OtherDrive));
    assert_eq!(mounts(&mut flash, &fewer), Err(Error::OtherDrive));
    assert_eq!(mounts(&mut flash, &config), Ok(()));
}

#[test]
fn only_a_blank_chip_is_said_to_want_a_format() {
    not_formatted::<Gecko>();
    not_formatted::<Smallest>();
    not_formatted::<RamTable>();
}

#[test]
fn a_configuration_that_cannot_be_is_refused() {
    let chip = SMALL;
    for wrong in [
        Config::new(Chip { page_bytes: 0, ..chip }, 1, 64),
        Config::new(Chip { pages_per_block: 0, ..chip }, 1, 64),
        Config::new(Chip { blocks: u32::MAX, ..chip }, 1, 64),
        Config { window: u32::MAX, ..Config::new(chip, 1, 64) },
        Config { bad_blocks: u32::MAX, ..Config::new(chip, 1, 64) },
        Config::new(chip, 1, 63),
    ] {
        assert_eq!(wrong.most_logical_pages::<Gecko>(), 0, "{wrong:?}");
        assert!(wrong.memory_bytes::<Gecko>().is_err(), "{wrong:?}");
    }
    assert!(Config::new(chip, chip.pages(), 64).memory_bytes::<Gecko>().is_err());
}

/// Flash operations since `before`: all reads, programs, erases.
fn since(flash: &RamChip, before: [u64; 4]) -> [u64; 3] {
    let now = flash.counts();
    let [reads, spare_reads, programs, erases] = [0, 1, 2, 3].map(|n| now[n] - before[n]);
    [reads + spare_reads, programs, erases]
}

/// Writes of every kind, each after idle work to its end.
fn is_bounded<P: Parts>(chip: Chip, dirty_slots: u32, overwrites: u32) {
    let config = Config { window: 4, ..config::<P>(chip, dirty_slots) };
    let mut flash = RamChip::new(chip);
    let mut drive = Drive::<P, _>::format(&mut flash, &config, vec![0; config.memory_bytes::<P>().unwrap()]).unwrap();
    let mut random = Random(11);
    let bytes = chip.data_bytes();
    let most = [WRITE_WHEN_MAINTAINED.reads, WRITE_WHEN_MAINTAINED.programs, WRITE_WHEN_MAINTAINED.erases];
    let (mut longest, mut idle) = ([0; 3], 0);
    for write in 0..config.logical_pages * (overwrites + 1) {
        // Without idle work for a while, so that free blocks run low.
        for _ in 0..if random.below(300) == 0 { random.below(400) } else { 0 } {
            let page = random.below(config.logical_pages);
            drive.write(&mut flash, page, &data(bytes, page, write)).unwrap();
        }
        let mut calls = 0;
        while drive.maintain(&mut flash, 1).unwrap() {
            calls += 1;
            assert!(calls < 10_000, "idle work does not end");
        }
        idle = idle.max(calls);
        let page = match (write / config.logical_pages) % 4 {
            0 => write % config.logical_pages,
            1 | 2 => random.below(config.logical_pages),
            _ => random.below(8),
        };
        let before = flash.counts();
        drive.write(&mut flash, page, &data(bytes, page, write)).unwrap();
        let cost = since(&flash, before);
        assert!((0..3).all(|n| cost[n] <= u64::from(most[n])), "{cost:?} at write {write}");
        longest = [0, 1, 2].map(|n| longest[n].max(cost[n]));
        if write % 100 == 7 {
            drive.trim(&mut flash, random.below(config.logical_pages - 3), 3).unwrap();
        }
    }
    // The bound is met.
    assert_eq!(longest, most.map(u64::from), "at the most {idle} calls before a write");
}

#[test]
fn a_write_after_idle_work_is_bounded() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        for slots in [16, 64] {
            let chip = Chip { meta, ..SMALL };
            is_bounded::<Gecko>(chip, slots, 4);
            is_bounded::<Smallest>(chip, slots, 4);
            is_bounded::<RamTable>(chip, slots, 4);
        }
    }
    is_bounded::<Gecko>(SMALL, 256, 40);
    // Longer than a session, and with more blocks than the buffer of reports has room for.
    is_bounded::<Gecko>(Chip { blocks: 200, ..SMALL }, 64, 60);
}

/// A chip with small pages and many blocks, overwritten until few blocks are free.
fn overwritten<P: Parts>(chip: Chip, writes: u32) -> (RamChip, Config, Drive<P, Vec<u8>>) {
    let config = config::<P>(chip, 1024);
    let mut flash = RamChip::new(chip);
    let memory = vec![0; config.memory_bytes::<P>().unwrap()];
    let mut drive = Drive::<P, _>::format(&mut flash, &config, memory).unwrap();
    let mut random = Random(1);
    for write in 0..writes {
        let page = if write < config.logical_pages { write } else { random.below(config.logical_pages) };
        let done = drive.write(&mut flash, page, &data(512, page, write));
        assert_eq!(done, Ok(()), "write {write}: {:?}", drive.info());
    }
    (flash, config, drive)
}

fn trims_everywhere<P: Parts>(all: bool) {
    let chip = Chip { pages_per_block: 32, blocks: 1024, ..SMALL };
    let (mut flash, config, mut drive) = overwritten::<P>(chip, 45_000);
    for page in (0..config.logical_pages).step_by(128) {
        let pages = if all { 128.min(config.logical_pages - page) } else { 1 };
        drive.trim(&mut flash, page, pages).unwrap();
    }
    drive.sync(&mut flash).unwrap();
    drive.write(&mut flash, 0, &data(512, 0, 1)).unwrap();
}

#[test]
fn trims_of_many_translation_pages_leave_room() {
    for all in [false, true] {
        trims_everywhere::<Gecko>(all);
        trims_everywhere::<Smallest>(all);
        trims_everywhere::<RamTable>(all);
    }
}

#[test]
fn merges_of_all_runs_leave_room() {
    let (_, _, drive) = overwritten::<Gecko>(Chip { blocks: 2048, ..SMALL }, 60_000);
    assert!(!drive.info().read_only);
}

/// What a drive as large as three quarters of a chip costs, under uniform writes.
fn costs<P: Parts>(name: &str, dirty_slots: u32) {
    let chip = Chip::W25N01GV;
    let config = Config::new(chip, chip.pages() / 4 * 3, dirty_slots);
    let most = config.most_logical_pages::<P>();
    println!("most {most} = {}", most as f64 / chip.pages() as f64);
    let config = Config { logical_pages: config.logical_pages.min(most), ..config };
    let mut flash = RamChip::new(chip);
    let memory = vec![0; config.memory_bytes::<P>().unwrap()];
    let mut drive = Drive::<P, _>::format(&mut flash, &config, memory.clone()).unwrap();
    let mut random = Random(3);
    let bytes = chip.data_bytes();
    let page = data(bytes, 1, 1);
    for write in 0..config.logical_pages {
        drive.write(&mut flash, write, &page).unwrap();
    }
    for _ in 0..config.logical_pages * 2 {
        drive.write(&mut flash, random.below(config.logical_pages), &page).unwrap();
    }
    let micros =
        |flash: &RamChip| flash.reads * 64 + flash.spare_reads * 26 + flash.programs * 290 + flash.erases * 2000;
    let (before, tally) = (flash.counts(), drive.info().tally);
    let mut longest = 0;
    let writes = u64::from(config.logical_pages);
    for _ in 0..writes {
        let from = micros(&flash);
        drive.write(&mut flash, random.below(config.logical_pages), &page).unwrap();
        longest = longest.max(micros(&flash) - from);
    }
    let after = flash.counts();
    let each = |n: usize| (after[n] - before[n]) as f64 / writes as f64;
    println!(
        "{name}: {} B RAM; a write: {:.3} programs, {:.2} reads, {:.2} spare reads, {:.4} erases; longest {longest} us",
        memory.len(),
        each(2),
        each(0),
        each(1),
        each(3)
    );
    let now = drive.info().tally;
    let part = |now: u64, before: u64| (now - before) as f64 / writes as f64;
    println!(
        "  moved {:.3}, translation {:.3}, gecko {:.3}, checkpoint {:.3}",
        part(now.moved, tally.moved),
        part(now.translation, tally.translation),
        part(now.gecko, tally.gecko),
        part(now.checkpoint, tally.checkpoint)
    );
    let before = flash.counts();
    let mut out = vec![0; bytes as usize];
    for _ in 0..10_000 {
        drive.read(&mut flash, random.below(config.logical_pages), &mut out).unwrap();
    }
    println!("  reads a read: {:.3}", (flash.counts()[0] - before[0]) as f64 / 10_000.0);
    let (from, before) = (micros(&flash), flash.counts());
    let after = Drive::<P, _>::mount(&mut flash, &config, memory).unwrap();
    let counts = flash.counts();
    println!(
        "  mount: {} us: {:?} {:?}",
        micros(&flash) - from,
        [0, 1, 2, 3].map(|n| counts[n] - before[n]),
        after.info().tally
    );
}

#[test]
#[ignore = "a measurement"]
fn what_a_drive_costs() {
    costs::<Gecko>("gecko, 1,024 slots", 1024);
    costs::<Gecko>("gecko, 512 slots", 512);
    costs::<Smallest>("smallest, 256 slots", 256);
    costs::<Smallest>("smallest, 512 slots", 512);
}
