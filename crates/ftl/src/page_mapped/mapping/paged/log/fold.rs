//! Folds: a translation page is rewritten with the entries that wait for it.

use super::super::{PagedMapping, get, put};
use super::{MappingLog, Newest, Overruled};
use crate::FtlError;
use crate::page_mapped::mapping::{Place, place_of};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Rule, RunHeader, SortMerge, SortedRuns};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Nand, Page};

/// The entries that count are looked at; none gives way by it.
struct Looked<'a>(&'a Newest);

impl Rule for Looked<'_> {
    #[inline]
    fn counts(&self, key: u32, run: &RunHeader) -> bool {
        self.0.counts(key, run)
    }
}

/// As [`Newest`], where given, and the entries stay.
pub(super) struct Mentions<'a> {
    pub(super) newest: Option<&'a Newest>,
    pub(super) overruled: Vec<Overruled>,
}

impl Rule for Mentions<'_> {
    fn counts(&self, key: u32, run: &RunHeader) -> bool {
        self.newest.is_none_or(|newest| newest.counts(key, run))
    }

    fn overruled(&mut self, key: u32, word: u32, newer: u32, run: &RunHeader) {
        if let Place::At(page) = place_of(word)
            && word != newer
        {
            self.overruled.push(Overruled { key, page, until: run.frozen });
        }
    }
}

impl MappingLog {
    /// Shows the entries of these logical pages that count, in their order.
    pub(super) fn entries<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: Range<u32>,
        mut entry: impl FnMut(u32, u32),
    ) {
        let SortedRuns { merging, runs, .. } = &mut self.sorted;
        let mut sort = merging.begin_at(io, runs, keys.start);
        while sort.key() < keys.end {
            let key = sort.key();
            if let Some(word) = merging.take(io, runs, &mut sort, &mut Looked(&self.rule)) {
                entry(key, word);
            }
        }
        let lost = sort.lost;
        self.sorted.lose(lost);
    }

    /// The pages that overruled entries of these logical pages name; the newest entries are shown.
    fn mentions<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: Range<u32>,
        mut entry: impl FnMut(u32, u32),
    ) -> Vec<Overruled> {
        let SortedRuns { merging, runs, .. } = &mut self.sorted;
        let mut rule = Mentions { newest: Some(&self.rule), overruled: Vec::new() };
        let mut sort = merging.begin_at(io, runs, keys.start);
        while sort.key() < keys.end {
            let key = sort.key();
            if let Some(word) = merging.take(io, runs, &mut sort, &mut rule) {
                entry(key, word);
            }
        }
        rule.overruled
    }
}

impl PagedMapping {
    /// Folds translation pages, no more than so many, until no more entries wait than may.
    pub(super) fn fold_some<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        log: &mut MappingLog,
        most: u64,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let mut sort = None;
        for _ in 0..most {
            if log.waiting <= log.limit {
                break;
            }
            self.fold_next(io, log, &mut sort)?;
            log.report(io, before);
        }
        Ok(())
    }

    /// Folds the translation page that the hand is at. `sort` is where the fold before it left the runs.
    pub(super) fn fold_next<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        log: &mut MappingLog,
        sort: &mut Option<SortMerge>,
    ) -> Result<(), FtlError> {
        let parts = u64::from(self.table.parts());
        let part = (log.rule.folds % parts) as u32;
        let range = self.pages_of(part);
        if part == 0 {
            *sort = None;
        }
        let SortedRuns { merging, runs, .. } = &mut log.sorted;
        let sort = sort.get_or_insert_with(|| merging.begin_at(io, runs, range.start));
        if sort.key() >= range.end {
            log.rule.folds += 1;
            return Ok(());
        }
        self.load(io, part);
        let mut entries = 0;
        while sort.key() < range.end {
            let key = sort.key();
            let Some(word) = merging.take(io, runs, sort, &mut log.rule) else { continue };
            let index = key % self.entries_per_page;
            let older = get(&self.page, index);
            if older != word
                && let Place::At(page) = place_of(older)
            {
                log.rule.overruled.push(Overruled { key, page, until: self.loaded.saturating_sub(1) });
            }
            put(&mut self.page, index, word);
            entries += 1;
        }
        if sort.lost {
            log.sorted.lose(true);
            self.damaged = true;
        }
        let gone = core::mem::take(&mut log.rule.gone);
        if entries > 0
            && let Err(error) = self.write_folded(io, log, part)
        {
            log.rule.overruled.clear();
            return Err(error);
        }
        log.rule.folds += 1;
        log.waiting = log.waiting.saturating_sub(entries + gone);
        (log.tally.folds, log.tally.folded) = (log.tally.folds + 1, log.tally.folded + entries);
        Ok(())
    }

    /// Writes `page` as a translation page that has what runs have until the last spill.
    pub(in super::super) fn write_folded<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        log: &MappingLog,
        part: u32,
    ) -> Result<(), FtlError> {
        let version = log.frozen + 1;
        let marks = self.marks(io, version);
        self.table.write(io, marks, part, version, &self.page)?;
        io.synchronized(version);
        self.tally.synchronizations += 1;
        Ok(())
    }

    /// Fetches a translation page into `page`, with the entries that wait for it.
    pub(in super::super) fn load_with_log<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) {
        self.load(io, part);
        self.lay_log_over(io, part);
    }

    /// Puts the entries that wait for a translation page into `page`.
    pub(in super::super) fn lay_log_over<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) {
        let Some(mut log) = self.log.take() else { return };
        let range = self.pages_of(part);
        let (entries_per_page, page) = (self.entries_per_page, &mut self.page);
        log.entries(io, range, |key, word| put(page, key % entries_per_page, word));
        self.damaged |= log.sorted.damaged;
        self.log = Some(log);
    }

    /// The logical pages of a translation page that entries in runs wait for.
    pub(super) fn keys_in_log<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) -> Vec<u32> {
        let range = self.pages_of(part);
        let mut keys = Vec::new();
        if let Some(log) = &mut self.log {
            log.entries(io, range, |key, _| keys.push(key));
        }
        keys
    }

    /// The stale pages that entries on flash still name, and that are reported later.
    pub(in super::super) fn named_and_stale<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let Some(mut log) = self.log.take() else { return Vec::new() };
        let mut trimmed = log.trimmed.clone();
        trimmed.retain(|overruled| super::is_unreported(io, overruled));
        let mut stale: Vec<Page> = trimmed.into_iter().map(|overruled| overruled.page).collect();
        for part in 0..self.table.parts() {
            self.load(io, part);
            let until = self.loaded.saturating_sub(1);
            let frozen = log.frozen;
            let mut named = log.mentions(io, self.pages_of(part), |_, _| {});
            let mut newest = Vec::new();
            log.entries(io, self.pages_of(part), |key, word| newest.push((key, word)));
            let (entries_per_page, page) = (self.entries_per_page, &mut self.page);
            for (key, word) in newest {
                let older = get(page, key % entries_per_page);
                if older != word
                    && let Place::At(page) = place_of(older)
                {
                    named.push(Overruled { key, page, until });
                }
                put(page, key % entries_per_page, word);
            }
            for slot in self.cache.dirty_of(part) {
                let key = self.cache.key(slot);
                let older = get(&self.page, key % self.entries_per_page);
                if older != self.cache.value(slot)
                    && let Place::At(page) = place_of(older)
                {
                    named.push(Overruled { key, page, until: frozen });
                }
            }
            named.retain(|overruled| super::is_unreported(io, overruled));
            stale.extend(named.into_iter().map(|overruled| overruled.page));
        }
        self.log = Some(log);
        stale.sort_unstable();
        stale.dedup();
        stale
    }

    /// Whether each page that [`named_and_stale`](Self::named_and_stale) names is unreported.
    pub(in super::super) fn is_sure_of_named(&self) -> bool {
        self.log.as_ref().is_none_or(|log| log.is_sure)
    }
}
