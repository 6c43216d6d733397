//! Misuse is an error.

use crate::chip::{Chip, PAGE, config};
use crate::use_case::memory;
use core::ffi::CStr;
use core::ptr;
use phelsuma_mcu_c::*;

#[test]
fn a_mount_with_something_missing_is_an_error() {
    let (config, mut chip) = (config(), Chip::new());
    let functions = chip.functions();
    let mut drive = ptr::null_mut();
    // SAFETY: every pointer is NULL or leads to what the header says.
    unsafe {
        let bytes = phelsuma_memory_bytes(&config);
        let mut memory = memory(bytes + 8);
        let lent: *mut u8 = memory.as_mut_ptr().cast();
        let mut format = |config, functions, memory, bytes| {
            let error = phelsuma_format(config, functions, memory, bytes, &mut drive);
            assert!(drive.is_null());
            error
        };
        assert_eq!(format(ptr::null(), &functions, lent, bytes), Error::Null);
        assert_eq!(format(&config, ptr::null(), lent, bytes), Error::Null);
        assert_eq!(format(&config, &functions, ptr::null_mut(), bytes), Error::Null);
        assert_eq!(format(&config, &functions, lent.add(4), bytes), Error::Misaligned);
        assert_eq!(format(&config, &functions, lent, bytes - 1), Error::Memory);
        for missing in [
            Functions { read: None, ..functions },
            Functions { program: None, ..functions },
            Functions { erase: None, ..functions },
            Functions { is_bad: None, ..functions },
            Functions { mark_bad: None, ..functions },
        ] {
            assert_eq!(format(&config, &missing, lent, bytes), Error::Null);
        }
        for (wrong, error) in [
            (Config { page_bytes: 0, ..config }, Error::Chip),
            (Config { pages_per_block: 3, ..config }, Error::Chip),
            (Config { blocks: u32::MAX, ..config }, Error::Chip),
            (Config { meta_place: 2, ..config }, Error::Chip),
            (Config { logical_pages: 0, ..config }, Error::LogicalPages),
            (Config { logical_pages: u32::MAX, ..config }, Error::LogicalPages),
            (Config { dirty_slots: 17, ..config }, Error::DirtySlots),
            (Config { window: 3, ..config }, Error::Window),
            (Config { bad_blocks: u32::MAX, ..config }, Error::BadBlocks),
        ] {
            assert_eq!(format(&wrong, &functions, lent, bytes), error, "{wrong:?}");
            assert_eq!(phelsuma_memory_bytes(&wrong), 0, "{wrong:?}");
            let is_of_pages = error == Error::LogicalPages;
            assert_eq!(phelsuma_most_logical_pages(&wrong) > 0, is_of_pages, "{wrong:?}");
        }
        assert_eq!(phelsuma_memory_bytes(ptr::null()), 0);
        assert_eq!(phelsuma_most_logical_pages(ptr::null()), 0);
        assert_eq!(phelsuma_mount(&config, &functions, lent, bytes, ptr::null_mut()), Error::Null);
    }
}

#[test]
fn a_call_with_something_wrong_is_an_error_and_the_drive_goes_on() {
    let (config, mut chip) = (config(), Chip::new());
    let functions = chip.functions();
    let (mut drive, mut data) = (ptr::null_mut(), [7; PAGE]);
    // SAFETY: every pointer is NULL or leads to what the header says.
    unsafe {
        let bytes = phelsuma_memory_bytes(&config);
        let mut memory = memory(bytes);
        let lent: *mut u8 = memory.as_mut_ptr().cast();
        assert_eq!(phelsuma_format(&config, &functions, lent, bytes, &mut drive), Error::None);
        let pages = config.logical_pages;
        assert_eq!(phelsuma_write(drive, pages, data.as_ptr(), PAGE), Error::OutOfRange);
        assert_eq!(phelsuma_read(drive, u32::MAX, data.as_mut_ptr(), PAGE), Error::OutOfRange);
        assert_eq!(phelsuma_trim(drive, 1, pages), Error::OutOfRange);
        assert_eq!(phelsuma_trim(drive, u32::MAX, u32::MAX), Error::OutOfRange);
        assert_eq!(phelsuma_write(drive, 0, data.as_ptr(), PAGE - 1), Error::Length);
        assert_eq!(phelsuma_write(drive, 0, data.as_ptr(), usize::MAX), Error::Length);
        assert_eq!(phelsuma_read(drive, 0, data.as_mut_ptr(), 0), Error::Length);
        assert_eq!(phelsuma_write(drive, 0, ptr::null(), PAGE), Error::Null);
        assert_eq!(phelsuma_read(drive, 0, ptr::null_mut(), PAGE), Error::Null);
        assert_eq!(phelsuma_read(drive, 0, lent.add(bytes - 1), PAGE), Error::Overlap);
        assert_eq!(phelsuma_write(drive, 0, lent.wrapping_sub(PAGE - 1), PAGE), Error::Overlap);
        assert_eq!(phelsuma_maintain(drive, 1, lent.add(64).cast()), Error::Overlap);
        assert_eq!(phelsuma_info(drive, lent.cast()), Error::Overlap);
        assert_eq!(phelsuma_info(drive, ptr::null_mut()), Error::Null);
        assert_eq!(phelsuma_write(drive, 0, data.as_ptr(), PAGE), Error::None);
        assert_eq!(phelsuma_unmount(drive), Error::None);
        for error in [
            phelsuma_write(drive, 0, data.as_ptr(), PAGE),
            phelsuma_sync(drive),
            phelsuma_unmount(drive),
            phelsuma_sync(drive.byte_add(1)),
        ] {
            assert_eq!(error, Error::NotMounted);
        }
        assert_eq!(phelsuma_sync(ptr::null_mut()), Error::Null);
        memory.fill(0xffff_ffff_ffff_ffff);
        assert_eq!(phelsuma_sync(drive), Error::NotMounted);
    }
}

#[test]
fn a_driver_that_calls_its_drive_finds_it_busy() {
    let (config, mut chip) = (config(), Chip::new());
    let functions = chip.functions();
    let mut drive = ptr::null_mut();
    // SAFETY: every pointer leads to what the header says. The chip is reached through the context alone.
    unsafe {
        let bytes = phelsuma_memory_bytes(&config);
        let mut memory = memory(bytes);
        let lent: *mut u8 = memory.as_mut_ptr().cast();
        assert_eq!(phelsuma_format(&config, &functions, lent, bytes, &mut drive), Error::None);
        let chip: *mut Chip = functions.context.cast();
        (*chip).caller = drive;
        assert_eq!(phelsuma_write(drive, 1, [3; PAGE].as_ptr(), PAGE), Error::None);
        // While a drive is mounted anew in the same memory, the former one is gone.
        let mut anew = ptr::null_mut();
        assert_eq!(phelsuma_mount(&config, &functions, lent, bytes, &mut anew), Error::None);
        let answers = core::mem::take(&mut (*chip).answers);
        assert!(answers.len() >= 4 && answers.iter().all(|answer| *answer == Error::Busy), "{answers:?}");
        (*chip).caller = ptr::null_mut();
        assert_eq!(phelsuma_unmount(anew), Error::None);
    }
}

#[test]
fn errors_have_the_names_of_their_constants() {
    let name = |error: i32| {
        // SAFETY: it leads to a string that is there for ever.
        unsafe { CStr::from_ptr(phelsuma_error_name(error)) }.to_str().unwrap()
    };
    let header = include_str!("../../include/phelsuma.h");
    for error in 0..=Error::Full as i32 {
        assert!(header.contains(&format!("  {} = {error},", name(error))), "{}", name(error));
    }
    for error in [-1, Error::Full as i32 + 1, i32::MIN, i32::MAX] {
        assert_eq!(name(error), "no error of phelsuma");
    }
}
