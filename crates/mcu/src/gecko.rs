//! Logarithmic Gecko: stale pages as sorted runs of reports on flash (GeckoFTL section 3).
//!
//! A report is a block, a bit for each of its pages, and whether it was erased: then older reports of it do not count.
//! A buffer in RAM takes reports, and goes to flash as a run of level 0. Two runs of a level are merged into one of the
//! next. A page of a run is a number of reports (4 bytes) and the reports, sorted by block.

use crate::barriers::Barrier;
use crate::config::Parts;
use crate::drive::{Drive, META, NOWHERE, Source, state};
use crate::error::Error;
use crate::flash::Flash;
use crate::layout::{NONE, RUN_HEADER};
use crate::meta::Kind;
use crate::tables::{Bytes, Table32};

/// A report's bit: the block was erased before its pages became stale.
const ERASED: u32 = 1 << 31;

/// Room in the buffer for blocks that are erased before it is written.
const SLACK: u32 = 8;

/// A run's level stands above the number of its pages.
const LEVEL: u32 = 24;

impl<P: Parts, M: AsRef<[u8]> + AsMut<[u8]>> Drive<P, M> {
    /// The first word of a page's report.
    fn report(&self, page: Bytes, index: u32) -> (Table32, u32) {
        (page.words(), (RUN_HEADER + index * self.sizes.report_bytes) / 4)
    }

    fn reports_in(&self, page: Bytes) -> u32 {
        page.words().get(self.memory(), 0).min(self.sizes.reports)
    }

    /// The place of a block's report in a page that has so many, or where it would stand.
    fn find_report(&self, page: Bytes, reports: u32, block: u32) -> Result<u32, u32> {
        let (mut low, mut high) = (0, reports);
        while low < high {
            let middle = low.midpoint(high);
            let (words, at) = self.report(page, middle);
            let there = words.get(self.memory(), at) & !ERASED;
            if there == block {
                return Ok(middle);
            } else if there < block {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Err(low)
    }

    /// The place of a block's report in the buffer, made there if there is room.
    fn buffered(&mut self, block: u32) -> Option<u32> {
        let (buffer, reports) = (self.layout.reports, self.state.reports);
        match self.find_report(buffer, reports, block) {
            Ok(index) => Some(index),
            Err(_) if reports >= self.sizes.reports => None,
            Err(index) => {
                let ((words, at), (_, end)) = (self.report(buffer, index), self.report(buffer, reports));
                let each = self.sizes.report_bytes / 4;
                // Word by word: `copy_within` has a path that panics.
                for word in (at..end).rev() {
                    let moved = words.get(self.memory(), word);
                    words.set(self.memory_mut(), word + each, moved);
                }
                words.set(self.memory_mut(), at, block);
                for word in at + 1..at + each {
                    words.set(self.memory_mut(), word, 0);
                }
                self.state.reports += 1;
                Some(index)
            }
        }
    }

    /// A block has been erased. Recorded later while reports are being written.
    pub(crate) fn record_erase(&mut self, block: u32) {
        if self.state.recording || !self.config.keeps(Barrier::ErasesReported) {
            return;
        }
        match self.buffered(block) {
            Some(index) => {
                let (words, at) = self.report(self.layout.reports, index);
                for word in 1..self.sizes.report_bytes / 4 {
                    words.set(self.memory_mut(), at + word, 0);
                }
                words.set(self.memory_mut(), at, block | ERASED);
            }
            // Older reports would count.
            None => self.doubt(),
        }
        let count = self.count(block);
        if count < state::FIRST {
            self.set_count(block, count & !state::UNRECORDED);
        }
    }

    /// A host page is stale: reports it.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn report_stale<F: Flash>(&mut self, flash: &mut F, page: u32) -> Result<(), Error> {
        let (block, index) = (self.block_of(page), self.index_of(page));
        if self.state.victim.block == block
            && let Some(word) = self.state.victim.stale.get_mut(index as usize / 32)
        {
            *word |= 1 << (index % 32);
        }
        if !self.has_gecko() {
            return Ok(());
        }
        self.relieve(flash)?;
        self.buffer_report(block, index);
        Ok(())
    }

    /// Reports the victim's pages that have been judged. After a mount it is a block like others, and they are stale.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn report_judged<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        let (block, judged) = (self.state.victim.block, self.state.victim.next);
        if self.has_gecko() && block != NOWHERE {
            self.relieve(flash)?;
            for index in 0..judged {
                self.buffer_report(block, index);
            }
        }
        Ok(())
    }

    /// A host page is not what was programmed there.
    pub(crate) fn report_failed(&mut self, page: u32) {
        if self.has_gecko() {
            self.buffer_report(self.block_of(page), self.index_of(page));
        }
    }

    fn buffer_report(&mut self, block: u32, index: u32) {
        match self.buffered(block) {
            Some(report) => {
                let (words, at) = self.report(self.layout.reports, report);
                let at = at + 1 + index / 32;
                let bits = words.get(self.memory(), at);
                words.set(self.memory_mut(), at, bits | 1 << (index % 32));
            }
            None => self.doubt(),
        }
    }

    /// Writes the buffer where it is nearly full.
    pub(crate) fn relieve<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        if self.has_room_for_reports(0) { Ok(()) } else { self.flush_reports(flash) }
    }

    /// Whether the buffer takes so many reports before it has to be written.
    pub(crate) fn has_room_for_reports(&self, reports: u32) -> bool {
        !self.has_gecko() || self.state.reports == 0 || self.state.reports + reports + SLACK < self.sizes.reports
    }

    /// Writes the buffer as a run, and merges runs.
    ///
    /// # Errors
    /// [`Error::Full`]; the reports are still there.
    pub(crate) fn flush_reports<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        if !self.has_gecko() || self.state.reports == 0 || self.state.recording {
            return Ok(());
        }
        self.state.recording = true;
        let written = self.write_buffer(flash);
        let merged = if written.is_ok() { self.merge_runs(flash) } else { written };
        self.state.recording = false;
        // Blocks that were opened for it.
        for block in 0..self.config.chip.blocks {
            let count = self.count(block);
            if count < state::FIRST && count & state::UNRECORDED != 0 {
                self.record_erase(block);
            }
        }
        merged
    }

    fn write_buffer<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        let at = self.pages_of_runs();
        let reports = self.state.reports;
        let page = self.write_run_page(flash, reports, self.layout.reports, at)?;
        debug_assert!(page != NONE);
        self.state.reports = 0;
        self.push_run(0, 1);
        Ok(())
    }

    /// Writes a page of a run: the `at`-th of all runs.
    fn write_run_page<F: Flash>(&mut self, flash: &mut F, reports: u32, buffer: Bytes, at: u32) -> Result<u32, Error> {
        if at >= self.layout.run_pages.entries {
            return Err(Error::Full);
        }
        buffer.words().set(self.memory_mut(), 0, reports);
        let page = self.append(flash, META, Kind::Gecko, at, Source::Memory(buffer))?;
        self.state.tally.gecko += 1;
        let (words, first) = self.report(buffer, 0);
        let first = words.get(self.memory(), first) & !ERASED;
        let (pages, firsts) = (self.layout.run_pages, self.layout.run_firsts);
        pages.set(self.memory_mut(), at, page);
        firsts.set(self.memory_mut(), at, first);
        Ok(page)
    }

    fn push_run(&mut self, level: u32, pages: u32) {
        let (runs, at) = (self.layout.runs, self.state.runs);
        runs.set(self.memory_mut(), at, level << LEVEL | pages);
        self.state.runs += 1;
    }

    /// Level and pages of a run.
    fn run(&self, run: u32) -> (u32, u32) {
        let word = self.layout.runs.get(self.memory(), run);
        (word >> LEVEL, word & ((1 << LEVEL) - 1))
    }

    /// Pages of all runs.
    pub(crate) fn pages_of_runs(&self) -> u32 {
        (0..self.state.runs).map(|run| self.run(run).1).sum()
    }

    /// Merges the two newest runs while they are of one level.
    fn merge_runs<F: Flash>(&mut self, flash: &mut F) -> Result<(), Error> {
        // Each merge takes a run away.
        for _ in 0..self.layout.runs.entries {
            let Some(older) = self.state.runs.checked_sub(2) else { return Ok(()) };
            let ((level, first_pages), (newer_level, second_pages)) = (self.run(older), self.run(older + 1));
            if level > newer_level {
                return Ok(());
            }
            self.merge_newest(
                flash,
                older,
                (first_pages, second_pages),
                (level.max(newer_level) + 1).min(self.sizes.top_level),
            )?;
        }
        Ok(())
    }

    /// Merges run `older` and the one behind it, which is the last.
    fn merge_newest<F: Flash>(
        &mut self,
        flash: &mut F,
        older: u32,
        (older_pages, newer_pages): (u32, u32),
        level: u32,
    ) -> Result<(), Error> {
        let old_pages = self.pages_of_runs();
        let start = old_pages - newer_pages - older_pages;
        let mut left = Input::new(self.layout.older, start, start + older_pages);
        let mut right = Input::new(self.layout.newer, start + older_pages, old_pages);
        let (out, mut written, mut reports) = (self.layout.reports, old_pages, 0);
        let failed = loop {
            self.fill(flash, &mut left);
            self.fill(flash, &mut right);
            let (old, new) = (self.key_of(&left), self.key_of(&right));
            if old.is_none() && new.is_none() {
                break None;
            }
            if reports == self.sizes.reports {
                if let Err(error) = self.write_run_page(flash, reports, out, written) {
                    break Some(error);
                }
                (written, reports) = (written + 1, 0);
            }
            let old_block = old.map_or(u32::MAX, |key| key & !ERASED);
            let new_block = new.map_or(u32::MAX, |key| key & !ERASED);
            let block = old_block.min(new_block);
            // An erase makes the older report void.
            let takes_old = old_block == block && !(new_block == block && new.is_some_and(|key| key & ERASED != 0));
            let mut first = block;
            let (words, at) = self.report(out, reports);
            for word in 1..self.sizes.report_bytes / 4 {
                words.set(self.memory_mut(), at + word, 0);
            }
            for (input, takes) in [(&left, takes_old), (&right, new_block == block)] {
                if takes {
                    first |= self.key_of(input).unwrap_or(0) & ERASED;
                    let (from, from_at) = self.report(input.page, input.next);
                    for word in 1..self.sizes.report_bytes / 4 {
                        let both = words.get(self.memory(), at + word) | from.get(self.memory(), from_at + word);
                        words.set(self.memory_mut(), at + word, both);
                    }
                }
            }
            left.next += u32::from(old_block == block);
            right.next += u32::from(new_block == block);
            // In the oldest run there is nothing older that an erase could make void.
            let bits = (1..self.sizes.report_bytes / 4).any(|word| words.get(self.memory(), at + word) != 0);
            if older == 0 {
                first &= !ERASED;
            }
            words.set(self.memory_mut(), at, first);
            reports += u32::from(bits || first & ERASED != 0);
        };
        let failed = match failed {
            None if reports > 0 => match self.write_run_page(flash, reports, out, written) {
                Ok(_) => {
                    written += 1;
                    None
                }
                Err(error) => Some(error),
            },
            failed => failed,
        };
        let (from, to) = if failed.is_some() { (old_pages, written) } else { (start, old_pages) };
        for at in from..to {
            let page = self.layout.run_pages.get(self.memory(), at);
            self.drop_page(page);
        }
        if let Some(error) = failed {
            return Err(error);
        }
        let pages = written - old_pages;
        for table in [self.layout.run_pages, self.layout.run_firsts] {
            for index in 0..pages {
                let moved = table.get(self.memory(), old_pages + index);
                table.set(self.memory_mut(), start + index, moved);
            }
        }
        self.state.runs = older;
        if pages > 0 {
            self.push_run(level, pages);
        }
        Ok(())
    }

    /// Reads the next page of a run that is merged, if all reports of this one are taken.
    fn fill<F: Flash>(&mut self, flash: &mut F, input: &mut Input) {
        while input.next >= input.reports && input.at < input.end {
            let page = self.layout.run_pages.get(self.memory(), input.at);
            let read = self.read_page(flash, page, input.page);
            input.at += 1;
            input.next = 0;
            input.reports = match read {
                Ok(meta) if meta.kind == Kind::Gecko => self.reports_in(input.page),
                _ => {
                    // Its reports are lost.
                    self.doubt();
                    0
                }
            };
        }
    }

    /// Block and mark of the next report of an input, if there is one.
    fn key_of(&self, input: &Input) -> Option<u32> {
        let (words, at) = self.report(input.page, input.next);
        (input.next < input.reports).then(|| words.get(self.memory(), at))
    }

    /// The pages of a block that are known to be stale: newest reports first, until the block was erased.
    pub(crate) fn stale_pages<F: Flash>(&mut self, flash: &mut F, block: u32) -> [u32; 8] {
        let mut stale = [0; 8];
        if !self.has_gecko() {
            return stale;
        }
        let buffer = self.layout.reports;
        if self.add_report(buffer, self.state.reports, block, &mut stale) {
            return stale;
        }
        let mut end = self.pages_of_runs();
        for run in (0..self.state.runs).rev() {
            let pages = self.run(run).1;
            let start = end - pages;
            let behind = (start..end).rev().find(|at| self.layout.run_firsts.get(self.memory(), *at) <= block);
            end = start;
            let Some(at) = behind else { continue };
            let page = self.layout.run_pages.get(self.memory(), at);
            match self.read_page(flash, page, self.layout.older) {
                Ok(meta) if meta.kind == Kind::Gecko => {
                    let reports = self.reports_in(self.layout.older);
                    if self.add_report(self.layout.older, reports, block, &mut stale) {
                        break;
                    }
                }
                _ => self.doubt(),
            }
        }
        stale
    }

    /// Adds what a page reports of a block. Whether that is all there is.
    fn add_report(&self, page: Bytes, reports: u32, block: u32, stale: &mut [u32; 8]) -> bool {
        let Ok(index) = self.find_report(page, reports, block) else { return false };
        let (words, at) = self.report(page, index);
        for (word, bits) in (1..self.sizes.report_bytes / 4).zip(stale.iter_mut()) {
            *bits |= words.get(self.memory(), at + word);
        }
        words.get(self.memory(), at) & ERASED != 0
    }

    /// Writes a page of a run elsewhere, if it is one.
    ///
    /// # Errors
    /// [`Error::Full`].
    pub(crate) fn move_run_page<F: Flash>(&mut self, flash: &mut F, page: u32, buffer: Bytes) -> Result<(), Error> {
        let pages = self.layout.run_pages;
        let Some(at) = (0..self.pages_of_runs()).find(|at| pages.get(self.memory(), *at) == page) else {
            return Ok(());
        };
        let moved = self.append(flash, META, Kind::Gecko, at, Source::Memory(buffer))?;
        self.state.tally.gecko += 1;
        pages.set(self.memory_mut(), at, moved);
        self.drop_page(page);
        Ok(())
    }
}

/// A run that is merged.
struct Input {
    page: Bytes,
    /// The next of its pages, and where they end.
    at: u32,
    end: u32,
    /// The next report of the page that was read, and how many it has.
    next: u32,
    reports: u32,
}

impl Input {
    fn new(page: Bytes, at: u32, end: u32) -> Self {
        Self { page, at, end, next: 0, reports: 0 }
    }
}
