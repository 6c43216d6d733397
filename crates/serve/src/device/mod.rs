//! A drive as bytes, and what a server of block devices needs of it: one lock, a recorder, a plug, a clock.

mod bytes;
mod clock;
pub mod control;
mod cuts;
mod disk;
mod error;
mod image;
mod look;
mod memory;
mod open;
pub mod options;
mod plug;
mod recorder;
mod served;

pub use bytes::{Device, Extent};
pub use cuts::{CutPlan, Faults};
pub use disk::Zeroes;
pub use error::{DeviceError, Off};
pub use image::{ImageDrive, ImageFlash};
pub use look::{BlockSeen, CacheLook, Look, RequestCounts, State};
pub use memory::{MemoryDrive, MemoryFlash};
pub use open::{Open, OpenError, Opened};
pub use phelsuma_ftl::{CachePolicy, PolicyAndSeed, WriteCache};
pub use plug::{Cut, Flash, Plug, power_fails};
pub use recorder::Recorder;
pub use served::{Connection, EXIT_CUT, EXIT_FAILED, Host, Served, Serving};
