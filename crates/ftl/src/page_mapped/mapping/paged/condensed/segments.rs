//! A translation page as learned segments (LeaFTL, ASPLOS '23), of eight bytes each, over groups of 256 entries.
//!
//! A segment is a line through logical and physical pages. It is *accurate* where its logical pages are so far apart each,
//! and its physical pages follow each other. Else it is *approximate*, and the *conflict resolution buffer* (CRB) has its
//! logical pages, a byte each:
//!
//! ```text
//! logical    0 2 4 6      0 1 5 9      0 1 . 3 4      . not of this segment
//! physical   7 8 9 10     7 8 9 10     7 8 9 10 11
//!            every 2nd    in turn      in step
//! CRB        -            0 1 5 9      2, and the last: 4
//! ```
//!
//! An approximate segment of the paper names a page within an error bound, and neighbours in the spare area correct it.
//! Here a place in the CRB is the page (*in turn*), or both sides of the line have the same gaps (*in step*): no segment is
//! wrong. docs/design/mapping-caches.md has what a bound would save.
//!
//! The paper keeps levels of segments, newer above older, and compacts them. Here a translation page's segments are made
//! anew whenever it is written, so there is one level.

use crate::page_mapped::mapping::{MISLAID, NOWHERE};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Entries of a group: a byte says which.
const GROUP: u32 = 256;
/// Packed bytes of a segment: where it begins and how far it goes, a byte each, its stride and the first page.
const SEGMENT: u32 = 8;
/// Packed bytes of a group besides: how many segments there are, and where they begin.
const OF_GROUP: u32 = 4;

/// What its logical pages are. Where it has bytes of the conflict resolution buffer, these begin there. The last is that of
/// its last page.
#[derive(Clone, Copy, PartialEq, Eq, Preserve)]
enum Stride {
    /// So far apart, where one page follows the other.
    Every(u8),
    /// All of a stretch, and each has the same entry, which names no page.
    Same,
    /// Those in the CRB, where one page follows the other.
    InTurn(u16),
    /// Those in the CRB, as far apart as their pages.
    InStep(u16),
    /// As far apart as their pages: all but those in the CRB.
    InStepBut(u16),
}

/// An entry and its place in its group, as a word: soon sorted by the entry, and among equals by place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed(u64);

impl Placed {
    fn of(entry: u32, at: u8) -> Self {
        Self(u64::from(entry) << 8 | u64::from(at))
    }

    fn entry(self) -> u32 {
        (self.0 >> 8) as u32
    }

    fn at(self) -> u8 {
        self.0 as u8
    }
}

/// A segment of a group.
#[derive(Clone, Copy, Preserve)]
struct Segment {
    begins: u8,
    /// From the first logical page to the last.
    reach: u8,
    stride: Stride,
    first: u32,
}

/// The segments of a translation page.
#[derive(Clone, Preserve)]
pub(super) struct LearnedSegments {
    /// By group: the end of its segments.
    ends: Vec<u32>,
    segments: Vec<Segment>,
    crb: Vec<u8>,
}

impl LearnedSegments {
    /// None where they take more than `room` bytes.
    pub(super) fn of(entries: &[u32], room: u64) -> Option<Self> {
        let mut segments = Self { ends: Vec::new(), segments: Vec::new(), crb: Vec::new() };
        let mut scratch = Scratch::default();
        for group in entries.chunks(GROUP as usize) {
            segments.learn(group, &mut scratch);
            segments.ends.push(segments.segments.len() as u32);
            if u64::from(segments.bytes()) > room {
                return None;
            }
        }
        segments.segments.shrink_to_fit();
        segments.crb.shrink_to_fit();
        Some(segments)
    }

    fn learn(&mut self, group: &[u32], scratch: &mut Scratch) {
        let Scratch { sorted, best } = scratch;
        sorted.clear();
        sorted.extend(
            (0..=u8::MAX).zip(group).filter(|(_, entry)| **entry != NOWHERE).map(|(at, entry)| Placed::of(*entry, at)),
        );
        sorted.sort_unstable();
        let pages = sorted.partition_point(|placed| placed.entry() < MISLAID);
        let (pages, marks) = sorted.split_at(pages);
        let mut rest = pages;
        while let [first, ..] = rest {
            let length = 1 + rest.windows(2).take_while(|pair| may_go_on(pair[0], pair[1])).count();
            let (mut of_segments, others) = rest.split_at(length);
            rest = others;
            if length == 1 {
                // Most pages that were written at random.
                self.segments.push(Segment {
                    begins: first.at(),
                    reach: 0,
                    stride: Stride::Every(1),
                    first: first.entry(),
                });
                continue;
            }
            find_best(of_segments, best);
            while let Some(left) = of_segments.len().checked_sub(1) {
                let (of_segment, others) = of_segments.split_at(best[left].length as usize);
                self.add(of_segment, best[left].shape);
                of_segments = others;
            }
        }
        let mut rest = marks;
        while let [first, ..] = rest {
            let goes_on = |pair: &[Placed]| pair[1].entry() == pair[0].entry() && pair[1].0 == pair[0].0 + 1;
            let length = 1 + rest.windows(2).take_while(|pair| goes_on(pair)).count();
            let reach = (length - 1) as u8;
            self.segments.push(Segment { begins: first.at(), reach, stride: Stride::Same, first: first.entry() });
            rest = &rest[length..];
        }
    }

    fn add(&mut self, of_segment: &[Placed], shape: LineShape) {
        let ([first, ..], [.., last]) = (of_segment, of_segment) else { return };
        let from = self.crb.len() as u16;
        let stride = match shape {
            LineShape::Every => Stride::Every(of_segment.get(1).map_or(1, |next| next.at() - first.at())),
            LineShape::InTurn | LineShape::InStep => {
                self.crb.extend(of_segment.iter().map(|placed| placed.at()));
                if shape == LineShape::InTurn { Stride::InTurn(from) } else { Stride::InStep(from) }
            }
            LineShape::InStepBut => {
                let gaps = of_segment.windows(2).flat_map(|pair| pair[0].at() + 1..pair[1].at());
                self.crb.extend(gaps.chain([last.at()]));
                Stride::InStepBut(from)
            }
        };
        let reach = last.at() - first.at();
        self.segments.push(Segment { begins: first.at(), reach, stride, first: first.entry() });
    }

    /// RAM that one of so many entries takes at the most while it is learned, in bytes.
    pub(super) fn learning_bytes(entries: u32) -> u64 {
        let group = entries.min(GROUP) as usize * (size_of::<Placed>() + size_of::<Choice>());
        group as u64 + u64::from(entries) * (size_of::<Segment>() as u64 + 1)
    }

    /// Packed bytes.
    pub(super) fn bytes(&self) -> u32 {
        self.segments.len() as u32 * SEGMENT + self.crb.len() as u32 + self.ends.len() as u32 * OF_GROUP
    }

    pub(super) fn entry(&self, at: u32) -> u32 {
        let (group, at) = ((at / GROUP) as usize, (at % GROUP) as u8);
        let begin = group.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        let of_group = &self.segments[begin..self.ends[group] as usize];
        of_group.iter().find_map(|segment| self.entry_in(*segment, at)).unwrap_or(NOWHERE)
    }

    #[inline]
    fn entry_in(&self, segment: Segment, at: u8) -> Option<u32> {
        let distance = at.checked_sub(segment.begins).filter(|distance| *distance <= segment.reach)?;
        match segment.stride {
            Stride::Every(step) => (distance % step == 0).then(|| segment.first + u32::from(distance / step)),
            Stride::Same => Some(segment.first),
            Stride::InTurn(from) => {
                let (before, page) = self.first_from(from, at)?;
                (page == at).then(|| segment.first + before)
            }
            Stride::InStep(from) => {
                let (_, page) = self.first_from(from, at)?;
                (page == at).then(|| segment.first + u32::from(distance))
            }
            Stride::InStepBut(from) => {
                let (_, gap) = self.first_from(from, at)?;
                (gap != at || distance == segment.reach).then(|| segment.first + u32::from(distance))
            }
        }
    }

    /// The first byte of a segment in the CRB that is not before a logical page of its stretch, and how many stand before.
    fn first_from(&self, from: u16, at: u8) -> Option<(u32, u8)> {
        // Its last page is there or behind: the search ends within the segment.
        (0..).zip(&self.crb[from as usize..]).find(|(_, page)| **page >= at).map(|(before, page)| (before, *page))
    }
}

/// Whether any segment has the one entry behind the other.
#[inline]
fn may_go_on(placed: Placed, next: Placed) -> bool {
    let pages_apart = next.entry() - placed.entry();
    let apart = next.at().checked_sub(placed.at());
    apart.is_some_and(|apart| pages_apart == 1 || pages_apart == u32::from(apart))
}

/// What a segment through pages is to look like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineShape {
    Every,
    InTurn,
    InStep,
    InStepBut,
}

/// The best segment from a page on.
#[derive(Clone, Copy)]
struct Choice {
    shape: LineShape,
    /// Its pages.
    length: u32,
    /// Packed bytes of it and those behind it.
    bytes: u32,
}

/// What is used again from group to group.
#[derive(Default)]
struct Scratch {
    sorted: Vec<Placed>,
    best: Vec<Choice>,
}

/// How a segment goes on from a page: its bytes in the CRB from there on and those of the segments behind it, and where it ends.
#[derive(Clone, Copy)]
struct Way {
    bytes: u32,
    end: usize,
}

impl Way {
    /// With so many bytes more, or ending here where that takes fewer.
    fn with(self, goes_on: bool, more: u32, ends: Self) -> Self {
        let on = Self { bytes: self.bytes + more, end: self.end };
        if goes_on && on.bytes < ends.bytes { on } else { ends }
    }
}

/// The smallest segments of a stretch: by the page that each begins with, the last page first.
fn find_best(pages: &[Placed], best: &mut Vec<Choice>) {
    best.clear();
    let last = pages.len();
    let none = Way { bytes: 0, end: last };
    let (mut every, mut in_turn, mut in_step, mut in_step_but) = (last, none, none, none);
    for page in (0..last).rev() {
        let behind = |end: usize| if end < last { best[last - 1 - end].bytes } else { 0 };
        let (mut apart, mut pages_apart) = (0, 0);
        if let Some(next) = pages.get(page + 1) {
            // A stretch is in order of both.
            (apart, pages_apart) = (next.at() - pages[page].at(), next.entry() - pages[page].entry());
        }
        let (is_next, is_step) = (pages_apart == 1, apart > 0 && u32::from(apart) == pages_apart);
        every = match pages.get(page + 2) {
            _ if !is_next => page + 1,
            Some(third) if every > page + 2 && third.at() - pages[page + 1].at() == apart => every,
            _ => page + 2,
        };
        // A byte for each page, or for each gap and the last page.
        let ends = Way { bytes: behind(page + 1) + 1, end: page + 1 };
        in_turn = in_turn.with(is_next, 1, ends);
        in_step = in_step.with(is_step, 1, ends);
        in_step_but = in_step_but.with(is_step, pages_apart.saturating_sub(1), ends);
        let mut choice = Choice { shape: LineShape::Every, length: (every - page) as u32, bytes: behind(every) };
        for (shape, way) in
            [(LineShape::InTurn, in_turn), (LineShape::InStep, in_step), (LineShape::InStepBut, in_step_but)]
        {
            if way.bytes < choice.bytes {
                choice = Choice { shape, length: (way.end - page) as u32, bytes: way.bytes };
            }
        }
        choice.bytes += SEGMENT;
        best.push(choice);
    }
}
