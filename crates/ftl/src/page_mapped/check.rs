//! Holding the RAM structures against each other and against the flash.

use super::PageMapped;
use super::mapping::Place;
use crate::blocks::BlockUse;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};

impl PageMapped {
    /// A line for each disagreement between its structures, or between them and the flash.
    pub(super) fn findings<N: Nand>(&self, nand: &mut N) -> Vec<String> {
        let mut findings = Vec::new();
        let geometry = *nand.geometry();
        let mut live = vec![0u16; geometry.blocks() as usize];
        let mut mapped: Vec<Page> = Vec::new();
        for key in (0..self.shape.logical_pages).map(LogicalPage) {
            if let Place::At(page) = self.mapping.lookup(key) {
                mapped.push(page);
                live[geometry.block_of(page).index()] += 1;
                match nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
                    SpareRead::Written(s) if s.kind == Kind::User && s.key == key.0 => {}
                    other => findings.push(format!("{key} is mapped to {page}, whose spare area says {other:?}")),
                }
            }
        }
        mapped.sort_unstable();
        let mut of_block = Vec::new();
        let mut valid: Vec<Page> = Vec::new();
        for block in (0..geometry.blocks()).map(Block) {
            of_block.clear();
            self.validity.live_in(block, &mut of_block);
            valid.extend(of_block.iter().map(|i| geometry.page(block, u32::from(*i))));
        }
        if mapped != valid {
            findings.push(format!("{} pages are mapped and {} valid, or not the same ones", mapped.len(), valid.len()));
        }
        for region in 0..self.trims.regions() {
            if let Some(page) = self.trims.page_of(region) {
                live[geometry.block_of(page).index()] += 1;
            }
        }
        let mut free = 0;
        for block in (0..geometry.blocks()).map(Block) {
            let counted = self.blocks.counters.live(block);
            if counted != live[block.index()] {
                findings.push(format!("{block} has {} live pages and {counted} counted", live[block.index()]));
            }
            let use_of = self.blocks.use_of(block);
            free += u32::from(use_of == BlockUse::Free);
            if self.blocks.counters.is_candidate(block) != (use_of == BlockUse::Closed) {
                findings.push(format!("{block} is {use_of:?}, and being a candidate disagrees"));
            }
            if use_of == BlockUse::Free && live[block.index()] > 0 {
                findings.push(format!("{block} is free with {} live pages", live[block.index()]));
            }
        }
        if free != self.blocks.free() {
            findings.push(format!("{free} blocks are free and {} counted", self.blocks.free()));
        }
        findings
    }
}
