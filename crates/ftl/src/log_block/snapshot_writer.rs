//! How a [`snapshot`](super::snapshot) gets to flash when the drive is closed.

use super::ground::Ground;
use super::log::Log;
use super::log_index::LogIndex;
use super::log_state::NONE;
use super::map_blocks::MapBlocks;
use super::pool::{Pool, Role};
use super::snapshot::{SEAL, pages_at_most, words_per_page};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::medium::{NewPage, put_words};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Purpose, Time};

/// All words.
fn words<'a, I: LogIndex>(map: &'a MapBlocks, log: &'a Log<I>) -> impl Iterator<Item = u32> + 'a {
    let slots = || log.slots().filter(|slot| log.get(*slot).live > 0);
    let parts = (0..map.parts()).map(|part| map.place(part).map_or(NONE, |page| page.0));
    let of_slot = |slot: u32| {
        let block = log.get(slot).block.0;
        core::iter::once(block).chain(log.live_pages(slot))
    };
    core::iter::once(map.parts())
        .chain(parts)
        .chain(core::iter::once(slots().count() as u32))
        .chain(slots().flat_map(of_slot))
}

impl<I: LogIndex> Ground<I> {
    /// Writes a snapshot, unless nothing was programmed since the last one, or there is no room for one. Nothing is
    /// open any more. When it is safe.
    ///
    /// # Errors
    /// A failure of the flash is none: where there is no block left, there is no snapshot.
    pub(super) fn write_snapshot<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Time, FtlError> {
        if self.sealed == Some(self.pool.clock.seq()) || !self.unmapped.is_empty() {
            return Ok(at);
        }
        let pages = pages_at_most(&self.geometry, self.map.parts(), self.log.len());
        let needed = pages.div_ceil(u64::from(self.geometry.pages_per_block()));
        if needed + u64::from(self.merge_blocks) > u64::from(self.pool.free()) {
            return Ok(at);
        }
        debug_assert!(
            !self.barriers.keeps(Barrier::SnapshotClosesBlocks)
                || self.map.is_closed() && self.log.slots().all(|slot| self.log.get(slot).closed),
            "a snapshot is written while a block is open"
        );
        let mut blocks = Vec::new();
        let written = self.write_snapshot_into(nand, &mut blocks, at);
        // Of use for the next start alone, and to no one once anything is written.
        blocks.into_iter().for_each(|block| self.pool.release(block));
        match written {
            Ok(()) => self.sealed = Some(self.pool.clock.seq()),
            Err(FtlError::Full { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(at.max(self.pool.clock.horizon()))
    }

    fn write_snapshot_into<N: Nand>(
        &mut self,
        nand: &mut N,
        blocks: &mut Vec<Block>,
        at: Time,
    ) -> Result<(), FtlError> {
        let after = self.pool.clock.seq();
        let page_bytes = self.geometry.page_bytes() as usize;
        let mut writer = Writer { blocks, next: None, number: SEAL, at };
        let mut of_page = Vec::with_capacity(words_per_page(&self.geometry));
        let mut count = 0u64;
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.resize(page_bytes, 0);
        let Self { map, log, pool, geometry, .. } = self;
        let mut result = Ok(());
        let mut words = words(map, log).peekable();
        while result.is_ok() && words.peek().is_some() {
            of_page.clear();
            of_page.extend(words.by_ref().take(words_per_page(geometry)));
            count += of_page.len() as u64;
            put_words(&of_page, 0, &mut bytes);
            writer.number += 1;
            result = writer.write(nand, pool, geometry, &bytes);
        }
        drop(words);
        if result.is_ok() {
            bytes.fill(0);
            bytes[..8].copy_from_slice(&after.to_le_bytes());
            bytes[8..16].copy_from_slice(&count.to_le_bytes());
            debug_assert!(
                u64::from(writer.number) < pages_at_most(geometry, map.parts(), log.len()),
                "a snapshot has more pages than were counted on"
            );
            writer.number = SEAL;
            // It says that all others are there.
            writer.at = at.max(pool.clock.horizon());
            result = writer.write(nand, pool, geometry, &bytes);
        }
        self.bytes = bytes;
        result
    }
}

/// Writes a snapshot's pages one after the other.
struct Writer<'b> {
    /// The blocks that it has opened.
    blocks: &'b mut Vec<Block>,
    /// Where the next page goes, and from when on it can be written; none where a block has to be opened.
    next: Option<(Block, u32, Time)>,
    number: u32,
    at: Time,
}

impl Writer<'_> {
    fn write<N: Nand>(
        &mut self,
        nand: &mut N,
        pool: &mut Pool,
        geometry: &Geometry,
        bytes: &[u8],
    ) -> Result<(), FtlError> {
        // Each round that fails retires a block.
        loop {
            let (block, index, ready) = match self.next {
                Some(next) => next,
                None => {
                    let (block, ready) = pool.open(nand, Role::Snapshot, Purpose::Checkpoint, self.at)?;
                    self.blocks.push(block);
                    (block, 0, ready)
                }
            };
            let content = Content::Bytes(bytes);
            let page = NewPage::of(Kind::Map, self.number, pool.clock.next_version(), content);
            let (to, at) = (geometry.page(block, index), ready.max(self.at));
            let written = pool.program(nand, to, Role::Snapshot, &page, Purpose::Checkpoint, at)?;
            self.next =
                (written.is_some() && index + 1 < geometry.pages_per_block()).then_some((block, index + 1, ready));
            if written.is_some() {
                return Ok(());
            }
        }
    }
}
