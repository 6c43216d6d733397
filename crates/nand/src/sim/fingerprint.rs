//! A running hash of everything on the flash: two chips with equal fingerprints hold the same, but for chance.
//!
//! It is the exclusive or of a hash for every page that is not blank and every mark on a block. So it depends on the
//! content and not on how that came about.

use crate::state::Preserve;
use crate::{Block, Content, Page, Spare};
use alloc::vec;
use alloc::vec::Vec;

/// 128 bits over all blocks, kept up to date by every program, erase and fault.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Fingerprint {
    blocks: Vec<u128>,
    all: u128,
}

/// The hashed state of a page that is more, or less, than written for good.
#[derive(Clone, Copy)]
pub(crate) enum Oddity {
    /// Left out by an ascending program.
    LeftOut,
    /// Reads as erased, is not.
    LooksErased,
    /// Reads as uncorrectable.
    Unreadable,
    /// Written; reads well until the power fails again.
    LastsUntilPowerFails,
    /// Written; reads well this many times more.
    LastsReads(u8),
}

fn mix(state: u128, word: u64) -> u128 {
    const K: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    let x = (state ^ u128::from(word)).wrapping_mul(K);
    x ^ (x >> 67)
}

/// The hash of a page that is written.
pub(crate) fn written(page: Page, content: Content<'_>, spare: &Spare) -> u128 {
    let head = u64::from(page.0) | u64::from(spare.stream) << 32 | (spare.kind as u64) << 40;
    let mut h = mix(0x5bd1_e995, head);
    h = mix(h, u64::from(spare.key) | u64::from(spare.aux) << 32);
    h = mix(h, spare.version);
    h = mix(h, spare.seq);
    h = mix(h, u64::from(spare.data_crc));
    mix(h, content_hash(content))
}

/// The hash of an oddity, by itself or beside the page's own.
pub(crate) fn odd(page: Page, oddity: Oddity) -> u128 {
    let what = match oddity {
        Oddity::LeftOut => 1,
        Oddity::LooksErased => 2,
        Oddity::Unreadable => 3,
        Oddity::LastsUntilPowerFails => 4,
        Oddity::LastsReads(n) => 16 + u64::from(n),
    };
    mix(mix(0x0dd1, u64::from(page.0)), what)
}

/// The hash of a mark on a block.
pub(crate) fn mark(block: Block, flag: u8) -> u128 {
    mix(mix(0xf1a6, u64::from(block.0)), u64::from(flag))
}

impl Fingerprint {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { blocks: vec![0; blocks], all: 0 }
    }

    pub(crate) fn value(&self) -> u128 {
        self.all
    }

    /// Something with this hash has come to the block, or gone from it.
    pub(crate) fn toggle(&mut self, block: Block, hash: u128) {
        self.blocks[block.index()] ^= hash;
        self.all ^= hash;
    }

    /// The block is blank.
    pub(crate) fn erase(&mut self, block: Block) {
        self.all ^= self.blocks[block.index()];
        self.blocks[block.index()] = 0;
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
