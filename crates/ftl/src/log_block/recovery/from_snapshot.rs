//! A start from the snapshot of a clean end ([`super::super::snapshot`]), if its seal holds: nothing on the drive is
//! younger, and all pages that it speaks of can be read.
//!
//! Nothing is written, and neither log blocks nor what is stale in map blocks are read: a power cut meanwhile changes
//! nothing.

use super::super::LogBlock;
use super::super::data_map::Entry;
use super::super::pool::Role;
use super::super::snapshot::{SEAL, Snapshot};
use super::map_scan::MapScan;
use super::scan::Scan;
use crate::barriers::Barrier;
use crate::medium::{Steps, sealed, take_words};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page, Spare, SpareRead};

impl LogBlock {
    /// Takes over a snapshot. Whether all of it was there; if not, this FTL is of no use.
    pub(super) fn restore<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        usable: &[Block],
        scan: &mut Scan,
    ) -> bool {
        let geometry = self.ground.geometry;
        let Some(youngest) = self.youngest(usable, scan) else { return false };
        steps.begin("find the snapshot");
        let Some((page, spare)) = last_written(nand, steps, &geometry, youngest) else { return false };
        if !is_snapshot(&spare) || spare.key != SEAL {
            return false;
        }
        scan.note(&spare);
        let Some(bytes) = steps.read(nand, page).verified_as(Kind::Map, SEAL) else { return false };
        let Some((after, count)) = sealed(bytes) else { return false };
        steps.begin("read the snapshot");
        let Some(words) = read_words(nand, steps, usable, scan, (after, count)) else { return false };
        let Some(snapshot) = Snapshot::of(&geometry, words, self.ground.map.parts()) else { return false };
        steps.report.scratch_bytes = scan.bytes() + snapshot.bytes() + steps.first.bytes();
        if !self.restore_map(nand, steps, scan, &snapshot)
            || !self.restore_log(scan, &snapshot, &mut steps.report.scratch_bytes)
        {
            return false;
        }
        self.settle_blocks(usable, scan, &MapScan::default(), &[]);
        self.ground.pool.begin_session(scan.version_max, scan.seq_max);
        self.ground.sealed = Some(self.ground.pool.clock.seq());
        true
    }

    /// The block that was begun last, if it is a snapshot's.
    fn youngest(&self, usable: &[Block], scan: &Scan) -> Option<Block> {
        let is_snapshot = |block: &Block| scan.role(*block) == Some(Role::Snapshot);
        let by_youngest = self.ground.barriers.keeps(Barrier::SealIsYoungest);
        let counts = |block: &&Block| scan.first_seq(**block) > 0 && (by_youngest || is_snapshot(block));
        usable.iter().filter(counts).max_by_key(|block| scan.first_seq(**block)).copied().filter(is_snapshot)
    }

    /// Reads the map.
    fn restore_map<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps, scan: &Scan, snapshot: &Snapshot) -> bool {
        let ground = &mut self.ground;
        let geometry = ground.geometry;
        let places = || snapshot.parts().filter(|(_, page)| u64::from(page.0) < geometry.pages());
        if places().count() != snapshot.parts().count() {
            return false;
        }
        // The pages of trims are the last parts: what merges have carried out of them is known by then.
        for (part, page) in places() {
            let block = geometry.block_of(page);
            if scan.role(block) != Some(Role::Map) {
                return false;
            }
            let kind = ground.map.kind_of(part);
            let Some(bytes) = steps.read(nand, page).verified_as(kind, part) else { return false };
            if let Some(page) = ground.map.trims_page(part) {
                let data = &ground.data;
                let logical_blocks = data.logical_blocks();
                ground.trims.restore(page, bytes, |logical_block, version| {
                    logical_block >= logical_blocks || version <= data.version(logical_block)
                });
            } else {
                let decoded: Vec<(u32, Entry)> = ground.data.decode(&geometry, part, bytes).collect();
                decoded.into_iter().for_each(|(logical_block, entry)| ground.data.set(logical_block, entry));
            }
            if !ground.map.blocks().any(|known| known == block) {
                ground.map.found(block);
            }
            ground.map.placed(&geometry, part, page);
        }
        true
    }

    /// Takes up the log blocks; what RAM that takes goes onto `scratch`, in bytes.
    fn restore_log(&mut self, scan: &Scan, snapshot: &Snapshot, scratch: &mut u64) -> bool {
        let ground = &self.ground;
        let geometry = ground.geometry;
        let named = self.named();
        let mut standing: Vec<(u32, Page)> = Vec::new();
        let mut seen = vec![false; geometry.blocks() as usize];
        for (block, live) in snapshot.log_blocks() {
            let is_known = block.0 < geometry.blocks()
                && scan.role(block).is_some_and(Role::is_log)
                && named.binary_search(&block).is_err()
                && !core::mem::replace(&mut seen[block.index()], true);
            if !is_known {
                return false;
            }
            standing.extend(live.map(|(index, key)| (key, geometry.page(block, index))));
        }
        // Each logical page stands in one place.
        standing.sort_unstable();
        let is_known = |(key, _): &(u32, Page)| *key < ground.shape.logical_pages;
        if !standing.iter().all(is_known) || standing.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return false;
        }
        *scratch += seen.len() as u64 + self.ground.take_up_log_blocks(scan, &standing, |block| scan.first_seq(block));
        // One that was trimmed was written again: only RAM knew.
        for (key, _) in &standing {
            let (logical_block, offset) = self.ground.split(*key);
            self.ground.trims.clear(logical_block, offset);
        }
        true
    }
}

fn is_snapshot(spare: &Spare) -> bool {
    spare.kind == Kind::Map && Role::of(spare.stream).0 == Some(Role::Snapshot)
}

/// The last page of a block whose spare area says anything. What is blank is its end: pages are written one after the other.
fn last_written<N: Nand>(nand: &mut N, steps: &mut Steps, geometry: &Geometry, block: Block) -> Option<(Page, Spare)> {
    let mut last = None;
    for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
        match steps.read_spare(nand, page) {
            SpareRead::Erased => break,
            SpareRead::Unreadable => {}
            SpareRead::Written(spare) => last = Some((page, spare)),
        }
    }
    last
}

/// The words of the snapshot that was begun after a moment: so many, on pages in the order of their numbers.
fn read_words<N: Nand>(
    nand: &mut N,
    steps: &mut Steps,
    usable: &[Block],
    scan: &Scan,
    (after, count): (u64, u64),
) -> Option<Vec<u32>> {
    let geometry = *nand.geometry();
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
        let Some(bytes) = steps.read(nand, page).verified_as(Kind::Map, number + 1) else { continue };
        take_words(&mut words[number as usize * per_page as usize..], 0, bytes);
        number += 1;
        pages -= 1;
    }
    (pages == 0).then_some(words)
}
