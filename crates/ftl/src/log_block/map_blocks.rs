//! Map blocks: where the mapping of data blocks stands on flash, and the table of trims.
//!
//! Each of their pages is a numbered part of what RAM holds in full: map pages first, then the pages of trims. A part is
//! written anew at the end of the newest map block; where there are more map blocks than there may be, the one with the
//! fewest live parts is emptied, and since RAM has them all, without a read.
//!
//! The room for map blocks is twice that of the live parts and two blocks, so the emptiest of them is at the most half
//! live: emptying one gains room for as many parts as it takes.

use super::ground::Ground;
use super::pool::{Pool, Role};
use super::{data_map, trims};
use crate::barriers::Barrier;
use crate::medium::NewPage;
use crate::medium::marks::SpareMarks;
use crate::{FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Page, Purpose, Time};

#[derive(Clone, Copy, Debug)]
struct MapBlock {
    block: Block,
    /// Parts whose newest version stands here.
    live: u32,
}

#[derive(Clone, Debug)]
pub(super) struct MapBlocks {
    /// By part.
    places: Vec<Option<Page>>,
    blocks: Vec<MapBlock>,
    /// The map block that is being written, and its next page.
    open: Option<(Block, u32)>,
    most: u32,
    pages_per_block: u32,
    /// The first part that is a page of trims.
    trims_from: u32,
}

/// Parts of a drive of so many logical blocks: its map pages and the pages of trims.
pub(super) fn parts(geometry: &Geometry, logical_blocks: u32) -> u32 {
    logical_blocks.div_ceil(data_map::per_page(geometry)) + trims::pages(geometry)
}

/// Map blocks at the most, but while one is emptied.
pub(super) fn most(geometry: &Geometry, logical_blocks: u32) -> u32 {
    room_for(geometry, parts(geometry, logical_blocks))
}

/// Map blocks at the most that so many parts stand in, but while one is emptied.
pub(super) fn room_for(geometry: &Geometry, parts: u32) -> u32 {
    2 * parts.div_ceil(geometry.pages_per_block()) + 2
}

impl MapBlocks {
    pub(super) fn new(geometry: &Geometry, logical_blocks: u32) -> Self {
        let parts = parts(geometry, logical_blocks);
        Self { trims_from: parts - trims::pages(geometry), ..Self::of_parts(geometry, parts) }
    }

    /// For so many parts, none of them a page of trims.
    pub(super) fn of_parts(geometry: &Geometry, parts: u32) -> Self {
        Self {
            places: vec![None; parts as usize],
            blocks: Vec::new(),
            open: None,
            most: room_for(geometry, parts),
            pages_per_block: geometry.pages_per_block(),
            trims_from: parts,
        }
    }

    /// The map block that is being written, and its next page: none where one has to be opened.
    pub(super) fn take_next(&mut self) -> Option<(Block, u32)> {
        let (block, next) = self.open?;
        self.open = (next + 1 < self.pages_per_block).then_some((block, next + 1));
        Some((block, next))
    }

    /// A map block was opened: its first page is the next.
    pub(super) fn opened(&mut self, block: Block) {
        self.found(block);
        self.open = Some((block, 0));
    }

    /// Nothing more is written to the one that is open: a program failed, or the drive is closed.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// A map block to empty: one that has failed, or the emptiest where there are too many, or where no block is free and
    /// the one that is open has room for what is live there.
    pub(super) fn victim(&self, pool: &Pool) -> Option<Block> {
        let open = self.open.map(|(block, _)| block);
        let room = self.open.map_or(0, |(_, next)| self.pages_per_block - next);
        let closed = || self.blocks.iter().filter(|map| Some(map.block) != open);
        if let Some(failed) = closed().find(|map| pool.is_failing(map.block)) {
            return Some(failed.block);
        }
        let too_many = self.blocks.len() as u32 > self.most;
        let is_due = |map: &&MapBlock| too_many || (pool.free() == 0 && map.live < room);
        closed().min_by_key(|map| map.live).filter(is_due).map(|map| map.block)
    }

    /// The parts whose newest version stands in a map block.
    pub(super) fn parts_in(&self, geometry: &Geometry, block: Block) -> Vec<u32> {
        let in_it = |page: &Option<Page>| page.is_some_and(|page| geometry.block_of(page) == block);
        (0..).zip(&self.places).filter(|(_, page)| in_it(page)).map(|(part, _)| part).collect()
    }

    /// A map block has been emptied.
    pub(super) fn emptied(&mut self, block: Block) {
        self.blocks.retain(|map| map.block != block);
    }

    /// Which page of trims a part is, if it is one: they are the last parts.
    pub(super) fn trims_page(&self, part: u32) -> Option<u32> {
        part.checked_sub(self.trims_from)
    }

    /// What the page of a part is.
    pub(super) fn kind_of(&self, part: u32) -> Kind {
        if self.trims_page(part).is_some() { Kind::Tombstone } else { Kind::Map }
    }

    pub(super) fn parts(&self) -> u32 {
        self.places.len() as u32
    }

    pub(super) fn place(&self, part: u32) -> Option<Page> {
        self.places[part as usize]
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.blocks.iter().map(|map| map.block)
    }

    /// Whether a map block is being written, and its live parts.
    pub(super) fn look(&self, block: Block) -> (bool, u32) {
        let live = self.blocks.iter().find(|map| map.block == block).map_or(0, |map| map.live);
        (self.open.is_some_and(|(open, _)| open == block), live)
    }

    fn live_in(&mut self, block: Block) -> Option<&mut u32> {
        self.blocks.iter_mut().find(|map| map.block == block).map(|map| &mut map.live)
    }

    /// The newest version of a part stands there.
    pub(super) fn placed(&mut self, geometry: &Geometry, part: u32, page: Page) {
        if let Some(old) = self.places[part as usize].replace(page)
            && let Some(live) = self.live_in(geometry.block_of(old))
        {
            *live -= 1;
        }
        if let Some(live) = self.live_in(geometry.block_of(page)) {
            *live += 1;
        }
    }

    /// A recovery has found a map block.
    pub(super) fn found(&mut self, block: Block) {
        self.blocks.push(MapBlock { block, live: 0 });
    }

    /// Forgets those in which no part's newest version stands: they hold nothing that counts.
    pub(super) fn drop_dead(&mut self) {
        self.blocks.retain(|map| map.live > 0);
    }

    /// Live parts of each map block, counted anew: for checks.
    pub(super) fn miscounted(&self, geometry: &Geometry) -> Option<Block> {
        let count = |block| self.places.iter().flatten().filter(|page| geometry.block_of(**page) == block).count();
        self.blocks.iter().find(|map| count(map.block) != map.live as usize).map(|map| map.block)
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("map.directory", self.places.len() as u64 * 4);
        let more = self.places.capacity() * (size_of::<Option<Page>>() - 4);
        ledger.index("index.map_blocks", (self.blocks.capacity() * size_of::<MapBlock>() + more) as u64);
    }
}

impl Ground {
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
        let oldest = self.log.oldest().unwrap_or(self.pool.clock.seq() + 1);
        self.held_since.map_or(oldest, |since| since.min(oldest))
    }

    fn append_part<N: Nand>(&mut self, nand: &mut N, part: u32, at: Time) -> Result<Time, FtlError> {
        let trims_page = self.map.trims_page(part);
        let of_host = if trims_page.is_some() { Purpose::Trim } else { Purpose::Map };
        let purpose = if self.pool.recovering { Purpose::Recovery } else { of_host };
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
            self.bytes.clear();
            self.bytes.resize(self.geometry.page_bytes() as usize, 0);
            if let Some(page) = trims_page {
                self.trims.encode(page, &mut self.bytes);
            } else {
                let oldest_log = self.oldest_log();
                self.data.encode(part, oldest_log, &mut self.bytes);
            }
            let content = Content::Bytes(&self.bytes);
            let page = NewPage {
                kind: self.map.kind_of(part),
                key: part,
                version: self.pool.clock.next_version(),
                content,
                data_crc: content.crc(),
                marks: SpareMarks::NONE,
            };
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

    /// Writes what is new in the table of trims.
    pub(super) fn write_trims<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let mut done = at;
        // Emptying a map block may have written the next one.
        loop {
            let next = self.trims.pending().next();
            let Some(page) = next else { return Ok(done) };
            done = self.write_part(nand, self.map.trims_from + page, done)?;
        }
    }
}

/// Whether a page has room for a part of each kind.
pub(super) fn has_room(geometry: &Geometry) -> bool {
    data_map::per_page(geometry) > 0 && trims::entries(geometry) > 0
}
