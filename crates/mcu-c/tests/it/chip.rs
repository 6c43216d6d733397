//! A chip in RAM as C sees it: functions and a context.

use core::ffi::c_void;
use core::ptr;
use phelsuma_mcu_c::{Config, Functions, Handle, META_SPARE, WINDOW, phelsuma_most_logical_pages};

pub(crate) const PAGE: usize = 512;
const PAGES_PER_BLOCK: usize = 16;
const BLOCKS: usize = 64;

type Page = ([u8; PAGE], [u8; 16]);

const ERASED: Page = ([0xff; PAGE], [0xff; 16]);

/// The chip, and a drive that its functions call, where there is one.
pub(crate) struct Chip {
    pages: Vec<Page>,
    bad: Vec<bool>,
    pub(crate) caller: *mut Handle,
    /// What that call gave.
    pub(crate) answers: Vec<phelsuma_mcu_c::Error>,
}

impl Chip {
    pub(crate) fn new() -> Self {
        let pages = vec![ERASED; PAGES_PER_BLOCK * BLOCKS];
        Self { pages, bad: vec![false; BLOCKS], caller: ptr::null_mut(), answers: Vec::new() }
    }

    pub(crate) fn functions(&mut self) -> Functions {
        Functions {
            context: ptr::from_mut(self).cast(),
            read: Some(read),
            program: Some(program),
            erase: Some(erase),
            is_bad: Some(is_bad),
            mark_bad: Some(mark_bad),
        }
    }
}

/// The largest drive on it.
pub(crate) fn config() -> Config {
    let config = Config {
        page_bytes: PAGE as u32,
        pages_per_block: PAGES_PER_BLOCK as u32,
        blocks: BLOCKS as u32,
        meta_place: META_SPARE,
        logical_pages: 0,
        dirty_slots: 64,
        window: WINDOW,
        bad_blocks: 2,
        refresh_bits: 0,
        disturb_reads: 0,
    };
    // SAFETY: it leads to a configuration.
    let logical_pages = unsafe { phelsuma_most_logical_pages(&config) };
    assert!(logical_pages > 500);
    Config { logical_pages, ..config }
}

/// SAFETY: `context` is a [`Chip`] that nobody else uses meanwhile.
unsafe fn chip<'a>(context: *mut c_void) -> &'a mut Chip {
    unsafe { &mut *context.cast() }
}

unsafe extern "C" fn read(
    context: *mut c_void,
    page: u32,
    column: u32,
    data: *mut u8,
    bytes: u32,
    spare: *mut u8,
) -> i32 {
    // SAFETY: the drive passes the context on, and places with room for so many bytes.
    unsafe {
        let (page, own) = &chip(context).pages[page as usize];
        let part = &page[column as usize..][..bytes as usize];
        if !data.is_null() {
            ptr::copy_nonoverlapping(part.as_ptr(), data, part.len());
        }
        if !spare.is_null() {
            ptr::copy_nonoverlapping(own.as_ptr(), spare, own.len());
        }
    }
    0
}

unsafe extern "C" fn program(context: *mut c_void, page: u32, data: *const u8, bytes: u32, spare: *const u8) -> i32 {
    assert_eq!(bytes as usize, PAGE);
    // SAFETY: the drive passes the context on, and places with so many bytes.
    unsafe {
        let chip = chip(context);
        let written = (&mut chip.pages[page as usize]) as *mut Page;
        assert!(*written == ERASED, "page {page} is not erased");
        ptr::copy_nonoverlapping(data, (*written).0.as_mut_ptr(), PAGE);
        ptr::copy_nonoverlapping(spare, (*written).1.as_mut_ptr(), 16);
        if !chip.caller.is_null() {
            let mut out = [0; PAGE];
            chip.answers.push(phelsuma_mcu_c::phelsuma_read(chip.caller, 0, out.as_mut_ptr(), PAGE));
            chip.answers.push(phelsuma_mcu_c::phelsuma_unmount(chip.caller));
        }
    }
    0
}

unsafe extern "C" fn erase(context: *mut c_void, block: u32) -> i32 {
    // SAFETY: the drive passes the context on.
    let chip = unsafe { chip(context) };
    chip.pages[block as usize * PAGES_PER_BLOCK..][..PAGES_PER_BLOCK].fill(ERASED);
    0
}

unsafe extern "C" fn is_bad(context: *mut c_void, block: u32) -> i32 {
    // SAFETY: the drive passes the context on. Any number but 0 is a yes.
    if unsafe { chip(context) }.bad[block as usize] { -7 } else { 0 }
}

unsafe extern "C" fn mark_bad(context: *mut c_void, block: u32) {
    // SAFETY: the drive passes the context on.
    unsafe { chip(context) }.bad[block as usize] = true;
}
