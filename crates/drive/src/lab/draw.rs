//! The requests that each workload draws from the seed, one by one.

use super::script::{Plan, Request};
use super::workload::Workload;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// After how many writes of the workload the flushes become many or few.
const FLUSHES_CHANGE: u32 = 600;
/// Reads for each request of `mixed`, on the average.
const READS: u32 = 2;
/// How many pages are read over and over.
const FAVOURITES: usize = 4;
/// Writes, on the average, after which the page written last takes the place of one of them.
const FAVOURITE_FOR: u32 = 96;
/// The most pages that are hot.
const HOT_MAX: u32 = 16;
/// One write in so many goes elsewhere where pages are hot, or where runs are sequential.
const ELSEWHERE: u32 = 24;
/// Pages of a request in a sequential run.
const SEQUENTIAL: u32 = 4;
/// How many runs of trimmed pages are written over and trimmed again.
const TRIMMED_MAX: usize = 4;
/// The longest trim, in pages.
const TRIM_MAX: u32 = 96;
/// The most write requests between two power cuts.
const UNCUT_MAX: u32 = 12;
/// The most pages that a request of `mixed` writes.
const RUN_MAX: u32 = 8;

/// The most pages of a large request.
const LARGE: u32 = 96;
/// Requests, on the average, after which everything is trimmed.
const WIPED_AFTER: u32 = 120;

/// Numbers by chance.
struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn below(&mut self, n: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(n.max(1))) >> 32) as u32
    }

    /// Up to `most` pages of those from `first` to before `end`, one at least.
    fn up_to(&mut self, most: u32, first: u32, end: u32) -> u32 {
        (1 + self.below(most)).min(end - first)
    }
}

/// Draws requests.
pub(crate) struct Draw {
    chance: Chance,
    logical_pages: u32,
}

impl Draw {
    pub(crate) fn new(logical_pages: u32, seed: u64) -> Self {
        Self { chance: Chance::new(seed), logical_pages }
    }

    fn below(&mut self, n: u32) -> u32 {
        self.chance.below(n)
    }

    fn write(&mut self, most: u32) -> Request {
        let first = self.below(self.logical_pages);
        Request::Write { first, pages: self.chance.up_to(most, first, self.logical_pages) }
    }

    /// Mostly single pages, half of them in a fifth of the space. In between are runs of up to eight pages, trims of up
    /// to sixteen, and flushes.
    pub(crate) fn mixed(&mut self, many_flushes: bool) -> Request {
        let all = self.logical_pages;
        loop {
            let space = if self.below(2) == 0 { all.div_ceil(5) } else { all };
            let first = self.below(space);
            match self.below(100) {
                0..=79 => return Request::Write { first, pages: 1 },
                80..=87 => return Request::Write { first, pages: self.chance.up_to(RUN_MAX, first, all) },
                88..=95 => return Request::Trim { first, pages: self.chance.up_to(16, first, all) },
                n if (n < 99 && many_flushes) || (n == 99 && self.below(16) == 0) => return Request::Flush,
                _ => {}
            }
        }
    }

    /// The whole workload.
    pub(crate) fn workload(mut self, plan: &Plan, requests: &mut Vec<Request>) {
        // What comes between the requests of `mixed` is drawn apart, so that these stay the same.
        let mut between = Chance::new(plan.seed ^ 0xbe73_ee11);
        // Less than the cache has entries, whatever the requests' lengths.
        let uncut_max = UNCUT_MAX.min(plan.cache_entries.saturating_sub(1) / RUN_MAX).max(1);
        let mut until_cut = between.below(uncut_max + 1);
        let mut trimmed: Vec<(u32, u32)> = Vec::new();
        let mut favourites: Vec<u32> = Vec::new();
        let mut next = 0;
        let hot = match plan.workload {
            Workload::Hot => self.hot(plan.cache_entries),
            _ => Vec::new(),
        };
        let mut written = 0;
        while written < plan.writes {
            // Stretches with many flushes, and stretches with hardly any: trims stay pending over many collections.
            let many_flushes = (written / FLUSHES_CHANGE).is_multiple_of(2);
            let request = match plan.workload {
                Workload::Mixed | Workload::Reads | Workload::Restarts | Workload::Flushes | Workload::Closes => {
                    self.mixed(many_flushes)
                }
                Workload::Trims => self.trims(&mut trimmed),
                Workload::Hot => self.hot_or_not(&hot),
                Workload::Slow => self.sequential(&mut next),
                Workload::Large => self.large(),
                Workload::Skewed => self.skewed(),
                Workload::Wiped => self.wiped(&mut next),
            };
            let is_write = matches!(request, Request::Write { .. });
            match plan.workload {
                Workload::Reads => {
                    self.reads(&mut between, &favourites, requests);
                    if let (Request::Write { first, .. }, 0) = (request, between.below(FAVOURITE_FOR)) {
                        if favourites.len() == FAVOURITES {
                            favourites.remove(0);
                        }
                        favourites.push(first);
                    }
                }
                Workload::Restarts if is_write => {
                    // None in between: a recovery finds the state that the one before left.
                    while until_cut == 0 {
                        requests.push(Request::Cut);
                        until_cut = between.below(uncut_max + 1);
                    }
                    until_cut -= 1;
                }
                Workload::Closes if is_write => {
                    while until_cut == 0 {
                        // Closed and switched off; closed and in use again; or neither closed.
                        let (is_closed, is_cut) = match between.below(8) {
                            0 => (false, true),
                            1 | 2 => (true, false),
                            _ => (true, true),
                        };
                        requests.extend(is_closed.then_some(Request::Close));
                        requests.extend(is_cut.then_some(Request::Cut));
                        until_cut = between.below(uncut_max + 1);
                    }
                    until_cut -= 1;
                }
                _ => {}
            }
            written += u32::from(is_write);
            requests.push(request);
            if plan.workload == Workload::Flushes && is_write && written < plan.writes {
                requests.push(Request::Flush);
            }
        }
    }

    /// Reads, half of them anywhere and mostly of single pages: the entries that they load leave no room for those of
    /// writes. The others are of few pages, over and over: however long ago those were written, they are not evicted.
    fn reads(&self, chance: &mut Chance, favourites: &[u32], requests: &mut Vec<Request>) {
        for _ in 0..chance.below(2 * READS + 1) {
            let favourite = favourites.get(chance.below(2 * favourites.len() as u32) as usize);
            let first = favourite.copied().unwrap_or_else(|| chance.below(self.logical_pages));
            let most = if favourite.is_none() && chance.below(8) == 0 { 32 } else { 1 };
            requests.push(Request::Read { first, pages: chance.up_to(most, first, self.logical_pages) });
        }
    }

    /// Long trims; then most writes go where was trimmed last, and so do most trims after them.
    fn trims(&mut self, trimmed: &mut Vec<(u32, u32)>) -> Request {
        let all = self.logical_pages;
        let known = match trimmed.len() as u32 {
            0 => None,
            n => trimmed.get(self.below(n) as usize).copied(),
        };
        match (self.below(100), known) {
            (0..=54, Some((first, pages))) => {
                let at = first + self.below(pages);
                Request::Write { first: at, pages: self.chance.up_to(12, at, first + pages) }
            }
            (55..=79, Some((first, pages))) => {
                let at = first + self.below(pages);
                Request::Trim { first: at, pages: self.chance.up_to(pages, at, first + pages) }
            }
            // Elsewhere, so that collection has more than trimmed pages.
            (0..=91, _) => self.write(2),
            (99, _) => Request::Flush,
            _ => {
                let first = self.below(all);
                let pages = self.chance.up_to(TRIM_MAX.min(all.div_ceil(4)), first, all);
                if trimmed.len() == TRIMMED_MAX {
                    trimmed.remove(0);
                }
                trimmed.push((first, pages));
                Request::Trim { first, pages }
            }
        }
    }

    /// The pages that are hot: a quarter of the cache's entries, wherever they lie.
    fn hot(&mut self, cache_entries: u32) -> Vec<u32> {
        let pages = (cache_entries / 4).clamp(1, HOT_MAX);
        (0..pages).map(|_| self.below(self.logical_pages)).collect()
    }

    fn hot_or_not(&mut self, hot: &[u32]) -> Request {
        let n = self.below(hot.len() as u32) as usize;
        match (self.below(ELSEWHERE), hot.get(n)) {
            (1.., Some(page)) => Request::Write { first: *page, pages: 1 },
            _ => self.write(1),
        }
    }

    /// Long writes, single ones in between, and trims as long.
    fn large(&mut self) -> Request {
        let all = self.logical_pages;
        let first = self.below(all);
        match self.below(16) {
            0..=3 => self.write(1),
            4 => Request::Trim { first, pages: self.chance.up_to(LARGE, first, all) },
            _ => Request::Write { first, pages: self.chance.up_to(LARGE, first, all) },
        }
    }

    /// Single pages, nine of ten in a twentieth of the space.
    fn skewed(&mut self) -> Request {
        let space = if self.below(10) == 0 { self.logical_pages } else { self.logical_pages.div_ceil(20) };
        match self.below(64) {
            0 => Request::Flush,
            _ => Request::Write { first: self.below(space), pages: 1 },
        }
    }

    /// Everything is trimmed; then runs are written on from where it was, and single pages anywhere.
    fn wiped(&mut self, next: &mut u32) -> Request {
        match self.below(WIPED_AFTER) {
            0 => Request::Trim { first: 0, pages: self.logical_pages },
            1 => Request::Flush,
            n if n % 2 == 0 => self.sequential(next),
            _ => self.write(RUN_MAX),
        }
    }

    /// On from where it was, round the whole space.
    fn sequential(&mut self, next: &mut u32) -> Request {
        if self.below(ELSEWHERE) == 0 {
            return self.write(1);
        }
        let first = *next;
        let pages = SEQUENTIAL.min(self.logical_pages - first);
        *next = if first + pages == self.logical_pages { 0 } else { first + pages };
        Request::Write { first, pages }
    }
}
