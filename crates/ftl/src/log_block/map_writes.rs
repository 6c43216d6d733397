//! How parts of the map get to flash: map pages, and pages of the table of trims.

use super::ground::Ground;
use super::log_index::LogIndex;
use super::pool::Role;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::NewPage;
use phelsuma_nand::{Content, Nand, Purpose, Time};

impl<I: LogIndex> Ground<I> {
    /// Writes a part anew, not before everything so far is on flash: neither the data block that it names nor what made
    /// a trim void may be missing where it is found. When it is safe.
    pub(super) fn write_part<N: Nand>(&mut self, nand: &mut N, part: u32, at: Time) -> Result<Time, FtlError> {
        self.write_parts(nand, [part], at)
    }

    /// As [`write_part`](Self::write_part), of several. Only when all of them are there a map block is emptied: in a
    /// recovery the table of trims leaves out what merges have carried out, and must not be written before the parts
    /// that say so.
    pub(super) fn write_parts<N: Nand>(
        &mut self,
        nand: &mut N,
        parts: impl IntoIterator<Item = u32>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut done = at;
        for part in parts {
            done = self.append_part(nand, part, done)?;
        }
        // Each round gives one back.
        for _ in 0..self.geometry.blocks() {
            let Some(victim) = self.map.victim(&self.pool) else { break };
            self.tally.map_collections += 1;
            for part in self.map.parts_in(&self.geometry, victim) {
                done = self.append_part(nand, part, done)?;
            }
            self.map.emptied(victim);
            self.pool.release(victim);
        }
        Ok(done)
    }

    /// No log block that counts, or may count again, has a page of a lower seq.
    fn oldest_log(&self) -> u64 {
        debug_assert!(self.held_since.is_none() || self.pool.phase.is_mounting(), "log blocks are held while serving");
        let oldest = self.log.oldest().unwrap_or(self.pool.clock.seq() + 1);
        self.held_since.map_or(oldest, |since| since.min(oldest))
    }

    fn append_part<N: Nand>(&mut self, nand: &mut N, part: u32, at: Time) -> Result<Time, FtlError> {
        let trims_page = self.map.trims_page(part);
        let of_host = if trims_page.is_some() { Purpose::Trim } else { Purpose::Map };
        let purpose = self.pool.phase.purpose(of_host);
        let earliest = if self.barriers.keeps(Barrier::MapAfterData) { at.max(self.pool.clock.horizon()) } else { at };
        // Each round that fails closes a block.
        loop {
            let (block, next, ready) = match self.map.take_next() {
                Some((block, next)) => (block, next, earliest),
                None => {
                    let (block, ready) = self.pool.open(nand, Role::Map, purpose, earliest)?;
                    self.map.opened(block);
                    self.map.take_next();
                    (block, 0, ready.max(earliest))
                }
            };
            let mut bytes = core::mem::take(&mut self.bytes);
            bytes.clear();
            bytes.resize(self.geometry.page_bytes() as usize, 0);
            if let Some(page) = trims_page {
                self.trims.encode(page, &mut bytes);
            } else {
                let version = |logical_block| self.merge_version(logical_block);
                self.data.encode(part, self.oldest_log(), version, &mut bytes);
            }
            self.bytes = bytes;
            let content = Content::Bytes(&self.bytes);
            let page = NewPage::of(self.map.kind_of(part), part, self.pool.clock.next_version(), content);
            let to = self.geometry.page(block, next);
            self.tally.programs += 1;
            if let Some(done) = self.pool.program(nand, to, Role::Map, &page, purpose, ready)? {
                self.map.placed(&self.geometry, part, to);
                if let Some(page) = trims_page {
                    self.trims.written(page);
                } else {
                    for (_, block) in self.unmapped.extract_if(.., |(of, _)| *of == part) {
                        self.pool.release(block);
                    }
                }
                return Ok(done);
            }
            self.map.close();
        }
    }

    /// Writes the changed pages of the table of trims.
    pub(super) fn write_trims<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        // Emptying a map block may have written the next one.
        loop {
            let next = self.trims.pending().next();
            let Some(page) = next else { return Ok(done) };
            done = self.write_part(nand, self.map.part_of_trims(page), done)?;
        }
    }
}
