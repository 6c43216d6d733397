//! Flash operations, counted by purpose.

use crate::Purpose;
use crate::state::Preserve;
use core::ops::Sub;

/// How often each operation was done for one purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Preserve)]
pub struct OpCounts {
    /// Pages read, data and spare.
    pub reads: u64,
    /// Spare areas read alone.
    pub spare_reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl Sub for OpCounts {
    type Output = Self;
    fn sub(self, since: Self) -> Self {
        Self {
            reads: self.reads - since.reads,
            spare_reads: self.spare_reads - since.spare_reads,
            programs: self.programs - since.programs,
            erases: self.erases - since.erases,
        }
    }
}

/// The operations of a channel since the chip was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Preserve)]
pub struct ChannelStats {
    /// Pages read for the host.
    pub host_reads: u64,
    /// Pages that the host wrote, programmed here first.
    pub host_programs: u64,
    /// How long its dies were at work, transfers included, in nanoseconds; of all of them together.
    pub busy_ns: u64,
}

impl Sub for ChannelStats {
    type Output = Self;
    fn sub(self, since: Self) -> Self {
        Self {
            host_reads: self.host_reads - since.host_reads,
            host_programs: self.host_programs - since.host_programs,
            busy_ns: self.busy_ns - since.busy_ns,
        }
    }
}

/// Flash operations by purpose, since the chip was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Preserve)]
pub struct FlashStats {
    counts: [OpCounts; Purpose::COUNT],
}

impl FlashStats {
    /// The counts of one purpose.
    #[inline]
    pub fn of(&self, purpose: Purpose) -> OpCounts {
        self.counts[purpose as usize]
    }

    /// The counts of one purpose, for a driver that keeps them.
    #[inline]
    pub fn of_mut(&mut self, purpose: Purpose) -> &mut OpCounts {
        &mut self.counts[purpose as usize]
    }

    /// Every purpose with its counts, in the order of [`Purpose::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Purpose, OpCounts)> + '_ {
        Purpose::ALL.iter().map(|p| (*p, self.of(*p)))
    }

    /// The sum over all purposes.
    pub fn total(&self) -> OpCounts {
        self.counts.iter().fold(OpCounts::default(), |a, b| OpCounts {
            reads: a.reads + b.reads,
            spare_reads: a.spare_reads + b.spare_reads,
            programs: a.programs + b.programs,
            erases: a.erases + b.erases,
        })
    }

    /// The operations since `earlier` was taken.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut counts = self.counts;
        for (now, then) in counts.iter_mut().zip(&earlier.counts) {
            *now = *now - *then;
        }
        Self { counts }
    }
}
