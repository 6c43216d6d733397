//! Entries that are fetched with the one that was missed (TPFTL, EuroSys '15): they stand in the translation page that
//! is read anyway.
//!
//! By request, all that the request needs of that page. By run, besides, as many behind the one missed as are cached right
//! before it, while accesses are sequential. In place of them go clean entries of other translation pages: what is
//! fetched on trust costs no synchronization. (The paper lets it have one.)

use super::cache::MappingCache;
use super::index_of;
use crate::RamLedger;
use crate::cache_part::{Evict, Prefetch};
use crate::config::{MappingPart, PageParts};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;

/// What is fetched, and for which request.
#[derive(Clone, Debug, Preserve)]
pub(super) struct Prefetching {
    by_run: bool,
    entries_per_page: u32,
    /// The logical pages of the request.
    request: Range<u32>,
    /// Entries gathered from the translation page read last, with their logical pages.
    gathered: Vec<(u32, u32)>,
    entered: u64,
}

impl Prefetching {
    /// For translation pages of so many entries; None where nothing is prefetched.
    pub(super) fn of(prefetch: Prefetch, entries_per_page: u32) -> Option<Self> {
        let by_run = match prefetch {
            Prefetch::Nothing => return None,
            Prefetch::Request => false,
            Prefetch::Selective => true,
        };
        let gathered = Vec::with_capacity(entries_per_page as usize);
        Some(Self { by_run, entries_per_page, request: 0..0, gathered, entered: 0 })
    }

    #[inline]
    pub(super) fn requested(&mut self, pages: Range<u32>) {
        self.request = pages;
    }

    /// What was gathered is of no use any more.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.gathered.clear();
    }

    /// `key` was missed, and its translation page is read: takes the entries out of it that are to come along.
    /// `entry_at` says what stands at a place of it.
    pub(super) fn gather(&mut self, cache: &MappingCache, key: u32, entry_at: impl Fn(u32) -> u32) {
        debug_assert!(self.gathered.is_empty(), "entries of two translation pages are gathered");
        let of_request = if self.request.contains(&key) { self.request.end } else { key + 1 };
        let of_run = if self.by_run { key.saturating_add(1 + cache.run_before(key)) } else { 0 };
        let index = index_of(key, self.entries_per_page);
        let count = (of_request.max(of_run) - key).min(self.entries_per_page - index);
        let entries = (1..count).map(|behind| (key + behind, entry_at(index + behind)));
        self.gathered.extend(entries.filter(|(key, _)| cache.find(*key).is_none()));
    }

    /// What was gathered, which is to come into the cache.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.gathered.drain(..)
    }

    /// So many entries have come into the cache without being missed.
    pub(super) fn count(&mut self, entries: u64) {
        self.entered += entries;
    }

    /// How many entries were cached without being missed.
    pub(super) fn entered(&self) -> u64 {
        self.entered
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("buffer.prefetched", (self.gathered.capacity() * size_of::<(u32, u32)>()) as u64);
    }
}

impl PageParts {
    /// Why entries cannot be prefetched as was asked for: its name, its value, and what would be right.
    pub(crate) fn why_no_prefetch(&self) -> Option<(&'static str, String, String)> {
        let MappingPart::Paged { prefetch, evict, log, .. } = self.mapping else { return None };
        let right = match prefetch {
            Prefetch::Request | Prefetch::Selective if log > 0 => {
                "of a translation page no entry is right as long as others wait in a mapping log; beside one none is right"
            }
            Prefetch::Request | Prefetch::Selective if evict != Evict::TwoLevel => "it needs mapping.evict=two-level",
            _ => return None,
        };
        Some(("mapping.prefetch", prefetch.word().to_string(), right.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;

    #[test]
    fn prefetching_is_refused_where_its_entries_would_be_wrong_or_none() {
        let refused = |preset, settings: &[(&str, &str)]| with(preset, settings).err().map(|error| error.to_string());
        let selective = ("mapping.prefetch", "selective");
        assert!(refused("dftl", &[selective]).unwrap().contains("two-level"));
        assert!(refused("dftl", &[selective, ("mapping.evict", "two-level")]).is_none());
        let request = ("mapping.prefetch", "request");
        assert!(refused("geckoftl", &[request]).unwrap().contains("two-level"));
        assert!(refused("geckoftl", &[request, ("mapping.evict", "two-level")]).is_none());
        assert!(refused("phelsuma", &[request, ("mapping.evict", "two-level")]).unwrap().contains("mapping log"));
    }
}
