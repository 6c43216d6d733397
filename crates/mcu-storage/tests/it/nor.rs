//! A disk as NOR flash.

use crate::chip::Random;
use crate::ground::{Made, SMALL, armed, config, cuts, flash_of, format, mount};
use embedded_storage::nor_flash::{NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash};
use embedded_storage_async::nor_flash as asynch;
use phelsuma_mcu::{Chip, MetaPlace};
use phelsuma_mcu_storage::{Error, Nor};
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

type Words = Nor<Made, 4, 1024>;

fn read_all(nor: &mut Words) -> Vec<u8> {
    let mut out = vec![0; ReadNorFlash::capacity(nor)];
    nor.read(0, &mut out).unwrap();
    out
}

/// Erases some, or clears bits of some, as NOR flash does. What a call changes, and its result.
fn step(nor: &mut Words, model: &mut [u8], random: &mut Random) -> (Range<usize>, Result<(), Error>) {
    let end = model.len() as u32;
    if random.below(4) == 0 {
        let from = random.below(end / 1024) * 1024;
        let to = (from + 1024 * (1 + random.below(3))).min(end);
        model[from as usize..to as usize].fill(0xff);
        return (from as usize..to as usize, nor.erase(from, to));
    }
    let at = random.below(end / 4) * 4;
    let data: Vec<u8> = (0..(4 * random.below(300)).min(end - at)).map(|_| random.below(256) as u8).collect();
    let range = at as usize..at as usize + data.len();
    model[range.clone()].iter_mut().zip(&data).for_each(|(old, byte)| *old &= byte);
    (range, nor.write(at, &data))
}

#[test]
fn it_behaves_like_nor_flash() {
    let config = config(SMALL, 61);
    let mut nor = Words::new(format(&config)).unwrap();
    // Half of an erase unit at the end is not in it.
    let mut model = vec![0xff; 60 * 512];
    let mut random = Random(11);
    for round in 0..4_000 {
        step(&mut nor, &mut model, &mut random).1.unwrap();
        if round % 100 == 0 {
            assert!(read_all(&mut nor) == model, "round {round}");
            nor = Words::new(mount(flash_of(nor.into_inner()), &config)).unwrap();
        }
    }
}

#[test]
fn erases_and_writes_that_returned_hold_over_a_power_cut() {
    let config = config(SMALL, 60);
    let mut nor = Words::new(format(&config)).unwrap();
    let mut before = vec![0xff; 60 * 512];
    let mut random = Random(12);
    for _ in 0..100 {
        step(&mut nor, &mut before, &mut random).1.unwrap();
    }
    let flash = flash_of(nor.into_inner());
    for (left, cut) in cuts(160, 20) {
        let mut nor = Words::new(armed(&flash, &config, left, cut)).unwrap();
        let (mut model, mut random) = (before.clone(), Random(left));
        let mut cut_short = None;
        // A disk that programs nothing never fails.
        for _ in 0..1_000 {
            let old = model.clone();
            let (range, done) = step(&mut nor, &mut model, &mut random);
            if done.is_err() {
                cut_short = Some((old, range));
                break;
            }
        }
        let (old, cut_short) = cut_short.expect("the power fails");
        let mut nor = Words::new(mount(flash_of(nor.into_inner()), &config)).unwrap();
        let found = read_all(&mut nor);
        for (page, found) in found.chunks(512).enumerate() {
            let is = |model: &[u8]| found == &model[page * 512..][..512];
            let is_in_flight = cut_short.start < (page + 1) * 512 && page * 512 < cut_short.end;
            assert!(is(&model) || is_in_flight && is(&old), "{cut:?} in {left}: page {page} of {cut_short:?}");
        }
    }
}

#[test]
fn errors_have_the_kinds_of_the_trait() {
    let mut nor = Words::new(format(&config(SMALL, 60))).unwrap();
    let end = ReadNorFlash::capacity(&nor) as u32;
    let kind = |done: Result<(), Error>| done.unwrap_err().kind();
    assert_eq!(kind(nor.write(2, &[0; 4])), NorFlashErrorKind::NotAligned);
    assert_eq!(kind(nor.write(4, &[0; 5])), NorFlashErrorKind::NotAligned);
    assert_eq!(kind(nor.write(end - 4, &[0; 8])), NorFlashErrorKind::OutOfBounds);
    assert_eq!(kind(nor.read(end, &mut [0])), NorFlashErrorKind::OutOfBounds);
    assert_eq!(kind(nor.erase(512, 1024)), NorFlashErrorKind::NotAligned);
    assert_eq!(kind(nor.erase(1024, 0)), NorFlashErrorKind::OutOfBounds);
    assert_eq!(kind(nor.erase(0, end + 1024)), NorFlashErrorKind::OutOfBounds);
    assert_eq!(Error::Drive(phelsuma_mcu::Error::Full).kind(), NorFlashErrorKind::Other);
    let in_page = Chip { meta: MetaPlace::InPage, ..SMALL };
    assert!(matches!(Words::new(format(&config(in_page, 60))), Err(Error::Shape)));
    assert!(Nor::<_, 4, { 496 * 2 }>::new(format(&config(in_page, 60))).is_ok());
}

#[test]
fn async_calls_are_done_at_their_first_poll() {
    let mut nor = Words::new(format(&config(SMALL, 60))).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(pin!(asynch::NorFlash::write(&mut nor, 8, &[1; 4])).poll(&mut context), Poll::Ready(Ok(())));
    let mut out = [0; 12];
    let read = asynch::ReadNorFlash::read(&mut nor, 4, &mut out);
    assert_eq!(pin!(read).poll(&mut context), Poll::Ready(Ok(())));
    assert_eq!(out, [0xff, 0xff, 0xff, 0xff, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff]);
    let mut disk = nor.into_inner();
    let write = embedded_storage_async::Storage::write(&mut disk, 1, &[5]);
    assert_eq!(pin!(write).poll(&mut context), Poll::Ready(Ok(())));
}
