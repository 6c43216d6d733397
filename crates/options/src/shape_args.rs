//! Options that say what a drive is like, whatever is done with it: its flash, and its FTL's parts.

use crate::drive_args::ratio;
use crate::settings::{Setting, setting};
use crate::size;
use clap::Args;
use phelsuma_drive::DriveShape;

/// Flash and parts.
#[derive(Args, Clone, Debug)]
pub struct ShapeArgs {
    /// Logical over physical pages
    #[arg(long, default_value = "0.70", value_parser = ratio)]
    pub ratio: f64,
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = size::parse_page)]
    pub page: u32,
    /// Pages of a block
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub pages_per_block: u32,
    /// Channels [default: 1, or those of the drive that --timing names]
    #[arg(long, value_name = "N")]
    pub channels: Option<u32>,
    /// Dies on each channel [default: 1, or those of the drive that --timing names]
    #[arg(long, value_name = "N")]
    pub dies: Option<u32>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Size of the cache of mapping entries, at 8 bytes an entry, for FTLs that have one [default: 1/512 of the
    /// table, at least 1,024 entries]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub cache: Option<u64>,
    /// Change a part or parameter of the FTL (see `phelsuma list`); may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<Setting>,
}

impl ShapeArgs {
    /// The drive on so many bytes of flash, or as many as it takes. `dies`: channels, and dies on each, where neither is
    /// said here.
    pub fn drive(&self, capacity_bytes: Option<u64>, dies: (Option<u32>, Option<u32>)) -> DriveShape {
        DriveShape {
            capacity_bytes,
            ratio: self.ratio,
            page_bytes: self.page,
            pages_per_block: self.pages_per_block,
            channels: self.channels.or(dies.0).unwrap_or(1),
            dies_per_channel: self.dies.or(dies.1).unwrap_or(1),
        }
    }
}
