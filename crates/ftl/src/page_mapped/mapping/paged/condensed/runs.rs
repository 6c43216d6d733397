//! A translation page as runs of entries that follow each other (S-FTL, MSST '11).
//!
//! A bit for each entry says whether it begins a run. The first entry of each run stands in a list. So a translation page
//! that was written in one go takes a bit an entry and four bytes.

use crate::page_mapped::mapping::MISLAID;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// The runs of a translation page.
#[derive(Clone, Preserve)]
pub(super) struct Runs {
    /// By place: whether a run begins there.
    begins: Vec<u64>,
    firsts: Vec<u32>,
}

/// Whether an entry goes on with the run that has `before` in front of it. Entries that name no page go on as they are.
#[inline]
fn goes_on(before: u32, entry: u32) -> bool {
    if before < MISLAID { entry == before + 1 && entry < MISLAID } else { entry == before }
}

impl Runs {
    pub(super) fn of(entries: &[u32]) -> Self {
        let mut begins = vec![0; entries.len().div_ceil(64)];
        let mut before = None;
        for (word, entries) in begins.iter_mut().zip(entries.chunks(64)) {
            for (bit, entry) in entries.iter().enumerate() {
                *word |= u64::from(before.is_none_or(|before| !goes_on(before, *entry))) << bit;
                before = Some(*entry);
            }
        }
        let count: u32 = begins.iter().map(|word: &u64| word.count_ones()).sum();
        let mut firsts = Vec::with_capacity(count as usize);
        for (word, entries) in begins.iter().zip(entries.chunks(64)) {
            let mut left = *word;
            while left != 0 {
                firsts.push(entries[left.trailing_zeros() as usize]);
                left &= left - 1;
            }
        }
        Self { begins, firsts }
    }

    /// Packed bytes.
    pub(super) fn bytes(&self) -> u32 {
        (self.begins.len() * 8 + self.firsts.len() * 4) as u32
    }

    pub(super) fn entry(&self, at: u32) -> u32 {
        let (word, bit) = (at as usize / 64, at % 64);
        let here = self.begins[word] & (u64::MAX >> (63 - bit));
        let before: u32 = self.begins[..word].iter().map(|begins| begins.count_ones()).sum();
        let run = (before + here.count_ones()) as usize - 1;
        let first = self.firsts[run];
        if first >= MISLAID {
            return first;
        }
        let mut of = word;
        let mut begins = here;
        while begins == 0 {
            of -= 1;
            begins = self.begins[of];
        }
        let began = of as u32 * 64 + 63 - begins.leading_zeros();
        first + (at - began)
    }
}
