//! The pages that merges and looks have in hand. All runs of a drive share them, those of Logarithmic Gecko and those of
//! the mapping log: a merge that goes on after another one reads its pages again.

use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// A page buffer for each run that is merged, or looked into.
#[derive(Clone, Default, Preserve)]
pub(crate) struct MergePages {
    pages: Vec<Vec<u8>>,
    /// Merges and looks so far, and the one that these are the pages of.
    turns: u64,
    turn: u64,
}

impl MergePages {
    /// A merge begins that needs so many: the number of its turn.
    pub(super) fn begin(&mut self, pages: usize, page_bytes: u32) -> u64 {
        self.turns += 1;
        self.turn = self.turns;
        self.make_room(pages, page_bytes);
        self.turn
    }

    /// The merge of a turn goes on. Whether its pages are in hand.
    #[inline]
    pub(super) fn take_up(&mut self, turn: u64, (pages, page_bytes): (usize, u32)) -> bool {
        let is_in_hand = core::mem::replace(&mut self.turn, turn) == turn;
        self.make_room(pages, page_bytes);
        is_in_hand
    }

    #[inline]
    fn make_room(&mut self, pages: usize, page_bytes: u32) {
        while self.pages.len() < pages {
            self.pages.push(vec![0; page_bytes as usize]);
        }
    }

    /// The page of an input.
    #[inline]
    pub(super) fn page(&self, rank: usize) -> &[u8] {
        &self.pages[rank]
    }

    #[inline]
    pub(super) fn page_mut(&mut self, rank: usize) -> &mut Vec<u8> {
        &mut self.pages[rank]
    }

    /// Bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages.iter().map(Vec::capacity).sum::<usize>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_finds_its_pages_in_hand_unless_another_had_them() {
        let mut pages = MergePages::default();
        let first = pages.begin(2, 16);
        assert!(pages.take_up(first, (2, 16)));
        let second = pages.begin(3, 16);
        assert_eq!(pages.bytes(), 48);
        assert!(!pages.take_up(first, (2, 16)) && pages.take_up(first, (2, 16)));
        assert!(!pages.take_up(second, (3, 16)));
        // Those that a recovery has anew are nobody's.
        assert!(!MergePages::default().take_up(first, (2, 16)));
    }
}
