//! Comparing the RAM structures with each other and with the flash.

use super::mapping::{Mapping, Place};
use super::meta_io::MetaIo;
use super::parts::PageMapped;
use super::parts::{mapping_io, validity_io};
use super::validity::{Answer, Validity};
use crate::blocks::BlockUse;
use crate::finding::{Disagreement, Finding};
use crate::medium::Holds;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};

/// A set of pages, a bit each: lists of them would take most of a large drive's memory.
struct PageSet {
    bits: Vec<u64>,
    len: u64,
}

impl PageSet {
    fn new(geometry: &Geometry) -> Self {
        Self { bits: vec![0; geometry.page_numbers().div_ceil(64)], len: 0 }
    }

    /// Whether it was not in the set.
    fn insert(&mut self, page: Page) -> bool {
        let (word, bit) = (page.index() / 64, 1 << (page.index() % 64));
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        self.len += u64::from(new);
        new
    }

    fn contains(&self, page: Page) -> bool {
        self.bits[page.index() / 64] >> (page.index() % 64) & 1 == 1
    }

    /// Its pages that are not in the other, ascending.
    fn without(&self, other: &Self) -> impl Iterator<Item = Page> {
        let words = self.bits.iter().zip(&other.bits).map(|(own, others)| own & !others).enumerate();
        words.filter(|(_, bits)| *bits != 0).flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| Page((word * 64 + bit) as u32))
        })
    }
}

/// The findings of the check on its way.
struct Checked {
    geometry: Geometry,
    findings: Vec<Finding>,
    /// Pages that may count as live, by the mapping.
    mapped: PageSet,
    /// How many of them, and pages of metadata, are in each block.
    live: Vec<u16>,
    /// Of these, the ones that may have been given up (`recount.rs`) before their blocks are collected.
    given_up: Vec<u16>,
}

impl Checked {
    fn new(geometry: Geometry) -> Self {
        let none = vec![0u16; geometry.blocks() as usize];
        let mapped = PageSet::new(&geometry);
        Self { geometry, findings: Vec::new(), mapped, live: none.clone(), given_up: none }
    }

    /// A page counts as live. Whether it had not before.
    fn count(&mut self, page: Page) -> bool {
        let is_new = self.mapped.insert(page);
        *self.live_in_block_of(page) += u16::from(is_new);
        is_new
    }

    fn live_in_block_of(&mut self, page: Page) -> &mut u16 {
        &mut self.live[self.geometry.block_of(page).index()]
    }

    /// A page that the mapping or the validity store named may have been given up.
    fn may_be_given_up(&mut self, page: Page) {
        self.given_up[self.geometry.block_of(page).index()] += 1;
    }

    fn find(&mut self, line: String) {
        self.findings.push(line.into());
    }
}

/// The content of a spare area, as it stands.
fn spare_of<N: Nand>(nand: &mut N, page: Page) -> SpareRead {
    nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0
}

impl PageMapped {
    /// A finding for each disagreement between its structures, or between them and the flash.
    pub(super) fn findings<N: Nand>(&mut self, nand: &mut N) -> Vec<Finding> {
        let mut checked = Checked::new(*nand.geometry());
        self.check_mapping(nand, &mut checked);
        self.check_condensed(nand, &mut checked);
        self.check_unidentified(nand, &mut checked);
        let (valid, blank) = self.valid_pages(nand);
        if self.blocks.counters.may_be_low {
            self.count_what_is_unsure(nand, (&valid, &blank), &mut checked);
        }
        if self.mapping.is_damaged() {
            self.count_what_was_lost(nand, &valid, &mut checked);
        }
        if self.validity.overstates() {
            // An incomplete log takes pages that were not reported to it for live, or all that there are, until a
            // collection queries the mapping.
            for page in valid.without(&checked.mapped).collect::<Vec<Page>>() {
                checked.count(page);
                checked.may_be_given_up(page);
            }
        }
        self.check_validity(nand, &valid, &mut checked);
        let metadata = self.mapping.metadata_pages(mapping_io!(self, nand, Time::ZERO));
        for page in metadata.into_iter().chain(self.validity.metadata_pages()) {
            *checked.live_in_block_of(page) += 1;
        }
        self.check_blocks(&mut checked);
        self.check_sample(&checked.live, &mut checked.findings);
        self.check_log(nand, &mut checked.findings);
        checked.findings
    }

    /// Where the mapping says logical pages are, the flash holds them.
    fn check_mapping<N: Nand>(&mut self, nand: &mut N, checked: &mut Checked) {
        for key in (0..self.shape.logical_pages).map(LogicalPage) {
            let Place::At(page) = self.mapping.peek(mapping_io!(self, nand, Time::ZERO), key) else { continue };
            // A table on flash may say anything, with a checksum that fits.
            if !checked.geometry.contains(page) {
                checked.find(format!("{key} is mapped to {page}, and the drive has no such page"));
                continue;
            }
            if !checked.count(page) {
                checked.find(format!("{page} is mapped twice, the second time by {key}"));
            }
            match spare_of(nand, page) {
                SpareRead::Written(s) if s.kind == Kind::User && s.key == key.0 => {}
                other => {
                    let about = match other {
                        SpareRead::Unreadable => Disagreement::MappedUnreadable,
                        SpareRead::Written(_) => Disagreement::MappedAnother,
                        SpareRead::Erased => Disagreement::MappedErased,
                    };
                    let line = format!("{key} is mapped to {page}, whose spare area says {other:?}");
                    checked.findings.push(Finding::new(about, line));
                }
            }
        }
    }

    /// What RAM keeps of the table is what flash has of it.
    fn check_condensed<N: Nand>(&mut self, nand: &mut N, checked: &mut Checked) {
        if let Some(part) = self.mapping.part_amiss(mapping_io!(self, nand, Time::ZERO)) {
            checked.find(format!("translation page {part} is condensed otherwise than flash has it"));
        }
    }

    /// Stale pages that are not identified count as live until they are.
    fn check_unidentified<N: Nand>(&mut self, nand: &mut N, checked: &mut Checked) {
        for page in self.mapping.unidentified(mapping_io!(self, nand, Time::ZERO), false) {
            if !checked.geometry.contains(page) {
                checked.find(format!("{page} is unidentified, and the drive has no such page"));
            } else if self.collecting.has_left(&checked.geometry, page) {
                // It was found stale, or has moved.
            } else if !checked.count(page) {
                checked.find(format!("{page} is unidentified twice, or mapped as well"));
            }
        }
    }

    /// After a recovery some stale pages count as live as well. These are the before-images of entries that it found,
    /// until the translation page is read, unless they had been identified. And they are pages that an interrupted
    /// erase left unreadable, until the block is collected.
    fn count_what_is_unsure<N: Nand>(
        &mut self,
        nand: &mut N,
        (valid, blank): (&PageSet, &PageSet),
        checked: &mut Checked,
    ) {
        let mut perhaps = self.mapping.unidentified(mapping_io!(self, nand, Time::ZERO), true);
        perhaps.retain(|page| checked.geometry.contains(*page));
        perhaps.sort_unstable();
        let unsure = valid
            .without(&checked.mapped)
            .filter(|page| perhaps.binary_search(page).is_ok() || spare_of(nand, *page) == SpareRead::Unreadable);
        for page in unsure.collect::<Vec<Page>>() {
            checked.count(page);
        }
        // The same of those that an erase that was cut has made blank: until then they are counted.
        perhaps.dedup();
        for page in perhaps.iter().filter(|page| blank.contains(**page)) {
            *checked.live_in_block_of(*page) += 1;
        }
    }

    /// A page that an unreadable translation page named counts as live until a collection queries the mapping.
    fn count_what_was_lost<N: Nand>(&mut self, nand: &mut N, valid: &PageSet, checked: &mut Checked) {
        let mut lost: Vec<Page> = valid.without(&checked.mapped).collect();
        lost.retain(|page| match spare_of(nand, *page) {
            SpareRead::Written(spare) if spare.key < self.shape.logical_pages => {
                let key = LogicalPage(spare.key);
                self.mapping.peek(mapping_io!(self, nand, Time::ZERO), key) == Place::Lost
            }
            _ => true,
        });
        for page in lost {
            checked.count(page);
            if self.collecting.recounted.is_some() {
                checked.may_be_given_up(page);
            }
        }
    }

    /// Every mapped page is valid, and every valid page is mapped. Counters go with validity: where they do not, it is
    /// another finding.
    fn check_validity<N: Nand>(&mut self, nand: &mut N, valid: &PageSet, checked: &mut Checked) {
        let only_mapped = checked.mapped.without(valid).collect::<Vec<Page>>();
        let only_valid = valid.without(&checked.mapped).collect::<Vec<Page>>();
        // Bad themselves, or their successors are bad: those may have been the only record that they are stale.
        let (only_valid_bad, only_valid_good): (Vec<Page>, Vec<Page>) = only_valid.iter().partition(|page| {
            let op = Op::new(Time::ZERO, Purpose::Recovery);
            let Some((_, spare)) = nand.read(**page, op).0.verified() else { return true };
            let key = LogicalPage(spare.key);
            key.0 < self.shape.logical_pages
                && match self.mapping.peek(mapping_io!(self, nand, Time::ZERO), key) {
                    Place::At(newer) => nand.read(newer, op).0.verified().is_none(),
                    place => place == Place::Lost,
                }
        });
        let only_valid_bad_are =
            "that are bad, or replaced by bad ones, are valid, and neither mapped nor unidentified";
        for (pages, about, what) in [
            (&only_mapped, Disagreement::MappedNotValid, "are mapped, or unidentified, and not valid"),
            (&only_valid_good, Disagreement::ValidNotMapped, "are valid, and neither mapped nor unidentified"),
            (&only_valid_bad, Disagreement::ValidNotMappedBad, only_valid_bad_are),
        ] {
            if let Some(first) = pages.first() {
                let line = format!("{} pages {what}, the first {first:?}", pages.len());
                checked.findings.push(Finding::new(about, line));
            }
        }
        for page in only_valid {
            *checked.live_in_block_of(page) += 1;
        }
        for page in only_mapped {
            *checked.live_in_block_of(page) -= 1;
        }
    }

    /// Counters of blocks are their live pages, and uses of blocks fit their content.
    fn check_blocks(&self, checked: &mut Checked) {
        let mut free = 0;
        for block in (0..checked.geometry.blocks()).map(Block) {
            let counted = self.blocks.counters.known(block);
            let most = checked.live[block.index()];
            let least = most - checked.given_up[block.index()];
            let right = counted.is_none_or(|counted| {
                if self.blocks.counters.may_be_low {
                    counted <= most
                } else if self.mapping.is_damaged() {
                    // Pages of a table that cannot be found any more are given up with their block.
                    counted >= least
                } else {
                    (least..=most).contains(&counted)
                }
            });
            if !right {
                let stream = self.blocks.stream_of(block);
                let line = format!("{block} of stream {stream} has {most} live pages and {counted:?} counted");
                checked.findings.push(Finding::new(Disagreement::LiveCount, line));
            }
            let use_of = self.blocks.use_of(block);
            free += u32::from(matches!(use_of, BlockUse::Free | BlockUse::Held));
            let waits = self.blocks.waiting().contains(&block) || self.blocks.slc_waits(block);
            if self.blocks.is_candidate(block) != (use_of == BlockUse::Closed && !waits) {
                checked.find(format!("{block} is {use_of:?}, and being a candidate disagrees"));
            }
            if matches!(use_of, BlockUse::Free | BlockUse::Held) && most > 0 {
                checked.find(format!("{block} is free with {most} live pages"));
            }
        }
        if free != self.blocks.free() {
            checked.find(format!("{free} blocks are free and {} counted", self.blocks.free()));
        }
    }

    /// Whether all blocks are counted that must be, and what a sample says of the rest, where each block has so many
    /// live pages.
    fn check_sample(&self, live: &[u16], findings: &mut Vec<Finding>) {
        let counters = &self.blocks.counters;
        let Some(sample) = counters.sample() else { return };
        for block in (0..self.blocks.geometry().blocks()).map(Block) {
            let use_of = self.blocks.use_of(block);
            let is_metadata = self.blocks.is_metadata(self.blocks.stream_of(block));
            let counted = counters.known(block).is_some();
            let right = match use_of {
                BlockUse::Open | BlockUse::Victim => counted,
                BlockUse::Closed => counted || !is_metadata,
                BlockUse::Free | BlockUse::Held | BlockUse::Fixed => !counted,
            };
            if !right {
                findings.push(format!("{block} is {use_of:?}, and being counted disagrees").into());
            }
            // Where counters may be low, blocks hold more than they say, and never less than a member that is sure.
            if let Some(least) = sample.sure_of(block)
                && use_of == BlockUse::Closed
                && !is_metadata
                && live[block.index()] < least
                && !self.mapping.is_damaged()
            {
                findings.push(format!("{block} is emptier than the sample is sure of").into());
            }
        }
        let total: u64 = live.iter().map(|pages| u64::from(*pages)).sum();
        if sample.total() != total && !counters.may_be_low && !self.mapping.is_damaged() {
            findings.push(format!("{total} pages are live and {} counted", sample.total()).into());
        }
    }

    /// What the block log says of each block is what its first page shows. That page may have read well for the last
    /// time, or gone bad since.
    fn check_log<N: Nand>(&self, nand: &mut N, findings: &mut Vec<Finding>) {
        let geometry = *nand.geometry();
        for block in (0..geometry.blocks()).map(Block) {
            let is_usable = !nand.is_bad(block) && !self.anchors.contains(&block) && !self.blocks.is_of_log(block);
            let Some(logged) = self.blocks.logged(block).filter(|_| is_usable) else { continue };
            let shown = match spare_of(nand, geometry.page(block, 0)) {
                SpareRead::Written(spare) => Holds::of(spare.kind),
                SpareRead::Erased => Holds::Nothing,
                SpareRead::Unreadable => continue,
            };
            if shown != logged && !self.blocks.has_failed(block) {
                findings.push(format!("the block log has {block} as {logged:?}, and flash as {shown:?}").into());
            }
        }
    }

    /// The user pages that validity takes for live; apart from them, those that are blank.
    fn valid_pages<N: Nand>(&mut self, nand: &mut N) -> (PageSet, PageSet) {
        let geometry = *nand.geometry();
        let mut of_block = Vec::new();
        let (mut valid, mut blank) = (PageSet::new(&geometry), PageSet::new(&geometry));
        for block in (0..geometry.blocks()).map(Block) {
            // A collection that found no free block leaves its victim behind.
            let used = !matches!(self.blocks.use_of(block), BlockUse::Free | BlockUse::Held | BlockUse::Fixed);
            if !used || self.blocks.is_metadata(self.blocks.stream_of(block)) {
                continue;
            }
            of_block.clear();
            let answer = self.validity.live_in(validity_io!(self, nand, Time::ZERO), block, &mut of_block);
            for page in of_block.iter().map(|index| geometry.page(block, u32::from(*index))) {
                // What cannot be read was programmed, too.
                if answer == Answer::Exact
                    || nand.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0 != SpareRead::Erased
                {
                    valid.insert(page);
                } else {
                    blank.insert(page);
                }
            }
        }
        (valid, blank)
    }
}
