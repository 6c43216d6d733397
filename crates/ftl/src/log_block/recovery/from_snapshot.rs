//! A start from the snapshot of a clean end ([`super::super::snapshot`]), if its seal holds.
//!
//! It holds if nothing on the drive is younger, and all pages of the snapshot can be read.
//!
//! Nothing is written, and neither log blocks nor stale parts in map blocks are read. So a power cut meanwhile changes
//! nothing.

use super::super::data_map::MapEntry;
use super::super::ground::Ground;
use super::super::hybrid::Hybrid;
use super::super::log_index::LogIndex;
use super::super::pool::Role;
use super::super::scheme::Scheme;
use super::super::snapshot::{SEAL, Snapshot};
use super::{MapParts, SpareScan};
use crate::barriers::Barrier;
use crate::medium::{Session, sealed, take_words};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Page, Spare, SpareRead};

impl<S: Scheme, N: Nand> Session<'_, Hybrid<S>, N> {
    /// Takes over a snapshot. Whether all of it was there; if not, this FTL is of no use.
    pub(super) fn restore(&mut self, usable: &[Block], scan: &mut SpareScan) -> bool {
        let geometry = *self.nand.geometry();
        let Some(youngest) = self.ftl.ground.youngest(usable, scan) else { return false };
        self.steps.begin("find the snapshot");
        let Some((page, spare)) = last_written(self, youngest) else { return false };
        if !is_snapshot(&spare) || spare.key != SEAL {
            return false;
        }
        scan.note(&spare);
        let Some(bytes) = self.read(page).verified_as(Kind::Map, SEAL) else { return false };
        let Some((after, count)) = sealed(bytes) else { return false };
        self.steps.begin("read the snapshot");
        let Some(words) = read_words(self, usable, scan, (after, count)) else { return false };
        let Some(snapshot) = Snapshot::of(&geometry, words, self.ftl.ground.map.parts()) else { return false };
        self.steps.report.scratch_bytes = scan.bytes() + snapshot.bytes() + self.steps.first.bytes();
        if !restore_map(&mut self.of(|ftl| &mut ftl.ground), scan, &snapshot) {
            return false;
        }
        let Some(scratch) = self.ftl.restore_log(scan, &snapshot) else { return false };
        self.steps.report.scratch_bytes += scratch;
        let ground = &mut self.ftl.ground;
        ground.settle_blocks(usable, scan, &MapParts::default(), &[]);
        ground.pool.begin_session(scan.version_max, scan.seq_max);
        ground.sealed = Some(ground.pool.clock.seq());
        true
    }
}

impl<I: LogIndex> Ground<I> {
    /// The block that was begun last, if it is a snapshot's.
    fn youngest(&self, usable: &[Block], scan: &SpareScan) -> Option<Block> {
        let is_snapshot = |block: &Block| scan.role(*block) == Some(Role::Snapshot);
        let seals_alone = !self.barriers.keeps(Barrier::SealIsYoungest);
        let counts = |block: &&Block| scan.first_seq(**block) > 0 && (!seals_alone || is_snapshot(block));
        usable.iter().filter(counts).max_by_key(|block| scan.first_seq(**block)).copied().filter(is_snapshot)
    }
}

/// Reads the map. Whether all of it was there.
fn restore_map<I: LogIndex, N: Nand>(
    session: &mut Session<'_, Ground<I>, N>,
    scan: &SpareScan,
    snapshot: &Snapshot,
) -> bool {
    let geometry = session.ftl.geometry;
    let places = || snapshot.parts().filter(|(_, page)| geometry.contains(*page));
    if places().count() != snapshot.parts().count() {
        return false;
    }
    // The pages of trims are the last parts: what merges have carried out of them is known by then.
    for (part, page) in places() {
        let block = geometry.block_of(page);
        if scan.role(block) != Some(Role::Map) {
            return false;
        }
        let ground = &mut *session.ftl;
        let kind = ground.map.kind_of(part);
        let Some(bytes) = session.steps.read(session.nand, page).verified_as(kind, part) else { return false };
        if let Some(page) = ground.map.trims_page(part) {
            ground.restore_trims(page, bytes);
        } else {
            let decoded: Vec<(u32, MapEntry)> = ground.data.decode(&geometry, part, bytes).collect();
            decoded.into_iter().for_each(|(logical_block, entry)| ground.data.set(logical_block, entry));
        }
        if !ground.map.blocks().any(|known| known == block) {
            ground.map.found(block);
        }
        ground.map.placed(&geometry, part, page);
    }
    true
}

impl<S: Scheme> Hybrid<S> {
    /// Takes up the log blocks. What RAM that takes, in bytes; none where they are not as the snapshot says.
    fn restore_log(&mut self, scan: &SpareScan, snapshot: &Snapshot) -> Option<u64> {
        let ground = &mut self.ground;
        let geometry = ground.geometry;
        let named = ground.named();
        let mut standing: Vec<(u32, Page)> = Vec::new();
        let mut seen = vec![false; geometry.blocks() as usize];
        for (block, live) in snapshot.log_blocks() {
            let is_known = block.0 < geometry.blocks()
                && scan.role(block).is_some_and(Role::is_log)
                && named.binary_search(&block).is_err()
                && !core::mem::replace(&mut seen[block.index()], true);
            if !is_known {
                return None;
            }
            standing.extend(live.map(|(index, key)| (key, geometry.page(block, index))));
        }
        // Each logical page stands in one place.
        standing.sort_unstable();
        let is_known = |(key, _): &(u32, Page)| *key < ground.shape.logical_pages;
        if !standing.iter().all(is_known) || standing.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let taking_up = ground.take_up_log_blocks::<S>(scan, &standing, |block| scan.first_seq(block));
        // One that was trimmed was written again: only RAM knew.
        for (key, _) in &standing {
            let (logical_block, offset) = ground.split(*key);
            ground.trims.clear(logical_block, offset);
        }
        Some(seen.len() as u64 + taking_up)
    }
}

fn is_snapshot(spare: &Spare) -> bool {
    spare.kind == Kind::Map && Role::of(spare.stream).0 == Some(Role::Snapshot)
}

/// The last page of a block whose spare area says anything. The first blank page is its end: pages are written one
/// after the other.
fn last_written<F, N: Nand>(session: &mut Session<'_, F, N>, block: Block) -> Option<(Page, Spare)> {
    let geometry = *session.nand.geometry();
    let mut last = None;
    for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
        match session.read_spare(page) {
            SpareRead::Erased => break,
            SpareRead::Unreadable => {}
            SpareRead::Written(spare) => last = Some((page, spare)),
        }
    }
    last
}

/// The words of the snapshot that was begun after a moment: so many, on pages in the order of their numbers.
fn read_words<F, N: Nand>(
    session: &mut Session<'_, F, N>,
    usable: &[Block],
    scan: &SpareScan,
    (after, count): (u64, u64),
) -> Option<Vec<u32>> {
    let geometry = *session.nand.geometry();
    let per_page = u64::from(geometry.page_bytes() / 4);
    let is_of_it = |block: &&Block| scan.role(**block) == Some(Role::Snapshot) && scan.first_seq(**block) > after;
    let mut blocks: Vec<Block> = usable.iter().filter(is_of_it).copied().collect();
    blocks.sort_by_key(|block| scan.first_seq(*block));
    if count > blocks.len() as u64 * u64::from(geometry.pages_per_block()) * per_page {
        return None;
    }
    let mut words = vec![0; count as usize];
    let (mut number, mut pages) = (SEAL, count.div_ceil(per_page));
    for page in
        blocks.iter().flat_map(|block| (0..geometry.pages_per_block()).map(|index| geometry.page(*block, index)))
    {
        if pages == 0 {
            break;
        }
        // A page that failed is followed by another of its number, in another block.
        let Some(bytes) = session.read(page).verified_as(Kind::Map, number + 1) else { continue };
        take_words(&mut words[number as usize * per_page as usize..], 0, bytes);
        number += 1;
        pages -= 1;
    }
    (pages == 0).then_some(words)
}
