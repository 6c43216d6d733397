//! A look at a drive that is being served.
//!
//! A look copies the state and leaves the lock. It is processed elsewhere.

use phelsuma_ftl::{BlockLook, Counter, GeckoLook};
use phelsuma_nand::FlashStats;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Whether a drive serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// It does.
    Serving,
    /// The last write was refused, for the flash is worn out; it can be read.
    ReadOnly,
    /// Its power was cut, and it mounts again.
    ComingUp,
    /// It does not answer any more.
    Off,
}

impl State {
    const ALL: [Self; 4] = [Self::Serving, Self::ReadOnly, Self::ComingUp, Self::Off];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::ReadOnly => "read-only",
            Self::ComingUp => "coming-up",
            Self::Off => "off",
        }
    }

    /// The names of all states.
    pub fn names() -> [&'static str; 4] {
        Self::ALL.map(Self::name)
    }
}

/// A state that is read without the drive's lock, and set under it.
pub(super) struct StateCell(AtomicU8);

impl StateCell {
    pub(super) fn new(state: State) -> Self {
        Self(AtomicU8::new(state as u8))
    }

    pub(super) fn get(&self) -> State {
        State::ALL[usize::from(self.0.load(Ordering::Relaxed)) % State::ALL.len()]
    }

    pub(super) fn set(&self, state: State) {
        self.0.store(state as u8, Ordering::Relaxed);
    }

    /// Something was written.
    pub(super) fn writable(&self) {
        if self.get() == State::ReadOnly {
            self.set(State::Serving);
        }
    }
}

/// Requests of clients since the drive is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Requests for zeroes.
    pub zeroes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Those of all kinds that failed; requests that were lost with the power are not among them.
    pub failed: u64,
    /// Bytes that were to be read.
    pub read_bytes: u64,
    /// Bytes that were to be written.
    pub written_bytes: u64,
    /// Bytes that were to be discarded.
    pub trimmed_bytes: u64,
    /// Bytes that were to be zeroes.
    pub zeroed_bytes: u64,
}

impl RequestCounts {
    pub(super) fn read(&mut self, bytes: u64) {
        (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes.saturating_add(bytes));
    }

    pub(super) fn write(&mut self, bytes: u64) {
        (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes.saturating_add(bytes));
    }

    pub(super) fn trim(&mut self, bytes: u64) {
        (self.trims, self.trimmed_bytes) = (self.trims + 1, self.trimmed_bytes.saturating_add(bytes));
    }

    pub(super) fn zero(&mut self, bytes: u64) {
        (self.zeroes, self.zeroed_bytes) = (self.zeroes + 1, self.zeroed_bytes.saturating_add(bytes));
    }
}

/// The visible state of a drive that is on.
#[derive(Default)]
pub(super) struct OfDrive {
    pub(super) flash: FlashStats,
    pub(super) counters: Vec<Counter>,
    pub(super) gecko: Option<GeckoLook>,
    pub(super) cache: Option<CacheLook>,
}

/// A volatile write cache at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLook {
    /// Bytes of data that it takes.
    pub size_bytes: u64,
    /// Bytes of pages that are newer in it than on flash.
    pub dirty_bytes: u64,
}

/// A drive at a moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    /// What it is and how it came up last, in one line.
    pub about: String,
    /// How long it had been served.
    pub since: Duration,
    /// Whether it serves.
    pub state: State,
    /// How often the power came on.
    pub power_ons: u64,
    /// Requests of clients.
    pub requests: RequestCounts,
    /// Requests that were not done, or whose simulated time had not come.
    pub in_progress: u32,
    /// Flash operations by purpose since the power came on; nothing of a drive that is off.
    pub flash: FlashStats,
    /// The FTL's counters.
    pub counters: Vec<Counter>,
    /// Its Logarithmic Gecko, if it has one.
    pub gecko: Option<GeckoLook>,
    /// Its write cache, if it has one.
    pub cache: Option<CacheLook>,
}

/// A block at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockSeen {
    /// The FTL's state of it.
    pub look: BlockLook,
    /// How often it was erased.
    pub erases: u32,
}

impl BlockSeen {
    /// Blocks that are looked at while the lock is held: some ten microseconds.
    pub const AT_ONCE: usize = 2048;
}
