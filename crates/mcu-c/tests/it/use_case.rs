//! A drive that is used as it is meant to be.

use crate::chip::{Chip, PAGE, config};
use core::ptr;
use phelsuma_mcu_c::*;

/// Memory that begins where it may.
pub(crate) fn memory(bytes: usize) -> Vec<u64> {
    vec![0xa5a5_a5a5_a5a5_a5a5; bytes.div_ceil(8)]
}

fn data(page: u32, write: u32) -> [u8; PAGE] {
    core::array::from_fn(|at| (page as usize * 31 + write as usize * 7 + at) as u8)
}

#[test]
fn what_is_written_reads_back_after_a_mount() {
    let (config, mut chip) = (config(), Chip::new());
    let functions = chip.functions();
    let (mut drive, mut out) = (ptr::null_mut(), [0; PAGE]);
    // SAFETY: every pointer leads to what the header says, and the memory lives longer than the drive.
    unsafe {
        let bytes = phelsuma_memory_bytes(&config);
        let mut memory = memory(bytes);
        let lent = memory.as_mut_ptr().cast();
        assert_eq!(phelsuma_mount(&config, &functions, lent, bytes, &mut drive), Error::NotFormatted);
        assert!(drive.is_null());
        assert_eq!(phelsuma_format(&config, &functions, lent, bytes, &mut drive), Error::None);
        for write in 0..5_000 {
            let page = write * 7 % config.logical_pages;
            assert_eq!(phelsuma_write(drive, page, data(page, write).as_ptr(), PAGE), Error::None);
            assert_eq!(phelsuma_read(drive, page, out.as_mut_ptr(), PAGE), Error::None);
            assert!(out == data(page, write), "page {page} after write {write}");
        }
        assert_eq!(phelsuma_trim(drive, 5, 1), Error::None);
        assert_eq!(phelsuma_sync(drive), Error::None);
        let mut more = true;
        assert_eq!(phelsuma_maintain(drive, 1_000, &mut more), Error::None);
        assert_eq!(phelsuma_maintain(drive, 1_000, ptr::null_mut()), Error::None);
        let mut info = Info::default();
        assert_eq!(phelsuma_info(drive, &mut info), Error::None);
        assert_eq!((info.logical_pages, info.page_bytes), (config.logical_pages, PAGE as u32));
        assert_eq!((info.host_writes, info.memory_bytes, info.read_only), (5_000, bytes, false));
        assert!(info.erases > 200 && info.free_blocks > 0);
        assert_eq!(phelsuma_unmount(drive), Error::None);
        memory.fill(0x5a5a_5a5a_5a5a_5a5a);
        let lent = memory.as_mut_ptr().cast();
        assert_eq!(phelsuma_mount(&config, &functions, lent, bytes, &mut drive), Error::None);
        for page in 0..config.logical_pages {
            let newest = (0..5_000).rev().find(|write| write * 7 % config.logical_pages == page);
            let expected = if page == 5 { [0; PAGE] } else { newest.map_or([0; PAGE], |write| data(page, write)) };
            assert_eq!(phelsuma_read(drive, page, out.as_mut_ptr(), PAGE), Error::None);
            assert!(out == expected, "page {page}");
        }
        let other = Config { logical_pages: config.logical_pages - 1, ..config };
        assert_eq!(phelsuma_mount(&other, &functions, lent, bytes, &mut drive), Error::OtherDrive);
    }
}
