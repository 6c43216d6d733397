//! The functions that C calls.

use crate::handle::{self, Handle, make, with};
use crate::types::{Config, Error, Functions, Info};
use core::ffi::{CStr, c_char};
use phelsuma_mcu::Drive;

/// Bytes of memory that a drive needs, its handle included. 0 where `config` is NULL or cannot be: phelsuma_mount()
/// says why.
///
/// # Safety
/// `config` is NULL or leads to a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_memory_bytes(config: *const Config) -> usize {
    // SAFETY: as the header says. Any bits are a configuration.
    let Some(config) = (unsafe { config.as_ref() }) else { return 0 };
    config.of_drive().and_then(|config| handle::memory_bytes(&config)).unwrap_or(0)
}

/// The most host pages for the rest of a configuration; its `logical_pages` do not matter. 0 where `config` is NULL or the
/// rest of it cannot be.
///
/// # Safety
/// `config` is NULL or leads to a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_most_logical_pages(config: *const Config) -> u32 {
    // SAFETY: as the header says. Any bits are a configuration.
    let Some(config) = (unsafe { config.as_ref() }) else { return 0 };
    config.most_logical_pages()
}

/// Makes a blank drive, and mounts it. What was on the chip cannot be read any more.
///
/// `config` and `flash` are copied. `memory` is the drive's until it is unmounted; what was in it does not matter. It
/// begins at a multiple of PHELSUMA_ALIGN and has phelsuma_memory_bytes() bytes at least. A drive that was mounted in
/// it is gone, and no call of it may be under way. The handle goes to `drive`; NULL if there is an error.
///
/// # Safety
/// Pointers are NULL, or lead to what is said above. No call of a drive in this memory is under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_format(
    config: *const Config,
    flash: *const Functions,
    memory: *mut u8,
    bytes: usize,
    drive: *mut *mut Handle,
) -> Error {
    // SAFETY: the caller has promised the same.
    let made = unsafe { make(config, flash, memory, bytes, drive, Drive::format) };
    made.err().unwrap_or(Error::None)
}

/// Mounts the drive that is on the chip, also after a power cut. Everything else is as with phelsuma_format().
///
/// # Safety
/// Pointers are NULL, or lead to what is said there. No call of a drive in this memory is under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_mount(
    config: *const Config,
    flash: *const Functions,
    memory: *mut u8,
    bytes: usize,
    drive: *mut *mut Handle,
) -> Error {
    // SAFETY: the caller has promised the same.
    let made = unsafe { make(config, flash, memory, bytes, drive, Drive::mount) };
    made.err().unwrap_or(Error::None)
}

/// Writes a host page. When it returns PHELSUMA_ERROR_NONE, a power cut does not take the page back.
///
/// `bytes` are those of a host page: `page_bytes`, 16 less with PHELSUMA_META_IN_PAGE.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size; `data` is NULL or leads to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_write(drive: *mut Handle, page: u32, data: *const u8, bytes: usize) -> Error {
    let write = |locked: handle::Locked<'_>| {
        locked.check_data(data, bytes)?;
        // SAFETY: it is not NULL, so it leads to so many bytes; they are as few as a page, and not the drive's own.
        let data = unsafe { core::slice::from_raw_parts(data, bytes) };
        Ok(locked.drive.write(locked.driver, page, data)?)
    };
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, true, write) }
}

/// Reads a host page; zeros where it was never written, or trimmed. Where there is an error, `data` holds no page.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size; `data` is NULL or leads to `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_read(drive: *mut Handle, page: u32, data: *mut u8, bytes: usize) -> Error {
    let read = |locked: handle::Locked<'_>| {
        locked.check_data(data, bytes)?;
        // SAFETY: it is not NULL, so it leads to so many bytes; they are as few as a page, and not the drive's own. They
        // may never have been written, so they are now, before there is a slice of them.
        let out = unsafe {
            data.write_bytes(0, bytes);
            core::slice::from_raw_parts_mut(data, bytes)
        };
        Ok(locked.drive.read(locked.driver, page, out)?)
    };
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, true, read) }
}

/// Discards host pages: they read as zeros. A power cut before the next phelsuma_sync() may bring back what they held.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_trim(drive: *mut Handle, first: u32, pages: u32) -> Error {
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, true, |locked| Ok(locked.drive.trim(locked.driver, first, pages)?)) }
}

/// Makes trims durable. Writes are when they return.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_sync(drive: *mut Handle) -> Error {
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, true, |locked| Ok(locked.drive.sync(locked.driver)?)) }
}

/// Does work that a write would have to do: moves up to so many pages. Call it while the host is idle.
///
/// Whether there is more to do goes to `more`, which may be NULL. Where there is not, the next write programs a page and
/// erases a block at the most.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size; `more` is NULL or leads to a bool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_maintain(drive: *mut Handle, pages: u32, more: *mut bool) -> Error {
    let maintain = |locked: handle::Locked<'_>| {
        locked.check_apart(more.addr(), size_of::<bool>())?;
        let is_more = locked.drive.maintain(locked.driver, pages)?;
        if !more.is_null() {
            // SAFETY: it is not NULL, so it leads to a bool, which is not the drive's own memory.
            unsafe { more.write(is_more) };
        }
        Ok(())
    };
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, true, maintain) }
}

/// The state of a drive. It takes as long as looking at a word of each block.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size; `info` is NULL or leads to such a structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_info(drive: *mut Handle, info: *mut Info) -> Error {
    let tell = |locked: handle::Locked<'_>| {
        if info.is_null() {
            return Err(Error::Null);
        }
        locked.check_apart(info.addr(), size_of::<Info>())?;
        let now = locked.drive.info();
        let told = Info {
            logical_pages: now.logical_pages,
            page_bytes: now.page_bytes,
            free_blocks: now.free_blocks,
            bad_blocks: now.bad_blocks,
            read_only: now.read_only,
            memory_bytes: locked.bytes,
            host_writes: now.tally.host_writes,
            moved: now.tally.moved,
            translation: now.tally.translation,
            gecko: now.tally.gecko,
            checkpoint: now.tally.checkpoint,
            erases: now.tally.erases,
            failures: now.tally.failures,
        };
        // SAFETY: it is not NULL, so it leads to such a structure, which is not the drive's own memory.
        unsafe { info.write(told) };
        Ok(())
    };
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, true, tell) }
}

/// Makes trims durable, and gives the memory back. Also where that is an error, the drive is not mounted any more.
///
/// # Safety
/// `drive` is NULL or leads to memory of a handle's size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn phelsuma_unmount(drive: *mut Handle) -> Error {
    // SAFETY: the caller has promised the same.
    unsafe { with(drive, false, |locked| Ok(locked.drive.sync(locked.driver)?)) }
}

/// The name of an error's constant. Any number may be asked for.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_error_name(error: i32) -> *const c_char {
    let at = usize::try_from(error).ok();
    at.and_then(|at| NAMES.get(at)).copied().unwrap_or(c"no error of phelsuma").as_ptr()
}

/// In the order of their numbers.
const NAMES: [&CStr; 18] = [
    c"PHELSUMA_ERROR_NONE",
    c"PHELSUMA_ERROR_NULL",
    c"PHELSUMA_ERROR_MISALIGNED",
    c"PHELSUMA_ERROR_MEMORY",
    c"PHELSUMA_ERROR_NOT_MOUNTED",
    c"PHELSUMA_ERROR_BUSY",
    c"PHELSUMA_ERROR_CHIP",
    c"PHELSUMA_ERROR_LOGICAL_PAGES",
    c"PHELSUMA_ERROR_DIRTY_SLOTS",
    c"PHELSUMA_ERROR_WINDOW",
    c"PHELSUMA_ERROR_BAD_BLOCKS",
    c"PHELSUMA_ERROR_NOT_FORMATTED",
    c"PHELSUMA_ERROR_OTHER_DRIVE",
    c"PHELSUMA_ERROR_OUT_OF_RANGE",
    c"PHELSUMA_ERROR_LENGTH",
    c"PHELSUMA_ERROR_OVERLAP",
    c"PHELSUMA_ERROR_UNREADABLE",
    c"PHELSUMA_ERROR_FULL",
];
