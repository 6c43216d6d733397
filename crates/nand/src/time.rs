//! Simulated time and how long a chip's operations take.

use crate::state::Preserve;
use core::fmt;
use core::ops::Add;

/// A moment in simulated time, in nanoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// The moment in microseconds.
    pub fn micros(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Add<u64> for Time {
    type Output = Self;
    /// The moment `nanos` nanoseconds later; the end of time stays the end of time.
    #[inline]
    fn add(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} µs", self.micros())
    }
}

/// How long a chip takes, in nanoseconds. The die is busy for the array time, the channel for the transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub struct Timing {
    /// Sensing a page, data and spare.
    pub read_ns: u64,
    /// Sensing a spare area alone.
    pub read_spare_ns: u64,
    /// Programming a unit.
    pub program_ns: u64,
    /// Erasing a block.
    pub erase_ns: u64,
    /// Moving one page over the channel.
    pub transfer_ns: u64,
    /// Moving one spare area over the channel.
    pub transfer_spare_ns: u64,
    /// Pages of a block that one operation programs: those of several planes, and of one-shot cells. At least 1.
    ///
    /// Above 1 the controller collects them in a buffer that a power cut does not empty. So a page is safe when it is
    /// in the buffer, and the die is busy once a unit.
    pub unit_pages: u32,
    /// Pages that one sensing brings to a die's register, from which its next reads take them. A divisor of a unit.
    pub sense_pages: u32,
    /// Planes of a die that sense side by side, each what [`sense_pages`](Self::sense_pages) says. At least 1.
    pub planes: u32,
    /// By how much a sensing is longer or shorter than [`read_ns`](Self::read_ns), in turns over the block: the types of
    /// pages of cells with several bits.
    pub sense_differences_ns: [i32; 4],
    /// How many of these there are: 1 to 4.
    pub page_types: u32,
    /// Whether a unit moves over the channel while the one before it is being programmed (cache program).
    pub cache_program: bool,
    /// Sensing a page of a block in one-bit mode; as [`read_ns`](Self::read_ns) says where it is 0.
    pub slc_read_ns: u64,
    /// Programming a unit of a block in one-bit mode; as [`program_ns`](Self::program_ns) says where it is 0.
    pub slc_program_ns: u64,
    /// Pages of that unit. At least 1.
    pub slc_unit_pages: u32,
    /// What it takes to suspend a program or an erase for a read, and to resume it. 0: a read waits.
    pub suspend_ns: u64,
}

/// The presets: name, description with source, times.
pub const TIMINGS: &[(&str, &str, Timing)] = &[
    (
        "gecko",
        "GeckoFTL's: 100 us page read, 3 us spare read, 1 ms program (section 2; erase 1.5 ms from µ-FTL's table 1, bus time included)",
        Timing::array(100_000, 3_000, 1_000_000, 1_500_000),
    ),
    (
        "last",
        "LAST++'s: 50 us read, 900 us program, 3,500 us erase (section 5)",
        Timing::array(50_000, 50_000 / 32, 900_000, 3_500_000),
    ),
    (
        "slc",
        "µ-FTL's table 1, SLC: 77.8 us read, 252.8 us program, 1,500 us erase",
        Timing::array(77_800, 77_800 / 32, 252_800, 1_500_000),
    ),
    (
        "mlc",
        "µ-FTL's table 1, MLC: 165.6 us read, 905.8 us program, 1,500 us erase",
        Timing::array(165_600, 165_600 / 32, 905_800, 1_500_000),
    ),
    (
        "tlc",
        "3D TLC, mean of lower, centre and upper pages as FEMU takes them from SimpleSSD: 80 us read, 2,926.5 us program, 3 ms erase; bus at 800 MB/s (ONFI 4)",
        Timing { transfer_ns: 5_120, transfer_spare_ns: 160, ..Timing::array(80_000, 80_000, 2_926_500, 3_000_000) },
    ),
];

impl Timing {
    /// Array times alone, in nanoseconds: the papers fold the bus into them.
    pub const fn array(read_ns: u64, read_spare_ns: u64, program_ns: u64, erase_ns: u64) -> Self {
        Self {
            read_ns,
            read_spare_ns,
            program_ns,
            erase_ns,
            transfer_ns: 0,
            transfer_spare_ns: 0,
            unit_pages: 1,
            sense_pages: 1,
            planes: 1,
            sense_differences_ns: [0; 4],
            page_types: 1,
            cache_program: false,
            slc_read_ns: 0,
            slc_program_ns: 0,
            slc_unit_pages: 1,
            suspend_ns: 0,
        }
    }

    /// The times of a block in one-bit mode: each as of others where it is not stated.
    #[must_use]
    pub fn in_one_bit_mode(&self) -> Self {
        let mut timing = *self;
        if self.slc_program_ns > 0 {
            (timing.program_ns, timing.unit_pages) = (self.slc_program_ns, self.slc_unit_pages);
        }
        if self.slc_read_ns > 0 {
            timing.read_ns = self.slc_read_ns;
            timing.read_spare_ns = self.read_spare_ns.min(self.slc_read_ns);
            (timing.page_types, timing.sense_differences_ns) = (1, [0; 4]);
        }
        timing
    }

    /// The preset called `name`, if there is one ([`TIMINGS`]).
    pub fn preset(name: &str) -> Option<Self> {
        TIMINGS.iter().find(|(n, ..)| *n == name).map(|(.., t)| *t)
    }

    /// A page's share of a program, in nanoseconds.
    pub fn program_page_ns(&self) -> u64 {
        self.program_ns / u64::from(self.unit_pages.max(1))
    }

    /// δ, the GeckoFTL paper's ratio of program to page-read latency (its section 5).
    pub fn delta(&self) -> f64 {
        self.program_page_ns() as f64 / self.read_ns.max(1) as f64
    }
}
