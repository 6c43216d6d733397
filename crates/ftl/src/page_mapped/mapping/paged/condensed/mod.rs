//! Translation pages that stay in RAM in fewer bytes than on flash.
//!
//! A condensed page is what flash has of its translation page: made when that is read, and made anew when it is written.
//! Entries that are newer stand in the cache of entries, where a recovery's rules apply to them. So it adds no state that a
//! power cut could take. It answers what would be a read of flash otherwise.
//!
//! They share their room by bytes: where there is none, the one used longest ago goes. Each is of a form: runs ([`runs`],
//! S-FTL), segments ([`segments`], LeaFTL) or models ([`models`], LearnedFTL).
//!
//! A drive of several dies writes to them in turn. So the entries are first dealt out by die: entry `i` of `d` dies stands
//! with `i - d` and `i + d`.

mod models;
mod refused;
mod runs;
mod segments;

use super::cache::scattered;
use super::ends::{Ends, Links, NONE};
use super::entries::{index_of, part_of};
use crate::cache_part::Condense;
use crate::page_mapped::mapping::NOWHERE;
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use models::Models;
use phelsuma_nand::Time;
use phelsuma_nand::state::Preserve;
use runs::Runs;
use segments::LearnedSegments;

/// Packed bytes of a condensed page besides its form: the translation page, its version, and its size.
const HEADER: u32 = 16;

/// The entries of a translation page in one of the forms.
#[derive(Clone, Preserve)]
enum Form {
    Runs(Runs),
    Segments(LearnedSegments),
    Models(Models),
}

impl Form {
    /// None where nothing is condensed, or where it takes more than `room` bytes.
    fn of(condense: Condense, entries: &[u32], room: u64) -> Option<Self> {
        let form = match condense {
            Condense::Nothing => return None,
            Condense::Runs => Self::Runs(Runs::of(entries)),
            Condense::Segments => Self::Segments(LearnedSegments::of(entries, room)?),
            Condense::Models => Self::Models(Models::of(entries)),
        };
        (u64::from(form.bytes()) <= room).then_some(form)
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

/// A translation page in fewer bytes.
#[derive(Clone, Preserve)]
struct CondensedPage {
    translation_page: u32,
    /// When the translation page was synchronized.
    version: u64,
    /// When it is in RAM.
    since: Time,
    /// None where the place is vacant.
    form: Option<Box<Form>>,
    links: Links,
    /// The next of the same hash, or the next vacant place.
    next: u32,
}

/// Translation pages in fewer bytes, within their room.
#[derive(Clone, Preserve)]
pub(super) struct CondensedPages {
    condense: Condense,
    entries_per_page: u32,
    dies: u32,
    room: u64,
    taken: u64,
    /// With places for as many as can be.
    pages: Vec<CondensedPage>,
    vacant: u32,
    order: Ends,
    /// By hash: the first page.
    buckets: Vec<u32>,
    /// Entries by die, while a page is condensed.
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
        let least = HEADER + Form::of(condense, &vec![NOWHERE; entries_per_page as usize], u64::MAX)?.bytes();
        let most = (room / u64::from(least)).min(translation_pages.into()) as usize;
        Some(Self {
            condense,
            entries_per_page,
            dies,
            room,
            taken: 0,
            pages: Vec::with_capacity(most),
            vacant: NONE,
            order: Ends::NONE,
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

    fn find(&self, translation_page: u32) -> Option<(u32, &Form)> {
        let mut at = self.buckets[scattered(translation_page, self.buckets.len())];
        while at != NONE {
            let page = &self.pages[at as usize];
            if page.translation_page == translation_page {
                return page.form.as_deref().map(|form| (at, form));
            }
            at = page.next;
        }
        None
    }

    /// Whether a translation page is condensed.
    pub(super) fn has(&self, translation_page: u32) -> bool {
        self.find(translation_page).is_some()
    }

    /// The entry of a logical page as flash has it, if that is to be had, and from when on; nothing changes.
    pub(super) fn peek(&self, key: u32) -> Option<(u32, Time)> {
        let (at, form) = self.find(part_of(key, self.entries_per_page))?;
        Some((form.entry(self.dealt_to(index_of(key, self.entries_per_page)))?, self.pages[at as usize].since))
    }

    /// The same, and its page has been used.
    #[inline]
    pub(super) fn entry(&mut self, key: u32) -> Option<(u32, Time)> {
        let (at, form) = self.find(part_of(key, self.entries_per_page))?;
        let entry = form.entry(self.dealt_to(index_of(key, self.entries_per_page)))?;
        if at != self.order.newest {
            self.order.take(at, &mut self.pages, |page| &mut page.links);
            self.order.put_newest(at, &mut self.pages, |page| &mut page.links);
        }
        self.hits += 1;
        Some((entry, self.pages[at as usize].since))
    }

    /// Every entry of a translation page, when it was synchronized, and from when on they are to be had: where its form
    /// has them all.
    pub(super) fn whole(&self, translation_page: u32) -> Option<(impl Iterator<Item = u32> + '_, u64, Time)> {
        let (at, form) = self.find(translation_page)?;
        let entries = (0..self.entries_per_page).map(|index| form.entry(self.dealt_to(index)).unwrap_or(NOWHERE));
        let page = &self.pages[at as usize];
        form.is_whole().then_some((entries, page.version, page.since))
    }

    /// The bytes from which a translation page has been condensed, if it has, are in RAM from `since` on.
    pub(super) fn arrives(&mut self, translation_page: u32, since: Time) {
        if let Some((at, _)) = self.find(translation_page) {
            self.pages[at as usize].since = since;
        }
    }

    /// Flash has these entries of a translation page from now on, or had them before, as it was synchronized then.
    pub(super) fn enter(&mut self, translation_page: u32, version: u64, entries: &[u8]) {
        self.forget(translation_page);
        let mut dealt = core::mem::take(&mut self.dealt);
        dealt.clear();
        let (entries, _) = entries.as_chunks();
        if self.dies == 1 {
            dealt.extend(entries.iter().map(|entry| u32::from_le_bytes(*entry)));
        } else {
            for die in 0..self.dies {
                let of_die = entries.iter().skip(die as usize).step_by(self.dies as usize);
                dealt.extend(of_die.map(|entry| u32::from_le_bytes(*entry)));
                dealt.resize(((die + 1) * self.entries_per_page.div_ceil(self.dies)) as usize, NOWHERE);
            }
        }
        let form = Form::of(self.condense, &dealt, self.room.saturating_sub(HEADER.into()));
        self.dealt = dealt;
        let Some(form) = form else { return };
        let bytes = u64::from(HEADER + form.bytes());
        while self.taken + bytes > self.room {
            self.remove(self.order.oldest);
        }
        self.taken += bytes;
        let buckets = self.buckets.len();
        let bucket = &mut self.buckets[scattered(translation_page, buckets)];
        let (form, links) = (Some(Box::new(form)), Links::NONE);
        let page = CondensedPage { translation_page, version, since: Time::ZERO, form, links, next: *bucket };
        let at = match self.vacant {
            NONE => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
            vacant => {
                self.vacant = core::mem::replace(&mut self.pages[vacant as usize], page).next;
                vacant
            }
        };
        *bucket = at;
        self.order.put_newest(at, &mut self.pages, |page| &mut page.links);
    }

    /// What flash has of a translation page is not condensed any more.
    pub(super) fn forget(&mut self, translation_page: u32) {
        if let Some((at, _)) = self.find(translation_page) {
            self.remove(at);
        }
    }

    fn remove(&mut self, at: u32) {
        self.order.take(at, &mut self.pages, |page| &mut page.links);
        let page = &mut self.pages[at as usize];
        let (next, bucket) = (page.next, scattered(page.translation_page, self.buckets.len()));
        self.taken -= u64::from(page.form.take().map_or(0, |form| HEADER + form.bytes()));
        page.next = core::mem::replace(&mut self.vacant, at);
        let mut before = self.buckets[bucket];
        if before == at {
            self.buckets[bucket] = next;
            return;
        }
        while self.pages[before as usize].next != at {
            before = self.pages[before as usize].next;
        }
        self.pages[before as usize].next = next;
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.condensed", self.room);
        let index =
            self.pages.capacity() * size_of::<CondensedPage>() + (self.buckets.capacity() + self.dealt.capacity()) * 4;
        ledger.index("index.condensed_links", index as u64);
        // While a page is condensed.
        let condensing = match self.condense {
            Condense::Segments => LearnedSegments::learning_bytes(self.entries_per_page),
            Condense::Nothing | Condense::Runs | Condense::Models => u64::from(self.entries_per_page) * 12,
        };
        ledger.index("buffer.condensing", condensing);
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("condensed_hits", self.hits),
            Counter::level("condensed_pages", self.pages.iter().filter(|page| page.form.is_some()).count() as u64),
            Counter::level("condensed_bytes", self.taken),
        ]);
    }
}

#[cfg(test)]
mod tests;
