//! SepBIT: six classes of pages by when they are likely to become stale.
//!
//! This is FAST 2022, "Separating Data via Block Invalidation Time Inference for Write Amplification Reduction in
//! Log-Structured Storage".
//!
//! | page | class |
//! | --- | --- |
//! | host write, lifespan of the old copy below ℓ | 1 |
//! | host write, otherwise or without an old copy | 2 |
//! | moved out of class 1 | 3 |
//! | moved out of another class, age below 4ℓ | 4 |
//! | the same, age below 16ℓ | 5 |
//! | the same, older | 6 |
//!
//! - **A page that the host writes** is likely to live as long as its old copy did. Lifespans are in pages that the
//!   host has written.
//! - **A page that collection moves** out of class 1 was taken for short-lived and is not. Other pages are likely to
//!   live on the longer, the older they are. The age is counted since the host wrote the page.
//! - **ℓ** is the mean lifespan of the last [`COLLECTED`] blocks of class 1 that were collected. A block's lifespan is
//!   from its first write to its collection. ℓ is infinite until there were so many.
//!
//! The victim part of the paper is cost-benefit with the time since a block was closed (`victims/cost_age.rs`).
//!
//! Where this differs, and open points:
//! - **Where lifespans come from** (`sepbit.page-times`). The paper keeps a queue of the pages written last, as long as
//!   ℓ, and looks whether the page is in it. The time of the last write by page gives the same answer. `ram` has a
//!   table of these, four bytes a logical page. `spare` reads the spare area of the old copy for each write and pays
//!   for it. Ages of pages that move are in the spare areas that collection reads in any case, as in the paper.
//! - **A lazy mapping** may not have the old copy. That matters with `spare` alone: the page goes to class 2, or its
//!   translation page is read (`placement.unknown=fetch`).
//! - **A power cut** makes ℓ infinite, and with `ram` every page new.

use super::last_writes::LastWrites;
use super::unknown::UNKNOWN;
use crate::blocks::{View, Wants};
use crate::policy::{Asks, HostWrite, MovedPage, Placement, PlacementSpec, State};
use crate::spec::Param;
use crate::{Counter, RamLedger};
use alloc::boxed::Box;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// Collected blocks of class 1 that ℓ is the mean of.
const COLLECTED: u32 = 16;

/// Classes 1 to 6, as streams.
const SHORT: u8 = 0;
const LONG: u8 = 1;
const FROM_SHORT: u8 = 2;
const YOUNG: u8 = 3;
const OLDER: u8 = 4;
const OLDEST: u8 = 5;
const CLASSES: u8 = 6;

const PAGE_TIMES: Param = Param::words(
    "sepbit.page-times",
    &["ram", "spare"],
    "whether sepbit has a page's last write from a table in RAM or from the old copy's spare area",
);

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "sepbit",
    "six classes by how long pages are likely to live (SepBIT)",
    |_| CLASSES,
    |context| {
        Box::new(SepBit::new(match context.is(&PAGE_TIMES, "spare") {
            true => LastWrites::Spare,
            false => LastWrites::in_ram(context.logical_pages),
        }))
    },
)
.params(&[PAGE_TIMES, UNKNOWN])
.wants(|_| Wants::NOTHING.times())
.asks(|values| match (values.is(&PAGE_TIMES, "spare"), values.is(&UNKNOWN, "fetch")) {
    (false, _) => Asks::NOTHING.pages(),
    (true, false) => Asks::NOTHING.pages().old_spares(),
    (true, true) => Asks::NOTHING.pages().old_spares().fetches(),
});

/// Six streams.
#[derive(Clone, Preserve)]
struct SepBit {
    last_writes: LastWrites,
    /// ℓ.
    mean_lifespan: u64,
    /// Of the blocks of class 1 collected since ℓ was set.
    lifespans: u64,
    collected: u32,
    by_class: [u64; CLASSES as usize],
}

impl SepBit {
    fn new(last_writes: LastWrites) -> Self {
        Self { last_writes, mean_lifespan: u64::MAX, lifespans: 0, collected: 0, by_class: [0; CLASSES as usize] }
    }

    fn of_host(&self, lifespan: Option<u64>) -> u8 {
        if lifespan.is_some_and(|lifespan| lifespan < self.mean_lifespan) { SHORT } else { LONG }
    }

    fn of_moved(&self, stream: u8, age: u64) -> u8 {
        match stream {
            SHORT => FROM_SHORT,
            _ if age < self.mean_lifespan.saturating_mul(4) => YOUNG,
            _ if age < self.mean_lifespan.saturating_mul(16) => OLDER,
            _ => OLDEST,
        }
    }

    /// A block of class 1 is collected that lived so long.
    fn ends(&mut self, lifespan: u64) {
        self.lifespans += lifespan;
        self.collected += 1;
        if self.collected == COLLECTED {
            self.mean_lifespan = self.lifespans / u64::from(COLLECTED);
            (self.lifespans, self.collected) = (0, 0);
        }
    }

    fn count(&mut self, class: u8) -> u8 {
        self.by_class[usize::from(class)] += 1;
        class
    }
}

impl Placement for SepBit {
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        let lifespan = self.last_writes.interval(view, write);
        self.count(self.of_host(lifespan))
    }

    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8 {
        self.count(self.of_moved(page.stream, view.age_of_version(page.spare.version)))
    }

    fn recovered(&self) -> u8 {
        LONG
    }

    fn collecting(&mut self, view: &View<'_>, victim: Block) -> u32 {
        if view.stream_of(victim) == SHORT {
            self.ends(view.since_first_write(victim).into());
        }
        0
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        const NAMES: [&str; CLASSES as usize] = [
            "placement_class_1_pages",
            "placement_class_2_pages",
            "placement_class_3_pages",
            "placement_class_4_pages",
            "placement_class_5_pages",
            "placement_class_6_pages",
        ];
        out.extend(NAMES.iter().zip(self.by_class).map(|(name, pages)| Counter::sum(name, pages)));
        let known = Some(self.mean_lifespan).filter(|mean| *mean < u64::MAX);
        out.push(Counter::level("placement_mean_lifespan", known.unwrap_or(0)));
    }
}

impl State for SepBit {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.mean_lifespan", 8 + 8 + 4);
        self.last_writes.ram(ledger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes as the paper numbers them.
    fn host(sepbit: &SepBit, lifespan: Option<u64>) -> u8 {
        sepbit.of_host(lifespan) + 1
    }

    fn moved(sepbit: &SepBit, class: u8, age: u64) -> u8 {
        sepbit.of_moved(class - 1, age) + 1
    }

    #[test]
    fn before_sixteen_blocks_of_class_1_were_collected_every_lifespan_is_short() {
        let mut sepbit = SepBit::new(LastWrites::Spare);
        assert_eq!((host(&sepbit, Some(1 << 40)), host(&sepbit, None)), (1, 2));
        assert_eq!((moved(&sepbit, 1, 5), moved(&sepbit, 2, 1 << 40)), (3, 4));
        for _ in 0..15 {
            sepbit.ends(100);
        }
        assert_eq!(host(&sepbit, Some(1 << 40)), 1);
        sepbit.ends(1_700);
        // (15 * 100 + 1700) / 16 = 200.
        assert_eq!(sepbit.mean_lifespan, 200);
        assert_eq!((host(&sepbit, Some(199)), host(&sepbit, Some(200)), host(&sepbit, None)), (1, 2, 2));
    }

    #[test]
    fn what_moves_is_sorted_by_age_unless_it_was_taken_for_short_lived() {
        let mut sepbit = SepBit::new(LastWrites::Spare);
        (0..16).for_each(|_| sepbit.ends(200));
        for class in 2..=6 {
            let ages = [0, 799, 800, 3_199, 3_200, u64::MAX].map(|age| moved(&sepbit, class, age));
            assert_eq!(ages, [4, 4, 5, 5, 6, 6]);
        }
        assert_eq!((moved(&sepbit, 1, 0), moved(&sepbit, 1, 3_200)), (3, 3));
        // The sixteen that follow count alone.
        (0..16).for_each(|_| sepbit.ends(50));
        assert_eq!(sepbit.mean_lifespan, 50);
    }
}
