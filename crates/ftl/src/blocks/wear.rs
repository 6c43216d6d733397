//! How worn each block is: erase counts and erase stamps in spare areas, statistics in RAM (GeckoFTL appendix D).
//!
//! - **A block's erase count stands in its first page's spare area** (`medium/marks.rs`). It includes the erase right
//!   before that page was programmed, so it is never 0: 0 means that no count was kept.
//! - **Its erase stamp is the `seq` of that page**, because a block is erased right before its first program. So age is
//!   in programs here, where the paper counts erases.
//! - **A free block's count stands in the first page that it still has**: nothing is erased on its way into the pool.
//!   It is read right before the erase, and written with the next first page.
//! - **A power cut between the two loses it.** That concerns at most as many blocks as programs can be in flight, and
//!   the blank blocks (`blank.rs`), whose counts stand in RAM alone.
//! - **A block without a count is taken for the average.** It lost its count, its first page cannot be read, or it was
//!   written while no counts were kept. A blank block of a drive that was never mounted before was never used.
//!   (Format's own erase is not counted.)
//!
//! RAM holds the sums of the scan in progress and the averages of the one before. Only levelling rests on any of it.

use super::{BlockUse, Blocks, Watch};
use crate::config::LOOKS_MAX;
use crate::medium::marks::SpareMarks;
use crate::{Counter, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Kind, Nand, Op, Purpose, SpareRead, Time};

/// After a block was collected for its wear, so many host pages for each page moved before the next one is: levelling
/// stays a small part of the drive's work also when many blocks fall behind at once.
const REST: u32 = 4;

/// The drive's record of the wear of its blocks.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Wear {
    /// The stream of cold data, which is given worn blocks.
    cold_stream: u8,
    /// How many free blocks are looked at before one is opened.
    looks: u32,
    /// How far below the average the erase count of a block of static data must be for it to be collected.
    threshold: u32,
    /// Erases of the block that was opened last, until its first page is programmed.
    opened: u32,
    /// Host pages to be written before a block may be collected again.
    rest: u32,
    /// The drive was formatted and has had no power cut since: a blank block was never used.
    is_new: bool,
    /// The next block of the scan.
    next: u32,
    sums: Sums,
    known: Option<Known>,
    scans: u32,
}

/// The findings of a scan so far.
#[derive(Clone, Copy, Default, Debug, Preserve)]
struct Sums {
    counted: u32,
    min: u32,
    max: u32,
    erases: u64,
    /// Blocks of user data that are written to the end, the programs since their erases, and the versions since those
    /// of their first pages.
    user_blocks: u32,
    ages: u64,
    page_ages: u64,
}

/// The findings of the last finished scan.
#[derive(Clone, Copy, Debug, Preserve)]
struct Known {
    min: u32,
    max: u32,
    erases: u32,
    age: u64,
    page_age: u64,
}

impl Sums {
    fn count(&mut self, erases: u32) {
        self.min = if self.counted == 0 { erases } else { self.min.min(erases) };
        self.max = self.max.max(erases);
        self.erases += u64::from(erases);
        self.counted += 1;
    }

    fn average(&self) -> Option<u32> {
        rounded(self.erases, self.counted).map(|average| average as u32)
    }

    fn finish(&self) -> Option<Known> {
        let is_between = |average: u32| (self.min..=self.max).contains(&average);
        debug_assert!(self.average().is_none_or(is_between), "an average is beyond what it is of");
        Some(Known {
            min: self.min,
            max: self.max,
            erases: self.average()?,
            age: rounded(self.ages, self.user_blocks).unwrap_or(u64::MAX),
            page_age: rounded(self.page_ages, self.user_blocks).unwrap_or(u64::MAX),
        })
    }
}

fn rounded(sum: u64, n: u32) -> Option<u64> {
    (sum + u64::from(n) / 2).checked_div(u64::from(n))
}

/// The erase count of a block whose first page says this, if it has one.
fn erases_of(read: SpareRead, is_new: bool) -> Option<u32> {
    match read {
        SpareRead::Written(spare) => Some(SpareMarks::of(&spare).erase_count()).filter(|erases| *erases > 0),
        SpareRead::Erased => is_new.then_some(0),
        SpareRead::Unreadable => None,
    }
}

impl Wear {
    pub(crate) fn new(cold_stream: u8, looks: u32, threshold: u32) -> Self {
        Self {
            cold_stream,
            looks: looks.clamp(1, LOOKS_MAX),
            threshold,
            opened: 0,
            rest: 0,
            is_new: false,
            next: 0,
            sums: Sums::default(),
            known: None,
            scans: 0,
        }
    }

    /// The drive has just been formatted.
    pub(crate) fn formatted(&mut self) {
        self.is_new = true;
    }

    /// The erase count that the first page of the block says that was opened last.
    pub(super) fn opened(&self) -> u32 {
        self.opened
    }

    /// The erase count that the first page of the block is to say that is opened now.
    pub(super) fn open_as(&mut self, opened: u32) {
        self.opened = opened;
    }

    /// The count for the first page of a block whose erases are not known.
    pub(super) fn unknown(&self) -> u32 {
        self.average().unwrap_or(0).saturating_add(1)
    }

    /// A block with this many live pages was collected for its wear.
    pub(crate) fn rest_after(&mut self, pages_moved: u32) {
        self.rest = REST * pages_moved;
    }

    /// The average as far as it is known.
    fn average(&self) -> Option<u32> {
        self.known.map(|known| known.erases).or_else(|| self.sums.average())
    }

    pub(crate) fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("wear_scans", u64::from(self.scans)));
        let known = self.known.map_or((0, 0, 0), |known| (known.min, known.erases, known.max));
        out.push(Counter::level("wear_erases_min", u64::from(known.0)));
        out.push(Counter::level("wear_erases_average", u64::from(known.1)));
        out.push(Counter::level("wear_erases_max", u64::from(known.2)));
    }
}

impl Blocks {
    /// Looks at the next block of the scan. The block, and when that is known, if it is to be collected: far less worn
    /// than the average, with data in it that stay.
    pub(crate) fn look_at_next<N: Nand>(&mut self, nand: &mut N, at: Time) -> Option<(Block, Time)> {
        let (blocks, seq) = (self.geometry.blocks(), self.clock.seq());
        let version = self.clock.version();
        let wear = self.wear.as_mut()?;
        wear.rest = wear.rest.saturating_sub(1);
        let block = Block(wear.next);
        wear.next += 1;
        if wear.next == blocks {
            wear.next = 0;
            wear.known = wear.sums.finish().or(wear.known);
            wear.sums = Sums::default();
            wear.scans += 1;
        }
        if self.uses[block.index()] == BlockUse::Fixed {
            return None;
        }
        let (read, done) = nand.read_spare(self.geometry.page(block, 0), Op::new(at, Purpose::Wear));
        let erases = erases_of(read, wear.is_new);
        if let Some(erases) = erases {
            wear.sums.count(erases);
        }
        let SpareRead::Written(spare) = read else { return None };
        if self.uses[block.index()] != BlockUse::Closed || spare.kind != Kind::User {
            return None;
        }
        let age = seq.saturating_sub(spare.seq);
        wear.sums.user_blocks += 1;
        wear.sums.ages += age;
        wear.sums.page_ages += version.saturating_sub(spare.version);
        let known = wear.known.filter(|_| wear.rest == 0)?;
        let lags = erases.is_some_and(|erases| erases.saturating_add(wear.threshold) < known.erases);
        (lags && age > known.age && self.is_candidate(block)).then_some((block, done))
    }

    /// Whether a page of this version was last written longer ago than the average.
    pub(crate) fn is_cold(&self, version: u64) -> bool {
        let known = self.wear.as_ref().and_then(|wear| wear.known);
        known.is_some_and(|known| self.clock.version().saturating_sub(version) > known.page_age)
    }

    /// Takes a free block of `die` for `stream` where wear is levelled: of those that have been free for longest, the
    /// most worn for cold data, the least worn for all else. With when it is known which.
    pub(super) fn take_by_wear<N: Nand>(
        &mut self,
        nand: &mut N,
        watch: &mut impl Watch,
        die: u32,
        stream: u8,
        at: Time,
    ) -> Option<(Block, Time)> {
        let wear = self.wear.as_mut()?;
        let pool = self.pool.first_on(die);
        let purpose = self.phase.purpose(Purpose::Wear);
        let mut found = [None; LOOKS_MAX as usize];
        let mut ready = at;
        let mut seen = Sums::default();
        for (erases, block) in found.iter_mut().zip(pool.iter().take(wear.looks as usize)) {
            let (read, done) = nand.read_spare(self.geometry.page(*block, 0), Op::new(at, purpose));
            watch.looked_at_free_block();
            ready = ready.max(done);
            *erases = erases_of(read, wear.is_new);
            if let Some(erases) = *erases {
                seen.count(erases);
            }
        }
        let unknown = wear.average().or(seen.average()).unwrap_or(0);
        let counts = found.iter().take(pool.len().min(wear.looks as usize)).map(|erases| erases.unwrap_or(unknown));
        let cold = stream == wear.cold_stream;
        let (at, erases) = counts.enumerate().min_by_key(|(_, n)| if cold { u32::MAX - n } else { *n })?;
        wear.opened = erases.saturating_add(1);
        self.pool.take(die, at).map(|block| (block, ready))
    }

    pub(super) fn ram_of_wear(&self, ledger: &mut RamLedger) {
        if self.wear.is_some() {
            // The statistics, where the scan is, and the count for the next first page: as appendix D counts them.
            let statistics = size_of::<Known>() + 2 * size_of::<u32>();
            ledger.structure("blocks.wear", statistics as u64);
            ledger.index("index.wear_scan", (size_of::<Wear>() - statistics) as u64);
        }
    }
}
