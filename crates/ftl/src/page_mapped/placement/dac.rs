//! DAC, Dynamic dAta Clustering (Chiang, as Dual Greedy's section II-B has it): regions of flash from cold to hot, with a
//! block being written in each. Data move up when they are written again while they are young, and down when collection
//! finds them old.
//!
//! Young is younger than the region's threshold. An age is counted from when the page came to its region: when the host
//! wrote it, or when collection moved it down. What is written again while it is old, and what is young in a victim, stays
//! in its region.
//!
//! Where times of pages come from (`dac.page-times`):
//! - `ram`: four bytes a page in RAM. The paper counts one for each flash page; here it is one for each logical page,
//!   which has one flash page that is live. A power cut forgets them: everything counts as old until it is written
//!   again, and sinks a region each time it is collected.
//! - `spare`: the version in the spare area, which a collection reads with the page, and for which a host write reads the
//!   old copy's spare area. It is when the host wrote the page last, so a page that has moved down is as old as before
//!   and moves down again at the next collection.
//!
//! Where the paper is silent: pages without an old copy come to the coldest region, and so do those whose old copy a lazy
//! mapping does not know (`placement.unknown=class`). Thresholds are in percent of the drive's logical pages, so that
//! they mean the same on drives of all sizes.

use super::{Asks, HostWrite, MovedPage, OldCopy, Placement};
use crate::blocks::{Moments, View, Wants};
use crate::config::{DAC_REGIONS_MAX, PageTimes};
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::LogicalPage;

/// Regions, the coldest first.
#[derive(Clone)]
pub(crate) struct Dac {
    regions: u8,
    /// By region: ages below are young, in pages that the host writes.
    young_below: [u64; DAC_REGIONS_MAX],
    fetches: bool,
    times: PageMoments,
    moved_up: u64,
    moved_down: u64,
}

/// When pages came to their regions.
#[derive(Clone)]
enum PageMoments {
    Ram { moments: Moments, began: bool, hand: usize },
    Spare,
}

impl Dac {
    /// Thresholds in percent of `logical_pages`.
    pub(crate) fn new(
        regions: u8,
        thresholds: &[u16; DAC_REGIONS_MAX],
        page_times: PageTimes,
        fetches: bool,
        logical_pages: u32,
    ) -> Self {
        let times = match page_times {
            PageTimes::Ram => PageMoments::Ram { moments: Moments::new(logical_pages as usize), began: false, hand: 0 },
            PageTimes::Spare => PageMoments::Spare,
        };
        let young_below = thresholds.map(|percent| u64::from(logical_pages) * u64::from(percent) / 100);
        Self { regions, young_below, fetches, times, moved_up: 0, moved_down: 0 }
    }

    fn is_young(&self, region: u8, age: u64) -> bool {
        age < self.young_below[usize::from(region)]
    }

    /// The region of a stream: what others than this placement wrote is cold.
    fn region(&self, stream: u8) -> u8 {
        if stream < self.regions { stream } else { 0 }
    }

    /// A page comes to a region.
    fn comes(&mut self, page: LogicalPage, now: u64) {
        if let PageMoments::Ram { moments, .. } = &mut self.times {
            moments.set(page.0 as usize, now);
        }
    }
}

impl Placement for Dac {
    fn streams(&self) -> u8 {
        self.regions
    }

    fn wants(&self) -> Wants {
        Wants { clock: true, ..Wants::default() }
    }

    fn asks(&self) -> Asks {
        let old_spares = matches!(self.times, PageMoments::Spare);
        Asks { pages: true, fetches: self.fetches, old_spares }
    }

    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        if let PageMoments::Ram { moments, began, hand } = &mut self.times {
            if !*began {
                moments.forget(view.now());
                *began = true;
            }
            moments.visit(*hand, view.now());
            *hand = if *hand + 1 == moments.len() { 0 } else { *hand + 1 };
        }
        let region = match write.old {
            OldCopy::None | OldCopy::Unknown => 0,
            OldCopy::Known(block) => {
                let region = self.region(view.stream_of(block));
                let age = match &self.times {
                    PageMoments::Ram { moments, .. } => Some(moments.age(write.page.0 as usize, view.now()).into()),
                    PageMoments::Spare => write.old_spare.map(|spare| view.age_of_version(spare.version)),
                };
                let is_young = age.is_some_and(|age| self.is_young(region, age));
                let up = is_young && region + 1 < self.regions;
                self.moved_up += u64::from(up);
                region + u8::from(up)
            }
        };
        self.comes(write.page, view.now());
        region
    }

    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8 {
        let region = self.region(page.stream);
        let age = match &self.times {
            PageMoments::Ram { moments, began: true, .. } => moments.age(page.page.0 as usize, view.now()).into(),
            PageMoments::Ram { .. } => u64::MAX,
            PageMoments::Spare => view.age_of_version(page.spare.version),
        };
        if region == 0 || self.is_young(region, age) {
            return region;
        }
        self.moved_down += 1;
        self.comes(page.page, view.now());
        region - 1
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.thresholds", size_of::<[u64; DAC_REGIONS_MAX]>() as u64);
        if let PageMoments::Ram { moments, .. } = &self.times {
            ledger.structure("placement.page_times", moments.bytes());
        }
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("placement_moved_up", self.moved_up));
        out.push(Counter::sum("placement_moved_down", self.moved_down));
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}
