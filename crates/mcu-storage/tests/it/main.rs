//! Adapters on a chip in RAM whose power fails.

#![allow(clippy::unwrap_used, reason = "a test")]

mod bytes;
#[path = "../../../mcu/tests/it/chip.rs"]
#[allow(dead_code, reason = "tests here use a part of it")]
mod chip;
#[cfg(feature = "fat")]
mod fat;
#[cfg(feature = "fat")]
mod fat16;
mod ground;
#[cfg(feature = "littlefs")]
mod littlefs;
mod nor;
