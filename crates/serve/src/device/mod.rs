//! A drive as bytes, and what a server of block devices needs of it: one lock, a recorder, a plug, a clock.

mod bytes;
mod error;
mod memory;
mod open;
mod plug;

pub use bytes::Device;
pub use error::{DeviceError, Off};
pub use memory::{MemoryDrive, MemoryFlash};
pub use open::{Open, OpenError, Opened};
pub use plug::{Cut, Flash, Plug, power_fails};
