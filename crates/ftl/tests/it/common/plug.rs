//! A chip set with a plug.
//!
//! The power can be cut at any program or erase. What a cut then leaves follows the contract of [`Nand`] alone:
//! - operations that had completed by the moment of the cut are done;
//! - those that were not to start before it are not;
//! - each of the others becomes, by chance, any of the named faults.
//!
//! The FTL that still runs meets nothing but errors.
//!
//! All drives of these tests are on one, whether their power is cut or not: FTLs are compiled for one kind of flash.

use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, Kind, Nand, Op, Page, PageRead, ProgramError, Purpose, SimNand, Spare,
    SpareRead, Time,
};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Deref;

/// More operations than can overlap on the drives of these tests.
const FLIGHT_MAX: usize = 256;

enum What {
    Hollow(Page, u64, Spare),
    Bytes(Page, Vec<u8>, Spare),
    Erase(Block),
}

struct Flight {
    at: Time,
    done: Time,
    what: What,
}

/// A chip set whose power can be cut.
pub(crate) struct Plug {
    /// The flash as it is while the power is on.
    seen: SimNand,
    /// The flash without the operations in `flight`.
    certain: SimNand,
    flight: VecDeque<Flight>,
    left: Option<u64>,
    cut_at: Option<Time>,
    /// Whether operations that overlap the cut one are cut as well.
    pub(crate) overlap: bool,
    pub(crate) program_faults: Vec<ProgramFault>,
    pub(crate) erase_faults: Vec<EraseFault>,
    rng: Xoshiro256PlusPlus,
    /// Programs and erases so far.
    pub(crate) operations: u64,
    /// More of them than this mean that the FTL turns in circles.
    pub(crate) operations_max: Option<u64>,
    /// Pages that have gone bad: they read as uncorrectable, data and spare area, until their block is erased.
    pub(crate) spoiled: BTreeSet<Page>,
    /// The same of their data alone.
    pub(crate) spoiled_data: BTreeSet<Page>,
    /// So many programs on battery fail from now on, and their blocks are bad.
    pub(crate) failing_on_battery: u32,
    /// Blocks that cannot be erased any more. To find that out is no operation.
    pub(crate) failing_to_erase: BTreeSet<Block>,
    /// Whether it keeps the bytes of every page, as a driver of real chips does: what is programmed as a tag reads as bytes.
    pub(crate) keeps_bytes: bool,
    /// Of each program its seq, when it may start, and when it is done; where that is to be noted.
    pub(crate) programs: Option<Vec<(u64, Time, Time)>>,
    /// The power fails when so many more blocks have been marked bad, right before the next one is.
    pub(crate) marks_left: Option<u32>,
    /// The moment of the last program or erase.
    latest: Time,
}

impl From<SimNand> for Plug {
    /// It is never pulled.
    fn from(sim: SimNand) -> Self {
        Self::new(sim, 0)
    }
}

/// The operations that the flash has seen.
impl Deref for Plug {
    type Target = SimNand;

    fn deref(&self) -> &SimNand {
        &self.seen
    }
}

impl Plug {
    pub(crate) fn new(sim: SimNand, seed: u64) -> Self {
        Self {
            certain: sim.clone(),
            seen: sim,
            flight: VecDeque::new(),
            left: None,
            cut_at: None,
            overlap: true,
            program_faults: ProgramFault::ALL.to_vec(),
            erase_faults: EraseFault::ALL.to_vec(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            operations: 0,
            operations_max: None,
            spoiled: BTreeSet::new(),
            spoiled_data: BTreeSet::new(),
            failing_on_battery: 0,
            failing_to_erase: BTreeSet::new(),
            keeps_bytes: false,
            programs: None,
            marks_left: None,
            latest: Time::ZERO,
        }
    }

    /// The power fails at the program or erase after the next `operations` ones.
    pub(crate) fn arm(&mut self, operations: u64) {
        self.left = Some(operations);
    }

    pub(crate) fn disarm(&mut self) {
        self.left = None;
    }

    /// When the power failed, if it has.
    pub(crate) fn cut_at(&self) -> Option<Time> {
        self.cut_at
    }

    /// The flash itself, for damage and inspection.
    pub(crate) fn sim(&mut self) -> &mut SimNand {
        self.settle();
        &mut self.seen
    }

    /// Puts other flash in.
    pub(crate) fn replace(&mut self, sim: SimNand) {
        self.certain = sim.clone();
        self.seen = sim;
        self.flight.clear();
        self.cut_at = None;
    }

    /// The same flash and the same faults in another hand.
    pub(crate) fn fork(&self, seed: u64) -> Self {
        assert!(self.flight.is_empty() && self.cut_at.is_none());
        let mut fork = Self::new(self.seen.clone(), seed);
        (fork.overlap, fork.operations_max) = (self.overlap, self.operations_max);
        fork.keeps_bytes = self.keeps_bytes;
        (fork.program_faults, fork.erase_faults) = (self.program_faults.clone(), self.erase_faults.clone());
        fork.spoiled = self.spoiled.clone();
        fork.spoiled_data = self.spoiled_data.clone();
        fork
    }

    /// A copy of the flash.
    pub(crate) fn copy(&self) -> SimNand {
        self.seen.clone()
    }

    /// Every page of this kind that can be read, with its spare area.
    pub(crate) fn pages_of(&mut self, kind: Kind) -> Vec<(Page, Spare)> {
        let geometry = *self.geometry();
        let blocks = (0..geometry.blocks()).map(Block);
        let pages = blocks.flat_map(|b| (0..geometry.pages_per_block()).map(move |n| geometry.page(b, n)));
        let mut found = Vec::new();
        for page in pages {
            if let SpareRead::Written(spare) = self.read_spare(page, Op::new(Time::ZERO, Purpose::Recovery)).0
                && spare.kind == kind
            {
                found.push((page, spare));
            }
        }
        found
    }

    /// The newest page of this kind of each key, and all others.
    pub(crate) fn newest_and_older(&mut self, kind: Kind) -> (Vec<Page>, Vec<Page>) {
        let mut pages = self.pages_of(kind);
        pages.sort_by_key(|(_, spare)| (spare.key, std::cmp::Reverse((spare.version, spare.seq))));
        let (mut newest, mut older, mut last) = (Vec::new(), Vec::new(), None);
        for (page, spare) in pages {
            let into = if last == Some(spare.key) { &mut older } else { &mut newest };
            into.push(page);
            last = Some(spare.key);
        }
        (newest, older)
    }

    fn settle(&mut self) {
        while let Some(f) = self.flight.pop_front() {
            self.complete(f);
        }
    }

    fn complete(&mut self, f: Flight) {
        let op = Op::new(f.at, Purpose::Host);
        let _ = match &f.what {
            What::Hollow(page, tag, spare) => self.certain.program(*page, Content::Hollow(*tag), spare, op).is_ok(),
            What::Bytes(page, bytes, spare) => self.certain.program(*page, Content::Bytes(bytes), spare, op).is_ok(),
            What::Erase(block) => self.certain.erase(*block, op).is_ok(),
        };
    }

    /// The power fails at this moment.
    pub(crate) fn pull(&mut self, at: Time) {
        self.fail(at, false);
    }

    fn fail(&mut self, moment: Time, last_is_cut: bool) {
        // Cells that only seemed to hold let go now; those that this cut leaves so will hold until the next one.
        self.certain.power_cycle();
        let flight = std::mem::take(&mut self.flight);
        let last = flight.len().wrapping_sub(1);
        // A block does one thing after the other: behind an operation that has not completed none has begun.
        let mut stopped: Vec<Block> = Vec::new();
        for (n, f) in flight.into_iter().enumerate() {
            let is_cut = last_is_cut && n == last;
            let block = match &f.what {
                What::Hollow(page, ..) | What::Bytes(page, ..) => self.certain.geometry().block_of(*page),
                What::Erase(block) => *block,
            };
            if stopped.contains(&block) {
                continue;
            }
            if !is_cut && (!self.overlap || f.done <= moment) {
                self.complete(f);
                continue;
            }
            stopped.push(block);
            if f.at > moment && !is_cut {
                continue;
            }
            let seed = self.rng.next_u64();
            let program = self.program_faults[super::below(&mut self.rng, self.program_faults.len() as u64) as usize];
            let erase = self.erase_faults[super::below(&mut self.rng, self.erase_faults.len() as u64) as usize];
            let _ = match &f.what {
                What::Hollow(page, tag, spare) => {
                    self.certain.cut_program(*page, Content::Hollow(*tag), spare, program, seed).is_ok()
                }
                What::Bytes(page, bytes, spare) => {
                    self.certain.cut_program(*page, Content::Bytes(bytes), spare, program, seed).is_ok()
                }
                What::Erase(block) => self.certain.cut_erase(*block, erase, seed).is_ok(),
            };
        }
        self.left = None;
        self.cut_at = Some(moment);
    }

    /// The power is back; the clocks begin anew.
    pub(crate) fn restore(&mut self) {
        assert!(self.cut_at.is_some(), "the power is on");
        self.seen = self.certain.clone();
        self.cut_at = None;
        self.latest = Time::ZERO;
    }

    fn took_off(&mut self, at: Time, done: Time, what: What) -> bool {
        self.operations += 1;
        self.latest = self.latest.max(at);
        assert!(self.operations_max.is_none_or(|max| self.operations <= max), "the FTL does not come to an end");
        self.flight.push_back(Flight { at, done, what });
        match &mut self.left {
            Some(0) => {
                let span = done.0.saturating_sub(at.0).max(1);
                let moment = if self.overlap { at + super::below(&mut self.rng, span) } else { done };
                self.fail(moment, true);
                return false;
            }
            Some(left) => *left -= 1,
            None => {}
        }
        if self.flight.len() > FLIGHT_MAX
            && let Some(f) = self.flight.pop_front()
        {
            self.complete(f);
        }
        true
    }
}

impl Nand for Plug {
    fn geometry(&self) -> &Geometry {
        self.seen.geometry()
    }

    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        if self.cut_at.is_some() {
            return (PageRead::Unreadable, op.at);
        }
        let spoiled = self.spoiled.contains(&page) || self.spoiled_data.contains(&page);
        let (read, done) = self.seen.read(page, op);
        (if spoiled { PageRead::Unreadable } else { read }, done)
    }

    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        if self.cut_at.is_some() {
            return (SpareRead::Unreadable, op.at);
        }
        let (read, done) = self.seen.read_spare(page, op);
        (if self.spoiled.contains(&page) { SpareRead::Unreadable } else { read }, done)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        if self.cut_at.is_some() {
            return Err(ProgramError::NoSuchPage(page));
        }
        if op.purpose == Purpose::Battery && self.failing_on_battery > 0 {
            self.failing_on_battery -= 1;
            self.settle();
            let block = self.geometry().block_of(page);
            self.seen.break_at_program(block);
            self.certain.break_at_program(block);
        }
        let mut bytes = Vec::new();
        let content = match content {
            Content::Hollow(_) if self.keeps_bytes => {
                bytes.resize(self.geometry().page_bytes() as usize, 0);
                content.copy_to(&mut bytes);
                Content::Bytes(&bytes)
            }
            content => content,
        };
        let result = self.seen.program(page, content, spare, op);
        if let Err(error) = &result
            && !matches!(error, ProgramError::Failed(_))
        {
            return result;
        }
        let done = result.unwrap_or(op.at);
        if let Some(programs) = &mut self.programs {
            programs.push((spare.seq, op.at, done));
        }
        let what = match content {
            Content::Hollow(tag) => What::Hollow(page, tag, *spare),
            Content::Bytes(bytes) => What::Bytes(page, bytes.to_vec(), *spare),
        };
        if self.took_off(op.at, done, what) { result } else { Err(ProgramError::NoSuchPage(page)) }
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        if self.cut_at.is_some() {
            return Err(EraseError::NoSuchBlock(block));
        }
        if self.failing_to_erase.contains(&block) {
            return Err(EraseError::Failed(block));
        }
        let result = self.seen.erase(block, op);
        if result.is_ok() {
            let geometry = *self.geometry();
            self.spoiled.retain(|page| geometry.block_of(*page) != block);
            self.spoiled_data.retain(|page| geometry.block_of(*page) != block);
        }
        if let Err(error) = &result
            && !matches!(error, EraseError::Failed(_))
        {
            return result;
        }
        let done = result.unwrap_or(op.at);
        if self.took_off(op.at, done, What::Erase(block)) { result } else { Err(EraseError::NoSuchBlock(block)) }
    }

    fn is_bad(&self, block: Block) -> bool {
        self.seen.is_bad(block)
    }

    fn mark_bad(&mut self, block: Block) {
        if self.cut_at.is_none() && self.marks_left == Some(0) {
            self.settle();
            self.marks_left = None;
            self.fail(self.latest, false);
        }
        if self.cut_at.is_none() {
            self.marks_left = self.marks_left.map(|left| left - 1);
            self.seen.mark_bad(block);
            self.settle();
            self.certain.mark_bad(block);
        }
    }
}
