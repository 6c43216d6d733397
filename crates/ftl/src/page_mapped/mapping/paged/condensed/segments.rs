//! A translation page as learned segments (LeaFTL, ASPLOS '23), of eight bytes each, over groups of 256 entries.
//!
//! A segment is a run of physical pages. Its logical pages are so far apart each (an *accurate* segment), or stand in the
//! *conflict resolution buffer* (CRB), a byte each (an *approximate* one). An approximate segment of the paper names a page
//! within an error bound, and neighbours in the spare area correct it. Here its pages follow each other, so the place in
//! the CRB is the page: no segment is wrong. An older version of a logical page could stand within the bound.
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

/// What its logical pages are.
#[derive(Clone, Copy, PartialEq, Eq, Preserve)]
enum Stride {
    /// So far apart, where one page follows the other.
    Every(u8),
    /// All of a stretch, and each has the same entry, which names no page.
    Same,
    /// In the conflict resolution buffer, from there on.
    InCrb(u16),
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
        let mut sorted = Vec::with_capacity(GROUP as usize);
        for group in entries.chunks(GROUP as usize) {
            segments.learn(group, &mut sorted);
            segments.ends.push(segments.segments.len() as u32);
            if u64::from(segments.bytes()) > room {
                return None;
            }
        }
        segments.segments.shrink_to_fit();
        segments.crb.shrink_to_fit();
        Some(segments)
    }

    fn learn(&mut self, group: &[u32], sorted: &mut Vec<Placed>) {
        sorted.clear();
        sorted.extend(
            (0..=u8::MAX).zip(group).filter(|(_, entry)| **entry != NOWHERE).map(|(at, entry)| Placed::of(*entry, at)),
        );
        sorted.sort_unstable();
        let mut rest = &sorted[..];
        while let Some(first) = rest.first() {
            let names_pages = first.entry() < MISLAID;
            let goes_on = |pair: &[Placed]| {
                let [placed, next] = [pair[0], pair[1]];
                if names_pages {
                    next.entry() == placed.entry() + 1 && next.entry() < MISLAID && placed.at() < next.at()
                } else {
                    next.entry() == placed.entry() && next.0 == placed.0 + 1
                }
            };
            let length = 1 + rest.windows(2).take_while(|pair| goes_on(pair)).count();
            let (chain, others) = rest.split_at(length);
            rest = others;
            if names_pages {
                self.learn_chain(chain);
            } else {
                let reach = (length - 1) as u8;
                self.segments.push(Segment { begins: first.at(), reach, stride: Stride::Same, first: first.entry() });
            }
        }
    }

    /// A run of pages: of accurate segments, or of one that is approximate, whichever is smaller.
    fn learn_chain(&mut self, chain: &[Placed]) {
        let before = self.segments.len();
        let mut rest = chain;
        while let Some(first) = rest.first() {
            let step = rest.get(1).map_or(1, |next| next.at() - first.at());
            let length = 1 + rest.windows(2).take_while(|pair| pair[1].at() - pair[0].at() == step).count();
            let reach = rest[length - 1].at() - first.at();
            self.segments.push(Segment {
                begins: first.at(),
                reach,
                stride: Stride::Every(step),
                first: first.entry(),
            });
            rest = &rest[length..];
        }
        let accurate = (self.segments.len() - before) as u32 * SEGMENT;
        if let ([first, ..], [.., last]) = (chain, chain)
            && accurate > SEGMENT + chain.len() as u32
        {
            self.segments.truncate(before);
            let (reach, stride) = (last.at() - first.at(), Stride::InCrb(self.crb.len() as u16));
            self.segments.push(Segment { begins: first.at(), reach, stride, first: first.entry() });
            self.crb.extend(chain.iter().map(|placed| placed.at()));
        }
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
            Stride::InCrb(from) => {
                // Its last page is there or behind: the search ends within the segment.
                let (before, page) = (0..).zip(&self.crb[from as usize..]).find(|(_, page)| **page >= at)?;
                (*page == at).then(|| segment.first + before)
            }
        }
    }
}
