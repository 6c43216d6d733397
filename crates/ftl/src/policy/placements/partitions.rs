//! Logical partitions: the logical space in pieces of one size, each written to a block of its own (µ-FTL section 4.4).
//!
//! File systems have different places for data that are written often and for others, so a partition's data are alike.
//! A partition's block is opened when something is written to it. Pages that collection moves go to the same block.
//!
//! Simplified: a spare area has a byte for its stream, so there are no more than [`STREAMS_MAX`] partitions. On a drive
//! that would have more each is larger.

use crate::RamLedger;
use crate::blocks::View;
use crate::policy::{Asks, HostWrite, MovedPage, Placement, PlacementSpec, STREAMS_MAX, State};
use crate::spec::Param;
use alloc::boxed::Box;
use phelsuma_nand::LogicalPage;
use phelsuma_nand::state::Preserve;

/// The default is 256 MiB with pages of 4 KiB (µ-FTL section 4.4).
const PAGES: Param = Param::number(
    "partitions.pages",
    1,
    1 << 31,
    65_536,
    "logical pages of a partition; larger where there would be more than 240",
);

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "partitions",
    "partitions of the logical space, each to its own (µ-FTL)",
    |context| Partitions::new(context.logical_pages, context.number(&PAGES)).count,
    |context| Box::new(Partitions::new(context.logical_pages, context.number(&PAGES))),
)
.params(&[PAGES])
.asks(|_| Asks::NOTHING.pages())
.partition(|context| Partitions::new(context.logical_pages, context.number(&PAGES)).pages);

/// A stream for each partition.
#[derive(Clone, Preserve)]
pub(super) struct Partitions {
    pub(super) pages: u32,
    pub(super) count: u8,
}

impl Partitions {
    pub(super) fn new(logical_pages: u32, asked: u32) -> Self {
        let pages = asked.max(logical_pages.div_ceil(STREAMS_MAX.into())).max(1);
        debug_assert!(logical_pages.div_ceil(pages) <= STREAMS_MAX.into(), "there are more partitions than streams");
        Self { pages, count: logical_pages.div_ceil(pages).max(1) as u8 }
    }

    fn stream(&self, page: LogicalPage) -> u8 {
        debug_assert!(page.0 / self.pages < self.count.into(), "{page} is in no partition");
        ((page.0 / self.pages) as u8).min(self.count - 1)
    }
}

impl Placement for Partitions {
    fn host(&mut self, _view: &View<'_>, write: &HostWrite) -> u8 {
        self.stream(write.page)
    }

    fn moved(&mut self, _view: &View<'_>, page: &MovedPage) -> u8 {
        self.stream(page.page)
    }
}

impl State for Partitions {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.partitions", u64::from(self.count) * 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_has_a_stream_and_a_large_drive_has_larger_ones() {
        let of = |logical: u32, asked: u32| Partitions::new(logical, asked);
        let partitions = of(1000, 300);
        assert_eq!(partitions.count, 4);
        assert_eq!([0, 299, 300, 999].map(|page| partitions.stream(LogicalPage(page))), [0, 0, 1, 3]);
        assert_eq!((of(0, 5).count, of(7, 65_536).count), (1, 1));
        assert_eq!(of(1_000_000, 1).count, 240);
        assert_eq!(of(u32::MAX, 65_536).count, 240);
    }
}
