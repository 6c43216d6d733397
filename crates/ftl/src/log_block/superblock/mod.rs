//! SUPERBLOCK (Kang et al. 2006): N adjacent logical blocks are mapped to a few physical blocks.
//!
//! These are a *superblock*; inside of it pages stand anywhere. It is as µ-FTL section 3 and LAST++ sections 2.2 and
//! 5.2 have it.
//!
//! - A superblock has as many blocks as it fills, and *update blocks* beyond those, of which the drive has a number
//!   (`log.blocks`). Host writes go to the superblock's *hot* block, page after page.
//! - When that is full and no update block is to be had, blocks are collected. Candidates are the blocks with the
//!   fewest live pages of this superblock. So are those of the superblock with update blocks that was written least
//!   recently. The cheaper of the two is chosen. Live pages that a collection moves go to the superblock's *cold* block
//!   ([`collect`]).
//! - A block in which nothing is live is given back without a copy. So sequential writes cost a map page for each
//!   block, and no more: each block that fills replaces an old one, as in a switch merge.
//! - The spare area of a page says which block it stands in, and a page of the map does for all that is older
//!   ([`page_map`]). RAM caches some superblocks' maps ([`cache`]). A map that is not cached is read from its map page
//!   and from the spare areas of the pages written since.
//!
//! Faithful: superblock mapping, page maps in spare areas with a bounded cache, and update blocks that N logical blocks
//! share. Faithful as well: hot and cold pages apart, victims by utilization. Simplified: Kang's three levels of page
//! tables in each spare area need larger spare areas than ours. Map pages stand in for them, one for each block that is
//! given back. The papers here do not say how Kang's scheme chooses the superblock that has to give up an update block.
//! Here the cost decides.
//!
//! Superblocks share no block and no page of the map, so each survives a power cut by itself ([`recovery`]).

mod cache;
mod check;
mod collect;
mod layout;
mod look;
mod map;
mod page_map;
mod recovery;
mod state;
mod superblocks;

use super::lane::Lane;
use crate::barriers::Barriers;
use crate::ftl::{Ftl, ReadSink, Shape, WriteRequest};
use crate::medium::host_read::{self, FindPages, Sought};
use crate::{BlockLook, Counter, Finding, FtlError, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use page_map::NOWHERE;
use phelsuma_nand::{Block, Content, LogicalPage, Nand, Page, Purpose, Time};
use state::{Member, Superblock};

pub(super) use superblocks::Superblocks;

impl<N: Nand> FindPages<N> for Superblocks {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }

    fn find(&mut self, nand: &mut N, key: LogicalPage, at: Time) -> (Sought, Time) {
        let (superblock, offset) = self.layout.split(key.0);
        let (held, known) = self.load(nand, superblock, at);
        let sought = match self.cache.get(held)[offset as usize] {
            NOWHERE => Sought::Nowhere,
            entry => Sought::At(self.page_of(superblock, entry)),
        };
        (sought, known)
    }

    fn kept(&self, page: Page) -> Option<Content<'_>> {
        self.kept.get(page).map(|(_, _, data)| data.content())
    }

    fn count_unreadable(&mut self) {
        self.tally.unreadable_reads += 1;
    }
}

impl<N: Nand> Ftl<N> for Superblocks {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn write(&mut self, nand: &mut N, request: &WriteRequest<'_>, at: Time) -> Result<Time, FtlError> {
        let page_bytes = self.geometry.page_bytes();
        request.check(&self.shape, page_bytes)?;
        if self.pool.phase.is_read_only() {
            return Err(self.pool.full());
        }
        let mut done = at;
        for index in 0..request.pages {
            let content = request.data.page(index, page_bytes);
            done = done.max(self.write_page(nand, request.first.0 + index, content, at)?);
        }
        Ok(done)
    }

    fn read(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        cause: Purpose,
        at: Time,
        sink: &mut dyn ReadSink,
    ) -> Result<Time, FtlError> {
        host_read::read(self, nand, (first, pages), cause, at, sink)
    }

    fn find_mapped(
        &mut self,
        nand: &mut N,
        first: LogicalPage,
        pages: u32,
        at: Time,
        found: &mut dyn FnMut(LogicalPage, bool),
    ) -> Result<Time, FtlError> {
        host_read::find_mapped(self, nand, (first, pages), at, found)
    }

    /// Trimmed pages are on flash when this returns: a map page for each superblock that has any.
    fn trim(&mut self, nand: &mut N, first: LogicalPage, pages: u32, at: Time) -> Result<Time, FtlError> {
        self.shape.check_range(first, pages)?;
        if self.pool.phase.is_read_only() {
            return Err(self.pool.full());
        }
        let (mut done, mut next, end) = (at, first.0, first.0 + pages);
        while next < end {
            let (superblock, offset) = self.layout.split(next);
            let until = self.layout.pages_in(superblock).min(offset + (end - next));
            next += until - offset;
            done = self.trim_pages(nand, superblock, offset..until, done)?;
        }
        Ok(done)
    }

    fn flush(&mut self, _nand: &mut N, at: Time) -> Result<Time, FtlError> {
        Ok(at.max(self.pool.clock.horizon()))
    }

    fn copy(&self) -> Box<dyn Ftl<N>> {
        Box::new(self.clone())
    }

    #[cfg(feature = "std")]
    fn state(&mut self) -> Result<Box<dyn phelsuma_nand::state::Preserve + '_>, phelsuma_nand::state::StateError> {
        Ok(Box::new(self))
    }

    fn ram(&self) -> RamLedger {
        let mut ledger = RamLedger::default();
        let bits = |n: u64| u64::from(n.max(2).next_power_of_two().trailing_zeros());
        let (blocks, pages) = (u64::from(self.geometry.blocks()), u64::from(self.layout.pages_per_block));
        let slots = u64::from(self.layout.slots()) * self.superblocks.len() as u64;
        // Of each block of a superblock which one it is, and three counts of pages.
        let packed = (slots * (bits(blocks) + 3 * bits(pages + 1) + 1)).div_ceil(8);
        ledger.structure("superblock.blocks", packed);
        let held = slots * size_of::<Option<Member>>() as u64;
        ledger
            .index("index.superblocks", held + (self.superblocks.capacity() * size_of::<Superblock>()) as u64 - packed);
        self.cache.ram(&self.layout, &mut ledger);
        self.map.ram(&mut ledger);
        self.pool.ram(&mut ledger);
        self.written.ram(&mut ledger);
        let newest = self.newest.capacity() * size_of::<(u64, u64)>();
        let moved = self.moved.capacity() * size_of::<(u32, u16, u16)>();
        ledger.index("buffer.page", (self.bytes.capacity() + newest + moved) as u64);
        let kept_maps = self.kept_maps.iter().map(|(.., bytes)| size_of::<(u32, u64, Vec<u8>)>() + bytes.capacity());
        ledger.index("buffer.kept", (self.kept.bytes() + kept_maps.sum::<usize>()) as u64);
        ledger.index("index.anchors", self.anchors.capacity() as u64 * 4);
        ledger
    }

    fn counters(&self) -> Vec<Counter> {
        let mut counters = Vec::new();
        self.tally.counters(&mut counters);
        counters.push(Counter::sum("superblock_map_misses", self.counts.map_misses));
        counters.push(Counter::sum("superblock_maps_rebuilt", self.counts.maps_rebuilt));
        counters.push(Counter::sum("superblock_updates_taken", self.counts.updates_taken));
        counters.push(Counter::level("log_blocks", u64::from(self.updates)));
        counters.push(Counter::level("free_blocks", u64::from(self.pool.free())));
        counters.push(Counter::level("bad_blocks", u64::from(self.pool.failures.bad())));
        counters
    }

    fn look_at_blocks(&self, first: Block, out: &mut [BlockLook]) -> bool {
        self.blocks_seen(first, out);
        true
    }

    fn check(&mut self, nand: &mut N) -> Vec<Finding> {
        // The check changes caches: it is left to the copy.
        self.clone().findings(nand, &Lane::whole(&self.geometry))
    }
}
