//! RAM against itself and against the flash.

use super::super::lane::Lane;
use super::super::pool::Use;
use super::page_map::NOWHERE;
use super::superblocks::Superblocks;
use crate::finding::{Disagreement, Finding};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Op, Page, Purpose, Spare, SpareRead, Time};

impl Superblocks {
    /// A finding for each disagreement:
    ///
    /// - each block has one use, and it is the one that the structures say;
    /// - where a map says that a page stands, it does, and no page of the superblock's blocks that is younger than the
    ///   map page is newer;
    /// - live pages are counted as they are, and update blocks;
    /// - the order of superblocks is of those that have update blocks, and map pages are where the directory says.
    ///
    /// Blocks, pages and logical pages are named as the drive counts them of which `lane` is a channel, or all;
    /// superblocks are the FTL's own.
    pub(in super::super) fn findings<N: Nand>(&mut self, nand: &mut N, lane: &Lane) -> Vec<Finding> {
        let mut findings = Vec::<Finding>::new();
        self.uses(lane, &mut findings);
        for superblock in 0..self.superblocks.len() as u32 {
            self.superblock(nand, superblock, lane, &mut findings);
        }
        if let Some(block) = self.map.miscounted(&self.geometry) {
            let block = lane.block(block);
            findings.push(format!("map {block} has another number of live parts than is counted").into());
        }
        self.ordered(&mut findings);
        findings
    }

    fn uses(&self, lane: &Lane, findings: &mut Vec<Finding>) {
        let mut said: Vec<Vec<String>> = vec![Vec::new(); self.geometry.blocks() as usize];
        for (number, superblock) in self.superblocks.iter().enumerate() {
            for (_, member) in superblock.members() {
                said[member.block.index()].push(format!("one of superblock {number}"));
            }
        }
        for block in self.map.blocks() {
            said[block.index()].push("a map block".into());
        }
        let mut free = 0;
        for (block, said) in (0..).map(Block).zip(&said) {
            let used_for = self.pool.use_of(block);
            free += u32::from(used_for == Use::Free);
            let taken = matches!(used_for, Use::Log | Use::Map);
            if said.len() > 1 || taken == said.is_empty() {
                let block = lane.block(block);
                findings.push(format!("{block} is {used_for:?} and {}", said.join(" and ")).into());
            }
        }
        if free != self.pool.free() {
            findings.push(format!("{free} blocks are free, and {} are counted", self.pool.free()).into());
        }
    }

    fn superblock<N: Nand>(&mut self, nand: &mut N, superblock: u32, lane: &Lane, findings: &mut Vec<Finding>) {
        let before: Vec<u32> = self.superblocks[superblock as usize].members().map(|(_, m)| m.live).collect();
        let (held, _) = self.load(nand, superblock, Time::ZERO);
        let first = superblock * self.layout.pages();
        let map: Vec<u16> = self.cache.get(held).to_vec();
        let mut versions = vec![0; map.len()];
        let mut live = vec![0; self.superblocks[superblock as usize].members.len()];
        let mut is_bad = false;
        for ((key, entry), version) in (first..).zip(&map).zip(&mut versions) {
            if *entry == NOWHERE {
                continue;
            }
            let (slot, index) = self.slot_of(*entry);
            let Some(Some(member)) = self.superblocks[superblock as usize].members.get(slot) else {
                let key = lane.key(key);
                findings.push(format!("{key} stands in a block that superblock {superblock} does not have").into());
                return;
            };
            live[slot] += 1;
            let page = self.geometry.page(member.block, index);
            let found = self.spare(nand, page);
            if let Some(spare) = found
                && spare.kind == Kind::User
                && spare.key == key
            {
                *version = spare.version;
                continue;
            }
            if found.is_none() {
                // Its age is lost: older copies are not compared with it.
                *version = u64::MAX;
            }
            let (page, key) = (lane.page(page), lane.key(key));
            let finding = match found.map(|spare| lane.spare(&spare)) {
                Some(spare) => Finding::new(Disagreement::MappedAnother, format!("{key} is at {page}: {spare:?}")),
                None => Finding::new(Disagreement::MappedUnreadable, format!("{key} is at {page}: unreadable")),
            };
            is_bad = true;
            findings.push(finding);
        }
        let counted: Vec<u32> = self.superblocks[superblock as usize].members().map(|(_, m)| m.live).collect();
        let members = self.superblocks[superblock as usize].members();
        let live: Vec<u32> = members.map(|(slot, _)| live[slot]).collect();
        // A page younger than the map page may not be readable any more. Then only a map in RAM has it.
        let forgotten = self.unreadable_young(nand, superblock);
        let changed: u32 = before.iter().zip(&live).map(|(before, live)| before.abs_diff(*live)).sum();
        if live != counted || (!is_bad && changed > 2 * forgotten) {
            let line = format!("superblock {superblock} has {live:?} live pages: {before:?}, {counted:?} are counted");
            findings.push(Finding::new(Disagreement::LiveCount, line));
        }
        let kept = self.kept_maps.iter().find(|(of, ..)| *of == superblock).map(|(_, version, _)| *version);
        let map_page = self.map.place(superblock).filter(|_| kept.is_none());
        let made = map_page.map(|page| self.spare(nand, page));
        if made.is_some_and(|made| !made.is_some_and(|made| made.kind == Kind::Map && made.key == superblock)) {
            let line = format!("the map of superblock {superblock} is not where it is said to be");
            findings.push(Finding::new(Disagreement::MappedAnother, line));
            return;
        }
        let made = kept.or(made.flatten().map(|spare| spare.version)).unwrap_or(0);
        for (_, member) in self.superblocks[superblock as usize].members() {
            for index in member.from..member.next {
                let page = self.geometry.page(member.block, index);
                let Some(read) = self.spare(nand, page) else { continue };
                let known = read.key.checked_sub(first).and_then(|offset| versions.get(offset as usize));
                if read.version > made && known.is_some_and(|known| *known < read.version) {
                    let (page, key) = (lane.page(page), lane.key(read.key));
                    findings.push(format!("{page} is newer than what counts of {key}").into());
                }
            }
        }
    }

    /// Pages of a superblock that are younger than its map page and whose spare areas cannot be read.
    fn unreadable_young<N: Nand>(&self, nand: &mut N, superblock: u32) -> u32 {
        let young = self.superblocks[superblock as usize]
            .members()
            .flat_map(|(_, member)| (member.from..member.next).map(|index| self.geometry.page(member.block, index)));
        young.filter(|page| self.spare(nand, *page).is_none()).count() as u32
    }

    fn ordered(&self, findings: &mut Vec<Finding>) {
        let updates: u32 = (0..self.superblocks.len() as u32).map(|superblock| self.updates_of(superblock)).sum();
        if updates != self.updates {
            findings.push(format!("{updates} update blocks, and {} are counted", self.updates).into());
        }
        let mut known: Vec<u32> = self.written.iter().collect();
        known.sort_unstable();
        let with_updates = (0..self.superblocks.len() as u32).filter(|superblock| self.updates_of(*superblock) > 0);
        if !known.into_iter().eq(with_updates) {
            findings.push("the order of superblocks is not of those that have update blocks".to_string().into());
        }
    }

    fn spare<N: Nand>(&self, nand: &mut N, page: Page) -> Option<Spare> {
        if let Some((_, spare, _)) = self.kept.get(page) {
            return Some(*spare);
        }
        match nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
            SpareRead::Written(spare) => Some(spare),
            SpareRead::Erased | SpareRead::Unreadable => None,
        }
    }
}
