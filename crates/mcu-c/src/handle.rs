//! The handle: what stands at the beginning of the memory that a program lends.

use crate::Chosen;
use crate::driver::Driver;
use crate::types::{ALIGN, Config, Error, Functions};
use core::sync::atomic::{AtomicU32, Ordering};
use phelsuma_mcu as mcu;

/// A drive on the memory behind its handle, which is lent until it is unmounted.
type Drive = mcu::Drive<Chosen, &'static mut [u8]>;

/// `phmn`: a drive is mounted, and no call is under way.
const MOUNTED: u32 = 0x6e6d_6870;

/// `phbs`: a call is under way.
const BUSY: u32 = 0x7362_6870;

/// No drive.
const NOTHING: u32 = 0;

/// A drive that is mounted. It is in the memory that was lent, and moves with it nowhere.
#[repr(align(8))]
pub struct Handle {
    /// Says that there is a drive, and locks it. Anything else but the two numbers above is no drive.
    state: AtomicU32,
    page_bytes: u32,
    /// Of all the memory, the handle's included.
    bytes: usize,
    driver: Driver,
    drive: Drive,
}

/// Bytes of the handle: a multiple of [`ALIGN`].
const HANDLE_BYTES: usize = size_of::<Handle>();

const _: () = assert!(align_of::<Handle>() == ALIGN && HANDLE_BYTES.is_multiple_of(ALIGN));
const _: () = assert!(mcu::META_BYTES == crate::types::SPARE_BYTES);

/// Bytes of memory that a drive needs with its handle.
pub(crate) fn memory_bytes(config: &mcu::Config) -> Result<usize, Error> {
    let own = config.memory_bytes::<Chosen>().map_err(mcu::Error::Config)?;
    own.checked_add(HANDLE_BYTES).ok_or(Error::Memory)
}

/// How a drive comes into being.
pub(crate) type Make = fn(&mut Driver, &mcu::Config, &'static mut [u8]) -> Result<Drive, mcu::Error>;

/// Formats or mounts.
///
/// # Safety
/// Pointers are NULL, or lead to what the header says. Nobody else uses the memory until the drive is unmounted.
pub(crate) unsafe fn make(
    config: *const Config,
    functions: *const Functions,
    memory: *mut u8,
    bytes: usize,
    out: *mut *mut Handle,
    make: Make,
) -> Result<(), Error> {
    if out.is_null() {
        return Err(Error::Null);
    }
    // SAFETY: it is not NULL, so it leads to a pointer. That may hold anything, so it is not read.
    unsafe { out.write(core::ptr::null_mut()) };
    if config.is_null() || functions.is_null() || memory.is_null() {
        return Err(Error::Null);
    }
    // SAFETY: they are not NULL, so they lead to such structures. Any bits are values of these.
    let (config, functions) = unsafe { ((*config).of_drive()?, &*functions) };
    let mut driver = Driver::new(functions)?;
    if !memory.addr().is_multiple_of(ALIGN) {
        return Err(Error::Misaligned);
    }
    let needed = memory_bytes(&config)?;
    if bytes < needed || memory.addr().checked_add(needed).is_none() {
        return Err(Error::Memory);
    }
    let handle = memory.cast::<Handle>();
    // SAFETY: the memory has room for a handle, which stands there aligned. There may have been a drive: it is gone. A
    // driver that calls it meets a drive that is busy.
    let state = unsafe {
        (&raw mut (*handle).state).write(AtomicU32::new(BUSY));
        &(*handle).state
    };
    // SAFETY: so many bytes stand behind the handle, as `needed` says. They may never have been written, so they are now,
    // before there is a slice of them. The slice is all that is used of them until the drive is unmounted.
    let own = unsafe {
        let start = memory.add(HANDLE_BYTES);
        start.write_bytes(0, needed - HANDLE_BYTES);
        core::slice::from_raw_parts_mut(start, needed - HANDLE_BYTES)
    };
    match make(&mut driver, &config, own) {
        Ok(drive) => {
            // SAFETY: as above. These fields are written for the first time, and need no drop.
            unsafe {
                (&raw mut (*handle).page_bytes).write(config.chip.data_bytes());
                (&raw mut (*handle).bytes).write(needed);
                (&raw mut (*handle).driver).write(driver);
                (&raw mut (*handle).drive).write(drive);
                out.write(handle);
            }
            state.store(MOUNTED, Ordering::Release);
            Ok(())
        }
        Err(error) => {
            state.store(NOTHING, Ordering::Release);
            Err(error.into())
        }
    }
}

/// Locks a drive for the length of a call. There is no guard: a program may leave the call by `longjmp`, as if the power
/// had failed.
fn lock(state: &AtomicU32) -> Result<(), Error> {
    #[cfg(target_has_atomic = "32")]
    let found = state.compare_exchange(MOUNTED, BUSY, Ordering::Acquire, Ordering::Relaxed).unwrap_or_else(|is| is);
    // The smallest cores have no such instruction, and no second one of them. An interrupt in between would have to end its
    // call before this goes on.
    #[cfg(not(target_has_atomic = "32"))]
    let found = {
        let found = state.load(Ordering::Acquire);
        if found == MOUNTED {
            state.store(BUSY, Ordering::Relaxed);
        }
        found
    };
    match found {
        MOUNTED => Ok(()),
        BUSY => Err(Error::Busy),
        _ => Err(Error::NotMounted),
    }
}

/// What a call has of a drive.
pub(crate) struct Locked<'a> {
    pub(crate) drive: &'a mut Drive,
    pub(crate) driver: &'a mut Driver,
    pub(crate) page_bytes: usize,
    /// Bytes of all the memory.
    pub(crate) bytes: usize,
    start: usize,
}

impl Locked<'_> {
    /// Data of a host page: as long as one, and not in the drive's own memory.
    pub(crate) fn check_data(&self, data: *const u8, bytes: usize) -> Result<(), Error> {
        if data.is_null() {
            return Err(Error::Null);
        }
        if bytes != self.page_bytes {
            return Err(Error::Length);
        }
        self.check_apart(data.addr(), bytes)
    }

    /// Nothing of this stands in the drive's own memory.
    pub(crate) fn check_apart(&self, from: usize, bytes: usize) -> Result<(), Error> {
        let Some(end) = from.checked_add(bytes) else { return Err(Error::Length) };
        if from < self.start.saturating_add(self.bytes) && self.start < end { Err(Error::Overlap) } else { Ok(()) }
    }
}

/// Calls a drive that is mounted. Then it is mounted still, or not.
///
/// # Safety
/// The pointer is NULL, or leads to as much readable and writable memory as a handle has.
pub(crate) unsafe fn with(
    handle: *mut Handle,
    stays_mounted: bool,
    call: impl FnOnce(Locked<'_>) -> Result<(), Error>,
) -> Error {
    if handle.is_null() {
        return Error::Null;
    }
    if !handle.is_aligned() {
        return Error::NotMounted;
    }
    // SAFETY: it leads to memory of that size and is aligned. Of what may be in use elsewhere only this word is touched.
    let state = unsafe { &(*handle).state };
    if let Err(error) = lock(state) {
        return error;
    }
    // SAFETY: the word says that `make` has written all fields. It is locked: there is no other reference to them. A
    // function of the driver that calls comes no further than to the lock.
    let locked = unsafe {
        Locked {
            drive: &mut (*handle).drive,
            driver: &mut (*handle).driver,
            page_bytes: (*handle).page_bytes as usize,
            bytes: (*handle).bytes,
            start: handle.addr(),
        }
    };
    let done = call(locked);
    state.store(if stays_mounted { MOUNTED } else { NOTHING }, Ordering::Release);
    done.err().unwrap_or(Error::None)
}
