//! How long written pages live, and how long blocks are dormant, both in host pages written.
//!
//! These are the observations of Dual Greedy's paper (section III-B, figure 3; section IV-A, figure 5).
//!
//! - The *lifetime* of a page is from its write to the write, or the trim, that makes it stale. A copy that a
//!   collection makes goes on living. So this is a property of the host's requests, whatever the FTL.
//! - A *dormant period* of a block is from one of its pages becoming stale to the next one of it that does. It is noted
//!   with every page that becomes stale, but for the first since its block was erased. Which pages share a block is the
//!   FTL's doing.
//!
//! This is an observer of the simulated flash. It sees every program and erase, and so has what an FTL with an
//! unlimited memory would have. No FTL takes part in it. Blocks of metadata are left out. It takes 20 bytes of memory
//! for each logical page and 8 for each block.

use crate::result::{Distribution, Distributions};
use phelsuma_ftl::ExtentLook;
use phelsuma_nand::{Action, Event, Geometry, Kind, Nand, Observer, Page, Purpose, SimNand, Spare};
use phelsuma_trace::LogHistogram;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NOWHERE: u32 = u32::MAX;
const NEVER: u64 = u64::MAX;
/// Parts of the logical space whose extents are looked at apart.
const PLACES: u64 = 256;

/// Observes a drive from its first write on.
#[derive(Clone)]
pub(crate) struct Watch(Arc<Mutex<Seen>>);

struct Seen {
    geometry: Geometry,
    /// Of each logical page: the block that it is in, the clock and the version of its latest write.
    blocks: Vec<u32>,
    written: Vec<u64>,
    versions: Vec<u64>,
    /// Of each block: the clock when a page of it became stale for the last time.
    invalidated: Vec<u64>,
    /// Host pages written.
    clock: u64,
    lifetimes: LogHistogram,
    dormant: LogHistogram,
    first_invalidations: u64,
}

impl Watch {
    /// Observes `nand`, which holds no logical page yet.
    pub(crate) fn on(nand: &mut SimNand, logical_pages: u32) -> Self {
        let (pages, geometry) = (logical_pages as usize, *nand.geometry());
        let watch = Self(Arc::new(Mutex::new(Seen {
            geometry,
            blocks: vec![NOWHERE; pages],
            written: vec![0; pages],
            versions: vec![0; pages],
            invalidated: vec![NEVER; geometry.blocks() as usize],
            clock: 0,
            lifetimes: LogHistogram::default(),
            dormant: LogHistogram::default(),
            first_invalidations: 0,
        })));
        nand.observe(Some(Box::new(watch.clone())));
        watch
    }

    /// Counts from zero; the state of pages and blocks stays.
    pub(crate) fn count_from_zero(&self) {
        let mut seen = self.seen();
        seen.lifetimes = LogHistogram::default();
        seen.dormant = LogHistogram::default();
        seen.first_invalidations = 0;
    }

    /// The host has trimmed pages.
    pub(crate) fn trim(&self, first: u32, pages: u32) {
        let mut seen = self.seen();
        let after = first.saturating_add(pages).min(seen.blocks.len() as u32);
        (first..after).for_each(|page| {
            seen.invalidate(page as usize);
        });
    }

    /// The counts.
    pub(crate) fn distributions(&self) -> Distributions {
        let seen = self.seen();
        Distributions {
            page_lifetimes: distribution(&seen.lifetimes),
            block_dormant_periods: distribution(&seen.dormant),
            first_invalidations: seen.first_invalidations,
            extent_pages_mean: None,
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Nothing panics with it in hand, and counts are counts.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The mean length of the extents that begin in each of [`PLACES`] equal parts of the logical space (µ-FTL figure 11).
/// With fewer pages than that each page is a part. A part in which no extent begins has 0.
pub(crate) fn extent_pages_mean(extents: &[ExtentLook], logical_pages: u32) -> Vec<f64> {
    let places = u64::from(logical_pages).clamp(1, PLACES);
    let mut sums = vec![(0u64, 0u64); places as usize];
    for extent in extents {
        let place = u64::from(extent.first.0) * places / u64::from(logical_pages.max(1));
        if let Some((count, pages)) = sums.get_mut(place as usize) {
            (*count, *pages) = (*count + 1, *pages + u64::from(extent.pages));
        }
    }
    sums.iter().map(|(count, pages)| *pages as f64 / (*count).max(1) as f64).collect()
}

fn distribution(histogram: &LogHistogram) -> Distribution {
    Distribution {
        histogram_log2: histogram.entries(),
        p50_at_most: histogram.at_most(50),
        p90_at_most: histogram.at_most(90),
        p99_at_most: histogram.at_most(99),
    }
}

impl Seen {
    /// The last data of a logical page, if there are any, are stale.
    fn invalidate(&mut self, page: usize) {
        let block = std::mem::replace(&mut self.blocks[page], NOWHERE);
        if block == NOWHERE {
            return;
        }
        self.lifetimes.add(self.clock - self.written[page]);
        match std::mem::replace(&mut self.invalidated[block as usize], self.clock) {
            NEVER => self.first_invalidations += 1,
            before => self.dormant.add(self.clock - before),
        }
    }

    fn programmed(&mut self, page: Page, spare: &Spare) {
        let key = spare.key as usize;
        if spare.kind != Kind::User || key >= self.blocks.len() {
            return;
        }
        let block = self.geometry.block_of(page).0;
        // Every copy keeps the version of its original. An FTL may copy a stale page that it has not identified. No
        // user page has version 0: a log-block FTL fills a page with that where there is none.
        if spare.version > self.versions[key] {
            self.invalidate(key);
            self.versions[key] = spare.version;
            self.written[key] = self.clock;
            self.blocks[key] = block;
            self.clock += 1;
        } else if spare.version == self.versions[key] && self.blocks[key] != NOWHERE {
            self.blocks[key] = block;
        }
    }
}

impl Observer for Watch {
    fn observe(&mut self, event: &Event) {
        if let Action::Erase(block) = event.action {
            self.seen().invalidated[block.index()] = NEVER;
        }
    }

    fn programmed(&mut self, page: Page, spare: &Spare, _: Purpose) {
        self.seen().programmed(page, spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_nand::sim::SimConfig;
    use phelsuma_nand::{Content, Op, TIMINGS, Time};

    #[test]
    fn a_copy_moves_a_page_and_a_copy_of_what_is_stale_does_not() {
        let geometry = Geometry::new(4096, 4, 8, 1, 1).unwrap();
        let mut nand = SimNand::new(&SimConfig::new(geometry, TIMINGS[0].2));
        let watch = Watch::on(&mut nand, 2);
        let mut seq = 0;
        let mut program = |at: u32, key: u32, version: u64, purpose: Purpose| {
            seq += 1;
            let content = Content::Hollow(0);
            let (kind, data_crc) = (Kind::User, content.crc());
            let spare = Spare { kind, stream: 0, key, version, seq, data_crc, aux: 0 };
            nand.program(Page(at), content, &spare, Op::new(Time(0), purpose)).unwrap();
        };
        program(0, 0, 1, Purpose::Host);
        program(4, 0, 2, Purpose::Host);
        // The one in block 0 is stale, whichever copy is made; the other goes to block 3.
        program(8, 0, 1, Purpose::Gc);
        program(12, 0, 2, Purpose::Gc);
        program(5, 0, 3, Purpose::Host);
        let stale = |block: usize| watch.seen().invalidated[block] != NEVER;
        assert_eq!([0, 1, 2, 3].map(stale), [true, false, false, true]);
        watch.trim(0, 2);
        assert!(stale(1));
        let seen = watch.distributions();
        assert_eq!((seen.page_lifetimes.histogram_log2, seen.first_invalidations), (vec![3], 3));
    }
}
