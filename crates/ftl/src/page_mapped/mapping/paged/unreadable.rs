//! Translation pages that RAM knows of and flash does not give back, on a drive with a battery.
//!
//! A recovery that reads spare areas alone cannot find out which translation page an unreadable page was. It would doubt
//! all that were written before the page behind it. So each is written anew as lost, at the latest when the power fails,
//! and its spare area says in whose place it stands.

use crate::RamLedger;
use crate::medium::marks::SpareMarks;
use alloc::vec::Vec;
use phelsuma_nand::Page;
use phelsuma_nand::state::Preserve;

/// How many of them are remembered.
const MOST: usize = 64;

/// The translation pages that could not be read.
#[derive(Clone, Debug, Default, Preserve)]
pub(super) struct UnreadablePages {
    parts: Vec<u32>,
    /// Where the translation page that is being changed could not be read.
    loaded: Option<Page>,
}

impl UnreadablePages {
    /// A translation page could not be read there.
    pub(super) fn found(&mut self, part: u32) {
        if self.parts.len() < MOST && !self.parts.contains(&part) {
            self.parts.push(part);
        }
    }

    /// The translation page that is going to be changed is read, or could not be read there.
    #[inline]
    pub(super) fn loaded(&mut self, unreadable: Option<Page>) {
        self.loaded = unreadable;
    }

    /// A translation page is written with these marks.
    #[inline]
    pub(super) fn marks(&self, marks: SpareMarks) -> SpareMarks {
        self.loaded.map_or(marks, |page| marks.in_place_of(page))
    }

    /// One that is not written anew yet.
    pub(super) fn next(&self) -> Option<u32> {
        self.parts.first().copied()
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("index.unreadable", (self.parts.capacity() * size_of::<u32>()) as u64);
    }

    /// A translation page is on flash.
    #[inline]
    pub(super) fn written(&mut self, part: u32) {
        self.loaded = None;
        self.parts.retain(|other| *other != part);
    }
}
