//! The least RAM on a W25N01GV: 256 dirty slots, and as many host pages as go with them.

#![no_std]
#![no_main]

#[path = "../size.rs"]
mod size;

use phelsuma_mcu::{Chip, Config, Smallest};

size_program!(Smallest, {
    let config = Config::new(Chip::W25N01GV, 1, 256);
    Config { logical_pages: config.most_logical_pages::<Smallest>(), ..config }
});
