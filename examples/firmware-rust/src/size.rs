//! A whole program whose size is measured: it mounts, and does what a register says.
//!
//! Its flash controller is a few registers. What that driver takes is not counted.

use core::ptr::{read_volatile, with_exposed_provenance_mut, write_volatile};
use phelsuma_mcu::{Drive, Error, Failed, Flash, META_BYTES, Parts, Uncorrectable};

/// A register of a controller that does not exist.
fn register(number: usize) -> *mut u32 {
    with_exposed_provenance_mut(0x4002_0000 + 4 * number)
}

pub fn get(number: usize) -> u32 {
    // SAFETY: on a board with this controller it is a register.
    unsafe { read_volatile(register(number)) }
}

pub fn set(number: usize, value: u32) {
    // SAFETY: as above.
    unsafe { write_volatile(register(number), value) }
}

/// The driver that is not counted: each of its functions stands alone.
pub struct NotCounted;

impl Flash for NotCounted {
    #[inline(never)]
    fn read(
        &mut self,
        page: u32,
        column: u32,
        data: &mut [u8],
        spare: Option<&mut [u8; META_BYTES]>,
    ) -> Result<u32, Uncorrectable> {
        set(0, page);
        set(1, column);
        data.iter_mut().chain(spare.into_iter().flatten()).for_each(|byte| *byte = get(2) as u8);
        let corrected = get(3);
        if corrected > 8 { Err(Uncorrectable) } else { Ok(corrected) }
    }

    #[inline(never)]
    fn program(&mut self, page: u32, data: &[u8], spare: Option<&[u8; META_BYTES]>) -> Result<(), Failed> {
        set(4, page);
        data.iter().chain(spare.into_iter().flatten()).for_each(|byte| set(5, u32::from(*byte)));
        if get(6) == 0 { Ok(()) } else { Err(Failed) }
    }

    #[inline(never)]
    fn erase(&mut self, block: u32) -> Result<(), Failed> {
        set(7, block);
        if get(6) == 0 { Ok(()) } else { Err(Failed) }
    }

    #[inline(never)]
    fn is_bad(&mut self, block: u32) -> bool {
        set(8, block);
        get(9) != 0
    }

    #[inline(never)]
    fn mark_bad(&mut self, block: u32) {
        set(10, block);
    }
}

/// Does what the register says, for ever.
pub fn serve<P: Parts>(drive: &mut Drive<P, &'static mut [u8]>, buffer: &mut [u8]) -> ! {
    let mut flash = NotCounted;
    loop {
        let (page, pages) = (get(21), get(22));
        let done = match get(20) {
            0 => {
                buffer.iter_mut().for_each(|byte| *byte = get(23) as u8);
                drive.write(&mut flash, page, buffer)
            }
            1 => {
                let read = drive.read(&mut flash, page, buffer);
                buffer.iter().for_each(|byte| set(23, u32::from(*byte)));
                read
            }
            2 => drive.trim(&mut flash, page, pages),
            3 => drive.sync(&mut flash),
            4 => drive.maintain(&mut flash, pages).map(|more| set(24, u32::from(more))),
            _ => {
                let info = drive.info();
                set(24, info.free_blocks);
                set(25, info.bad_blocks);
                Ok(())
            }
        };
        set(26, u32::from(done.is_err()));
    }
}

/// Mounts what is on the chip; formats one that has nothing.
pub fn mounted<P: Parts>(
    config: &phelsuma_mcu::Config,
    mut memory: impl FnMut() -> &'static mut [u8],
) -> Result<Drive<P, &'static mut [u8]>, Error> {
    match Drive::mount(&mut NotCounted, config, memory()) {
        Err(Error::NotFormatted) => Drive::format(&mut NotCounted, config, memory()),
        mounted => mounted,
    }
}

/// The program of these parts with this configuration. The names of its memory and handle tell their sizes.
#[macro_export]
macro_rules! size_program {
    ($parts:ty, $config:expr) => {
        const CONFIG: phelsuma_mcu::Config = $config;
        const BYTES: usize = match CONFIG.memory_bytes::<$parts>() {
            Ok(bytes) => bytes,
            Err(_) => panic!("the configuration cannot be"),
        };

        #[unsafe(no_mangle)]
        static mut PHELSUMA_MEMORY: [u8; BYTES] = [0; BYTES];
        #[unsafe(no_mangle)]
        static mut PHELSUMA_HANDLE: core::mem::MaybeUninit<phelsuma_mcu::Drive<$parts, &'static mut [u8]>> =
            core::mem::MaybeUninit::uninit();
        static mut BUFFER: [u8; 2048] = [0; 2048];

        #[cortex_m_rt::entry]
        fn main() -> ! {
            // SAFETY: this runs once, and lends the memory again when the former drive is gone.
            let memory = || unsafe { &mut *(&raw mut PHELSUMA_MEMORY) }.as_mut_slice();
            if let Ok(drive) = size::mounted::<$parts>(&CONFIG, memory) {
                // SAFETY: this runs once.
                let (handle, buffer) = unsafe { (&mut *(&raw mut PHELSUMA_HANDLE), &mut *(&raw mut BUFFER)) };
                size::serve(handle.write(drive), buffer)
            }
            loop {}
        }

        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            loop {}
        }
    };
}
