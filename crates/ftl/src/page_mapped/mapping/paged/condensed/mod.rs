//! Translation pages that stay in RAM in fewer bytes than on flash.
//!
//! Each is the image of what flash has of its translation page: made when that is read, and made anew when it is written.
//! Entries that are newer stand in the cache of entries, where a recovery's rules apply to them. So an image adds no state
//! that a power cut could take. It answers what would be a read of flash otherwise.
//!
//! The images take turns by bytes: where there is no room, the one used longest ago goes. What an image is made of is a
//! form of its own: runs ([`runs`], S-FTL), segments ([`segments`], LeaFTL) or models ([`models`], LearnedFTL).
//!
//! A drive of several dies writes to them in turn. So the entries are first dealt out by die: entry `i` of `d` dies stands
//! with `i - d` and `i + d`.

mod models;
mod runs;
mod segments;

use super::cache::scattered;
use crate::cache_part::Condense;
use crate::{Counter, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use models::Models;
use phelsuma_nand::state::Preserve;
use runs::Runs;
use segments::LearnedSegments;

const NONE: u32 = u32::MAX;

/// Packed bytes of an image besides its form: the translation page, its version, and its size.
const HEADER: u32 = 16;

/// The entries of a translation page in one of the forms.
#[derive(Clone, Preserve)]
enum Form {
    Runs(Runs),
    Segments(LearnedSegments),
    Models(Models),
}

impl Form {
    fn of(condense: Condense, entries: &[u32]) -> Option<Self> {
        match condense {
            Condense::Nothing => None,
            Condense::Runs => Some(Self::Runs(Runs::of(entries))),
            Condense::Segments => Some(Self::Segments(LearnedSegments::of(entries))),
            Condense::Models => Some(Self::Models(Models::of(entries))),
        }
    }

    /// Packed bytes.
    fn bytes(&self) -> u32 {
        match self {
            Self::Runs(runs) => runs.bytes(),
            Self::Segments(segments) => segments.bytes(),
            Self::Models(models) => models.bytes(),
        }
    }

    /// The entry at a place; None where the form does not have it.
    #[inline]
    fn entry(&self, at: u32) -> Option<u32> {
        match self {
            Self::Runs(runs) => Some(runs.entry(at)),
            Self::Segments(segments) => Some(segments.entry(at)),
            Self::Models(models) => models.entry(at),
        }
    }

    /// Whether it has every entry.
    fn is_whole(&self) -> bool {
        !matches!(self, Self::Models(_))
    }
}

/// The image of a translation page.
#[derive(Clone, Preserve)]
struct Image {
    translation_page: u32,
    /// When the translation page was synchronized.
    version: u64,
    form: Form,
    /// Used after this one, and before it.
    newer: u32,
    older: u32,
    /// The next of the same hash.
    next: u32,
}

/// Images of translation pages within their bytes.
#[derive(Clone, Preserve)]
pub(super) struct CondensedPages {
    condense: Condense,
    entries_per_page: u32,
    dies: u32,
    room: u64,
    taken: u64,
    images: Vec<Image>,
    newest: u32,
    oldest: u32,
    /// By hash: the first image.
    buckets: Vec<u32>,
    /// Entries by die, while an image is made.
    dealt: Vec<u32>,
    hits: u64,
}

impl CondensedPages {
    /// For so many translation pages of so many entries each, in `room` packed bytes; None where none is condensed.
    pub(super) fn of(
        condense: Condense,
        (translation_pages, entries_per_page): (u32, u32),
        dies: u32,
        room: u64,
    ) -> Option<Self> {
        let least = HEADER + Form::of(condense, &vec![NONE; entries_per_page as usize])?.bytes();
        let most = (room / u64::from(least)).min(translation_pages.into()) as usize;
        Some(Self {
            condense,
            entries_per_page,
            dies,
            room,
            taken: 0,
            images: Vec::with_capacity(most),
            newest: NONE,
            oldest: NONE,
            buckets: vec![NONE; most.max(1)],
            dealt: Vec::with_capacity((entries_per_page.div_ceil(dies) * dies) as usize),
            hits: 0,
        })
    }

    /// Where an entry of a translation page stands once they are dealt out by die.
    #[inline]
    fn dealt_to(&self, index: u32) -> u32 {
        if self.dies == 1 {
            index
        } else {
            index % self.dies * self.entries_per_page.div_ceil(self.dies) + index / self.dies
        }
    }

    fn find(&self, translation_page: u32) -> Option<usize> {
        let mut at = self.buckets[scattered(translation_page, self.buckets.len())];
        while at != NONE {
            let image = &self.images[at as usize];
            if image.translation_page == translation_page {
                return Some(at as usize);
            }
            at = image.next;
        }
        None
    }

    /// The entry of a logical page as flash has it, if that is to be had; nothing changes.
    pub(super) fn peek(&self, key: u32) -> Option<u32> {
        let at = self.find(key / self.entries_per_page)?;
        self.images[at].form.entry(self.dealt_to(key % self.entries_per_page))
    }

    /// The same, and the image has been used.
    #[inline]
    pub(super) fn entry(&mut self, key: u32) -> Option<u32> {
        let at = self.find(key / self.entries_per_page)?;
        let entry = self.images[at].form.entry(self.dealt_to(key % self.entries_per_page))?;
        self.touch(at as u32);
        self.hits += 1;
        Some(entry)
    }

    /// Every entry of a translation page, and when it was synchronized: where the image has them all.
    pub(super) fn whole(&self, translation_page: u32) -> Option<(impl Iterator<Item = u32> + '_, u64)> {
        let image = &self.images[self.find(translation_page)?];
        let entries = (0..self.entries_per_page).map(|index| image.form.entry(self.dealt_to(index)).unwrap_or(NONE));
        image.form.is_whole().then_some((entries, image.version))
    }

    /// Flash has these entries of a translation page from now on, or had them before, as it was synchronized then.
    pub(super) fn enter(&mut self, translation_page: u32, version: u64, entries: &[u8]) {
        self.forget(translation_page);
        let mut dealt = core::mem::take(&mut self.dealt);
        dealt.clear();
        let (entries, _) = entries.as_chunks();
        if self.dies == 1 {
            dealt.extend(entries.iter().map(|entry| u32::from_le_bytes(*entry)));
        }
        for die in (0..self.dies).filter(|_| self.dies > 1) {
            let of_die = entries.iter().skip(die as usize).step_by(self.dies as usize);
            dealt.extend(of_die.map(|entry| u32::from_le_bytes(*entry)));
            dealt.resize(((die + 1) * self.entries_per_page.div_ceil(self.dies)) as usize, NONE);
        }
        let form = Form::of(self.condense, &dealt);
        self.dealt = dealt;
        let Some(form) = form else { return };
        let bytes = u64::from(HEADER + form.bytes());
        if bytes > self.room {
            return;
        }
        while self.taken + bytes > self.room {
            self.remove(self.oldest as usize);
        }
        self.taken += bytes;
        let at = self.images.len() as u32;
        let buckets = self.buckets.len();
        let bucket = &mut self.buckets[scattered(translation_page, buckets)];
        let next = core::mem::replace(bucket, at);
        self.images.push(Image { translation_page, version, form, newer: NONE, older: NONE, next });
        self.put_newest(at);
    }

    /// What flash has of a translation page is not known here any more.
    pub(super) fn forget(&mut self, translation_page: u32) {
        if let Some(at) = self.find(translation_page) {
            self.remove(at);
        }
    }

    fn touch(&mut self, at: u32) {
        if at != self.newest {
            self.take_out(at as usize);
            self.put_newest(at);
        }
    }

    fn put_newest(&mut self, at: u32) {
        let before = core::mem::replace(&mut self.newest, at);
        let image = &mut self.images[at as usize];
        (image.newer, image.older) = (NONE, before);
        self.set_newer_of(before, at);
    }

    /// Out of the order of use.
    fn take_out(&mut self, at: usize) {
        let (newer, older) = (self.images[at].newer, self.images[at].older);
        self.set_newer_of(older, newer);
        self.set_older_of(newer, older);
    }

    /// Of none, it is the oldest.
    fn set_newer_of(&mut self, at: u32, newer: u32) {
        match self.images.get_mut(at as usize) {
            Some(image) => image.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Of none, it is the newest.
    fn set_older_of(&mut self, at: u32, older: u32) {
        match self.images.get_mut(at as usize) {
            Some(image) => image.older = older,
            None => self.newest = older,
        }
    }

    /// What names an image in its bucket, or the bucket.
    fn name_of(&mut self, at: u32) -> &mut u32 {
        let bucket = scattered(self.images[at as usize].translation_page, self.buckets.len());
        let mut before = self.buckets[bucket];
        if before == at {
            return &mut self.buckets[bucket];
        }
        while self.images[before as usize].next != at {
            before = self.images[before as usize].next;
        }
        &mut self.images[before as usize].next
    }

    /// An image goes; the last one takes its place.
    fn remove(&mut self, at: usize) {
        self.take_out(at);
        let next = self.images[at].next;
        *self.name_of(at as u32) = next;
        let last = self.images.len() - 1;
        if at < last {
            *self.name_of(last as u32) = at as u32;
        }
        let gone = self.images.swap_remove(at);
        self.taken -= u64::from(HEADER + gone.form.bytes());
        if let Some(moved) = self.images.get(at) {
            let (newer, older) = (moved.newer, moved.older);
            self.set_newer_of(older, at as u32);
            self.set_older_of(newer, at as u32);
        }
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.condensed", self.room);
        let index = self.images.capacity() * size_of::<Image>() + (self.buckets.capacity() + self.dealt.capacity()) * 4;
        ledger.index("index.condensed_links", index as u64);
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("condensed_hits", self.hits),
            Counter::level("condensed_pages", self.images.len() as u64),
            Counter::level("condensed_bytes", self.taken),
        ]);
    }
}

#[cfg(test)]
mod tests;
