//! The validity store's interface to the composition, for the page validity log.

use super::page::LogEntry;
use super::{LOST_PAGE, NONE, PageValidityLog, Stale};
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::{Answer, Validity};
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

impl Validity for PageValidityLog {
    fn kind(&self) -> Kind {
        Kind::ValidityLog
    }

    /// `page` is stale.
    #[inline]
    fn invalidate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.insert_new(io, page, false)
    }

    /// `page` has left a victim. The entry that frees the victim will say so; but a flush may come before.
    #[inline]
    fn leave(&mut self, _geometry: &Geometry, page: Page) {
        if self.tells_of_leaving && self.barriers.keeps(Barrier::LeavingReported) {
            self.leaving.push(page);
        }
    }

    /// A program failed at `page`: it is stale, and so are the pages behind it, which will not be written.
    fn failed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Result<(), FtlError> {
        self.insert_new(io, page, true)
    }

    /// `block` was erased.
    fn erased<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        self.void_before(block, self.buffered_from() + self.buffer.len() as u64);
        Ok(())
    }

    /// Nothing in `block` is live, and it waits for its erase: with this on flash a recovery finds that.
    fn freed<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block) -> Result<(), FtlError> {
        let geometry = self.geometry;
        self.leaving.retain(|page| geometry.block_of(*page) != block);
        self.insert_new(io, geometry.page(block, 0), true)
    }

    /// Writes the entries that are in RAM alone, if there are any.
    fn flush<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if self.buffer.is_empty() && self.leaving.is_empty() { Ok(()) } else { self.checkpoint(io) }
    }

    /// Writes the entries that are in RAM alone, even if there is nothing but from where on to scan, and cleans.
    fn checkpoint<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        // Successors of pages that are reported stale must be on flash, and blocks whose entries are void be erased.
        io.barrier(Barrier::ReportsAfterReplacements);
        let seq = io.seq();
        let leaving = self.leaving.len();
        for n in 0..leaving {
            self.insert(Stale { page: self.leaving[n].0, and_behind: false }, seq);
        }
        self.leaving.clear();
        self.cleaning.inserted(leaving);
        // A page that is not the last of them says what the flush before covered.
        while self.buffer.len() > self.entries_per_page {
            self.write_page(io, self.marks)?;
        }
        let marks = io.flush_marks();
        self.write_page(io, marks)?;
        debug_assert!(self.buffer.is_empty(), "a flush leaves entries in the buffer");
        io.flushed();
        self.clean(io)
    }

    /// A GC query: the pages of `block` that are not known to be stale.
    fn live_in<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, block: Block, out: &mut Vec<u16>) -> Answer {
        self.tally.queries += 1;
        let geometry = self.geometry;
        let mut stale = core::mem::take(&mut self.stale);
        stale.fill(0);
        let mark = |stale: &mut [u64], index: u32| stale[index as usize / 64] |= 1 << (index % 64);
        let mut end = geometry.pages_per_block();
        let mut reads = 0;
        let whole = self.follow(io, block, NONE, &mut reads, |entry| {
            let index = geometry.index_of(Page(entry.page));
            mark(&mut stale, index);
            if entry.and_behind {
                end = end.min(index);
            }
            true
        });
        self.tally.query_reads += reads;
        self.damaged |= !whole;
        for page in self.leaving.iter().filter(|page| geometry.block_of(**page) == block) {
            mark(&mut stale, geometry.index_of(*page));
        }
        out.extend((0..end as u16).filter(|index| stale[usize::from(*index) / 64] >> (index % 64) & 1 == 0));
        self.stale = stale;
        if self.damaged { Answer::Uncertain } else { Answer::NotKnownStale }
    }

    fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn overstates(&self) -> bool {
        self.damaged
    }

    /// Something is lost that it should have: from now on only the mapping decides which pages are live.
    fn set_damaged(&mut self) {
        self.damaged = true;
    }

    /// Copies pages of the log out of a victim.
    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        let geometry = self.geometry;
        self.relocate_pages(io, |page| geometry.block_of(page) == victim)
    }

    fn metadata_pages(&self) -> Vec<Page> {
        self.pages.iter().copied().filter(|page| *page != LOST_PAGE).collect()
    }

    /// RAM, by appendix E: first links and erase-timestamps of four bytes a block each, where each page of the log is,
    /// and the buffer.
    fn ram(&self, ledger: &mut RamLedger) {
        let blocks = self.heads.len() as u64;
        let page_bytes = self.page.capacity() as u64;
        ledger.structure("validity.chain_heads", blocks * 4);
        ledger.structure("validity.erase_timestamps", blocks * 4);
        ledger.structure("validity.log_directory", self.pages.len() as u64 * 4);
        ledger.structure("validity.buffer", page_bytes);
        ledger.index("index.wide_positions", blocks * 8);
        ledger.index("index.log_directory_room", (self.pages.capacity() - self.pages.len()) as u64 * 4);
        let buffered = (self.buffer.capacity() * size_of::<LogEntry>()) as u64;
        ledger.index("buffer.log_buffer_room", buffered.saturating_sub(page_bytes));
        let bitmap = self.stale.capacity() as u64 * 8;
        ledger.index("buffer.log_pages", page_bytes + self.cleaning.bytes() + bitmap);
        ledger.index("buffer.leaving", self.leaving.capacity() as u64 * 4);
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("pvl_inserts", self.tally.inserts),
            Counter::sum("pvl_flushes", self.tally.flushes),
            Counter::sum("pvl_queries", self.tally.queries),
            Counter::sum("pvl_query_reads", self.tally.query_reads),
        ]);
        self.cleaning.counters(out);
        out.push(Counter::level("pvl_pages", self.pages.len() as u64));
    }
}
