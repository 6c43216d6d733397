//! The C interface of [`phelsuma_mcu`]: `include/phelsuma.h`, and a static or shared library.
//!
//! A program lends memory and a driver when it mounts a drive. The handle stands at the beginning of that memory. What
//! can be checked is checked: misuse is an error with a name.

#![cfg_attr(not(feature = "std"), no_std)]
// A C interface is made of pointers. Each use says why it is sound.
#![allow(unsafe_code)]

mod calls;
mod driver;
mod handle;
mod types;

pub use calls::{
    phelsuma_error_name, phelsuma_format, phelsuma_info, phelsuma_maintain, phelsuma_memory_bytes,
    phelsuma_most_logical_pages, phelsuma_mount, phelsuma_read, phelsuma_sync, phelsuma_trim, phelsuma_unmount,
    phelsuma_write,
};
pub use handle::Handle;
pub use types::{ALIGN, Config, Error, Functions, Info, META_IN_PAGE, META_SPARE, SPARE_BYTES, WINDOW};

#[cfg(not(any(feature = "gecko", feature = "smallest", feature = "ram-table")))]
compile_error!("one of the features gecko, smallest and ram-table says which FTL this is");

#[cfg(any(
    all(feature = "gecko", feature = "smallest"),
    all(feature = "gecko", feature = "ram-table"),
    all(feature = "smallest", feature = "ram-table")
))]
compile_error!("of the features gecko, smallest and ram-table there can be only one");

/// The parts of all drives of this library.
#[cfg(feature = "gecko")]
pub(crate) type Chosen = phelsuma_mcu::Gecko;
/// The parts of all drives of this library.
#[cfg(all(feature = "smallest", not(feature = "gecko")))]
pub(crate) type Chosen = phelsuma_mcu::Smallest;
/// The parts of all drives of this library. (Also where none is named, so that one error alone is shown.)
#[cfg(not(any(feature = "gecko", feature = "smallest")))]
pub(crate) type Chosen = phelsuma_mcu::RamTable;

/// Nothing here panics, but a library for bare metal has to have one. A C program has no other.
#[cfg(all(not(feature = "std"), target_os = "none"))]
#[panic_handler]
fn stop(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
