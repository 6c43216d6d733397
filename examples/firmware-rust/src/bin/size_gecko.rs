//! Logarithmic Gecko on a W25N01GV: 96 MiB for the host, 1,024 dirty slots.

#![no_std]
#![no_main]

#[path = "../size.rs"]
mod size;

use phelsuma_mcu::{Chip, Config, Gecko};

size_program!(Gecko, Config::new(Chip::W25N01GV, 49_152, 1_024));
