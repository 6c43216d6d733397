//! The mapping in RAM on a W25N01GV: 96 MiB for the host.

#![no_std]
#![no_main]

#[path = "../size.rs"]
mod size;

use phelsuma_mcu::{Chip, Config, RamTable};

size_program!(RamTable, Config::new(Chip::W25N01GV, 49_152, 16));
