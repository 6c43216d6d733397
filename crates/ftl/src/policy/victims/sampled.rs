//! Sampled: the block with the fewest live pages of those whose live pages RAM counts.
//!
//! GeckoFTL section 5.3: the counters, BVC, are the bottleneck of RAM, "alleviated ... by only storing a sample of
//! BVC".
//!
//! The paper does not say which blocks are in the sample. Here each slot of it keeps the emptiest of what it was
//! offered (`blocks/sample.rs`). Before each collection validity is queried for some blocks that are not in it, in turn
//! (`page_mapped/sampling.rs`). With as many slots as blocks this is greedy. While a recovery is at work all blocks are
//! counted.

use crate::blocks::View;
use crate::policy::{Choice, SampleOf, Victim, VictimSpec};
use crate::spec::Param;
use alloc::boxed::Box;
use phelsuma_nand::state::Preserve;

/// The smallest sample of counters.
pub(crate) const SAMPLE_MIN: u32 = 16;

const BLOCKS: Param = Param::number_or_default(
    "victim.sample",
    SAMPLE_MIN,
    u32::MAX,
    "a 16th of them, at least 16",
    "blocks whose live pages sampled counts in RAM",
)
.unit("blocks")
.label("blocks");

const LOOKS: Param =
    Param::number("victim.looks", 1, 64, 4, "blocks that sampled asks about before each collection").always_shown();

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("sampled", "the fewest live pages among those whose live pages RAM counts", |_| Box::new(Sampled))
        .params(&[BLOCKS, LOOKS])
        .samples(|values| SampleOf { blocks: values.number(&BLOCKS), looks: values.number(&LOOKS) });

/// The emptiest block that is counted. The sample is kept with the counters.
#[derive(Clone, Copy, Preserve)]
struct Sampled;

impl Victim for Sampled {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let examined = view.counters.sample().map_or(view.counters.keys().len() as u32, |sample| sample.looked_at());
        view.counters.least_by_scan().map(|block| Choice { block, examined })
    }
}
