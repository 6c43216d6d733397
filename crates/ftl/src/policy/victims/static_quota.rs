//! Static quota: each class of pages has its share of the blocks, and a block comes from the class that is most over
//! its own.
//!
//! Of that class it is the one with the fewest live pages.
//!
//! A class gets the blocks that its live pages fill. Of the rest it gets a part proportional to √(r f). r is how often
//! the host writes to it and f how many live pages it has. For little spare space that is the best split (`limits`,
//! `split.rs`). With a third of the flash to spare it is within half a percent of it.
//!
//! The pages of a class are counted over written blocks. The placement part of this name counts how often it is
//! written, and older writes count less and less. Every choice looks at all blocks, as cost-benefit's does.

use crate::blocks::View;
use crate::policy::notes::{StreamWrites, WRITTEN_STREAMS_MAX};
use crate::policy::{Choice, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("static-quota", "the emptiest of the class that is over its quota: an oracle", |_| {
        Box::new(StaticQuota)
    })
    .pairs_with("static-quota", "whose classes have quotas");

/// The emptiest block of the class that is over its quota by most.
#[derive(Clone, Copy, Preserve)]
struct StaticQuota;

/// What there is of a class.
#[derive(Clone, Copy, Default, Debug)]
struct Class {
    blocks: u64,
    live: u64,
    writes: u64,
    emptiest: Option<(u32, Block)>,
}

/// The class to collect from: of those where there is something to gain, the one that is over its quota by most.
fn over_by_most(classes: &[Class], pages_per_block: u64) -> Option<usize> {
    let weight = |class: &Class| ((u128::from(class.writes) * u128::from(class.live)) << 32).isqrt() as i128;
    let weights: i128 = classes.iter().map(weight).sum();
    let pages: u64 = classes.iter().map(|class| class.blocks * pages_per_block - class.live).sum();
    let gains = |class: &&(usize, &Class)| class.1.emptiest.is_some_and(|(live, _)| u64::from(live) < pages_per_block);
    // By how many pages it is over, times the sum of the weights.
    let over = |class: &Class| {
        let spare = i128::from(class.blocks * pages_per_block - class.live);
        if weights == 0 { spare } else { spare * weights - i128::from(pages) * weight(class) }
    };
    let candidates = classes.iter().enumerate();
    candidates.filter(|class| gains(&class)).max_by_key(|(n, class)| (over(class), usize::MAX - n)).map(|(n, _)| n)
}

impl Victim for StaticQuota {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let mut classes = [Class::default(); WRITTEN_STREAMS_MAX];
        let examined = view.blocks();
        let mut emptiest: Option<(u32, Block)> = None;
        for (block, live) in view.candidates() {
            let stream = view.stream_of(block);
            if emptiest.is_none_or(|(least, _)| live < least) {
                emptiest = Some((live, block));
            }
            // Metadata have no class: they are collected only as the emptiest block.
            let Some(class) = classes.get_mut(usize::from(stream)).filter(|_| !view.is_metadata(block)) else {
                continue;
            };
            class.blocks += 1;
            class.live += u64::from(live);
            if class.emptiest.is_none_or(|(least, _)| live < least) {
                class.emptiest = Some((live, block));
            }
        }
        let (least, block) = emptiest?;
        if least == 0 || view.is_metadata(block) {
            return Some(Choice { block, examined });
        }
        for (stream, class) in classes.iter_mut().enumerate() {
            class.writes = view.of_placement().map_or(0, |writes: &StreamWrites| writes.to(stream as u8));
        }
        let of_class = over_by_most(&classes, view.pages_per_block().into()).and_then(|n| classes[n].emptiest);
        Some(Choice { block: of_class.map_or(block, |(_, block)| block), examined })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(blocks: u64, live: u64, writes: u64) -> Class {
        Class { blocks, live, writes, emptiest: (blocks > 0).then_some((5, Block(0))) }
    }

    /// Blocks of 10 pages. 80 % of the writes to 20 % of the pages: √(80 · 200) = √(20 · 800). So both get half of the
    /// rest, whatever they hold.
    #[test]
    fn spare_space_goes_by_the_root_of_rate_and_size() {
        let over = |hot: u64, cold: u64| over_by_most(&[class(hot, 200, 80), class(cold, 800, 20)], 10);
        assert_eq!(over(31, 90), Some(0));
        assert_eq!(over(30, 91), Some(1));
        // 90 / 10 of a class that is as often written as it is large, and one that is not written at all.
        let written = [class(60, 500, 90), class(60, 500, 10)];
        assert_eq!(over_by_most(&written, 10), Some(1), "a quarter of the spare is its part");
        assert_eq!(over_by_most(&[class(60, 500, 90), class(51, 500, 0)], 10), Some(1));
    }

    #[test]
    fn a_class_with_nothing_to_gain_is_passed_over() {
        let full = Class { emptiest: Some((10, Block(3))), ..class(50, 500, 1) };
        assert_eq!(over_by_most(&[full, class(60, 590, 99)], 10), Some(1));
        assert_eq!(over_by_most(&[full, Class::default()], 10), None);
        // There were no writes yet.
        assert_eq!(over_by_most(&[class(10, 90, 0), class(10, 80, 0)], 10), Some(1));
    }
}
