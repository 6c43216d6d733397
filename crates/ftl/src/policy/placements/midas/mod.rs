//! MiDAS: a chain of groups of blocks that sorts pages by age, and whose number and sizes adapt to the host's writes.
//!
//! This is FAST 2024, "MIDAS: Minimizing Write Amplification in Log-Structured Systems through Adaptive Group Number
//! and Size Configuration".
//!
//! ```text
//! host ─┬─ hot ─▶ HOT
//!       │          ▼
//!       └───────▶  1 ──▶ 2 ──▶ … ──▶ last ─┐
//!                                     ▲────┘
//! ```
//!
//! What the host writes comes to the front. Pages that collection moves out of a group go to the next one; those of the
//! last group stay there. So age sorts the pages, and each group's size says at which age. A HOT group in front of the
//! chain takes pages that are written again soon. The number of groups and their sizes follow from how the host writes:
//! - the distribution of update intervals (UID, `intervals.rs`) is measured;
//! - from it a Markov chain of the groups (MCAM, `chain.rs`) predicts what each would move;
//! - a search over configurations (GCS, `search.rs`) takes the best.
//!
//! Stream 0 is the HOT group, stream g the g-th of the chain. The victim part is `victims/chain.rs`. It takes the block
//! that was closed first in the group that is over its size. Where none is, it takes the emptiest of the last group.
//!
//! **As in the paper**, as far as its abstract, talk and the public description of its simulator go:
//! - the chain and its moves;
//! - HOT by update interval, and the distribution of these;
//! - an epoch of four logical capacities, after which the configuration is chosen anew;
//! - groups in order of age but for the last, which is greedy;
//! - **irregular patterns**: the share of live pages in a group's victims may be far from the prediction. Then that
//!   group and all behind it become one, until the next epoch.
//!
//! **Guarded, as the model may be wrong:**
//! - A configuration is adopted only if its prediction is below what the epoch before it moved.
//! - A pattern is irregular only if the drive moves more than in the epoch before. Else a model that is off by a tenth
//!   would merge groups in every epoch of a workload that never changes.
//!
//! **Simplified, or chosen here because no more is known of it:**
//! - The host's last write of each page and the length of its last interval are in tables in RAM, five bytes a logical
//!   page. The distribution is that of all writes. The paper has timestamps of a hundredth of the pages alone, and a
//!   smaller filter for hot pages.
//! - Pairs of intervals are counted, one and the next. So the effect of a threshold of HOT on the rest of the chain can
//!   be predicted, and not only tried. Whether the paper's model does that is not known.
//! - The search inserts groups one by one where they help most, then changes what helps until nothing does.
//! - *Far* is a difference of [`IRREGULAR`], of victims of which there were [`VICTIMS_MIN`].
//!
//! A power cut forgets all of it: there is one group until an epoch has passed.

mod chain;
mod intervals;
mod search;

use super::last_writes::LastWrites;
use crate::blocks::{View, Wants};
use crate::policy::notes::{GROUPS_MAX, Groups};
use crate::policy::{Asks, HostWrite, MovedPage, Placement, PlacementSpec, State};
use crate::spec::Param;
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use chain::Configuration;
use core::any::Any;
use intervals::Intervals;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// A share of live pages this far from the prediction is irregular.
const IRREGULAR: f64 = 0.1;
/// Victims of a group that its share is the mean of, at least.
const VICTIMS_MIN: u32 = 16;
/// The shortest epoch, in pages that the host writes: with fewer there is no distribution.
const EPOCH_MIN: u64 = 1_024;

const HOT: u8 = 0;
const FIRST: u8 = 1;

/// The most groups of a chain that there can be.
const CHAIN_MAX: u32 = 8;

const CHAIN: Param =
    Param::number("midas.groups", 1, CHAIN_MAX, 6, "groups of midas's chain at the most, without HOT").shown_together();

const EPOCH: Param = Param::number(
    "midas.epoch",
    1,
    1000,
    4,
    "logical capacities written after which midas chooses its configuration anew",
)
.shown_together();

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "midas",
    "a HOT group and a chain of groups that pages go down as they grow old (MiDAS)",
    |context| context.number(&CHAIN) as u8 + 1,
    |context| Box::new(Midas::new(context.number(&CHAIN) as u8, context.number(&EPOCH), context.logical_pages)),
)
.params(&[CHAIN, EPOCH])
.wants(|_| Wants::NOTHING.clock())
.asks(|_| Asks::NOTHING.pages())
.counts_all();

/// HOT and the groups of the chain.
#[derive(Clone, Preserve)]
struct Midas {
    /// The most groups of the chain.
    groups: u8,
    epoch: u64,
    last_writes: LastWrites,
    intervals: Intervals,
    now: Configuration,
    limits: Groups,
    /// The victim part's view: how they were when the last block was collected.
    shown: Groups,
    epoch_began: Option<u64>,
    checked: u64,
    of_epoch: Moves,
    of_quarter: Moves,
    /// The write amplification of the epoch before.
    before: Option<f64>,
    victims: [Victims; GROUPS_MAX],
    pages_per_block: u32,
    hot_pages: u64,
    epochs: u64,
    irregular: u64,
    /// Epochs after which no configuration promised to be better.
    kept: u64,
}

/// What collection has moved since a moment.
#[derive(Clone, Copy, Default, Debug, Preserve)]
struct Moves {
    since: u64,
    pages: u64,
}

impl Moves {
    /// From now on.
    fn from(now: u64) -> Self {
        Self { since: now, pages: 0 }
    }

    /// Pages written for one that the host writes, until now; none where it wrote none.
    fn amplification(&self, now: u64) -> Option<f64> {
        let written = now.checked_sub(self.since).filter(|written| *written > 0)?;
        Some(1.0 + self.pages as f64 / written as f64)
    }
}

/// The live pages in the victims of a group.
#[derive(Clone, Copy, Default, Debug, Preserve)]
struct Victims {
    blocks: u32,
    live: u64,
}

impl Midas {
    /// At most so many groups of a chain; an epoch in logical capacities.
    fn new(groups: u8, epoch: u32, logical_pages: u32) -> Self {
        debug_assert!(u32::from(groups) <= CHAIN_MAX && (CHAIN_MAX as usize) < GROUPS_MAX);
        Self {
            groups,
            epoch: (u64::from(epoch) * u64::from(logical_pages)).max(EPOCH_MIN),
            last_writes: LastWrites::in_ram(logical_pages),
            intervals: Intervals::new(logical_pages),
            now: Configuration::one_group(),
            limits: Groups { count: 2, limits: [0; GROUPS_MAX] },
            shown: Groups::default(),
            epoch_began: None,
            checked: 0,
            of_epoch: Moves::default(),
            of_quarter: Moves::default(),
            before: None,
            victims: [Victims::default(); GROUPS_MAX],
            pages_per_block: 0,
            hot_pages: 0,
            epochs: 0,
            irregular: 0,
            kept: 0,
        }
    }

    /// The last group of the chain, as a stream.
    fn last(&self) -> u8 {
        self.limits.count - 1
    }

    fn of_moved(&self, stream: u8) -> u8 {
        (stream.min(self.last()) + 1).min(self.last())
    }

    /// An epoch is over: the configuration that is best for how the host has written.
    fn configure(&mut self, view: &View<'_>, measured: Option<f64>) {
        let mut drive = search::Drive { pages_per_block: view.pages_per_block().into(), ..search::Drive::default() };
        for (_, live) in view.candidates().filter(|(block, _)| !view.is_metadata(*block)) {
            drive.pages += drive.pages_per_block;
            drive.live += f64::from(live);
        }
        self.epochs += 1;
        let best = self.intervals.distribution().and_then(|uid| search::best(uid, &drive, self.groups));
        self.adopt(best, measured);
        self.intervals.begin_epoch();
    }

    /// Uses the best configuration, if it promises less than what was measured with the present one.
    fn adopt(&mut self, best: Option<Configuration>, measured: Option<f64>) {
        match best.filter(|best| measured.is_none_or(|measured| best.write_amplification < measured)) {
            Some(best) => self.use_configuration(best),
            None => self.kept += 1,
        }
    }

    fn use_configuration(&mut self, best: Configuration) {
        debug_assert!((1..=self.groups).contains(&best.groups), "there are more groups than streams, or none");
        self.limits = Groups { count: best.groups + 1, limits: best.limits };
        self.now = best;
        self.victims = [Victims::default(); GROUPS_MAX];
    }

    /// A block is going to be collected. How many were looked at: all where an epoch is over.
    fn watch(&mut self, view: &View<'_>, victim: Block) -> u32 {
        self.pages_per_block = view.pages_per_block();
        let now = view.now();
        let began = *self.epoch_began.get_or_insert_with(|| {
            (self.of_epoch, self.of_quarter) = (Moves::from(now), Moves::from(now));
            now
        });
        if !view.is_metadata(victim) {
            let of_group = &mut self.victims[self.limits.of(view.stream_of(victim))];
            let live = u64::from(view.counters.live(victim));
            of_group.blocks += 1;
            of_group.live += live;
            self.of_epoch.pages += live;
            self.of_quarter.pages += live;
        }
        if now - began >= self.epoch {
            (self.epoch_began, self.checked) = (Some(now), now);
            let measured = self.of_epoch.amplification(now);
            self.configure(view, measured);
            self.before = measured;
            (self.of_epoch, self.of_quarter) = (Moves::from(now), Moves::from(now));
            return view.counters.keys().len() as u32;
        }
        // After a change the pages that were sorted otherwise have to leave the groups first: half an epoch says
        // nothing of them.
        if now - self.checked.max(began) >= self.epoch / 4 {
            self.checked = now;
            self.quarter_is_over(now, now - began >= self.epoch / 4 * 3);
        }
        0
    }

    /// Looks for an irregular pattern where the epoch is old enough, and the drive moves more than in the one before.
    fn quarter_is_over(&mut self, now: u64, is_old: bool) {
        let moves = core::mem::replace(&mut self.of_quarter, Moves::from(now));
        let is_worse = |before: f64| moves.amplification(now).is_some_and(|now| now > before * (1.0 + IRREGULAR));
        if is_old && self.before.is_some_and(is_worse) {
            self.check_for_irregular();
        } else {
            self.victims = [Victims::default(); GROUPS_MAX];
        }
    }

    /// Merges what does not behave as it was predicted to.
    fn check_for_irregular(&mut self) {
        let victims = &self.victims[..usize::from(self.last())];
        let is_irregular = |(group, victims): &(usize, &Victims)| {
            let live = victims.live as f64 / (f64::from(victims.blocks) * f64::from(self.pages_per_block));
            victims.blocks >= VICTIMS_MIN && (live - self.now.live_shares[*group]).abs() > IRREGULAR
        };
        match victims.iter().enumerate().find(is_irregular) {
            // There is nothing in front of HOT to merge it with: without it the chain begins with the first group.
            Some((0, _)) => {
                self.now.hot_below = 0;
                self.limits = Groups { count: 2, limits: [0; GROUPS_MAX] };
                self.irregular += 1;
            }
            Some((group, _)) => {
                self.limits.count = group as u8 + 1;
                self.irregular += 1;
            }
            None => {}
        }
        self.victims = [Victims::default(); GROUPS_MAX];
    }
}

impl Placement for Midas {
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        let interval = self.last_writes.interval(view, write);
        self.intervals.count(write.page, interval);
        let is_hot = interval.is_some_and(|interval| interval < self.now.hot_below);
        self.hot_pages += u64::from(is_hot);
        if is_hot { HOT } else { FIRST }
    }

    fn moved(&mut self, _view: &View<'_>, page: &MovedPage) -> u8 {
        self.of_moved(page.stream)
    }

    fn recovered(&self) -> u8 {
        FIRST
    }

    fn notes(&self) -> Option<&dyn Any> {
        Some(&self.shown)
    }

    fn collecting(&mut self, view: &View<'_>, victim: Block) -> u32 {
        let looked_at = self.watch(view, victim);
        self.shown = self.limits;
        looked_at
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("placement_hot_pages", self.hot_pages));
        out.push(Counter::sum("placement_epochs", self.epochs));
        out.push(Counter::sum("placement_irregular", self.irregular));
        out.push(Counter::sum("placement_kept", self.kept));
        out.push(Counter::level("placement_groups", u64::from(self.limits.count) - 1));
        out.push(Counter::level("placement_hot_below", self.now.hot_below));
        out.push(Counter::level("placement_hot_blocks", self.limits.limits[0].into()));
        out.push(Counter::level("placement_predicted_wa_thousandths", (self.now.write_amplification * 1e3) as u64));
    }
}

impl State for Midas {
    fn enter(&self, ledger: &mut RamLedger) {
        self.last_writes.ram(ledger);
        self.intervals.ram(ledger);
        let of_groups = size_of::<Configuration>()
            + size_of::<Groups>()
            + size_of_val(&self.victims)
            + size_of_val(&self.of_epoch)
            + size_of_val(&self.of_quarter)
            + size_of_val(&self.before);
        ledger.structure("placement.groups", of_groups as u64);
        if self.shown.count > 0 {
            ledger.structure("blocks.group_limits", size_of::<Groups>() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain_of(groups: u8, live_shares: &[f64]) -> Midas {
        let mut midas = Midas::new(6, 4, 10_000);
        let mut configuration = Configuration { groups, hot_below: 100, ..Configuration::one_group() };
        configuration.live_shares[..live_shares.len()].copy_from_slice(live_shares);
        midas.use_configuration(configuration);
        midas.pages_per_block = 10;
        midas
    }

    #[test]
    fn what_moves_goes_down_the_chain_and_stays_in_the_last_group() {
        let midas = chain_of(3, &[]);
        let moves: Vec<u8> = (0..8).map(|stream| midas.of_moved(stream)).collect();
        // HOT and three groups; higher streams are those of a longer chain that was before, and of cold data.
        assert_eq!(moves, [1, 2, 3, 3, 3, 3, 3, 3]);
        let midas = Midas::new(6, 4, 10_000);
        assert_eq!((midas.of_moved(0), midas.of_moved(1), midas.of_moved(5)), (1, 1, 1));
    }

    #[test]
    fn amplification_is_of_what_was_written_since() {
        let mut moves = Moves::from(1_000);
        assert_eq!(moves.amplification(1_000), None);
        moves.pages = 300;
        assert_eq!(moves.amplification(1_200), Some(2.5));
    }

    #[test]
    fn a_configuration_that_promises_no_less_than_was_measured_is_not_adopted() {
        let mut midas = chain_of(2, &[]);
        let same = Configuration { write_amplification: 2.0, groups: 4, ..Configuration::one_group() };
        let less = Configuration { write_amplification: 1.9, ..same };
        midas.adopt(None, Some(2.0));
        midas.adopt(Some(same), Some(2.0));
        assert_eq!((midas.last(), midas.kept), (2, 2));
        midas.adopt(Some(less), Some(2.0));
        assert_eq!((midas.last(), midas.kept), (4, 2));
        // In the first epoch there is nothing to compare it with.
        midas.adopt(Some(Configuration { groups: 3, ..same }), None);
        assert_eq!((midas.last(), midas.kept), (3, 2));
    }

    #[test]
    fn a_pattern_is_irregular_only_where_the_drive_moves_more_than_before() {
        for (pages, is_old, irregular) in [(500, true, 0), (640, true, 0), (700, false, 0), (700, true, 1)] {
            let mut midas = chain_of(4, &[0.0, 0.7, 0.5, 0.4]);
            midas.victims[2] = Victims { blocks: 16, live: 100 };
            // The epoch before moved half a page for each that the host wrote.
            midas.before = Some(1.5);
            midas.of_quarter = Moves { since: 1_000, pages };
            midas.quarter_is_over(2_000, is_old);
            assert_eq!(midas.irregular, irregular, "{pages} pages moved");
        }
    }

    #[test]
    fn a_group_that_is_not_as_predicted_becomes_one_with_all_behind_it() {
        let mut midas = chain_of(4, &[0.0, 0.7, 0.5, 0.4]);
        midas.victims[1] = Victims { blocks: 20, live: 145 };
        midas.victims[2] = Victims { blocks: 20, live: 85 };
        midas.check_for_irregular();
        assert_eq!((midas.limits.count, midas.irregular), (5, 0), "within a tenth");
        midas.victims[2] = Victims { blocks: 15, live: 150 };
        midas.check_for_irregular();
        assert_eq!(midas.irregular, 0, "too few");
        midas.victims[2] = Victims { blocks: 16, live: 100 };
        midas.check_for_irregular();
        assert_eq!((midas.last(), midas.irregular), (2, 1));
        // And HOT, which is not as empty as it should be.
        midas.victims[0] = Victims { blocks: 16, live: 100 };
        midas.check_for_irregular();
        assert_eq!((midas.last(), midas.now.hot_below), (1, 0));
    }
}
