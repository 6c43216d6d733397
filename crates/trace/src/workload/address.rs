//! Where the next request goes: the address distributions.

use rand_core::RngCore;

use super::permutation::Permutation;
use super::zipf;

/// Draws pages.
pub(crate) trait Address: Send {
    /// The first page of a request of `pages` pages. It may lie so close to the end that the request does
    /// not fit; the caller moves it back.
    fn draw(&mut self, pages: u64, random: &mut impl RngCore) -> u64;
}

/// A number below `bound` by multiplication; off from uniform by less than bound / 2^64.
#[inline]
pub(crate) fn below(bound: u64, random: &mut impl RngCore) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A number from 0 to below 1 in steps of 2^-53.
#[inline]
pub(crate) fn unit_interval(random: &mut impl RngCore) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

pub(crate) struct Uniform {
    pages: u64,
}

impl Uniform {
    pub(crate) fn new(pages: u64) -> Self {
        Uniform { pages }
    }
}

impl Address for Uniform {
    #[inline]
    fn draw(&mut self, _: u64, random: &mut impl RngCore) -> u64 {
        below(self.pages, random)
    }
}

pub(crate) struct Sequential {
    pages: u64,
    next: u64,
}

impl Sequential {
    pub(crate) fn new(pages: u64) -> Self {
        Sequential { pages, next: 0 }
    }
}

impl Address for Sequential {
    #[inline]
    fn draw(&mut self, pages: u64, _: &mut impl RngCore) -> u64 {
        let first = if pages > self.pages - self.next { 0 } else { self.next };
        let after = first + pages;
        self.next = if after >= self.pages { 0 } else { after };
        first
    }
}

pub(crate) struct Zipf {
    ranks: zipf::Zipf,
    place: Permutation,
}

impl Zipf {
    pub(crate) fn new(pages: u64, theta: f64, seed: u64) -> Self {
        Zipf { ranks: zipf::Zipf::new(pages, theta), place: Permutation::new(pages, seed) }
    }
}

impl Zipf {
    /// The page of each rank, the most popular first.
    pub(super) fn by_rank(self) -> Permutation {
        self.place
    }
}

impl Address for Zipf {
    #[inline]
    fn draw(&mut self, _: u64, random: &mut impl RngCore) -> u64 {
        self.place.at(self.ranks.sample(random) - 1)
    }
}

/// The first `hot` numbers of a permutation are hot.
pub(crate) struct HotCold {
    pages: u64,
    hot: u64,
    hot_writes: Share,
    place: Permutation,
}

impl HotCold {
    pub(crate) fn new(pages: u64, writes_percent: f64, space_percent: f64, seed: u64) -> Result<Self, String> {
        if pages < 2 {
            return Err("a drive of one page has no cold pages, 2 or more would be right".to_owned());
        }
        let hot = (pages as f64 * (space_percent / 100.0) + 0.5) as u64;
        let hot = hot.clamp(1, pages - 1);
        Ok(HotCold { pages, hot, hot_writes: Share::percent(writes_percent), place: Permutation::new(pages, seed) })
    }
}

impl HotCold {
    /// The pages, the hot ones first, and how many are hot.
    pub(super) fn by_heat(self) -> (Permutation, u64) {
        (self.place, self.hot)
    }
}

impl Address for HotCold {
    #[inline]
    fn draw(&mut self, _: u64, random: &mut impl RngCore) -> u64 {
        let index = if self.hot_writes.draw(random) {
            below(self.hot, random)
        } else {
            self.hot + below(self.pages - self.hot, random)
        };
        self.place.at(index)
    }
}

/// A probability as a threshold on 64 random bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    below: u128,
}

impl Share {
    pub(crate) fn percent(percent: f64) -> Self {
        Share { below: (percent / 100.0 * 18_446_744_073_709_551_616.0) as u128 }
    }

    #[inline]
    pub(crate) fn draw(self, random: &mut impl RngCore) -> bool {
        u128::from(random.next_u64()) < self.below
    }

    #[inline]
    pub(crate) fn holds(self, bits: u64) -> bool {
        u128::from(bits) < self.below
    }
}
