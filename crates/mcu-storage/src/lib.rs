//! Adapters that put the FTL for microcontrollers ([`phelsuma_mcu`]) under other crates of the ecosystem.
//!
//! A [`Disk`] owns a mounted drive with its flash driver, and is read and written at any byte. It implements `Storage` of
//! `embedded-storage` and `embedded-storage-async`. The other traits have a type each:
//!
//! | type | trait | feature |
//! | --- | --- | --- |
//! | [`Nor`] | `NorFlash` of both crates | |
//! | `LittleFs` | `driver::Storage` of `littlefs2` | `littlefs` |
//! | `Fat` | `BlockDevice` of `embedded-sdmmc` | `fat` |
//!
//! There is no heap, and no path of this crate panics. Operations are synchronous, those of async traits too.

#![no_std]
#![forbid(unsafe_code)]

mod disk;
mod error;
#[cfg(feature = "fat")]
mod fat;
#[cfg(feature = "littlefs")]
#[expect(deprecated, reason = "littlefs2 has generic-array 0.14 in its interface, all of which is deprecated")]
mod littlefs;
mod nor;
mod pieces;
mod storage;

pub use disk::Disk;
pub use error::Error;
#[cfg(feature = "fat")]
pub use fat::Fat;
#[cfg(feature = "littlefs")]
pub use littlefs::{LittleFs, Shape};
pub use nor::Nor;
