//! A running hash of everything on the flash: two chips with equal fingerprints hold the same, but for chance.

use crate::{Block, Content, Spare};
use alloc::vec::Vec;

/// 128 bits over all blocks, kept up to date by every program, erase and fault.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint {
    blocks: Vec<u128>,
    all: u128,
}

fn mix(state: u128, word: u64) -> u128 {
    const K: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let x = (state ^ u128::from(word)).wrapping_mul(K);
    x ^ (x >> 67)
}

fn blank(block: usize) -> u128 {
    mix(mix(0x5bd1_e995, block as u64 + 1), 0xb1a2)
}

impl Fingerprint {
    pub(crate) fn new(blocks: usize) -> Self {
        let blocks: Vec<u128> = (0..blocks).map(blank).collect();
        let all = blocks.iter().fold(0, |a, b| a ^ b);
        Self { blocks, all }
    }

    pub(crate) fn value(&self) -> u128 {
        self.all
    }

    fn set(&mut self, block: Block, value: u128) {
        self.all ^= self.blocks[block.index()] ^ value;
        self.blocks[block.index()] = value;
    }

    pub(crate) fn program(&mut self, block: Block, index: u32, content: Content<'_>, spare: &Spare) {
        let head = u64::from(index) | u64::from(spare.stream) << 32 | (spare.kind as u64) << 40;
        let mut h = mix(self.blocks[block.index()], head);
        h = mix(h, u64::from(spare.key) | u64::from(spare.aux) << 32);
        h = mix(h, spare.version);
        h = mix(h, spare.seq);
        h = mix(h, u64::from(spare.data_crc));
        h = mix(h, content_hash(content));
        self.set(block, h);
    }

    pub(crate) fn erase(&mut self, block: Block) {
        self.set(block, blank(block.index()));
    }

    /// Something else became of the block: a fault, told apart by `what`.
    pub(crate) fn disturb(&mut self, block: Block, what: u64) {
        let h = mix(mix(self.blocks[block.index()], 0xfa17), what);
        self.set(block, h);
    }
}

fn content_hash(content: Content<'_>) -> u64 {
    match content {
        Content::Hollow(tag) => tag,
        Content::Bytes(bytes) => {
            let mut h = 0x1234_5678u128;
            for chunk in bytes.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                h = mix(h, u64::from_le_bytes(word));
            }
            (h >> 64) as u64 ^ h as u64
        }
    }
}
