//! RAM against itself and against the flash.

use super::ground::Ground;
use super::hybrid::Hybrid;
use super::lane::Lane;
use super::log_index::LogIndex;
use super::pool::Use;
use super::scheme::Scheme;
use crate::finding::{Disagreement, Finding};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Op, Page, Purpose, SpareRead, Time};

impl<S: Scheme> Hybrid<S> {
    /// A finding for each disagreement:
    ///
    /// - each block has one use, and it is the one that the structures say;
    /// - a data block's pages are those of its logical block at their own offsets, and none is written after the merge;
    /// - the newest version of a page in a log block is younger than its logical block's merge;
    /// - no page of any log block that is younger than the merge is newer than that version;
    /// - live pages are counted as they are, and no page is both in a log block and trimmed;
    /// - the scheme has the log blocks that there are.
    ///
    /// Blocks, pages and logical pages are named as the drive counts them of which `lane` is a channel, or all. Logical
    /// blocks and parts of the map are the FTL's own.
    pub(super) fn findings<N: Nand>(&mut self, nand: &mut N, lane: &Lane) -> Vec<Finding> {
        let mut findings = Vec::<Finding>::new();
        let ground = &self.ground;
        ground.check_uses(lane, &mut findings);
        ground.check_data_blocks(nand, lane, &mut findings);
        ground.check_log_blocks(nand, lane, &mut findings);
        if let Some(block) = ground.map.miscounted(&ground.geometry) {
            let block = lane.block(block);
            findings.push(format!("map {block} has another number of live parts than is counted").into());
        }
        for part in 0..ground.map.parts() {
            let kind = ground.map.kind_of(part);
            if let Some(page) = ground.map.place(part)
                // Where nothing is written any more RAM has the map, and a page of it that was read may never be again.
                && !spare(nand, page).map_or(ground.pool.phase.is_read_only(), |spare| spare.kind == kind && spare.key == part)
            {
                let line = format!("part {part} of the map is not at {}", lane.page(page));
                findings.push(Finding::new(Disagreement::MappedAnother, line));
            }
        }
        // A drive that mounted read-only has no use for its scheme.
        if !ground.pool.phase.is_read_only() && !self.scheme.knows(ground) {
            findings.push(String::from("the scheme does not know the log blocks that there are").into());
        }
        findings
    }
}

impl<I: LogIndex> Ground<I> {
    fn check_uses(&self, lane: &Lane, findings: &mut Vec<Finding>) {
        let ground = self;
        let mut said = vec![Vec::new(); ground.geometry.blocks() as usize];
        for logical_block in 0..ground.data.logical_blocks() {
            if let Some(block) = ground.data.block(logical_block) {
                said[block.index()].push(format!("the data block of {logical_block}"));
            }
        }
        for slot in ground.log.slots() {
            said[ground.log.get(slot).block.index()].push("a log block".into());
        }
        for block in ground.map.blocks() {
            said[block.index()].push("a map block".into());
        }
        for (_, block) in &ground.unmapped {
            said[block.index()].push("that of a trimmed logical block".into());
        }
        let mut free = 0;
        for (block, said) in (0..).map(Block).zip(&said) {
            let used_for = ground.pool.use_of(block);
            free += u32::from(used_for == Use::Free);
            let taken = matches!(used_for, Use::Log | Use::Data | Use::Map);
            if said.len() > 1 || taken == said.is_empty() {
                let block = lane.block(block);
                findings.push(format!("{block} is {used_for:?} and {}", said.join(" and ")).into());
            }
        }
        if free != ground.pool.free() {
            findings.push(format!("{free} blocks are free, and {} are counted", ground.pool.free()).into());
        }
    }

    fn check_data_blocks<N: Nand>(&self, nand: &mut N, lane: &Lane, findings: &mut Vec<Finding>) {
        let ground = self;
        for logical_block in 0..ground.data.logical_blocks() {
            let Some(block) = ground.data.block(logical_block) else { continue };
            for offset in 0..ground.geometry.pages_per_block() {
                let page = ground.geometry.page(block, offset);
                let key = ground.layout.key(logical_block, offset);
                if let Some(spare) = spare(nand, page)
                    && (spare.kind != Kind::User
                        || spare.key != key
                        || spare.version > ground.merge_version(logical_block))
                {
                    let (page, spare) = (lane.page(page), lane.spare(&spare));
                    let line = format!("{page} of the data block of {logical_block} holds {spare:?}");
                    findings.push(Finding::new(Disagreement::MappedAnother, line));
                }
            }
        }
    }

    fn check_log_blocks<N: Nand>(&self, nand: &mut N, lane: &Lane, findings: &mut Vec<Finding>) {
        let ground = self;
        let geometry = &ground.geometry;
        let mut live = vec![0; geometry.blocks() as usize];
        let mut of_logical_block = vec![0; ground.data.logical_blocks() as usize];
        for (key, page) in ground.log.places() {
            let (logical_block, offset) = ground.split(key);
            live[geometry.block_of(page).index()] += 1;
            of_logical_block[logical_block as usize] += 1;
            let merged = ground.merge_version(logical_block);
            if spare(nand, page).is_some_and(|s| s.kind != Kind::User || s.key != key || s.version <= merged) {
                let (page, key) = (lane.page(page), lane.key(key));
                let line = format!("{page} is no page of {key} younger than {merged}");
                findings.push(Finding::new(Disagreement::MappedAnother, line));
            }
            if ground.trims.is_trimmed(logical_block, offset) {
                findings.push(format!("{} is trimmed, and in a log block", lane.key(key)).into());
            }
        }
        for slot in ground.log.slots() {
            let state = ground.log.get(slot);
            if live[state.block.index()] != state.live || state.live > state.used {
                let (block, live) = (lane.block(state.block), live[state.block.index()]);
                findings.push(format!("log {block} has {live} live pages: {state:?}").into());
            }
            for index in 0..state.next {
                let page = geometry.page(state.block, index);
                // A summary is no page of the host's.
                let Some(read) = spare(nand, page).filter(|read| read.kind == Kind::User) else { continue };
                let (logical_block, _) = ground.split(read.key);
                let counts =
                    state.keys[index as usize] == read.key && read.version > ground.merge_version(logical_block);
                let newest = ground.log.place(read.key).and_then(|place| spare(nand, place));
                if counts && newest.is_some_and(|newest| newest.version < read.version) {
                    let (page, key) = (lane.page(page), lane.key(read.key));
                    findings.push(format!("{page} is newer than what counts of {key}").into());
                }
            }
        }
        for (logical_block, count) in (0..).zip(of_logical_block) {
            if ground.log.live_of(logical_block) != count {
                findings.push(format!("{count} pages of logical block {logical_block} are in log blocks").into());
            }
        }
    }
}

fn spare<N: Nand>(nand: &mut N, page: Page) -> Option<phelsuma_nand::Spare> {
    match nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
        SpareRead::Written(spare) => Some(spare),
        SpareRead::Erased | SpareRead::Unreadable => None,
    }
}
