//! LAST++: locality-aware sector translation over the channels of a drive (LAST++ section 4).
//!
//! - **Layout** (4.1): logical pages are dealt to the channels in a zigzag; a logical block of each channel is a segment
//!   ([`layout`](super::layout)).
//! - **Sequentiality detector** (4.2): a request of so many pages or more is sequential ([`Last::is_sequential`]).
//! - **Sequential log blocks** (4.3, algorithm 1): one for each logical block of a few segments, in place. The segment that
//!   was allocated least recently is merged, on all channels together ([`segments`]).
//!   Pages that a request skips there are left out, or copied ([`skipped`]).
//! - **Random log blocks** (4.4, algorithm 2): the next page goes to the channel that was written least recently. Those of
//!   the hot partition take pages that were overwritten often, those of the cold one all others; which one is merged says
//!   the merge-cost table ([`replacement`], figure 11).
//! - **Background merges** (4.5) of log blocks of the cold partition ([`background`]).
//! - **Summary pages** (4.7): a random log block's last page says what the others are ([`summary`]).
//!
//! ARCHITECTURE.md says what was decided where the paper is silent, contradicts itself, or would lose data.

mod background;
mod counts;
mod merge_cost;
mod merges;
mod page_table;
mod replacement;
mod segments;
mod skipped;
pub(super) mod summary;
mod tables;

use super::ground::Ground;
use super::log::NONE;
use super::order::Order;
use super::pool::Role;
use super::scheme::PartOf;
use super::shape::Sizes;
use crate::config::LastParts;
use crate::{FtlError, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use counts::Counts;
use page_table::UPDATES_MAX;
use phelsuma_nand::{Content, Geometry, Nand, Time};

pub(super) use tables::{TableSizes, Tables};

/// A random log block that is being written.
#[derive(Clone, Debug)]
struct Open {
    /// [`NONE`] where there is none.
    slot: u32,
    /// By page: the version of what was written there, for the summary.
    versions: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Last {
    parts: LastParts,
    channels: u32,
    /// Pages of a random log block that take the host's.
    pages_per_log_block: u32,
    /// Whether the page behind those holds a summary.
    has_summary: bool,
    /// Random log blocks at the most, of all channels.
    random_most: u32,
    /// By channel: random log blocks at the most, and how many there are.
    quota: Vec<u32>,
    random: Vec<u32>,
    /// Those of them that are in the hot partition, of all channels.
    hot: u32,
    /// By slot: the channel for which it was opened. Its block may be of another one, where that had none free.
    home: Vec<u32>,
    /// By partition and channel.
    open: Vec<Open>,
    /// The channels, the one written least recently first.
    written: Order,
    /// By channel: pages that the host wrote there.
    pages_on: Vec<u64>,
    counts: Counts,
    /// When the last request was answered.
    idle_since: Time,
    /// Since the last write it is known that there is nothing to merge in the background.
    has_looked: bool,
}

impl Last {
    pub(super) fn new(parts: &LastParts, geometry: &Geometry, sizes: &Sizes) -> Self {
        let channels = geometry.channels();
        let random_most = sizes.last.map_or(0, |last| last.random);
        let mut written = Order::default();
        (0..channels).for_each(|channel| written.touch(channel));
        let pages = geometry.pages_per_block();
        let nothing = || Open { slot: NONE, versions: Vec::with_capacity(pages as usize) };
        Self {
            parts: *parts,
            channels,
            pages_per_log_block: if sizes.summaries { pages - 1 } else { pages },
            has_summary: sizes.summaries,
            random_most,
            quota: (0..channels).map(|c| random_most / channels + u32::from(c < random_most % channels)).collect(),
            random: vec![0; channels as usize],
            hot: 0,
            home: Vec::new(),
            open: (0..2 * channels).map(|_| nothing()).collect(),
            written,
            pages_on: vec![0; channels as usize],
            counts: Counts::default(),
            idle_since: Time::ZERO,
            has_looked: true,
        }
    }

    /// Whether a request of so many pages is taken for a part of a sequential stream (section 4.2). Figure 6 has requests as
    /// long as the threshold among them.
    fn is_sequential(&self, pages: u32) -> bool {
        pages >= self.parts.threshold
    }

    /// Writes a page of a request.
    pub(super) fn write<N: Nand>(
        &mut self,
        ground: &mut Ground,
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

    /// Algorithm 1: a page goes to its place in its logical block's sequential log block, if that is not written so far
    /// yet. When it is safe; or none, and from when on it can be written elsewhere.
    fn write_sequential<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        key: u32,
        part: PartOf,
        content: Content<'_>,
        at: Time,
    ) -> Result<(Option<Time>, Time), FtlError> {
        let (logical_block, offset) = ground.split(key);
        let mut at = at;
        let known = ground.log.last().and_then(|tables| tables.segments.slot(logical_block));
        let slot = match known {
            Some(slot) => slot,
            None => {
                at = self.room_for_sequential(ground, nand, logical_block, at)?;
                let channel = Some(logical_block % self.channels);
                let (slot, ready) = ground.open_log_block_as(nand, logical_block, Role::Sequential, channel, at)?;
                at = ready;
                slot
            }
        };
        let state = ground.log.get(slot);
        let (block, next) = (state.block, state.next);
        if state.closed || offset < next {
            return Ok((None, at));
        }
        self.counts.sequential_begun_behind += u64::from(next == 0 && offset > 0);
        if self.parts.copies_skipped {
            if offset > next {
                self.copy_skipped(ground, nand, key, part, at)?;
            }
            if ground.log.get(slot).closed {
                return Ok((None, at));
            }
        } else if next == 0 && offset > 0 {
            // A block's first page is never left out: a recovery knows the block by it.
            let first = ground.layout.key(logical_block, 0);
            let written = ground.write_zeros(nand, block, first, Role::Sequential, at)?;
            let state = ground.log.get_mut(slot);
            (state.next, state.in_place) = (1, false);
            if written.is_none() {
                state.closed = true;
                return Ok((None, at));
            }
        }
        let done = ground.append(nand, slot, offset, key, content, at)?;
        if done.is_some() {
            self.counts.sequential_pages += 1;
            self.touch(logical_block % self.channels);
        }
        Ok((done, at))
    }

    /// Algorithm 2: a page goes to the next place in a random log block of the channel that was written least recently.
    fn write_random<N: Nand>(
        &mut self,
        ground: &mut Ground,
        nand: &mut N,
        key: u32,
        content: Content<'_>,
        at: Time,
    ) -> Result<Time, FtlError> {
        let channel = self.written.oldest().unwrap_or(0);
        let mut at = at;
        // Each round that fails retires a block, or finds that the merge before has evicted the page.
        loop {
            let role = self.partition_of(ground, key);
            let open = self.group(role, channel) as usize;
            if !self.can_be_written(ground, self.open[open].slot) {
                self.open[open].slot = NONE;
                at = self.make_room(ground, nand, channel, role, at)?;
                if self.partition_of(ground, key) != role {
                    // A merge has evicted the page: it begins in the cold partition again.
                    continue;
                }
                let (slot, ready) = ground.open_log_block_as(nand, super::ground::NOBODY, role, Some(channel), at)?;
                at = ready;
                self.opened(slot, channel, role);
                self.open[open] = Open { slot, versions: core::mem::take(&mut self.open[open].versions) };
                self.open[open].versions.clear();
            }
            let slot = self.open[open].slot;
            let next = ground.log.get(slot).next;
            let done = ground.append(nand, slot, next, key, content, at)?;
            // A page that failed has a place in the summary as well.
            self.open[open].versions.push(ground.pool.clock.version());
            if !self.can_be_written(ground, slot) {
                self.offer(ground, slot);
            }
            let Some(done) = done else { continue };
            match role {
                Role::Hot => self.counts.hot_pages += 1,
                _ => self.counts.cold_pages += 1,
            }
            self.touch(channel);
            if self.parts.copies_skipped {
                let (logical_block, offset) = ground.split(key);
                ground.outdate_copies(logical_block, offset);
            }
            if self.has_summary && next + 1 == self.pages_per_log_block {
                ground.write_summary(nand, slot, &self.open[open].versions, at)?;
                self.counts.summary_pages += 1;
            }
            return Ok(done);
        }
    }

    /// A page has been written to a channel.
    #[inline]
    fn touch(&mut self, channel: u32) {
        self.written.touch(channel);
        self.pages_on[channel as usize] += 1;
    }

    /// The partition that a page goes to (section 4.4.1): the hot one if it is there already, or if it was overwritten in
    /// the cold one as often as the update counter can say. The update that finds the counter full is the fourth.
    fn partition_of(&self, ground: &Ground, key: u32) -> Role {
        if !self.parts.partitions {
            return Role::Log;
        }
        let found = ground.log.last().and_then(|tables| tables.pages.find(key));
        let Some((page, updates)) = found else { return Role::Log };
        let slot = ground.log.slot_of(ground.geometry.block_of(page));
        let is_in_hot = slot.is_some_and(|slot| ground.log.get(slot).role == Role::Hot);
        if is_in_hot || updates == UPDATES_MAX { Role::Hot } else { Role::Log }
    }

    /// The random log blocks of a partition and channel: one of them is open, and one is merged for another.
    fn group(&self, role: Role, channel: u32) -> u32 {
        u32::from(role == Role::Hot) * self.channels + channel
    }

    /// Nothing more is written to a random log block.
    fn offer(&self, ground: &mut Ground, slot: u32) {
        let state = ground.log.get(slot);
        let (group, first_seq) = (self.group(state.role, self.home[slot as usize]), state.first_seq);
        if let Some(tables) = ground.log.last_mut() {
            tables.costs.offer(slot, group, first_seq);
        }
    }

    /// Whether a random log block takes more pages.
    fn can_be_written(&self, ground: &Ground, slot: u32) -> bool {
        slot != NONE && !ground.log.get(slot).closed && ground.log.get(slot).next < self.pages_per_log_block
    }

    /// A log block is a channel's random one.
    fn opened(&mut self, slot: u32, channel: u32, role: Role) {
        if self.home.len() <= slot as usize {
            self.home.resize(slot as usize + 1, 0);
        }
        self.home[slot as usize] = channel;
        self.random[channel as usize] += 1;
        self.hot += u32::from(role == Role::Hot);
    }

    /// Takes over the random log blocks that a recovery has found; of sequential ones the table knows.
    pub(super) fn recovered(&mut self, ground: &mut Ground) {
        let slots: Vec<u32> = ground.log.slots().collect();
        for slot in slots {
            let state = ground.log.get(slot);
            let (role, block) = (state.role, state.block);
            if role != Role::Sequential {
                self.opened(slot, ground.geometry.channel_of(ground.geometry.die_of(block)), role);
                self.offer(ground, slot);
            }
        }
    }

    /// The drive is closed: nothing more is written to any log block.
    pub(super) fn close(&mut self, ground: &mut Ground) {
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

    /// Whether it knows of exactly the log blocks that there are.
    pub(super) fn knows(&self, ground: &Ground) -> bool {
        let roles = || ground.log.slots().map(|slot| ground.log.get(slot).role);
        let random = roles().filter(|role| *role != Role::Sequential).count();
        let hot = roles().filter(|role| *role == Role::Hot).count();
        let is_known = |slot: u32| {
            let (state, Some(tables)) = (ground.log.get(slot), ground.log.last()) else { return false };
            if state.role == Role::Sequential {
                return tables.segments.slot(state.owner) == Some(slot);
            }
            let group = self.group(state.role, self.home[slot as usize]);
            tables.costs.offers(slot, group, state.first_seq) != self.can_be_written(ground, slot)
        };
        self.random.iter().sum::<u32>() as usize == random
            && self.hot as usize == hot
            && ground.log.slots().all(is_known)
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("last.open", self.open.len() as u64 * 4);
        ledger.structure("last.channels", u64::from(self.channels) * 8);
        let versions: usize = self.open.iter().map(|open| open.versions.capacity() * 8).sum();
        ledger.index("buffer.summary", versions as u64);
        let open = self.open.capacity() * size_of::<Open>() + self.home.capacity() * 4;
        let channels = (self.quota.capacity() + self.random.capacity()) * 4
            + self.pages_on.capacity() * 8
            + self.written.bytes() as usize;
        ledger.index("index.last_open", (open + channels) as u64);
    }
}
