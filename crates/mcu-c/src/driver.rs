//! The functions of a C program as a driver.

use crate::types::{Error, Functions};
use core::ffi::c_void;
use core::ptr;
use phelsuma_mcu::{Failed, Flash, META_BYTES, Uncorrectable};

/// Functions that are all there.
#[derive(Clone, Copy)]
pub(crate) struct Driver {
    context: *mut c_void,
    read: unsafe extern "C" fn(*mut c_void, u32, u32, *mut u8, u32, *mut u8) -> i32,
    program: unsafe extern "C" fn(*mut c_void, u32, *const u8, u32, *const u8) -> i32,
    erase: unsafe extern "C" fn(*mut c_void, u32) -> i32,
    is_bad: unsafe extern "C" fn(*mut c_void, u32) -> i32,
    mark_bad: unsafe extern "C" fn(*mut c_void, u32),
}

impl Driver {
    pub(crate) fn new(functions: &Functions) -> Result<Self, Error> {
        let Functions {
            context,
            read: Some(read),
            program: Some(program),
            erase: Some(erase),
            is_bad: Some(is_bad),
            mark_bad: Some(mark_bad),
        } = *functions
        else {
            return Err(Error::Null);
        };
        Ok(Self { context, read, program, erase, is_bad, mark_bad })
    }
}

impl Flash for Driver {
    fn read(
        &mut self,
        page: u32,
        column: u32,
        data: &mut [u8],
        spare: Option<&mut [u8; META_BYTES]>,
    ) -> Result<u32, Uncorrectable> {
        let (bytes, data) = (data.len() as u32, if data.is_empty() { ptr::null_mut() } else { data.as_mut_ptr() });
        let spare = spare.map_or(ptr::null_mut(), |spare| spare.as_mut_ptr());
        // SAFETY: the program that mounted has promised a function of this type. Both places are writable for as many bytes
        // as the header says.
        let corrected = unsafe { (self.read)(self.context, page, column, data, bytes, spare) };
        u32::try_from(corrected).map_err(|_| Uncorrectable)
    }

    fn program(&mut self, page: u32, data: &[u8], spare: Option<&[u8; META_BYTES]>) -> Result<(), Failed> {
        let spare = spare.map_or(ptr::null(), |spare| spare.as_ptr());
        // SAFETY: as above; both places are readable.
        let failed = unsafe { (self.program)(self.context, page, data.as_ptr(), data.len() as u32, spare) };
        if failed == 0 { Ok(()) } else { Err(Failed) }
    }

    fn erase(&mut self, block: u32) -> Result<(), Failed> {
        // SAFETY: as above.
        let failed = unsafe { (self.erase)(self.context, block) };
        if failed == 0 { Ok(()) } else { Err(Failed) }
    }

    fn is_bad(&mut self, block: u32) -> bool {
        // SAFETY: as above. It gives a number, because not every byte is a `bool`.
        unsafe { (self.is_bad)(self.context, block) != 0 }
    }

    fn mark_bad(&mut self, block: u32) {
        // SAFETY: as above.
        unsafe { (self.mark_bad)(self.context, block) }
    }
}
