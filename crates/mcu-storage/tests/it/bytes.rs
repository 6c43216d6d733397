//! A disk read and written at any byte.

use crate::chip::Random;
use crate::ground::{SMALL, armed, config, cuts, flash_of, format, mount};
use embedded_storage::{ReadStorage, Storage};
use phelsuma_mcu::{Chip, Config, MetaPlace};
use phelsuma_mcu_storage::{Disk, Error};
use std::ops::Range;

/// A write of any length at any place, often of whole pages, and the same in memory. Where it was.
fn write_some<S: Storage<Error = Error>>(
    disk: &mut S,
    model: &mut [u8],
    random: &mut Random,
    page_bytes: u32,
) -> Range<usize> {
    let (mut at, mut bytes) = (random.below(model.len() as u32), random.below(1_400));
    if random.below(2) == 0 {
        (at, bytes) = (at - at % page_bytes, page_bytes * (1 + random.below(2)));
    }
    let bytes = bytes.min(model.len() as u32 - at);
    let data: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    disk.write(at, &data).unwrap();
    let range = at as usize..at as usize + data.len();
    model[range.clone()].copy_from_slice(&data);
    range
}

fn read_all<S: ReadStorage<Error = Error>>(disk: &mut S, random: &mut Random) -> Vec<u8> {
    let mut out = vec![0xa5; disk.capacity()];
    let mut at = 0;
    while at < out.len() {
        let bytes = (1 + random.below(1700) as usize).min(out.len() - at);
        disk.read(at as u32, &mut out[at..][..bytes]).unwrap();
        at += bytes;
    }
    out
}

#[test]
fn any_range_of_bytes_reads_back() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        let config = config(Chip { meta, ..SMALL }, 300);
        let mut disk = format(&config);
        let mut random = Random(3);
        let mut model = vec![0; disk.capacity()];
        assert_eq!(model.len(), 300 * config.chip.data_bytes() as usize);
        for round in 0..3_000 {
            let page_bytes = disk.page_bytes();
            let written = write_some(&mut disk, &mut model, &mut random, page_bytes);
            if random.below(4) == 0 {
                let first = written.start as u32 / page_bytes;
                disk.trim(first, 1).unwrap();
                model.chunks_mut(page_bytes as usize).nth(first as usize).unwrap().fill(0);
            }
            // A piece of a page that was written just now, or trimmed.
            let at = if random.below(2) == 0 { written.start } else { written.end.saturating_sub(30) };
            let mut piece = vec![0; 30.min(model.len() - at)];
            Disk::read(&mut disk, at as u64, &mut piece).unwrap();
            assert!(piece == model[at..][..piece.len()], "{meta:?}, round {round}");
            if round % 500 == 499 {
                assert!(read_all(&mut disk, &mut random) == model, "{meta:?}, round {round}");
                disk.sync().unwrap();
                disk = mount(flash_of(disk), &config);
            }
        }
    }
}

#[test]
fn a_write_that_returned_is_there_after_a_power_cut_with_the_bytes_beside_it() {
    let config = config(SMALL, 40);
    let mut disk = format(&config);
    let bytes = disk.bytes() as usize;
    let mut before = vec![0; bytes];
    let mut random = Random(5);
    for _ in 0..100 {
        write_some(&mut disk, &mut before, &mut random, 512);
    }
    let flash = flash_of(disk);
    for (left, cut) in cuts(120, 20) {
        let mut disk = armed(&flash, &config, left, cut);
        let mut random = Random(left);
        let mut model = before.clone();
        let mut cut_short = None;
        // A disk that programs nothing never fails.
        for _ in 0..1_000 {
            let at = random.below(bytes as u32 - 900);
            let data: Vec<u8> = (0..1 + random.below(900)).map(|_| random.below(256) as u8).collect();
            if Disk::write(&mut disk, at.into(), &data).is_err() {
                cut_short = Some((at as usize, data));
                break;
            }
            model[at as usize..][..data.len()].copy_from_slice(&data);
        }
        let (at, data) = cut_short.expect("the power fails");
        let mut disk = mount(flash_of(disk), &config);
        let found = read_all(&mut disk, &mut random);
        // Of the write that was cut, each page is old or new.
        let mut new = model.clone();
        new[at..][..data.len()].copy_from_slice(&data);
        for ((found, old), new) in found.chunks(512).zip(model.chunks(512)).zip(new.chunks(512)) {
            assert!(found == old || found == new, "{cut:?} in {left}");
        }
    }
}

#[test]
fn a_piece_of_a_page_costs_one_program_and_the_next_piece_no_read() {
    let mut disk = format(&config(SMALL, 300));
    disk.write(0, &[1; 2048]).unwrap();
    let reads_and_programs = |disk: Disk<_, _, crate::chip::RamChip, _>| {
        let (drive, flash, buffer) = disk.into_parts();
        let [reads, _, programs, _] = flash.counts();
        (Disk::new(drive, flash, buffer).unwrap(), reads, programs)
    };
    let (mut disk, reads, programs) = reads_and_programs(disk);
    for at in 0..10 {
        disk.write(600 + at * 20, &[2; 20]).unwrap();
    }
    let mut out = [0; 40];
    disk.read(590, &mut out).unwrap();
    assert_eq!(out[..10], [1; 10]);
    assert_eq!(out[10..], [2; 30]);
    let (_, reads_after, programs_after) = reads_and_programs(disk);
    assert_eq!((reads_after - reads, programs_after - programs), (1, 10));
}

#[test]
fn what_is_not_on_the_disk_is_refused_and_nothing_of_it_done() {
    let mut disk = format(&config(SMALL, 40));
    let end = disk.bytes();
    assert_eq!(Disk::write(&mut disk, end - 10, &[7; 11]), Err(Error::OutOfRange));
    assert_eq!(Disk::read(&mut disk, end - 10, &mut [0; 11]), Err(Error::OutOfRange));
    assert_eq!(Disk::read(&mut disk, u64::MAX, &mut [0; 11]), Err(Error::OutOfRange));
    assert_eq!(disk.trim(40, 1), Err(Error::OutOfRange));
    assert_eq!(Disk::write(&mut disk, end, &[]), Ok(()));
    let mut out = [1; 10];
    Disk::read(&mut disk, end - 10, &mut out).unwrap();
    assert_eq!(out, [0; 10]);
    let (drive, flash, _) = disk.into_parts();
    assert!(matches!(Disk::new(drive, flash, [0; 511]), Err(Error::Buffer { needed: 512 })));
}

#[test]
fn a_lost_page_is_an_error_until_it_is_overwritten() {
    let config = Config { window: 4, ..config(SMALL, 40) };
    let disk = format(&config);
    let (drive, mut flash, buffer) = disk.into_parts();
    flash.arm(1, crate::chip::Cut::Torn);
    let mut disk = Disk::new(drive, flash, buffer).unwrap();
    // The chip is dead from here on, as it is to a program that does not notice the power cut.
    assert!(Disk::write(&mut disk, 700, &[1; 20]).is_err());
    assert!(Disk::write(&mut disk, 0, &[1; 512]).is_err());
    let mut disk = mount(flash_of(disk), &config);
    Disk::write(&mut disk, 700, &[1; 20]).unwrap();
    let mut out = [9; 30];
    Disk::read(&mut disk, 695, &mut out).unwrap();
    assert_eq!((&out[..5], &out[5..25], &out[25..]), (&[0; 5][..], &[1; 20][..], &[0; 5][..]));
}
