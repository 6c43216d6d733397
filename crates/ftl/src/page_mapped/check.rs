//! Holding the RAM structures against each other and against the flash.

use super::PageMapped;
use super::mapping::Place;
use super::meta_io::MetaIo;
use super::validity::Answer;
use super::{mapping_io, validity_io};
use crate::blocks::BlockUse;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};

impl PageMapped {
    /// A line for each disagreement between its structures, or between them and the flash.
    pub(super) fn findings<N: Nand>(&mut self, nand: &mut N) -> Vec<String> {
        let mut findings = Vec::new();
        let geometry = *nand.geometry();
        let mut live = vec![0u16; geometry.blocks() as usize];
        let mut mapped: Vec<Page> = Vec::new();
        for key in (0..self.shape.logical_pages).map(LogicalPage) {
            if let Place::At(page) = self.mapping.peek(mapping_io!(self, nand, Time::ZERO), key) {
                mapped.push(page);
                match nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
                    SpareRead::Written(s) if s.kind == Kind::User && s.key == key.0 => {}
                    other => findings.push(format!("{key} is mapped to {page}, whose spare area says {other:?}")),
                }
            }
        }
        // Pages that nobody has identified as stale count as live until somebody does.
        mapped.extend(self.mapping.unidentified(mapping_io!(self, nand, Time::ZERO)));
        mapped.sort_unstable();
        let valid = self.valid_pages(nand);
        if self.blocks.counters.may_be_low {
            // So do, after a recovery, older copies of a page whose entry it found, until the translation page is asked;
            // and what an erase that was cut left unreadable, until the block is collected.
            let stale = valid.iter().filter(|page| mapped.binary_search(page).is_err());
            let unsure = stale.filter(|page| match nand.read_spare(**page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
                SpareRead::Written(spare) => self.mapping.is_unsure(LogicalPage(spare.key)),
                SpareRead::Unreadable => true,
                SpareRead::Erased => false,
            });
            let unsure: Vec<Page> = unsure.copied().collect();
            mapped.extend(unsure);
            mapped.sort_unstable();
        }
        if self.mapping.is_damaged() {
            // What a translation page named that cannot be read counts as live until a collection asks.
            let mut lost: Vec<Page> =
                valid.iter().copied().filter(|page| mapped.binary_search(page).is_err()).collect();
            lost.retain(|page| match nand.read_spare(*page, Op::new(Time::ZERO, Purpose::Recovery)).0 {
                SpareRead::Written(spare) if spare.key < self.shape.logical_pages => {
                    let key = LogicalPage(spare.key);
                    self.mapping.peek(mapping_io!(self, nand, Time::ZERO), key) == Place::Lost
                }
                _ => true,
            });
            mapped.extend(lost);
            mapped.sort_unstable();
        }
        for page in &mapped {
            live[geometry.block_of(*page).index()] += 1;
        }
        if mapped != valid {
            findings.push(format!(
                "{} pages are mapped or unidentified, and {} valid; or not the same ones, the first {:?} and {:?}",
                mapped.len(),
                valid.len(),
                mapped.iter().find(|page| valid.binary_search(page).is_err()),
                valid.iter().find(|page| mapped.binary_search(page).is_err()),
            ));
        }
        for page in self
            .mapping
            .metadata_pages(mapping_io!(self, nand, Time::ZERO))
            .into_iter()
            .chain(self.validity.metadata_pages())
        {
            live[geometry.block_of(page).index()] += 1;
        }
        let mut free = 0;
        for block in (0..geometry.blocks()).map(Block) {
            let counted = self.blocks.counters.live(block);
            let right = if self.blocks.counters.may_be_low {
                counted <= live[block.index()]
            } else if self.mapping.is_damaged() {
                // Pages of a table that cannot be found any more are given up with their block.
                counted >= live[block.index()]
            } else {
                counted == live[block.index()]
            };
            if !right {
                findings.push(format!("{block} has {} live pages and {counted} counted", live[block.index()]));
            }
            let use_of = self.blocks.use_of(block);
            free += u32::from(matches!(use_of, BlockUse::Free | BlockUse::Held));
            let waits = self.blocks.waiting().contains(&block);
            if self.blocks.counters.is_candidate(block) != (use_of == BlockUse::Closed && !waits) {
                findings.push(format!("{block} is {use_of:?}, and being a candidate disagrees"));
            }
            if matches!(use_of, BlockUse::Free | BlockUse::Held) && live[block.index()] > 0 {
                findings.push(format!("{block} is free with {} live pages", live[block.index()]));
            }
        }
        if free != self.blocks.free() {
            findings.push(format!("{free} blocks are free and {} counted", self.blocks.free()));
        }
        findings
    }

    /// The user pages that validity takes for live, ascending.
    fn valid_pages<N: Nand>(&mut self, nand: &mut N) -> Vec<Page> {
        let geometry = *nand.geometry();
        let mut of_block = Vec::new();
        let mut valid: Vec<Page> = Vec::new();
        for block in (0..geometry.blocks()).map(Block) {
            // A collection that found no free block leaves its victim behind.
            let used = !matches!(self.blocks.use_of(block), BlockUse::Free | BlockUse::Held | BlockUse::Fixed);
            if !used || self.blocks.is_metadata(self.blocks.stream_of(block)) {
                continue;
            }
            of_block.clear();
            let answer = self.validity.live_in(validity_io!(self, nand, Time::ZERO), block, &mut of_block);
            valid.extend(of_block.iter().map(|i| geometry.page(block, u32::from(*i))).filter(|page| {
                // What cannot be read was programmed, too.
                answer == Answer::Exact
                    || nand.read_spare(*page, Op::new(Time::ZERO, Purpose::Recovery)).0 != SpareRead::Erased
            }));
        }
        valid
    }
}
