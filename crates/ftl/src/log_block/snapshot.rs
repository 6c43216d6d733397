//! The snapshot of a clean end (LAST++ section 4.7): written when the drive is closed, read by the next start.
//!
//! It holds what a recovery would have to scan log blocks and map blocks for. It is saved as words of 32 bits,
//! little-endian, cut into pages:
//! - where each part of the map stands; the parts themselves are on flash already;
//! - each log block in which anything is live: its block, and by page the logical page that is live there.
//!
//! The pages stand in blocks of their own ([`Role::Snapshot`](super::pool::Role::Snapshot)). They are numbered from 1
//! on in the order in which they were written. The **seal**, with the number 0, is written last, when all others are on
//! flash. It says after which moment in program order they were written, and how many words they hold.
//!
//! As with what a battery saves ([`crate::page_mapped`]), all of it holds **only while nothing has been programmed
//! since**. A seal is believed if nothing on the drive is younger. To find that out a start reads no more than the
//! first spare area of each block, as every recovery does. So nothing may be written to a block that was begun before
//! the seal: every open block is closed first. Every later write, after a start or without one, begins a block. Its
//! first page is younger than the seal from then on, and was not acknowledged before. An erase alone changes nothing: a
//! block that may be erased holds nothing that counts. That includes a snapshot's own blocks, and a snapshot of which a
//! page is missing is none.
//!
//! The seal is the only suspect page. If it reads well now and turns bad later, the next start scans: everything that
//! the snapshot describes was on flash before it.
//!
//! No space is set aside for it: the blocks that recoveries hold back are free while the drive is in use. Where they
//! have become too few, there is no snapshot, and the next start scans.

use super::log_state::NONE;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Page};

/// The number of the seal among a snapshot's pages; theirs begin behind it.
pub(super) const SEAL: u32 = 0;

/// Words of a log block besides those of its pages.
const HEAD_WORDS: usize = 1;

/// Pages with so many words, without the seal.
fn pages_of(geometry: &Geometry, words: u64) -> u64 {
    words.div_ceil(words_per_page(geometry) as u64)
}

pub(super) fn words_per_page(geometry: &Geometry) -> usize {
    geometry.page_bytes() as usize / 4
}

/// Words of a snapshot of so many parts and log blocks.
fn words_of(geometry: &Geometry, parts: u32, log_blocks: u32) -> u64 {
    let of_log_block = HEAD_WORDS as u64 + u64::from(geometry.pages_per_block());
    2 + u64::from(parts) + u64::from(log_blocks) * of_log_block
}

/// Pages of a snapshot of so many parts and log blocks at the most, the seal among them.
pub(super) fn pages_at_most(geometry: &Geometry, parts: u32, log_blocks: u32) -> u64 {
    pages_of(geometry, words_of(geometry, parts, log_blocks)) + 1
}

/// The content of a snapshot.
pub(super) struct Snapshot {
    words: Vec<u32>,
    parts: usize,
    pages_per_block: usize,
}

impl Snapshot {
    /// Words that were read; none where they are no snapshot of a drive of so many parts of the map.
    pub(super) fn of(geometry: &Geometry, words: Vec<u32>, parts: u32) -> Option<Self> {
        let pages_per_block = geometry.pages_per_block() as usize;
        let snapshot = Self { words, parts: parts as usize, pages_per_block };
        let log_blocks = *snapshot.words.get(1 + snapshot.parts)?;
        let fits = snapshot.words.first() == Some(&parts)
            && snapshot.words.len() as u64 == words_of(geometry, parts, log_blocks);
        fits.then_some(snapshot)
    }

    /// Where the parts of the map stand.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        let places = self.words.iter().skip(1).take(self.parts);
        (0..).zip(places).filter(|(_, page)| **page != NONE).map(|(part, page)| (part, Page(*page)))
    }

    /// The log blocks, each with its live pages: index and logical page.
    pub(super) fn log_blocks(&self) -> impl Iterator<Item = (Block, impl Iterator<Item = (u32, u32)> + '_)> + '_ {
        let records = self.words.get(2 + self.parts..).unwrap_or(&[]);
        records.chunks_exact(HEAD_WORDS + self.pages_per_block).filter_map(|record| {
            let (block, keys) = record.split_first()?;
            let live = (0..).zip(keys.iter().copied()).filter(|(_, key)| *key != NONE);
            Some((Block(*block), live))
        })
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.words.capacity() * 4) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_snapshot_are_none() {
        let geometry = Geometry::new(512, 4, 64, 1, 1).unwrap();
        let of = |words: &[u32]| Snapshot::of(&geometry, words.to_vec(), 2);
        let good = [2, 7, NONE, 1, 9, 3, NONE, 4, NONE];
        let snapshot = of(&good).unwrap();
        assert_eq!(snapshot.parts().collect::<Vec<_>>(), [(0, Page(7))]);
        let log: Vec<_> = snapshot.log_blocks().map(|(block, live)| (block, live.collect::<Vec<_>>())).collect();
        assert_eq!(log, [(Block(9), alloc::vec![(0, 3), (2, 4)])]);
        assert_eq!(words_of(&geometry, 2, 1), good.len() as u64);
        for end in 0..good.len() {
            assert!(of(&good[..end]).is_none());
        }
        for word in [0, 1, 3, NONE] {
            assert!(of(&[word, 7, NONE, 1, 9, 3, NONE, 4, NONE]).is_none());
            assert!(word == 1 || of(&[2, 7, NONE, word, 9, 3, NONE, 4, NONE]).is_none());
        }
    }
}
