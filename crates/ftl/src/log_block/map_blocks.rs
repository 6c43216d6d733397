//! Map blocks: where the mapping of data blocks stands on flash, and the table of trims.
//!
//! Each of their pages is a numbered part of what RAM holds in full: map pages first, then the pages of the table of
//! trims. A part is written anew at the end of the newest map block. Where there are too many map blocks, the one with
//! the fewest live parts is emptied. RAM has the parts, so that takes no read.
//!
//! The room for map blocks is twice that of the live parts and two blocks. So the emptiest of them is at most half
//! live: emptying one gains room for as many parts as it takes.

use super::pool::Pool;
use super::{data_map, trims};
use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Kind, Page};

#[derive(Clone, Copy, Debug, Preserve)]
struct MapBlock {
    block: Block,
    /// Parts whose newest version stands here.
    live: u32,
}

#[derive(Clone, Debug, Preserve)]
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

/// Parts of a drive of so many logical blocks: its map pages and so many pages of its table of trims.
pub(super) fn parts(geometry: &Geometry, logical_blocks: u32, trim_pages: u32) -> u32 {
    logical_blocks.div_ceil(data_map::per_page(geometry)) + trim_pages
}

/// Map blocks at the most, but while one is emptied.
pub(super) fn most(geometry: &Geometry, logical_blocks: u32, trim_pages: u32) -> u32 {
    room_for(geometry, parts(geometry, logical_blocks, trim_pages))
}

/// Map blocks at the most that so many parts stand in, but while one is emptied.
pub(super) fn room_for(geometry: &Geometry, parts: u32) -> u32 {
    2 * parts.div_ceil(geometry.pages_per_block()) + 2
}

impl MapBlocks {
    pub(super) fn new(geometry: &Geometry, logical_blocks: u32, trim_pages: u32) -> Self {
        let parts = parts(geometry, logical_blocks, trim_pages);
        Self { trims_from: parts - trim_pages, ..Self::of_parts(geometry, parts) }
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
        debug_assert!(self.open.is_none(), "{block} is opened beside another map block");
        self.found(block);
        self.open = Some((block, 0));
    }

    /// Nothing more is written to the one that is open: a program failed, or the drive is closed.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Whether none is being written.
    pub(super) fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// A map block to empty: one that has failed, or the emptiest where there are too many. The emptiest is also taken
    /// where no block is free and the open one has room for the live parts there.
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
        debug_assert_eq!(self.look(block), (false, 0), "map {block} is given back and needed");
        self.blocks.retain(|map| map.block != block);
    }

    /// Which page of trims a part is, if it is one: they are the last parts.
    pub(super) fn trims_page(&self, part: u32) -> Option<u32> {
        part.checked_sub(self.trims_from)
    }

    /// The part that a page of trims is.
    pub(super) fn part_of_trims(&self, page: u32) -> u32 {
        self.trims_from + page
    }

    /// The kind of the page of a part.
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
        let live = self.live_in(geometry.block_of(page));
        debug_assert!(live.is_some(), "part {part} is written to a block that is no map block");
        if let Some(live) = live {
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

/// Whether a page has room for a part of each kind.
pub(super) fn has_room(geometry: &Geometry) -> bool {
    data_map::per_page(geometry) > 0 && trims::entries(geometry) > 0
}
