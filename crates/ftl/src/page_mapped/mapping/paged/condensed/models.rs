//! A translation page as a few straight lines, and a bit for each entry that one of them names exactly (LearnedFTL,
//! HPCA '24: in-place-updated models and the bitmap filter).
//!
//! An entry whose bit is not set is read from flash, so no line is ever wrong. A model is
//! trained whenever its translation page is in RAM: read or written. A collection of groups (`groups.rs`) writes it when
//! its pages have moved in order, as the paper does.
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
/// The most pages for an entry.
const STEEPEST: u64 = 1 << (16 - FRACTION);
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
        let mut exact = vec![0; entries.len().div_ceil(64)];
        let ends = lines.iter().skip(1).map(|line| u32::from(line.begins)).chain([entries.len() as u32]);
        for (line, end) in lines.iter().zip(ends) {
            for at in u32::from(line.begins)..end {
                exact[at as usize / 64] |= u64::from(line.at(at) == entries[at as usize]) << (at % 64);
            }
        }
        Self { lines, exact }
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

/// The line from a place on, how many entries it names, and the last of them. It begins as steep as a run, and turns
/// where it misses an entry but another would name that and the last one named.
fn line_from(entries: &[u32], from: usize) -> Option<(Line, u32, usize)> {
    let first = entries[from];
    // Most places where none begins show that soon.
    let is_near = |(run, entry): (u64, &u32)| slopes_to(first, *entry, run).is_some();
    if first >= MISLAID || !(1..).zip(&entries[from + 1..]).take(2).any(is_near) {
        return None;
    }
    let mut line = Line { begins: from as u16, slope: 1 << FRACTION, first };
    let (mut least, mut most) = (0, u64::from(u16::MAX));
    let (mut names, mut misses, mut end) = (1, 0, from);
    for at in from + 1..entries.len() {
        let is_named = line.at(at as u32) == entries[at] || {
            let slopes = |at: usize| slopes_to(first, entries[at], (at - from) as u64);
            let of_both = slopes(at).and_then(|of_this| match end {
                end if end == from => Some(of_this),
                end => slopes(end).map(|of_last| (of_this.0.max(of_last.0), of_this.1.min(of_last.1))),
            });
            let turned = of_both.map(|slopes| (slopes.0.max(least), slopes.1.min(most)));
            let turned = turned.filter(|(least, most)| least <= most);
            if let Some(slopes) = turned {
                (least, most) = slopes;
                line.slope = ((least + most) / 2) as u16;
            }
            turned.is_some()
        };
        if is_named {
            (names, misses, end) = (names + 1, 0, at);
        } else if misses == MISSES {
            break;
        } else {
            misses += 1;
        }
    }
    (names >= NAMES).then_some((line, names, end))
}

/// The slopes of lines from one entry that name another, so many places behind: they are rounded to it from half a page
/// below to right below half a page above.
#[inline]
fn slopes_to(first: u32, entry: u32, run: u64) -> Option<(u64, u64)> {
    let pages = u64::from(entry.checked_sub(first).filter(|pages| *pages > 0 && entry < MISLAID)?);
    if pages > STEEPEST * run {
        return None;
    }
    let (rise, half) = (pages << FRACTION, 1 << (FRACTION - 1));
    Some(((rise - half).div_ceil(run), (rise + half - 1) / run))
}
