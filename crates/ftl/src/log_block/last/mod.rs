//! LAST++: locality-aware sector translation over the channels of a drive (LAST++ section 4).
//!
//! - **LogicalLayout** (4.1): logical pages are dealt to the channels in a zigzag. A logical block of each channel
//!   together make a segment ([`layout`](super::layout)).
//! - **Sequentiality detector** (4.2): a request of so many pages or more is sequential ([`Last::is_sequential`]).
//! - **Sequential log blocks** (4.3, algorithm 1): one for each logical block of a few segments, in place. The segment
//!   that was allocated least recently is merged, on all channels together ([`segments`]). Pages that a request skips
//!   there are left out, or copied ([`skipped`]).
//! - **Random log blocks** (4.4, algorithm 2): the next page goes to the channel that was written least recently. Those
//!   of the hot partition take pages that were overwritten often, those of the cold one all others. The merge-cost
//!   table determines which one is merged ([`replacement`], figure 11).
//! - **Background merges** (4.5) of log blocks of the cold partition ([`background`]).
//! - **Summary pages** (4.7): a random log block's last page describes the others ([`summary`]).
//!
//! docs/design/last.md says what was decided where the paper is silent, contradicts itself, or would lose data.

mod background;
mod counts;
mod merge_cost;
mod merges;
mod page_table;
mod replacement;
mod room;
mod segments;
mod skipped;
mod state;
mod summary;
mod tables;
mod writes;

use super::ground::Ground;
use super::layout::LogicalLayout;
use super::log_state::NOBODY;
use super::log_state::NONE;
use super::pool::Role;
use super::recovery::{FoundLogBlock, ReadLogBlock};
use super::scheme::{PartOf, Scheme};
use super::shape::HybridSizes;
use crate::barriers::Barriers;
use crate::config::LastParts;
use crate::ftl::Step;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Content, Geometry, Nand, Time};
use summary::Summaries;
use tables::{TableSizes, Tables};

pub(super) use state::Last;

impl Scheme for Last {
    type Parts = LastParts;
    type Index = Tables;

    const SNAPSHOT: bool = true;
    const TAKES_UP_BY_PAGES: bool = true;

    fn layout(geometry: &Geometry) -> LogicalLayout {
        LogicalLayout::segments(geometry)
    }

    fn new(parts: &LastParts, geometry: &Geometry, sizes: &HybridSizes) -> Self {
        Self::empty(parts, geometry, sizes)
    }

    fn index(parts: &LastParts, geometry: &Geometry, sizes: &HybridSizes, barriers: Barriers) -> Tables {
        Tables::new(geometry, sizes.layout, TableSizes::of(parts, geometry, sizes), barriers)
    }

    /// Writes a page of a request.
    fn write<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        key: u32,
        part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let mut at = at;
        if self.is_sequential(part.pages) {
            match self.write_sequential(ground, nand, key, part, content, at)? {
                (Some(done), _) => return Ok(done),
                (None, ready) => at = ready,
            }
            self.counts.sequential_refused += 1;
        }
        self.write_random(ground, nand, key, content, at)
    }

    fn log_reader(&self) -> impl ReadLogBlock {
        Summaries { are_written: self.has_summary }
    }

    /// A sequential one for which the table of segments has no room, or no room any more, is a random one of the cold
    /// partition.
    fn taken_up(ground: &Ground<Tables>, found: &FoundLogBlock<'_>) -> (Role, u32) {
        match found.label {
            Some(Role::Hot) => (Role::Hot, NOBODY),
            Some(Role::Sequential) => match found.in_place(&ground.layout) {
                Some(owner) if ground.log.index.segments.can_open(owner) => (Role::Sequential, owner),
                _ => (Role::Log, NOBODY),
            },
            _ => (Role::Log, NOBODY),
        }
    }

    /// Takes over the random log blocks that a recovery has found; sequential ones are in the table already.
    fn recovered<N: Nand>(&mut self, ground: &mut Ground<Tables>, _nand: &mut N, at: Time) -> Result<Time, FtlError> {
        let slots: Vec<u32> = ground.log.slots().collect();
        for slot in slots {
            let state = ground.log.get(slot);
            let (role, block) = (state.role, state.block);
            if role != Role::Sequential {
                self.opened(slot, ground.geometry.channel_of(ground.geometry.die_of(block)), role);
                self.offer(ground, slot);
            }
        }
        Ok(at)
    }

    /// The drive is closed: nothing more is written to any log block.
    fn close(&mut self, ground: &mut Ground<Tables>) {
        let slots: Vec<u32> = ground.log.slots().collect();
        for slot in slots {
            let was_open = ground.log.get(slot).role != Role::Sequential && self.can_be_written(ground, slot);
            ground.log.get_mut(slot).closed = true;
            if was_open {
                self.offer(ground, slot);
            }
        }
        self.open.iter_mut().for_each(|open| open.slot = NONE);
    }

    /// Whether it has exactly the log blocks that there are.
    fn knows(&self, ground: &Ground<Tables>) -> bool {
        let roles = || ground.log.slots().map(|slot| ground.log.get(slot).role);
        let random = roles().filter(|role| *role != Role::Sequential).count();
        let hot = roles().filter(|role| *role == Role::Hot).count();
        let is_known = |slot: u32| {
            let (state, tables) = (ground.log.get(slot), &ground.log.index);
            if state.role == Role::Sequential {
                return tables.segments.slot(state.owner) == Some(slot);
            }
            let group = self.group(state.role, self.opened_for[slot as usize]);
            tables.costs.offers(slot, group, state.first_seq) != self.can_be_written(ground, slot)
        };
        self.random.iter().sum::<u32>() as usize == random
            && self.hot as usize == hot
            && ground.log.slots().all(is_known)
    }

    fn ram(&self, ledger: &mut RamLedger) {
        self.put_ram(ledger);
    }

    #[inline]
    fn served(&mut self, done: Time, changed: bool) {
        self.note_request(done, changed);
    }

    fn due(&self) -> Option<Time> {
        self.background_is_due()
    }

    fn background_step<N: Nand>(
        &mut self,
        ground: &mut Ground<Tables>,
        nand: &mut N,
        at: Time,
    ) -> Result<Step, FtlError> {
        self.merge_in_background(ground, nand, at)
    }

    fn counters(&self, ground: &Ground<Tables>, counters: &mut Vec<Counter>) {
        self.push_counters(ground, counters);
    }
}
