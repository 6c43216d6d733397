//! Logical partitions: the logical space in pieces of one size, each written to a block of its own (µ-FTL section 4.4).
//!
//! File systems have different places for what is written often and what is not, so a partition's data are alike. A
//! partition's block is opened when something is written to it. What collection moves goes to the same block.
//!
//! Simplified: a spare area says its stream in a byte, so there are no more than
//! [`PARTITIONS_MAX`](crate::PARTITIONS_MAX) partitions, and on a drive that would have more each is larger.

use super::{Asks, HostWrite, MovedPage, Placement};
use crate::RamLedger;
use crate::blocks::View;
use crate::config::PARTITIONS_MAX;
use alloc::boxed::Box;
use phelsuma_nand::LogicalPage;

/// A stream for each partition.
#[derive(Clone)]
pub(crate) struct Partitions {
    pages: u32,
    count: u8,
}

/// Logical pages of a partition, where so many are asked for.
pub(crate) fn partition_pages(logical_pages: u32, asked: u32) -> u32 {
    asked.max(logical_pages.div_ceil(PARTITIONS_MAX)).max(1)
}

impl Partitions {
    pub(crate) fn new(logical_pages: u32, asked: u32) -> Self {
        let pages = partition_pages(logical_pages, asked);
        // No more than PARTITIONS_MAX.
        Self { pages, count: logical_pages.div_ceil(pages).max(1) as u8 }
    }

    fn stream(&self, page: LogicalPage) -> u8 {
        ((page.0 / self.pages) as u8).min(self.count - 1)
    }
}

impl Placement for Partitions {
    fn streams(&self) -> u8 {
        self.count
    }

    fn asks(&self) -> Asks {
        Asks { pages: true, ..Asks::default() }
    }

    fn host(&mut self, _view: &View<'_>, write: &HostWrite) -> u8 {
        self.stream(write.page)
    }

    fn moved(&mut self, _view: &View<'_>, page: &MovedPage) -> u8 {
        self.stream(page.page)
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("placement.partitions", u64::from(self.count) * 4);
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_partition_has_a_stream_and_a_large_drive_has_larger_ones() {
        let of = |logical: u32, asked: u32| Partitions::new(logical, asked);
        let partitions = of(1000, 300);
        assert_eq!(partitions.streams(), 4);
        assert_eq!([0, 299, 300, 999].map(|page| partitions.stream(LogicalPage(page))), [0, 0, 1, 3]);
        assert_eq!((of(0, 5).streams(), of(7, 65_536).streams()), (1, 1));
        assert_eq!(of(1_000_000, 1).streams(), 240);
        assert_eq!(of(u32::MAX, 65_536).streams(), 240);
    }
}
