//! Sampled: the block with the fewest live pages of those whose live pages RAM counts (GeckoFTL section 5.3: the
//! counters, BVC, are the bottleneck of RAM, "alleviated ... by only storing a sample of BVC").
//!
//! The paper does not say which blocks are in the sample. Here each slot of it keeps the emptiest of what it was offered
//! (`blocks/sample.rs`), and before each collection some blocks that are not in it are asked about, in turn
//! (`page_mapped/sampling.rs`). With as many slots as blocks this is greedy. While a recovery is at work all blocks are
//! counted.

use super::{Choice, Victim};
use crate::RamLedger;
use crate::blocks::{Counters, View};
use alloc::boxed::Box;
use phelsuma_nand::Block;

/// The emptiest block that is counted. The sample is kept with the counters.
#[derive(Clone)]
pub(crate) struct Sampled;

impl Victim for Sampled {
    fn closed(&mut self, _counters: &Counters, _block: Block) {}

    fn taken(&mut self, _counters: &Counters, _block: Block) {}

    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let examined = view.counters.sample().map_or(view.counters.keys().len() as u32, |sample| sample.looked_at());
        view.counters.least_by_scan().map(|block| Choice { block, examined })
    }

    fn ram(&self, _ledger: &mut RamLedger) {}

    fn copy(&self) -> Box<dyn Victim> {
        Box::new(self.clone())
    }
}
