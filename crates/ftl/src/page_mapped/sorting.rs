//! Asking placement for a stream, and looking up what it asks for.

use super::collect::Why;
use super::mapping::{Mapping, Place};
use super::move_buffer::Moving;
use super::parts::PageMapped;
use super::placement::{
    Asks, Dac, DualGreedy, HostGc, HostWrite, Midas, MovedPage, OldCopy, OneStream, Oracle, Partitions, Placement,
    SepBit, StaticQuota,
};
use crate::config::{PlacementPart, UnknownOld};
use crate::ftl::Hint;
use alloc::boxed::Box;
use phelsuma_nand::{LogicalPage, Nand, Op, Purpose, SpareRead, Time};

/// What placement asks for, remembered so that those that ask for nothing cost nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sorting {
    asks: Asks,
}

impl Sorting {
    pub(super) fn of(asks: Asks) -> Self {
        Self { asks }
    }
}

/// The placement part of an FTL of so many logical pages: some keep a table of these.
pub(super) fn placement_of(part: PlacementPart, logical_pages: u32) -> Box<dyn Placement> {
    match part {
        PlacementPart::OneStream => Box::new(OneStream),
        PlacementPart::HostGc => Box::new(HostGc),
        PlacementPart::DualGreedy { unknown, detect_random } => {
            Box::new(DualGreedy::new(unknown == UnknownOld::Fetch, detect_random.then_some(logical_pages)))
        }
        PlacementPart::Dac { unknown, regions, thresholds, page_times } => {
            let fetches = unknown == UnknownOld::Fetch;
            Box::new(Dac::new(regions, &thresholds, page_times, fetches, logical_pages))
        }
        PlacementPart::SepBit { unknown, page_times } => {
            Box::new(SepBit::new(page_times, unknown == UnknownOld::Fetch, logical_pages))
        }
        PlacementPart::Midas { groups, epoch } => Box::new(Midas::new(groups, epoch, logical_pages)),
        PlacementPart::Partitions { pages } => Box::new(Partitions::new(logical_pages, pages)),
        PlacementPart::StaticQuota { classes } => Box::new(StaticQuota::new(classes)),
        PlacementPart::Oracle { windows, reach, spread } => {
            Box::new(Oracle::new(windows, reach, spread, logical_pages))
        }
    }
}

impl PageMapped {
    /// The stream for a page that the host writes, and when it is known, where that takes until `fetched` or longer.
    #[inline]
    pub(super) fn stream_for_host<N: Nand>(
        &mut self,
        nand: &mut N,
        key: LogicalPage,
        hint: Hint,
        at: Time,
        fetched: Time,
    ) -> (u8, Time) {
        if self.blocks.notes.any() {
            self.blocks.tick();
        }
        if self.sorting.asks.pages { self.sort(nand, key, hint, at, fetched) } else { (0, at) }
    }

    #[inline(never)]
    fn sort<N: Nand>(&mut self, nand: &mut N, key: LogicalPage, hint: Hint, mut at: Time, fetched: Time) -> (u8, Time) {
        let asks = self.sorting.asks;
        if asks.fetches {
            at = at.max(fetched);
        }
        let place = self.mapping.known(key);
        let mut old_spare = None;
        if asks.old_spares
            && let Some(Place::At(page)) = place
        {
            let (read, done) = nand.read_spare(page, Op::new(at, Purpose::Placement));
            at = at.max(done);
            if let SpareRead::Written(spare) = read {
                old_spare = (spare.key == key.0).then_some(spare);
            }
        }
        let old = match place {
            Some(Place::At(page)) => OldCopy::Known(self.blocks.geometry().block_of(page)),
            Some(Place::Nowhere | Place::Trimmed | Place::Lost) => OldCopy::None,
            None => OldCopy::Unknown,
        };
        let write = HostWrite { page: key, old, old_spare, hint };
        let stream = self.placement.host(&self.blocks.view(), &write);
        self.blocks.written_to(stream);
        (self.blocks.stream_with_room(stream), at)
    }

    /// The stream for a page that is moved out of a block that was written by `from`.
    #[inline]
    pub(super) fn stream_for_moved(&mut self, page: &Moving, why: Why) -> u8 {
        match self.streams.cold {
            // Where next to nothing is free, no further block is opened.
            Some(cold) if (why == Why::Wear || self.blocks.is_cold(page.spare.version)) && !self.blocks.emergency() => {
                cold
            }
            _ => {
                let from = self.blocks.geometry().block_of(page.from);
                let key = LogicalPage(page.spare.key);
                let (stream, left) = (self.blocks.stream_of(from), self.blocks.left_of(page.from));
                let moved = MovedPage { page: key, from, stream, spare: page.spare, left };
                let stream = self.placement.moved(&self.blocks.view(), &moved);
                if self.sorting.asks.pages { self.blocks.stream_with_room(stream) } else { stream }
            }
        }
    }
}
