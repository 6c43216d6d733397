//! Disks to test on, and the operations at which the power is cut.

use crate::chip::{CUTS, Cut, RamChip};
use phelsuma_mcu::{Chip, Config, Drive, Gecko, MetaPlace};
use phelsuma_mcu_storage::Disk;

pub(crate) type Made = Disk<Gecko, Vec<u8>, RamChip, Vec<u8>>;

/// Pages of 512 bytes.
pub(crate) const SMALL: Chip = Chip { page_bytes: 512, pages_per_block: 16, blocks: 64, meta: MetaPlace::Spare };

/// A drive of so many pages on a chip.
pub(crate) fn config(chip: Chip, logical_pages: u32) -> Config {
    Config::new(chip, logical_pages, 32)
}

fn memory(config: &Config) -> Vec<u8> {
    vec![0; config.memory_bytes::<Gecko>().unwrap()]
}

pub(crate) fn format(config: &Config) -> Made {
    let mut flash = RamChip::new(config.chip);
    let drive = Drive::format(&mut flash, config, memory(config)).unwrap();
    Disk::new(drive, flash, vec![0; config.chip.page_bytes as usize]).unwrap()
}

/// A disk on what a power cut has left.
pub(crate) fn mount(mut flash: RamChip, config: &Config) -> Made {
    flash.power_on();
    let drive = Drive::mount(&mut flash, config, memory(config)).unwrap();
    Disk::new(drive, flash, vec![0; config.chip.page_bytes as usize]).unwrap()
}

/// A disk that is mounted on a copy of the flash. Its power fails at an operation after that.
pub(crate) fn armed(flash: &RamChip, config: &Config, left: u64, cut: Cut) -> Made {
    let (drive, mut flash, buffer) = mount(flash.clone(), config).into_parts();
    flash.arm(left, cut);
    Disk::new(drive, flash, buffer).unwrap()
}

pub(crate) fn flash_of(disk: Made) -> RamChip {
    disk.into_parts().1
}

/// Programs and erases so far.
#[cfg(any(feature = "fat", feature = "littlefs"))]
pub(crate) fn operations(flash: &RamChip) -> u64 {
    let [.., programs, erases] = flash.counts();
    programs + erases
}

/// Cuts of a script of so many programs and erases: some of them, or all with `PHELSUMA_THOROUGH`.
pub(crate) fn cuts(operations: u64, some: u64) -> impl Iterator<Item = (u64, Cut)> {
    let is_thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    let step = if is_thorough { 1 } else { (operations / some).max(1) };
    // Consecutive ones meet every fault as well.
    (1..=operations).step_by(step as usize).flat_map(move |left| {
        CUTS.into_iter().enumerate().map(move |(n, cut)| (left + if is_thorough { 0 } else { n as u64 }, cut))
    })
}
