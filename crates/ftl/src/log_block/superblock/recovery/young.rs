//! Pages younger than their superblock's map: those behind the pages in the map, and those of blocks begun since.

use super::super::super::pool::Role;
use super::super::super::recovery::SpareScan;
use super::super::state::Member;
use super::super::superblocks::Superblocks;
use super::maps::Maps;
use crate::barriers::Barrier;
use crate::medium::Session;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Page, Spare, SpareRead};

#[derive(Default)]
pub(super) struct YoungPages {
    /// Superblocks that have any younger page, in order.
    superblocks: Vec<u32>,
    /// Blocks that no map names, in order.
    unnamed: Vec<Block>,
    /// Suspect last pages, with their superblock.
    recent: Vec<(u32, Page)>,
}

impl YoungPages {
    /// Reads spare areas of what may be younger, and the last page of each such block in full. Blocks that no map names
    /// become their superblock's.
    pub(super) fn find<N: Nand>(
        session: &mut Session<'_, Superblocks, N>,
        maps: &Maps,
        scan: &mut SpareScan,
        owners: &[Option<u32>],
        usable: &[Block],
    ) -> Self {
        let mut young = Self::default();
        for superblock in 0..session.ftl.superblocks.len() {
            for slot in 0..session.ftl.superblocks[superblock].members.len() {
                let Some(member) = session.ftl.superblocks[superblock].members[slot] else { continue };
                if member.next < session.ftl.layout.pages_per_block {
                    let next = young.block(session, scan, superblock as u32, (member.block, member.next));
                    session.ftl.superblocks[superblock].get_mut(slot).next = next;
                }
            }
        }
        let mut begun: Vec<Block> = usable.to_vec();
        begun.sort_by_key(|block| scan.first_seq(*block));
        for block in begun {
            let Some(superblock) = owners[block.index()] else { continue };
            if scan.role(block) != Some(Role::Log)
                || maps.is_named(block)
                || scan.first_seq(block) <= maps.made(superblock)
            {
                continue;
            }
            young.unnamed.push(block);
            let next = young.block(session, scan, superblock, (block, 0));
            let member = Member { next, closed: true, ..Member::new(block) };
            let members = &mut session.ftl.superblocks[superblock as usize].members;
            match members.iter_mut().find(|member| member.is_none()) {
                Some(slot) => *slot = Some(member),
                None => members.push(Some(member)),
            }
        }
        young.unnamed.sort_unstable();
        young.superblocks.sort_unstable();
        young.superblocks.dedup();
        // The scan is over: the suspect pages are determined.
        let kept = &mut session.ftl.kept.0;
        kept.retain(|(_, spare, _)| scan.is_suspect(spare.seq));
        young.recent.retain(|(_, page)| kept.iter().any(|(kept, ..)| kept == page));
        young
    }

    /// Reads a block from a page on: how many of its pages may count.
    fn block<N: Nand>(
        &mut self,
        session: &mut Session<'_, Superblocks, N>,
        scan: &mut SpareScan,
        superblock: u32,
        (block, from): (Block, u32),
    ) -> u32 {
        let (geometry, barriers) = (session.ftl.geometry, session.ftl.barriers);
        let mut last: Option<(u32, Spare)> = None;
        for index in from..geometry.pages_per_block() {
            if let SpareRead::Written(spare) = session.read_spare(geometry.page(block, index)) {
                scan.note(&spare);
                last = Some((index, spare));
            }
        }
        let Some((index, spare)) = last else { return from };
        self.superblocks.push(superblock);
        let page = geometry.page(block, index);
        let Some(data) = scan.last(session, barriers, page, &spare) else { return index };
        if barriers.keeps(Barrier::SuspectsReadOnce) && scan.is_suspect(spare.seq) {
            session.ftl.kept.0.push((page, spare, data));
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

    /// Suspect last pages of a superblock's blocks.
    pub(super) fn recent(&self, superblock: u32) -> impl Iterator<Item = Page> {
        self.recent.iter().filter(move |(of, _)| *of == superblock).map(|(_, page)| *page)
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let recent = self.recent.len() * size_of::<(u32, Page)>();
        (self.superblocks.len() * 4 + self.unnamed.len() * size_of::<Block>() + recent) as u64
    }
}
