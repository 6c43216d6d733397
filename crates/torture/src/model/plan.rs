//! The states of one moment, in the order in which they are worth a check.
//!
//! Everything kept and nothing kept come first. Then the kinds take turns: one request lost, one kept, a cut in time, and
//! torn requests. Where few requests are pending, all subsets follow; where many are, seeded random ones. Each state has
//! an index, so that no list is kept.

use super::moments::{Moment, Policy};
use super::run::Run;
use super::state::{Atoms, Lost, State};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;

/// How far one goes at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// All subsets of up to so many pending requests, and all subsets of up to so many atoms.
    pub subsets: u32,
    /// Random subsets of a moment with more.
    pub samples: u32,
    /// For these.
    pub seed: u64,
}

/// What a request that is torn keeps, in ways.
const TORN: u64 = 4;

/// How much is pending at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    requests: u64,
    /// Of these, those with more than one atom.
    large: u64,
    atoms: u64,
}

impl Pending {
    fn add(&mut self, atoms: u32) {
        self.requests += 1;
        self.large += u64::from(atoms > 1);
        self.atoms += u64::from(atoms);
    }
}

/// How many states a plan has, without the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    lengths: [u64; KINDS.len()],
    /// The logarithm, to base 2, of how many states are allowed; some are equal.
    pub allowed_log2: u64,
    /// Whether the plan has all states that are allowed.
    pub is_complete: bool,
}

impl Extent {
    /// States of the plan. Some are equal.
    #[must_use]
    pub fn states(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// Of each moment, in one walk through the run.
    #[must_use]
    pub fn of_all(run: &Run, policy: Policy, moments: &[Moment], depth: Depth) -> Vec<Self> {
        let (mut pending, mut durable, mut at) = (Pending::default(), 0, 0);
        let extent = |moment: &Moment| {
            if moment.durable > durable {
                (pending, durable, at) = (Pending::default(), moment.durable, moment.durable);
            }
            run.requests(at, moment.cut).for_each(|number| pending.add(run.atoms(number)));
            at = moment.cut;
            Self::new(policy, depth, pending)
        };
        moments.iter().map(extent).collect()
    }

    fn new(policy: Policy, depth: Depth, pending: Pending) -> Self {
        let Pending { requests, large, atoms } = pending;
        let few = u64::from(depth.subsets.min(20));
        let any = matches!(policy, Policy::Subset | Policy::Lies);
        let in_order = policy == Policy::Prefix;
        let tears = match any {
            true => large * TORN,
            false => (large * TORN + u64::from(depth.samples)).min(atoms.saturating_sub(1)),
        };
        let length = |kind| match kind {
            Kind::Ends if any || in_order => 2,
            Kind::Ends => 1,
            Kind::AllButOne | Kind::OnlyOne if any && requests > 1 => requests,
            Kind::Prefix if any || in_order => requests.saturating_sub(1),
            Kind::TornLast if any => tears,
            Kind::InOrder if in_order => tears,
            Kind::TornAmongAll if any => tears,
            Kind::Subsets if any && requests <= few => 1 << requests,
            Kind::AtomSubsets if any && atoms <= few => 1 << atoms,
            Kind::Samples if any && atoms > few => depth.samples.into(),
            _ => 0,
        };
        let (allowed_log2, is_complete) = match policy {
            Policy::Subset | Policy::Lies => (atoms, atoms <= few),
            Policy::Prefix => ((atoms + 1).next_power_of_two().ilog2().into(), tears + 1 >= atoms),
            Policy::Protected | Policy::All => (0, true),
        };
        Self { lengths: KINDS.map(length), allowed_log2, is_complete }
    }
}

/// The states of a moment.
#[derive(Debug)]
pub struct Plan<'r> {
    run: &'r Run,
    moment: Moment,
    depth: Depth,
    pending: Vec<u32>,
    /// Of these, those with more than one atom.
    large: Vec<u32>,
    atoms: u64,
    extent: Extent,
}

/// The kinds, in the order of turns.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Ends,
    AllButOne,
    Prefix,
    TornLast,
    /// The first atoms of all that is pending.
    InOrder,
    OnlyOne,
    TornAmongAll,
    Subsets,
    AtomSubsets,
    Samples,
}

const KINDS: [Kind; 10] = [
    Kind::Ends,
    Kind::AllButOne,
    Kind::Prefix,
    Kind::TornLast,
    Kind::InOrder,
    Kind::OnlyOne,
    Kind::TornAmongAll,
    Kind::Subsets,
    Kind::AtomSubsets,
    Kind::Samples,
];

impl<'r> Plan<'r> {
    /// Of a moment.
    #[must_use]
    pub fn new(run: &'r Run, policy: Policy, moment: Moment, depth: Depth) -> Self {
        let pending: Vec<u32> = run.requests(moment.durable, moment.cut).collect();
        let large: Vec<u32> = pending.iter().copied().filter(|number| run.atoms(*number) > 1).collect();
        let mut of_all = Pending::default();
        pending.iter().for_each(|number| of_all.add(run.atoms(*number)));
        Self { run, moment, depth, pending, large, atoms: of_all.atoms, extent: Extent::new(policy, depth, of_all) }
    }

    /// Its extent.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// How many states there are in the plan. Some are equal.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.extent.states()
    }

    /// None.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state with an index.
    #[must_use]
    pub fn state(&self, index: u64) -> Option<State> {
        let (kind, index) = self.turn(index)?;
        let lost = match KINDS.get(kind)? {
            Kind::Ends if index == 0 => Lost::new(),
            Kind::Ends => self.losing(|_| true),
            Kind::AllButOne => {
                let one = self.spread(index, self.pending.len());
                self.losing(|at| at == one)
            }
            Kind::OnlyOne => {
                let one = self.spread(index, self.pending.len());
                self.losing(|at| at != one)
            }
            Kind::Prefix => {
                let kept = 1 + self.spread(index, self.pending.len() - 1);
                self.losing(|at| at >= kept)
            }
            Kind::TornLast => {
                let (number, atoms) = self.torn(index)?;
                let mut lost = self.losing(|at| self.pending.get(at).is_some_and(|other| *other > number));
                lost.insert(number, atoms);
                lost
            }
            Kind::InOrder => {
                let mut kept = 1 + self.spread(index, self.atoms as usize - 1) as u64;
                self.losing_atoms(|_, count| {
                    let of_this = kept.min(count.into());
                    kept -= of_this;
                    Atoms::range(of_this as u32..count)
                })
            }
            Kind::TornAmongAll => Lost::from([self.torn(index)?]),
            Kind::Subsets => self.losing(|at| index >> at & 1 == 1),
            Kind::AtomSubsets => {
                let mut at = 0;
                let mut next = || {
                    at += 1;
                    index >> (at - 1) & 1 == 1
                };
                self.losing_atoms(|_, count| Atoms::of(count, |_| next()))
            }
            Kind::Samples => self.sample(index),
        };
        Some(State { cut: self.moment.cut, lost })
    }

    /// The kind whose turn an index is, and which one of it.
    fn turn(&self, index: u64) -> Option<(usize, u64)> {
        let before = |round: u64| self.extent.lengths.iter().map(|length| (*length).min(round)).sum::<u64>();
        if index >= self.len() {
            return None;
        }
        // The last round that begins at or before the index.
        let (mut low, mut high) = (0, self.extent.lengths.iter().copied().max().unwrap_or(0));
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if before(middle) <= index { low = middle } else { high = middle }
        }
        let rest = (index - before(low)) as usize;
        let kind = self.extent.lengths.iter().enumerate().filter(|(_, length)| **length > low).nth(rest)?.0;
        Some((kind, low))
    }

    /// Goes through all, in steps that are far apart.
    fn spread(&self, index: u64, count: usize) -> usize {
        let count = count.max(1) as u64;
        let mut step = (count as f64 * 0.618) as u64 | 1;
        while step > 1 && gcd(step, count) > 1 {
            step -= 1;
        }
        let from = self.depth.seed ^ u64::from(self.moment.cut);
        ((u128::from(index) * u128::from(step) + u128::from(from)) % u128::from(count)) as usize
    }

    fn torn(&self, index: u64) -> Option<(u32, Atoms)> {
        let number = *self.large.get(self.spread(index / TORN, self.large.len()))?;
        let count = self.run.atoms(number);
        let atoms = match index % TORN {
            0 => Atoms::range(count.div_ceil(2)..count),
            1 => Atoms::range(0..count.div_ceil(2)),
            2 => Atoms::range(count - 1..count),
            _ => Atoms::range(0..1),
        };
        Some((number, atoms))
    }

    fn losing(&self, is_lost: impl Fn(usize) -> bool) -> Lost {
        let lost = self.pending.iter().enumerate().filter(|(at, _)| is_lost(*at));
        lost.map(|(_, number)| (*number, Atoms::first(self.run.atoms(*number)))).collect()
    }

    fn losing_atoms(&self, mut which: impl FnMut(u32, u32) -> Atoms) -> Lost {
        let each = self.pending.iter().map(|number| (*number, which(*number, self.run.atoms(*number))));
        each.filter(|(_, atoms)| !atoms.is_empty()).collect()
    }

    fn sample(&self, index: u64) -> Lost {
        let mut random = SplitMix64::seed_from_u64(self.depth.seed);
        let of_moment = random.next_u64() ^ u64::from(self.moment.cut);
        let mut random = SplitMix64::seed_from_u64(of_moment.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
        let lost_of_8 = [1, 4, 7][(random.next_u64() % 3) as usize];
        let torn_of_8 = [0, 2][(random.next_u64() % 2) as usize];
        self.losing_atoms(|_, count| {
            let bits = random.next_u64();
            let is_torn = count > 1 && bits % 8 < torn_of_8;
            match (is_torn, bits >> 3 & 7 < lost_of_8) {
                (false, false) => Atoms::default(),
                (false, true) => Atoms::first(count),
                (true, is_any) => {
                    let (at, is_first) = (1 + ((bits >> 8) % u64::from(count - 1)) as u32, bits >> 6 & 1 == 1);
                    match (is_any, is_first) {
                        (true, _) if count <= 4096 => Atoms::of(count, |_| random.next_u64() & 1 == 1),
                        (_, true) => Atoms::range(0..at),
                        (_, false) => Atoms::range(at..count),
                    }
                }
            }
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
