//! A volume of FAT16 in a partition: what `embedded-sdmmc` mounts and does not format.

use embedded_sdmmc::{Block, BlockDevice, BlockIdx};
use std::fmt::Debug;

/// Blocks of the device that are used: a boot record, and a volume of the fewest clusters that FAT16 may have, and some.
pub(crate) const BLOCKS: u32 = 1 + VOLUME;

const CLUSTERS: u32 = 4_100;
const FAT_BLOCKS: u32 = (CLUSTERS + 2).div_ceil(256);
const ROOT_ENTRIES: u32 = 64;
const ROOT_BLOCKS: u32 = ROOT_ENTRIES * 32 / 512;
const VOLUME: u32 = 1 + 2 * FAT_BLOCKS + ROOT_BLOCKS + CLUSTERS;

fn put(block: &mut Block, at: usize, bytes: &[u8]) {
    block.contents[at..at + bytes.len()].copy_from_slice(bytes);
}

pub(crate) fn format<D: BlockDevice<Error: Debug>>(device: &D) {
    let mut record = Block::new();
    put(&mut record, 446 + 4, &[0x06]);
    put(&mut record, 446 + 8, &1_u32.to_le_bytes());
    put(&mut record, 446 + 12, &VOLUME.to_le_bytes());
    put(&mut record, 510, &[0x55, 0xaa]);
    device.write(&[record], BlockIdx(0)).unwrap();
    let mut boot = Block::new();
    put(&mut boot, 0, &[0xeb, 0x3c, 0x90]);
    put(&mut boot, 3, b"PHELSUMA");
    put(&mut boot, 11, &512_u16.to_le_bytes());
    // Blocks a cluster, reserved blocks, tables.
    put(&mut boot, 13, &[1, 1, 0, 2]);
    put(&mut boot, 17, &(ROOT_ENTRIES as u16).to_le_bytes());
    put(&mut boot, 19, &(VOLUME as u16).to_le_bytes());
    put(&mut boot, 21, &[0xf8]);
    put(&mut boot, 22, &(FAT_BLOCKS as u16).to_le_bytes());
    put(&mut boot, 38, &[0x29]);
    put(&mut boot, 43, b"A CHIP     FAT16   ");
    put(&mut boot, 510, &[0x55, 0xaa]);
    device.write(&[boot], BlockIdx(1)).unwrap();
    let mut table = Block::new();
    put(&mut table, 0, &[0xf8, 0xff, 0xff, 0xff]);
    let zeros = vec![Block::new(); (2 * FAT_BLOCKS + ROOT_BLOCKS) as usize];
    device.write(&zeros, BlockIdx(2)).unwrap();
    device.write(std::slice::from_ref(&table), BlockIdx(2)).unwrap();
    device.write(&[table], BlockIdx(2 + FAT_BLOCKS)).unwrap();
}
