//! A translation page as a few straight lines, and a bit for each entry that one of them names exactly (LearnedFTL,
//! HPCA '24: in-place-updated models and the bitmap filter).
//!
//! An entry whose bit is not set is read from flash, so no line is ever wrong. The paper trains models where a collection
//! has sorted a group's pages. Here a model is trained whenever its translation page is in RAM: read or written.
//!
//! A line goes on past entries that it misses, since single pages are written anew everywhere. The eight lines that name
//! the most entries are kept.

use crate::page_mapped::mapping::MISLAID;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Lines of a model at the most, as LearnedFTL has them.
const LINES: usize = 8;
/// Entries that a line names at the least.
const NAMES: u32 = 4;
/// Entries in a row that a line may miss.
const MISSES: u32 = 8;
/// Bits of a slope behind the point; with four before it, that is two bytes.
const FRACTION: u32 = 12;
/// Packed bytes of a line: where it begins, its slope, and the entry there.
const LINE: u32 = 8;

/// A line through entries.
#[derive(Clone, Copy, Preserve)]
struct Line {
    begins: u16,
    /// Pages for an entry, in parts of 2^-[`FRACTION`].
    slope: u16,
    first: u32,
}

impl Line {
    /// The entry at a place, as the line has it.
    #[inline]
    fn at(self, at: u32) -> u32 {
        let rise = (at - u32::from(self.begins)) * u32::from(self.slope);
        self.first.wrapping_add((rise + (1 << (FRACTION - 1))) >> FRACTION)
    }
}

/// The lines of a translation page.
#[derive(Clone, Preserve)]
pub(super) struct Models {
    lines: Vec<Line>,
    /// By place: whether the line there names the entry.
    exact: Vec<u64>,
}

impl Models {
    pub(super) fn of(entries: &[u32]) -> Self {
        let mut fitted = fit(entries);
        fitted.sort_by_key(|(_, names)| core::cmp::Reverse(*names));
        fitted.truncate(LINES);
        let mut lines: Vec<Line> = fitted.into_iter().map(|(line, _)| line).collect();
        lines.sort_by_key(|line| line.begins);
        let mut models = Self { lines, exact: vec![0; entries.len().div_ceil(64)] };
        for (at, entry) in (0..).zip(entries) {
            let is_exact = models.line_of(at).is_some_and(|line| line.at(at) == *entry);
            models.exact[at as usize / 64] |= u64::from(is_exact) << (at % 64);
        }
        models
    }

    /// Packed bytes.
    pub(super) fn bytes(&self) -> u32 {
        self.lines.len() as u32 * LINE + self.exact.len() as u32 * 8
    }

    #[inline]
    fn line_of(&self, at: u32) -> Option<Line> {
        self.lines.iter().rev().find(|line| u32::from(line.begins) <= at).copied()
    }

    #[inline]
    pub(super) fn entry(&self, at: u32) -> Option<u32> {
        let is_exact = self.exact[at as usize / 64] >> (at % 64) & 1 == 1;
        self.line_of(at).filter(|_| is_exact).map(|line| line.at(at))
    }
}

/// Lines through entries that name pages, and how many each names: from each place where one begins as far as it goes.
fn fit(entries: &[u32]) -> Vec<(Line, u32)> {
    let mut lines = Vec::new();
    let mut from = 0;
    while from < entries.len() {
        match line_from(entries, from) {
            Some((line, names, end)) => {
                lines.push((line, names));
                from = end + 1;
            }
            None => from += 1,
        }
    }
    lines
}

/// The line from a place on, how many entries it names, and the last of them.
fn line_from(entries: &[u32], from: usize) -> Option<(Line, u32, usize)> {
    let first = entries[from];
    if first >= MISLAID {
        return None;
    }
    // The slopes at which a line names all entries so far, in parts of 2^-FRACTION: it may be half a page off.
    let half = 1_i64 << (FRACTION - 1);
    let (mut least, mut most) = (0, i64::from(u16::MAX));
    let (mut names, mut misses, mut end) = (1, 0, from);
    for (at, entry) in entries.iter().enumerate().skip(from + 1) {
        let run = (at - from) as i64;
        let rise = (i64::from(*entry) - i64::from(first)) << FRACTION;
        // From half a page below, which rounds up, to right below half a page above.
        let of_least = (rise - half).div_euclid(run) + i64::from((rise - half).rem_euclid(run) > 0);
        let of_most = (rise + half - 1).div_euclid(run);
        let fits = *entry < MISLAID && of_least.max(least) <= of_most.min(most);
        if fits {
            (least, most) = (of_least.max(least), of_most.min(most));
            (names, misses, end) = (names + 1, 0, at);
        } else {
            misses += 1;
            if misses > MISSES {
                break;
            }
        }
    }
    let slope = ((least + most) / 2) as u16;
    (names >= NAMES).then_some((Line { begins: from as u16, slope, first }, names, end))
}
