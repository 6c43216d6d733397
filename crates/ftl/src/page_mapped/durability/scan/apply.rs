//! Entering the findings of the scan: suspect pages, tombstones, and blocks.

use super::Drive;
use super::page_scan::{PageScan, Uncertain, newer};
use crate::barriers::Barrier;
use crate::page_mapped::durability::common::FoundPage;
use crate::page_mapped::mapping::Place;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, SpareRead};

impl<N: Nand> Drive<'_, N> {
    /// Enters suspect pages, oldest first, over what is certain. The blocks of the pages that they make stale.
    pub(super) fn enter_uncertain(&mut self, scan: &mut PageScan, uncertain: &[Uncertain]) -> Vec<Block> {
        debug_assert!(uncertain.is_sorted_by_key(|last| last.found.spare.seq), "they are not in program order");
        let mut held: Vec<Block> = Vec::new();
        for last in uncertain {
            let found = &last.found;
            match (found.spare.kind, last.data.content()) {
                (Kind::Tombstone, Content::Bytes(bitmap)) => {
                    let newest = scan.tombstones.get(found.spare.key as usize).copied().flatten();
                    if newest.is_none_or(|other| newer(&found.spare, &other.spare)) {
                        held.extend(scan.enter(self, *found));
                        held.extend(self.apply_tombstone(found, bitmap));
                    }
                }
                (Kind::User, _) => {
                    // A tombstone that is certain may be newer than the page.
                    let key = LogicalPage(found.spare.key);
                    let region = scan.tombstones.get(self.ftl.mapping.trims.region_of(key) as usize).copied().flatten();
                    let trimmed = key.0 < self.ftl.shape.logical_pages
                        && self.ftl.mapping.get(key) == Place::Trimmed
                        && region.is_some_and(|t| t.spare.version > found.spare.version);
                    if !trimmed {
                        held.extend(scan.enter(self, *found));
                    }
                }
                _ => {}
            }
        }
        held.sort_unstable();
        held.dedup();
        held
    }

    /// Unmaps the pages that a region's tombstone has as trimmed after they were written, and takes it for the region's
    /// newest. The blocks of the pages unmapped.
    pub(super) fn apply_tombstone(&mut self, tombstone: &FoundPage, bitmap: &[u8]) -> Vec<Block> {
        debug_assert_eq!(tombstone.spare.kind, Kind::Tombstone, "it is no tombstone page");
        let mut dropped_from = Vec::new();
        let region = tombstone.spare.key;
        // What an older tombstone page of the region said is void: what this one leaves out was rewritten since, though
        // perhaps to a page that is yet to be entered.
        let table = &mut self.ftl.mapping;
        for key in table.trims.pages_of(region).map(LogicalPage) {
            if table.get(key) == Place::Trimmed {
                table.set(key, Place::Nowhere);
            }
        }
        let trimmed: Vec<LogicalPage> = self.ftl.mapping.trims.trimmed_in(region, bitmap).collect();
        for key in trimmed {
            match self.ftl.mapping.get(key) {
                Place::At(page) => {
                    if let SpareRead::Written(spare) = self.read_spare(page)
                        && (spare.version < tombstone.spare.version || !self.keeps(Barrier::TombstoneVersion))
                    {
                        self.ftl.mapping.set(key, Place::Trimmed);
                        self.drop_entered(page);
                        dropped_from.push(self.ftl.blocks.geometry().block_of(page));
                    }
                }
                _ => {
                    self.ftl.mapping.set(key, Place::Trimmed);
                }
            }
        }
        if let Some(before) = self.ftl.mapping.trims.set_page(region, Some(tombstone.page)) {
            self.ftl.drop_count(before);
        }
        self.ftl.blocks.counters.add(self.ftl.blocks.geometry().block_of(tombstone.page));
        dropped_from
    }

    /// Blocks with live pages become candidates, in the order of their first pages. All others go into the pool, those
    /// without a readable page first. Those that must be held are given back instead. As long as there are tombstones,
    /// some of those without a readable page stay as they are (`blocks/blank.rs`).
    pub(super) fn settle_blocks(&mut self, usable: &[Block], held: &[Block], scan: &PageScan) -> Vec<Block> {
        debug_assert!(held.is_sorted(), "what is held is looked up in no order");
        let mut order: Vec<Block> = usable.to_vec();
        order.sort_by_key(|b| scan.first_seq[b.index()]);
        let has_tombstones = scan.tombstones.iter().any(Option::is_some);
        let mut holding = Vec::new();
        for block in order {
            let stays_blank = has_tombstones && scan.first_seq[block.index()] == 0;
            if self.ftl.blocks.counters.live(block) > 0 {
                let stream = if scan.holds_tombstones[block.index()] { self.ftl.streams.mapping } else { 0 };
                self.close(block, stream);
            } else if held.binary_search(&block).is_ok() && self.keeps(Barrier::FallbacksHeld) {
                holding.push(block);
            } else if !stays_blank || !self.ftl.blocks.release_blank(block) {
                self.ftl.blocks.release(block);
            }
        }
        holding
    }
}
