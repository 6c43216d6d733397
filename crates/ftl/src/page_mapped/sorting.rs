//! Calling policies, and the look-ups that placement requests.
//!
//! Nothing that the drive promises rests on their answers. An impossible answer is replaced by a possible one, and
//! counted.

use super::collecting::Why;
use super::mapping::{Mapping, Place};
use super::move_buffer::Moving;
use super::parts::{PageConfig, PageMapped};
use crate::ftl::Hint;
use crate::medium::marks::SpareMarks;
use crate::policy::{Asks, Context, HostWrite, MovedPage, OldCopy, Source};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};

/// The needs of policies, remembered so that one without any costs nothing.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Sorting {
    pub(super) asks: Asks,
    /// Whether the victim part is called with each page that dies.
    pub(super) deaths: bool,
}

/// The context of a drive's policies. The request may be for an impossible drive: it has no more logical pages than
/// pages.
pub(super) fn context(geometry: &Geometry, config: &PageConfig) -> Context {
    Context {
        blocks: geometry.blocks(),
        pages_per_block: geometry.pages_per_block(),
        page_bytes: geometry.page_bytes(),
        dies: geometry.dies(),
        logical_pages: config.logical_pages.min(u32::try_from(geometry.pages()).unwrap_or(u32::MAX)),
        seed: config.seed,
        values: *config.composition.victim,
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
            self.blocks.read_first_page(nand, at);
        }
        let (stream, at) = if self.sorting.asks.pages { self.sort(nand, key, hint, at, fetched) } else { (0, at) };
        (self.stream_of_cache().unwrap_or(stream), at)
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
            && self.placement.reads_old(key)
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
        let old_life = old_spare.map_or(0, |spare| SpareMarks::of(&spare).life());
        let write = HostWrite { page: key, old, old_spare, old_life, hint };
        let stream = self.placement.host(&self.blocks.view(), &write);
        let stream = self.stream_that_is(stream);
        let stream = self.blocks.stream_with_room(stream);
        debug_assert!(!self.blocks.is_metadata(stream), "{key} goes to a stream of metadata");
        (stream, at)
    }

    /// The stream for a page that a collection moves, and why it moves.
    #[inline]
    pub(super) fn stream_for_moved(&mut self, page: &Moving, why: Why) -> u8 {
        match self.streams.cold {
            // Where next to nothing is free, no further block is opened.
            Some(cold) if (why == Why::Wear || self.blocks.is_cold(page.spare.version)) && !self.blocks.emergency() => {
                cold
            }
            _ => {
                let stream = self.blocks.stream_of(self.blocks.geometry().block_of(page.from));
                let stream = if self.streams.slc == Some(stream) { 0 } else { stream };
                let life = SpareMarks::of(&page.spare).life();
                let moved =
                    MovedPage { page: LogicalPage(page.spare.key), from: page.from, stream, spare: page.spare, life };
                let stream = self.placement.moved(&self.blocks.view(), &moved);
                let stream = self.stream_that_is(stream);
                if self.sorting.asks.pages { self.blocks.stream_with_room(stream) } else { stream }
            }
        }
    }

    /// Reports to placement where a page lies from now on, if it needs that.
    #[inline]
    pub(super) fn tell_place(&mut self, page: Page, source: Source) {
        if self.sorting.asks.places {
            self.placement.placed(&self.blocks.view(), page, source);
        }
    }

    /// The victim that the policy names, or the emptiest candidate where that is none. How many blocks were looked at.
    pub(super) fn choose_victim(&mut self) -> Option<(Block, u32)> {
        let choice = self.victim.choose(&self.blocks.view().with_notes(self.placement.notes()));
        let geometry = self.blocks.geometry();
        match choice {
            Some(choice) if choice.block.0 < geometry.blocks() && self.blocks.is_candidate(choice.block) => {
                Some((choice.block, choice.examined))
            }
            _ => {
                let emptiest = self.blocks.counters.least_by_scan()?;
                debug_assert!(self.blocks.is_candidate(emptiest), "{emptiest} is the emptiest and no candidate");
                self.tally.policy_answers_replaced += 1;
                Some((emptiest, geometry.blocks()))
            }
        }
    }
}

impl<M, V> PageMapped<M, V> {
    /// The stream for a copy that a recovery makes.
    pub(super) fn stream_for_recovered(&mut self) -> u8 {
        let stream = self.placement.recovered();
        self.stream_that_is(stream)
    }

    /// The stream, or the first where placement has none of this number.
    #[inline]
    fn stream_that_is(&mut self, stream: u8) -> u8 {
        if stream < self.streams.placement {
            return stream;
        }
        self.tally.policy_answers_replaced += 1;
        0
    }
}
