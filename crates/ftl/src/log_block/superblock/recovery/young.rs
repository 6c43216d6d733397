//! What is younger than its superblock's map: pages behind those that the map knows of, and blocks begun since.

use super::super::super::pool::Role;
use super::super::super::recovery::scan::Scan;
use super::super::Superblocks;
use super::super::state::Member;
use super::map_scan::MapScan;
use crate::barriers::Barrier;
use crate::medium::{Owned, Steps};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Page, PageRead, Spare, SpareRead};

#[derive(Default)]
pub(super) struct Young {
    /// Superblocks that have any younger page, in order.
    superblocks: Vec<u32>,
    /// Blocks that no map names, in order.
    unnamed: Vec<Block>,
    /// Last pages that may have been in flight, with their superblock.
    recent: Vec<(u32, Page)>,
}

impl Young {
    /// Reads spare areas of what may be younger, and the last page of each such block in full. Blocks that no map names
    /// become their superblock's.
    pub(super) fn find<N: Nand>(
        ftl: &mut Superblocks,
        map: &MapScan,
        scan: &mut Scan,
        owners: &[Option<u32>],
        usable: &[Block],
        nand: &mut N,
        steps: &mut Steps,
    ) -> Self {
        let mut young = Self::default();
        for superblock in 0..ftl.superblocks.len() as u32 {
            for slot in 0..ftl.superblocks[superblock as usize].members.len() {
                let Some(member) = ftl.superblocks[superblock as usize].members[slot] else { continue };
                if member.next < ftl.layout.pages_per_block {
                    let next = young.block(ftl, scan, nand, steps, superblock, (member.block, member.next));
                    ftl.superblocks[superblock as usize].get_mut(slot).next = next;
                }
            }
        }
        let mut begun: Vec<Block> = usable.to_vec();
        begun.sort_by_key(|block| scan.first_seq(*block));
        for block in begun {
            let Some(superblock) = owners[block.index()] else { continue };
            if scan.role(block) != Some(Role::Log)
                || map.is_named(block)
                || scan.first_seq(block) <= map.made(superblock)
            {
                continue;
            }
            young.unnamed.push(block);
            let next = young.block(ftl, scan, nand, steps, superblock, (block, 0));
            let member = Member { next, closed: true, ..Member::new(block) };
            let members = &mut ftl.superblocks[superblock as usize].members;
            match members.iter_mut().find(|member| member.is_none()) {
                Some(slot) => *slot = Some(member),
                None => members.push(Some(member)),
            }
        }
        young.unnamed.sort_unstable();
        young.superblocks.sort_unstable();
        young.superblocks.dedup();
        // The scan is over: what may have been in flight is known.
        ftl.kept.0.retain(|(_, spare, _)| scan.is_suspect(spare.seq));
        young.recent.retain(|(_, page)| ftl.kept.0.iter().any(|(kept, ..)| kept == page));
        young
    }

    /// Reads a block from a page on: how many of its pages may count.
    fn block<N: Nand>(
        &mut self,
        ftl: &mut Superblocks,
        scan: &mut Scan,
        nand: &mut N,
        steps: &mut Steps,
        superblock: u32,
        (block, from): (Block, u32),
    ) -> u32 {
        let geometry = ftl.geometry;
        let mut last: Option<(u32, Spare)> = None;
        for index in from..geometry.pages_per_block() {
            if let SpareRead::Written(spare) = steps.read_spare(nand, geometry.page(block, index)) {
                scan.note(&spare);
                last = Some((index, spare));
            }
        }
        let Some((index, spare)) = last else { return from };
        self.superblocks.push(superblock);
        scan.lasts_read += 1;
        let page = geometry.page(block, index);
        let data = match steps.read(nand, page) {
            PageRead::Written { content, .. } if !ftl.barriers.keeps(Barrier::SuspectsVerified) => {
                Some(Owned::of(content))
            }
            PageRead::Written { content, .. }
                if !ftl.barriers.keeps(Barrier::OldLastPagesVerified) && !scan.is_suspect(spare.seq) =>
            {
                Some(Owned::of(content))
            }
            read => read.verified().map(|(content, _)| Owned::of(content)),
        };
        let Some(data) = data else {
            scan.lasts_bad += 1;
            return index;
        };
        if ftl.barriers.keeps(Barrier::SuspectsReadOnce) && scan.is_suspect(spare.seq) {
            ftl.kept.0.push((page, spare, data));
            self.recent.push((superblock, page));
        }
        index + 1
    }

    /// Superblocks of which something is younger than their map.
    pub(super) fn superblocks(&self) -> impl Iterator<Item = u32> {
        self.superblocks.iter().copied()
    }

    pub(super) fn is_unnamed(&self, block: Block) -> bool {
        self.unnamed.binary_search(&block).is_ok()
    }

    /// Last pages of a superblock's blocks that may have been in flight.
    pub(super) fn recent(&self, superblock: u32) -> impl Iterator<Item = Page> {
        self.recent.iter().filter(move |(of, _)| *of == superblock).map(|(_, page)| *page)
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let recent = self.recent.len() * size_of::<(u32, Page)>();
        (self.superblocks.len() * 4 + self.unnamed.len() * size_of::<Block>() + recent) as u64
    }
}
