//! Spills: the dirty entries of the cache become a run.

use super::super::PagedMapping;
use super::{MappingLog, Overruled};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::{Nand, Page};

impl PagedMapping {
    /// Before an update: spills where it is time, or does a slice of a merge.
    pub(in super::super) fn work_on_log<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let dirty = self.cache.dirty_count();
        let Some(log) = &mut self.log else { return Ok(()) };
        // Once what the spill reported is in Gecko's buffer.
        if before.is_empty()
            && let Some(mark) = log.take_mark()
        {
            io.mark(mark);
        }
        if dirty < log.due_at {
            return Ok(());
        }
        if dirty >= log.spill_at {
            return self.spill(io, before);
        }
        let done = log.go_on(io, before);
        log.due_at = log.due_after(dirty);
        done
    }

    /// All dirty entries are in a run from now on. Merges follow, and folds.
    pub(in super::super) fn spill<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        let Some(mut log) = self.log.take() else { return Ok(()) };
        let done = self.spill_to(io, &mut log, before);
        log.note_failure(io, &done);
        log.report(io, before);
        log.due_at = log.due_after(self.cache.dirty_count());
        self.log = Some(log);
        done
    }

    /// Spills, or folds the next translation page, so that stale pages are reported that entries in runs still name; the
    /// place to go on from, until the table has been gone round.
    pub(in super::super) fn empty_log<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        from: u32,
        before: &mut Vec<Page>,
    ) -> Result<Option<u32>, FtlError> {
        if from >= self.table.parts() {
            return Ok(None);
        }
        self.spill(io, before)?;
        let Some(mut log) = self.log.take() else { return Ok(None) };
        if log.waiting == 0 {
            self.log = Some(log);
            return Ok(None);
        }
        // A merge goes on meanwhile: the folds that it may see are counted in 16 bits.
        let merged = log.go_on(io, before);
        // Gecko may have been flushed since the last spill: the fold is to look younger. Nothing waits in the cache.
        log.frozen = io.seq();
        let folded = merged.and_then(|()| self.fold_next(io, &mut log, &mut None));
        log.report(io, before);
        self.log = Some(log);
        folded.map(|()| Some(from + 1))
    }

    fn spill_to<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        log: &mut MappingLog,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        if self.cache.sorted_dirty().is_empty() {
            debug_assert_eq!(self.cache.dirty_count(), 0, "dirty entries are nowhere listed");
            log.has_trims = false;
            return Ok(());
        }
        let entries = self.cache.dirty().iter().map(|slot| (self.cache.key(*slot), self.cache.value(*slot)));
        log.buffer.clear();
        entries.clone().for_each(|(key, word)| log.buffer.push_word(key, word));
        // The pages that it names must be on flash before it is: older copies are not looked for then.
        io.barrier(Barrier::EntriesAfterPages);
        let (frozen, mark) = (io.seq(), io.scan_from_now());
        let marks = [log.rule.folds, 0];
        log.sorted.flush(io, &log.buffer, &mut log.rule, (frozen, marks))?;
        log.frozen = frozen;
        if io.keeps(Barrier::SpillsJudge) {
            entries.for_each(|(key, word)| log.judge_spilled(key, word));
        }
        let spilled = u64::from(self.cache.dirty_count());
        // What the table names is looked at when that record of it goes.
        self.cache.clean_all();
        log.waiting += spilled;
        (log.tally.spills, log.tally.spilled) = (log.tally.spills + 1, log.tally.spilled + spilled);
        let mark = ScanFrom { after: frozen, ..mark };
        if io.keeps(Barrier::MarkAfterReports) {
            log.mark = Some(mark);
        } else {
            io.mark(mark);
        }
        io.synchronized(frozen + 1);
        log.has_trims = false;
        let until = |overruled| Overruled { until: frozen, ..overruled };
        log.rule.overruled.extend(log.trimmed.drain(..).map(until));
        let merged = log.sorted.flushed(io, &mut log.rule);
        log.note_merge(io, frozen + 1);
        merged?;
        // As much as a spill brings, and what is above the limit: no spill folds for long.
        let each = (log.limit / u64::from(log.rule.parts)).max(1);
        let most = (spilled / each + 1).min(log.rule.parts.into());
        self.fold_some(io, log, most, before)
    }
}

impl MappingLog {
    /// From where on a recovery has to scan once what the last spill reported is in Gecko's buffer.
    pub(in super::super) fn take_mark(&mut self) -> Option<ScanFrom> {
        self.mark.take()
    }

    /// Does a slice of a merge that is under way.
    fn go_on<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, before: &mut Vec<Page>) -> Result<(), FtlError> {
        // What it leaves out as folded is in translation pages that are on flash.
        io.barrier(Barrier::FoldsBeforeMerges);
        let version = io.seq() + 1;
        let done = self.sorted.go_on(io, &mut self.rule);
        self.note_merge(io, version);
        self.note_failure(io, &done);
        self.report(io, before);
        done
    }

    /// Entries may have given way in a merge: what these named is reported after `version`.
    fn note_merge<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, version: u64) {
        let (gone, back) = (core::mem::take(&mut self.rule.gone), core::mem::take(&mut self.rule.back));
        self.waiting = (self.waiting + back).saturating_sub(gone);
        if !self.rule.overruled.is_empty() {
            io.synchronized(version);
        }
    }

    /// After an error. A merge that was given up, for one, has reported what the next one reports again.
    fn note_failure<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, done: &Result<(), FtlError>) {
        if done.is_err() {
            self.be_unsure();
            io.may_report_again();
        }
    }

    fn due_after(&self, dirty: u32) -> u32 {
        u32::try_from(self.sorted.due_after(dirty as usize)).unwrap_or(u32::MAX).min(self.spill_at)
    }
}
