//! Lifetimes: streams by how long pages are likely to live. This one is of no paper.
//!
//! A page lives from one write of the host's to the next. Its spare area says when it was written (the version), and in a
//! byte how long it lived before that on average, over up to three lives ([`Life`]). At a host write the old copy's spare
//! area is read: it gives the life that ends now. A collection reads the spare area with the page, and copies the byte.
//!
//! | page | likely to live | streams |
//! | --- | --- | --- |
//! | the host writes it | the mean of its last lives | up to 4 |
//! | it is moved, of age a, after k lives of mean L | L + a / k longer | up to 6 |
//! | it is moved, and nothing is known of lives before | its age | the same |
//! | it has no old copy, or its place is not in RAM | | that of the longest lives |
//!
//! L + a / k: after k lives that took k L in all and a further one that has taken a, the mean of a rate of death is
//! k / (k L + a) where each rate is equally likely (the posterior of a Gamma distribution).
//!
//! - Classes are apart by a factor of three, around as many writes as there are logical pages. Uniform writes have all
//!   lives there.
//! - Host writes and moved pages have streams of their own: pages that live on after a burst are not mixed with new ones.
//! - There are no more open blocks of theirs than a sixth of the spare blocks, and at least two streams.
//! - A lazy mapping may not have the old copy's place. Then nothing is known of the page, or its translation page is read
//!   (`placement.unknown=fetch`).
//! - Old copies are looked at only while lives before say something of the next one ([`Predictions`]). Of uniform writes
//!   they say nothing.
//! - Lives are in spare areas alone, so a power cut loses none. What was learned of them is learned anew.

use super::predictions::Predictions;
use super::unknown::UNKNOWN;
use crate::blocks::View;
use crate::policy::{Asks, Context, HostWrite, MovedPage, Placement, PlacementSpec, State};
use crate::spec::Chosen;
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::LogicalPage;
use phelsuma_nand::state::Preserve;

/// The most streams of host writes.
const HOST_MAX: u8 = 4;
/// The most streams of moved pages.
const MOVED_MAX: u8 = 6;
/// Spare blocks to an open block of a stream, at least.
const SPARE_BLOCKS: u64 = 6;

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "lifetimes",
    "up to ten classes by how long pages are likely to live, from spare areas",
    |context| {
        let (host, moved) = streams(context);
        host + moved
    },
    |context| Box::new(Lifetimes::new(context)),
)
.params(&[UNKNOWN])
.asks(|values| {
    let asks = Asks::NOTHING.pages().old_spares().lives().shares_blocks();
    if values.is(&UNKNOWN, "fetch") { asks.fetches() } else { asks }
});

/// With the places of old copies, where a lazy mapping does not have them.
pub(crate) const FETCHING: Chosen<PlacementSpec> = SPEC.chosen().with(0, 1);

/// Streams of host writes, and of moved pages.
fn streams(context: &Context) -> (u8, u8) {
    let pages = u64::from(context.blocks) * u64::from(context.pages_per_block);
    let spare = pages.saturating_sub(context.logical_pages.into()) / u64::from(context.pages_per_block).max(1);
    let all = (spare / (SPARE_BLOCKS * u64::from(context.dies))).clamp(2, u64::from(HOST_MAX + MOVED_MAX)) as u8;
    let host = (all * HOST_MAX / (HOST_MAX + MOVED_MAX)).max(1);
    (host, all - host)
}

/// The mean of a page's last lives, in pages that the host writes, and how many these are.
///
/// In a byte: two bits say how many, and six the mean in half octaves. A byte of 0 says that none is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Life(u8);

/// So many lives are counted.
const LIVES_MAX: u8 = 3;
const CODE_BITS: u8 = 6;
const CODE_MAX: u8 = (1 << CODE_BITS) - 1;

impl Life {
    const UNKNOWN: Self = Self(0);

    /// How many lives the mean is of.
    fn lives(self) -> u8 {
        self.0 >> CODE_BITS
    }

    fn mean(self) -> u64 {
        let code = self.0 & CODE_MAX;
        let octave = 1_u64 << (code / 2);
        // The square root of two.
        if code.is_multiple_of(2) { octave } else { (octave * 46_341) >> 15 }
    }

    /// After one more life.
    fn and(self, life: u64) -> Self {
        let known = u64::from(self.lives().min(LIVES_MAX - 1));
        let mean = (self.mean() * known).saturating_add(life) / (known + 1);
        Self((self.lives() + 1).min(LIVES_MAX) << CODE_BITS | half_octaves(mean))
    }

    /// How much longer a page lives that was written so long ago.
    fn left(self, age: u64) -> u64 {
        match self.lives() {
            0 => age,
            lives => self.mean().saturating_add(age / u64::from(lives)),
        }
    }
}

/// The nearest number of half octaves: twice the binary logarithm.
fn half_octaves(value: u64) -> u8 {
    let value = u128::from(value.max(1));
    let octave = value.ilog2();
    // Two to the power of a quarter, and of three quarters, times 2^15.
    let mantissa = (value << 15) >> octave;
    let halves = 2 * octave + u32::from(mantissa >= 38_968) + u32::from(mantissa >= 55_109);
    halves.min(CODE_MAX.into()) as u8
}

#[derive(Clone, Preserve)]
struct Lifetimes {
    logical_pages: u64,
    host: u8,
    moved: u8,
    /// Of the page that was sorted last.
    life: u8,
    predictions: Predictions,
}

impl Lifetimes {
    fn new(context: &Context) -> Self {
        let (host, moved) = streams(context);
        let predictions = Predictions::new(context.logical_pages, half_octaves(context.logical_pages.into()));
        Self { logical_pages: context.logical_pages.into(), host, moved, life: 0, predictions }
    }

    /// Of `classes`, apart by a factor of three, that of a life. All from `longest` on are one.
    fn class(mut longest: u64, classes: u8, life: u64) -> u8 {
        let mut class = classes - 1;
        while class > 0 && life < longest {
            class -= 1;
            longest /= 3;
        }
        class
    }
}

impl Placement for Lifetimes {
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        let Some(old) = write.old_spare else {
            self.life = Life::UNKNOWN.0;
            return self.host - 1;
        };
        let (before, age) = (Life(write.old_life), view.age_of_version(old.version));
        if before.lives() > 0 && Predictions::samples(write.page) {
            self.predictions.ended(half_octaves(before.mean()), half_octaves(age));
        }
        let life = before.and(age);
        self.life = life.0;
        Self::class(self.logical_pages, self.host, life.mean())
    }

    fn reads_old(&self, page: LogicalPage) -> bool {
        self.predictions.follows(page)
    }

    fn life(&self) -> u8 {
        self.life
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::level("lives_differ", self.predictions.differ().into()));
    }

    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8 {
        let left = Life(page.life).left(view.age_of_version(page.spare.version));
        // A third of the longest lives of the host's is the shortest of moved pages, where there are all classes.
        let longest = self.logical_pages * [1, 1, 1, 3, 9, 27, 27][usize::from(self.moved.min(MOVED_MAX))];
        self.host + Self::class(longest, self.moved, left)
    }

    fn recovered(&self) -> u8 {
        self.host - 1
    }
}

impl State for Lifetimes {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.predictions", size_of::<Predictions>() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_the_mean_of_the_last_three() {
        assert_eq!((Life::UNKNOWN.lives(), Life::UNKNOWN.left(77)), (0, 77));
        let one = Life::UNKNOWN.and(1_000);
        assert_eq!((one.lives(), one.mean()), (1, 1_024));
        assert_eq!(one.left(500), 1_524);
        let two = one.and(3_000);
        assert_eq!((two.lives(), two.mean()), (2, 2_048));
        let three = two.and(2_000).and(1 << 40);
        assert_eq!((three.lives(), three.mean()), (3, ((1 << 31) * 46_341) >> 15), "longer ones are not told apart");
        assert_eq!(three.and(0).lives(), 3);
    }

    #[test]
    fn half_octaves_are_the_nearest() {
        for (value, halves) in [(0, 0), (1, 0), (2, 2), (3, 3), (4, 4), (1_000_000, 40), (1_300_000, 41), (1 << 31, 62)]
        {
            assert_eq!(half_octaves(value), halves, "{value}");
        }
        assert_eq!(half_octaves(u64::MAX), CODE_MAX);
    }

    #[test]
    fn classes_are_apart_by_a_factor_of_three() {
        let of = |life| Lifetimes::class(900, 4, life);
        assert_eq!(
            [of(0), of(99), of(100), of(299), of(300), of(899), of(900), of(u64::MAX)],
            [0, 0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(Lifetimes::class(900, 1, 5), 0);
    }

    #[test]
    fn a_small_drive_has_few_streams() {
        let context = |blocks, logical_pages, dies| Context {
            blocks,
            pages_per_block: 10,
            page_bytes: 4096,
            dies,
            logical_pages,
            seed: 1,
            values: *SPEC.chosen(),
        };
        assert_eq!(streams(&context(64, 520, 1)), (1, 1));
        assert_eq!(streams(&context(250, 2_250, 1)), (1, 3));
        assert_eq!(streams(&context(1_000, 9_000, 1)), (4, 6));
        // Each has a block open on each die.
        assert_eq!(streams(&context(1_000, 9_000, 4)), (1, 3));
    }
}
