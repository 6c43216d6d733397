//! Output, arguments and the end of the program, by way of the debugger: here QEMU.

use core::arch::asm;
use core::ffi::{CStr, c_void};
use core::fmt;

const WRITE_0: u32 = 0x04;
const GET_COMMAND_LINE: u32 = 0x15;
const EXIT_EXTENDED: u32 = 0x20;
const APPLICATION_EXIT: u32 = 0x20026;

/// SAFETY: `argument` leads to what the operation reads and writes.
unsafe fn call(operation: u32, argument: *const c_void) -> u32 {
    let answer;
    // SAFETY: the debugger changes no other register, and no memory but what the argument leads to.
    unsafe { asm!("bkpt 0xab", inout("r0") operation => answer, in("r1") argument, options(nostack)) };
    answer
}

/// Ends QEMU with this status.
pub fn exit(status: u32) -> ! {
    let block = [APPLICATION_EXIT, status];
    loop {
        // SAFETY: it reads both words.
        unsafe { call(EXIT_EXTENDED, block.as_ptr().cast()) };
    }
}

/// The words of `-semihosting-config arg=`, with blanks in between.
pub fn command_line(buffer: &mut [u8; 128]) -> &str {
    buffer.fill(0);
    let block = [buffer.as_mut_ptr() as usize, buffer.len() - 1];
    // SAFETY: it writes so many bytes at the most; the last one stays 0.
    unsafe { call(GET_COMMAND_LINE, block.as_ptr().cast()) };
    CStr::from_bytes_until_nul(buffer).ok().and_then(|text| text.to_str().ok()).unwrap_or("")
}

/// Standard output of the debugger.
pub struct Out;

impl fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(63) {
            let mut line = [0; 64];
            line.iter_mut().zip(part).for_each(|(out, byte)| *out = *byte);
            // SAFETY: it reads until the zero, which is there.
            unsafe { call(WRITE_0, line.as_ptr().cast()) };
        }
        Ok(())
    }
}

/// Prints a line.
#[macro_export]
macro_rules! say {
    ($($part:tt)*) => {{
        let _ = core::fmt::Write::write_fmt(&mut $crate::semihosting::Out, format_args!($($part)*));
        let _ = core::fmt::Write::write_str(&mut $crate::semihosting::Out, "\n");
    }};
}
