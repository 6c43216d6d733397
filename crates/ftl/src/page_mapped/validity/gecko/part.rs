//! The validity store's interface to the composition, for Logarithmic Gecko.

use super::LogarithmicGecko;
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{ERASED, Run, RunMerge, RunPage, SortedRuns, read_page};
use crate::page_mapped::validity::{Answer, Validity};
use crate::{Counter, FtlError, GeckoLook, RamLedger, RunLook};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

impl Validity for LogarithmicGecko {
    fn kind(&self) -> Kind {
        Kind::Gecko
    }

    /// Algorithm 1: `page` is stale.
    #[inline]
    fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.tally.inserts += 1;
        self.set(io.geometry(), page);
        self.added(io)
    }

    /// `page` has left a victim. A flush may come before the victim is empty, and the power may fail after that. Then
    /// there is no other record that the page is stale. Where neither happens, the entry is gone with the victim's.
    #[inline]
    fn leave(&mut self, geometry: &Geometry, page: Page) {
        if self.tells_of_leaving && self.barriers.keeps(Barrier::LeavingReported) {
            self.set(geometry, page);
        }
    }

    fn have_left<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.added(io)
    }

    /// A program failed at `page`: it is stale, and so are the pages behind it, which will not be written. Without an
    /// entry they would pass for live when the counters are made anew.
    fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        let geometry = *io.geometry();
        self.tally.inserts += 1;
        for index in geometry.index_of(page)..geometry.pages_per_block() {
            self.set(&geometry, geometry.page(geometry.block_of(page), index));
        }
        self.added(io)
    }

    /// Algorithm 2: `block` was erased.
    fn erased<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        self.tally.erases += 1;
        self.buffer.erased(block.0);
        self.added(io)
    }

    /// Nothing in `block` is live, and it waits for its erase: with this on flash a recovery finds that.
    fn freed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        self.tally.freed += 1;
        self.buffer.freed(block.0);
        self.added(io)
    }

    /// Turns the buffer into a run if there is anything in it, and merges.
    fn flush<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if self.buffer.len() == 0 { Ok(()) } else { self.checkpoint(io) }
    }

    /// Turns the buffer into a run, even if that is empty but for its header, and merges.
    fn checkpoint<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.flush_buffer(io)
    }

    /// A GC query: the pages of `block` that are not known to be stale; all of them where some page of a run is lost.
    fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        self.tally.queries += 1;
        if !self.is_believed() {
            out.extend(0..self.pages_per_block as u16);
            return Answer::Uncertain;
        }
        let layout = self.sorted.tuning.layout;
        let first = block.0 * layout.parts;
        let stale = &mut self.stale;
        stale.fill(0);
        let mut erased = false;
        let mut at = self.buffer.lower_bound(first);
        while at < self.buffer.len() && self.buffer.key(at) < first + layout.parts {
            let part = (self.buffer.key(at) - first) as usize;
            self.buffer.add_to(at, &mut stale[part * layout.words..][..layout.words]);
            erased |= self.buffer.flags(at) & ERASED != 0;
            at += 1;
        }
        let SortedRuns { runs, page, kind, damaged, damage_untold, .. } = &mut self.sorted;
        for run in runs {
            if erased {
                break;
            }
            let Some(place) = run.place_for(block.0) else { continue };
            self.tally.query_reads += 1;
            if !read_page(io, (*kind, layout), run, place, page) {
                (*damaged, *damage_untold) = (true, true);
                if !self.barriers.keeps(Barrier::DamagedGeckoDoubted) {
                    continue;
                }
                out.extend(0..self.pages_per_block as u16);
                return Answer::Uncertain;
            }
            let view = RunPage::new(&layout, page);
            for index in view.lower_bound(first)..view.entries() {
                // Behind a checksum that fits keys need not be in order.
                let part = view.key(index).wrapping_sub(first) as usize;
                if part >= layout.parts as usize {
                    break;
                }
                view.add_to(index, &mut stale[part * layout.words..][..layout.words]);
                erased |= view.flags(index) & ERASED != 0;
            }
        }
        for index in 0..self.pages_per_block {
            let (part, bit) = (index / layout.part_bits, index % layout.part_bits);
            if stale[part as usize * layout.words + bit as usize / 32] >> (bit % 32) & 1 == 0 {
                out.push(index as u16);
            }
        }
        if *damaged { Answer::Uncertain } else { Answer::NotKnownStale }
    }

    /// A page of a run could not be read.
    fn is_damaged(&self) -> bool {
        self.sorted.damaged
    }

    fn overstates(&self) -> bool {
        self.sorted.damaged
    }

    /// Whether that is to be written down before the present evidence is erased.
    fn has_untold_damage(&self) -> bool {
        self.sorted.damage_untold
    }

    /// Copies Gecko pages out of a victim.
    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        let geometry = *io.geometry();
        self.sorted.relocate_pages(io, |page| geometry.block_of(page) == victim)
    }

    fn metadata_pages(&self) -> Vec<Page> {
        self.sorted.pages()
    }

    fn look(&self) -> Option<GeckoLook> {
        let seen = |run: &Run| {
            let pages = run.directory.len() as u32;
            RunLook { level: run.header.level, pages, flushes: run.header.flushes }
        };
        Some(GeckoLook {
            buffered_entries: self.buffer.len() as u32,
            buffer_entries: self.buffer_entries(),
            runs: self.sorted.runs.iter().map(seen).collect(),
        })
    }

    /// RAM, by appendix B: directories, and the buffer with those that merging needs.
    fn ram(&self, ledger: &mut RamLedger) {
        let unfinished = self.sorted.slices.under_way().iter().map(RunMerge::directory);
        let directories = || self.sorted.runs.iter().map(|run| &run.directory).chain(unfinished.clone());
        let entries: usize = directories().map(Vec::len).sum();
        let room: usize = directories().map(Vec::capacity).sum();
        let page_bytes = self.sorted.page.capacity() as u64;
        ledger.structure("validity.run_directories", entries as u64 * 8);
        ledger.structure("validity.buffer", page_bytes);
        let outputs = self.sorted.outputs_bytes();
        let places: u64 = self.sorted.slices.under_way().iter().map(RunMerge::bytes).sum();
        ledger.structure("validity.merge_buffers", self.sorted.merging.bytes() + outputs + places);
        ledger.index("index.run_directories_room", (room - entries) as u64 * 8 + self.sorted.runs.len() as u64 * 48);
        ledger.index("buffer.gecko_page", page_bytes + self.stale.capacity() as u64 * 4);
        ledger.index("buffer.gecko_buffer_room", self.buffer.bytes().saturating_sub(page_bytes));
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("gecko_inserts", self.tally.inserts),
            Counter::sum("gecko_erases", self.tally.erases),
            Counter::sum("gecko_freed", self.tally.freed),
            Counter::sum("gecko_flushes", self.sorted.flushes),
            Counter::sum("gecko_merges", self.sorted.merges),
            Counter::sum("gecko_queries", self.tally.queries),
            Counter::sum("gecko_query_reads", self.tally.query_reads),
            Counter::level("gecko_merging", self.sorted.slices.under_way().len() as u64),
            Counter::level("gecko_runs", self.sorted.runs.len() as u64),
            Counter::level("gecko_pages", self.sorted.runs.iter().map(|run| run.directory.len() as u64).sum()),
        ]);
    }
}
