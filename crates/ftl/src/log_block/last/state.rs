//! The state of LAST++ besides its tables: the open random log blocks, and the numbers of log blocks of each kind.

use super::counts::LastCounts;
use super::summary;
use super::tables::{TableSizes, Tables};
use crate::config::{LastParts, Switch};
use crate::log_block::ground::Ground;
use crate::log_block::log_state::NONE;
use crate::log_block::order::Order;
use crate::log_block::pool::Role;
use crate::log_block::shape::HybridSizes;
use crate::{Counter, RamLedger};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, Time};

/// A random log block that is being written.
#[derive(Clone, Debug, Preserve)]
pub(super) struct OpenLogBlock {
    /// [`NONE`] where there is none.
    pub(super) slot: u32,
    /// By page: the version of its data, for the summary.
    pub(super) versions: Vec<u64>,
}

/// A random log block that is being merged in the background, step by step.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Begun {
    pub(super) slot: u32,
    /// Logical blocks that had live pages in it and are merged.
    pub(super) merged: u32,
}

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct Last {
    pub(super) parts: LastParts,
    pub(super) channels: u32,
    /// Pages of a random log block that take the host's.
    pub(super) pages_per_log_block: u32,
    /// Whether the page behind those holds a summary.
    pub(super) has_summary: bool,
    /// Random log blocks at the most, of all channels.
    pub(super) random_most: u32,
    /// By channel: random log blocks at the most, and how many there are.
    pub(super) quota: Vec<u32>,
    pub(super) random: Vec<u32>,
    /// Those of them that are in the hot partition, of all channels.
    pub(super) hot: u32,
    /// By slot: the channel that it was opened for. Its block may be of another one, where that had none free.
    pub(super) opened_for: Vec<u32>,
    /// By partition and channel.
    pub(super) open: Vec<OpenLogBlock>,
    /// The channels, the one written least recently first.
    pub(super) written: Order,
    /// By channel: pages that the host wrote there.
    pub(super) pages_on: Vec<u64>,
    pub(super) counts: LastCounts,
    /// When the last request was answered.
    pub(super) idle_since: Time,
    /// Since the last write it is known that there is nothing to merge in the background.
    pub(super) has_looked: bool,
    /// What idle time has begun to merge and not come to the end of.
    pub(super) begun: Option<Begun>,
}

impl Last {
    /// With nothing in any log block.
    pub(super) fn empty(parts: &LastParts, geometry: &Geometry, sizes: &HybridSizes) -> Self {
        let channels = geometry.channels();
        let random_most = TableSizes::of(parts, geometry, sizes).random;
        let has_summary = parts.summary == Switch::On && summary::fits(geometry);
        let mut written = Order::default();
        (0..channels).for_each(|channel| written.touch(channel));
        let pages = geometry.pages_per_block();
        let nothing = || OpenLogBlock { slot: NONE, versions: Vec::with_capacity(pages as usize) };
        Self {
            parts: *parts,
            channels,
            pages_per_log_block: if has_summary { pages - 1 } else { pages },
            has_summary,
            random_most,
            quota: (0..channels).map(|c| random_most / channels + u32::from(c < random_most % channels)).collect(),
            random: vec![0; channels as usize],
            hot: 0,
            opened_for: Vec::new(),
            open: (0..2 * channels).map(|_| nothing()).collect(),
            written,
            pages_on: vec![0; channels as usize],
            counts: LastCounts::default(),
            idle_since: Time::ZERO,
            has_looked: true,
            begun: None,
        }
    }

    /// Whether a request of so many pages is taken for a part of a sequential stream (section 4.2). Figure 6 has
    /// requests as long as the threshold among them.
    pub(super) fn is_sequential(&self, pages: u32) -> bool {
        pages >= self.parts.threshold
    }

    /// The random log blocks of a partition and channel: one of them is open, and one is merged for another.
    pub(super) fn group(&self, role: Role, channel: u32) -> u32 {
        u32::from(role == Role::Hot) * self.channels + channel
    }

    /// Nothing more is written to a random log block.
    pub(super) fn offer(&self, ground: &mut Ground<Tables>, slot: u32) {
        debug_assert!(!self.can_be_written(ground, slot), "slot {slot} may be merged while it is written");
        let state = ground.log.get(slot);
        let (group, first_seq) = (self.group(state.role, self.opened_for[slot as usize]), state.first_seq);
        ground.log.index.costs.offer(slot, group, first_seq);
    }

    /// Whether a random log block takes more pages.
    pub(super) fn can_be_written(&self, ground: &Ground<Tables>, slot: u32) -> bool {
        slot != NONE && !ground.log.get(slot).closed && ground.log.get(slot).next < self.pages_per_log_block
    }

    /// A log block is a channel's random one.
    pub(super) fn opened(&mut self, slot: u32, channel: u32, role: Role) {
        if self.opened_for.len() <= slot as usize {
            self.opened_for.resize(slot as usize + 1, 0);
        }
        self.opened_for[slot as usize] = channel;
        self.random[channel as usize] += 1;
        self.hot += u32::from(role == Role::Hot);
        debug_assert!(self.hot <= self.random.iter().sum(), "more random log blocks are hot than there are");
    }

    pub(super) fn put_ram(&self, ledger: &mut RamLedger) {
        ledger.structure("last.open", self.open.len() as u64 * 4);
        ledger.structure("last.channels", u64::from(self.channels) * 8);
        let versions: usize = self.open.iter().map(|open| open.versions.capacity() * 8).sum();
        ledger.index("buffer.summary", versions as u64);
        let open = self.open.capacity() * size_of::<OpenLogBlock>() + self.opened_for.capacity() * 4;
        let channels = (self.quota.capacity() + self.random.capacity()) * 4
            + self.pages_on.capacity() * 8
            + self.written.bytes() as usize;
        ledger.index("index.last_open", (open + channels) as u64);
    }

    pub(super) fn push_counters(&self, ground: &Ground<Tables>, counters: &mut Vec<Counter>) {
        self.counts.push(counters);
        let (lookups, probes) = ground.log.index.pages.lookups_and_probes();
        counters.push(Counter::sum("last_page_lookups", lookups));
        counters.push(Counter::sum("last_page_probes", probes));
        let (lookups, probes) = ground.log.index.segments.lookups_and_probes();
        counters.push(Counter::sum("last_segment_lookups", lookups));
        counters.push(Counter::sum("last_segment_probes", probes));
        let pages = || self.pages_on.iter().copied();
        counters.push(Counter::level("last_channel_pages_least", pages().min().unwrap_or(0)));
        counters.push(Counter::level("last_channel_pages_most", pages().max().unwrap_or(0)));
        counters.push(Counter::level("last_random_log_blocks", u64::from(self.random.iter().sum::<u32>())));
        counters.push(Counter::level("last_hot_log_blocks", u64::from(self.hot)));
    }
}
