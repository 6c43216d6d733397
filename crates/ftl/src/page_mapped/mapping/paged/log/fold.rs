//! Folds: a translation page is rewritten with the entries that wait for it.

use super::super::{PagedMapping, get, index_of, put};
use super::{Folding, Look, LookedUpTo, MappingLog, Overruled};
use crate::FtlError;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::SortedRuns;
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Nand, Page};

impl MappingLog {
    /// Shows the entries of these logical pages that count, in their order.
    pub(super) fn entries<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: (Range<u32>, &mut LookedUpTo),
        entry: impl FnMut(u32, u32),
    ) {
        self.look(io, keys, |_| {}, entry);
    }

    /// The same, and the entries that they overrule.
    fn look<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        keys: (Range<u32>, &mut LookedUpTo),
        overruled: impl FnMut(Overruled),
        entry: impl FnMut(u32, u32),
    ) {
        let SortedRuns { merging, runs, slices, .. } = &mut self.sorted;
        let mut rule = Look { newest: Some(&self.rule), merges: slices.under_way(), overruled };
        let lost = super::look((merging, runs), io, keys, &mut rule, entry);
        self.sorted.lose(lost);
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
        sort: &mut LookedUpTo,
    ) -> Result<(), FtlError> {
        let parts = u64::from(self.table.parts());
        let part = (log.rule.folds % parts) as u32;
        let range = self.pages_of(part);
        if part == 0 {
            *sort = None;
        }
        let SortedRuns { merging, runs, slices, .. } = &mut log.sorted;
        let mut rule = Folding { newest: &mut log.rule, merges: slices.under_way() };
        let sort = sort.get_or_insert_with(|| merging.begin_at(io, runs, range.start));
        if merging.key(io, runs, sort) >= range.end {
            rule.newest.folds += 1;
            return Ok(());
        }
        self.load(io, part);
        let (mut entries, reported) = (0, rule.newest.overruled.len());
        while let Some((key, word)) = merging.take(io, runs, (sort, range.end), &mut rule) {
            let Some(word) = word else { continue };
            let index = index_of(key, self.entries_per_page);
            let until = self.loaded.saturating_sub(1);
            rule.newest.overruled.extend(Overruled::of(key, get(&self.page, index), word, until));
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
            log.rule.overruled.truncate(reported);
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
        // After a mount it may be folded once more that was folded since the last spill: versions never go back.
        let version = (log.frozen + 1).max(self.loaded);
        self.damaged |= log.is_damaged();
        let marks = self.marks(io, version);
        let since = io.read_done();
        self.write_page(io, marks, part, version, since)?;
        io.synchronized(version);
        self.tally.synchronizations += 1;
        Ok(())
    }

    /// Fetches a translation page into `page`, with the entries that wait for it.
    pub(in super::super) fn load_with_log<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) {
        self.load(io, part);
        self.lay_log_over(io, part, &mut None);
    }

    /// Puts the entries that wait for a translation page into `page`.
    pub(in super::super) fn lay_log_over<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32, to: &mut LookedUpTo) {
        let Some(mut log) = self.log.take() else { return };
        let range = self.pages_of(part);
        let (entries_per_page, page) = (self.entries_per_page, &mut self.page);
        log.entries(io, (range, to), |key, word| put(page, key % entries_per_page, word));
        self.damaged |= log.sorted.damaged;
        self.log = Some(log);
    }

    /// As [`Self::lay_log_over`], with the entries that count after a mount. Those folded since the last spill count again.
    pub(in super::super) fn lay_over_what_a_mount_finds<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, part: u32) {
        let Some(log) = &mut self.log else { return };
        let folds = log.rule.folds;
        log.rule.folds = log.folds_on_flash();
        self.lay_log_over(io, part, &mut None);
        self.log.iter_mut().for_each(|log| log.rule.folds = folds);
    }

    /// The stale pages that entries on flash still name, and that are reported later.
    pub(in super::super) fn named_and_stale<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let Some(mut log) = self.log.take() else { return Vec::new() };
        let mut trimmed = log.trimmed.clone();
        trimmed.retain(|overruled| super::is_unreported(io, overruled));
        let mut stale: Vec<Page> = trimmed.into_iter().map(|overruled| overruled.page).collect();
        let mut to = None;
        for part in 0..self.table.parts() {
            self.load(io, part);
            let (until, frozen) = (self.loaded.saturating_sub(1), log.frozen);
            let (mut named, mut of_page) = (Vec::new(), Vec::new());
            let (entries_per_page, range) = (self.entries_per_page, self.pages_of(part));
            let page = &mut self.page;
            log.look(
                io,
                (range, &mut to),
                |overruled| named.push(overruled),
                |key, word| {
                    of_page.extend(Overruled::of(key, get(page, key % entries_per_page), word, until));
                    put(page, key % entries_per_page, word);
                },
            );
            named.append(&mut of_page);
            for slot in self.cache.dirty_of(part) {
                let key = self.cache.key(slot);
                let on_flash = get(&self.page, key % entries_per_page);
                named.extend(Overruled::of(key, on_flash, self.cache.value(slot), frozen));
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
