//! Mixed greedy: hot and cold pages share the blocks, and one greedy collector sees only how many are valid.
//!
//! Mean field for finite b. A block's state is (i, k): valid hot and valid cold pages. Hot pages die at `heat` times
//! the rate of cold ones. So a block walks down from i + k = b one page at a time. From (i, k) the next page to die is
//! hot with probability heat·i/(heat·i + k). As in [`greedy`] there is a threshold, and a block that falls below it is
//! collected at once. Blocks waiting at it are collected at a rate that does not depend on their kinds of pages. The
//! victim's valid pages open the next block and host writes fill it, each hot with probability r. *Cold pages thus stay
//! together*, and a block is not a random sample of all pages.
//!
//! For a given threshold that is a Markov chain over the number of hot pages in a newly filled block. Its stationary
//! distribution is found by running it or, where it moves too slowly, by elimination. Time spent in each state then
//! gives the valid pages per block, hence the ratio that this threshold belongs to. The threshold is moved until the
//! ratio is the given one. Hot pages keep their share of the space by themselves: in steady state as many are written
//! as die.
//!
//! Only states that carry any weight are visited. They are a band of about √b around the mean on each of the b − j*
//! levels. So a figure costs some milliseconds at b = 128.
//!
//! [`greedy`]: crate::greedy()

use crate::error::LimitError;
use crate::hot_cold::HotCold;
use crate::solve::{check_pages_per_block, check_ratio, regula_falsi};

/// The largest number of pages per block for [`mixed_greedy`]: its work grows with the square.
pub const MAX_MIXED_PAGES_PER_BLOCK: u32 = 1024;

/// A flow smaller than this is dropped: it changes the result in the twelfth digit at most.
const NEGLIGIBLE: f64 = 1e-18;

/// WA of greedy collection when two classes are mixed in the same blocks, under one collector.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written. Exact for
/// infinitely many blocks and one open block that takes both the victim's pages and the host's (simulations of
/// 4,096 blocks agree within 0.06 %). It nearly always rises with b towards [`mixed_lru`](crate::mixed_lru()).
///
/// In a release build it takes about 10 ms at b = 128, and up to some two seconds at b = 1,024.
///
/// # Errors
/// [`LimitError::Ratio`], [`LimitError::RatioTooClose`], [`LimitError::PagesPerBlock`];
/// [`LimitError::MixedPagesPerBlock`] above [`MAX_MIXED_PAGES_PER_BLOCK`].
pub fn mixed_greedy(rho: f64, pages_per_block: u32, hot: HotCold) -> Result<f64, LimitError> {
    let rho = check_ratio(rho)?;
    let b = check_pages_per_block(pages_per_block)?;
    if b > MAX_MIXED_PAGES_PER_BLOCK {
        return Err(LimitError::MixedPagesPerBlock { pages_per_block: b, max: MAX_MIXED_PAGES_PER_BLOCK });
    }
    let b = b as usize;
    let mut chain = Chain::new(b, hot);

    // The lowest threshold that leaves blocks at least as full as required if none slips through it. At b − 1 all
    // blocks are full.
    let (mut below, mut level, mut too_full) = (0, b - 1, 1.0 - rho);
    while level - below > 1 {
        let middle = below + (level - below) / 2;
        let excess = chain.settle(middle, 0.0).ratio - rho;
        if excess < 0.0 {
            below = middle;
        } else {
            (level, too_full) = (middle, excess);
        }
    }
    // If all slip through it, that is the next lower threshold: the root lies between.
    let mut steady = chain.settle(level, 1.0);
    let too_empty = steady.ratio - rho;
    if too_empty < 0.0 {
        regula_falsi((0.0, too_full), (1.0, too_empty), 1e-10 * (1.0 - rho), |slip| {
            steady = chain.settle(level, slip);
            steady.ratio - rho
        });
    } // else the level is 1 and blocks empty by themselves: there is nothing below 0
    Ok(b as f64 / steady.pages_won)
}

/// What one threshold leads to.
#[derive(Debug, Clone, Copy)]
struct Steady {
    /// Valid pages per physical page.
    ratio: f64,
    /// Pages won per collection.
    pages_won: f64,
}

/// The Markov chain from one filled block to the next; it remembers its distribution for a warm start.
struct Chain {
    b: usize,
    heat: f64,
    hot_writes: f64,
    /// Probability of each number of hot pages in a newly filled block.
    filled: Vec<f64>,
    /// Flow through the states of the level being visited, by hot pages; and of the next one.
    flow: Vec<f64>,
    below: Vec<f64>,
    /// The chain did not settle at another threshold, and will not at this one.
    slow: bool,
}

/// Sums of one walk from full to collected.
#[derive(Default)]
struct Walk {
    time: f64,
    valid_time: f64,
    pages_won: f64,
}

impl Walk {
    fn steady(&self, b: usize) -> Steady {
        Steady { ratio: self.valid_time / (self.time * b as f64), pages_won: self.pages_won }
    }
}

impl Chain {
    fn new(b: usize, hot: HotCold) -> Self {
        let mut filled = vec![0.0; b + 1];
        add_binomial(&mut filled, 0, b, hot.space(), 1.0);
        Self {
            b,
            heat: hot.heat(),
            hot_writes: hot.writes(),
            filled,
            flow: vec![0.0; b + 1],
            below: vec![0.0; b + 1],
            slow: false,
        }
    }

    /// The steady state with blocks collected at `level`. The closer `slip` is to 1, the more often blocks waiting
    /// there lose another page before they are collected.
    ///
    /// Runs the chain, which settles within some times WA steps. Where cold pages are hardly ever written it does not;
    /// then the transition matrix is solved.
    fn settle(&mut self, level: usize, slip: f64) -> Steady {
        let mut steps = 0;
        while !self.slow && steps < 100 + self.b {
            let (walk, next) = self.walk(level, slip);
            let change: f64 = next.iter().zip(&self.filled).map(|(new, old)| (new - old).abs()).sum();
            self.filled = next;
            if change < 1e-14 * self.b as f64 {
                return walk.steady(self.b);
            }
            steps += 1;
        }
        self.slow = true;
        let from_each = (0..=self.b).map(|hot| {
            self.filled.fill(0.0);
            self.filled[hot] = 1.0;
            self.walk(level, slip).1
        });
        self.filled = stationary(from_each.collect());
        self.walk(level, slip).0.steady(self.b)
    }

    /// One filled block's way down to its collection, in expectation, and the distribution of the block that
    /// its valid pages open. Time is in lifetimes of a cold page.
    fn walk(&mut self, level: usize, slip: f64) -> (Walk, Vec<f64>) {
        let mut walk = Walk::default();
        let mut next = vec![0.0; self.b + 1];
        self.flow.copy_from_slice(&self.filled);
        let (mut first, mut last) = (0, self.b);
        for valid in (level + 1..=self.b).rev() {
            // The band that carries weight; it widens by one state per level, downwards, and is trimmed again.
            while first < last && self.flow[first] < NEGLIGIBLE {
                first += 1;
            }
            while last > first && self.flow[last] < NEGLIGIBLE {
                last -= 1;
            }
            self.below.fill(0.0);
            let mut time = 0.0;
            for hot in first..=last.min(valid) {
                let flow = self.flow[hot];
                let hot_rate = self.heat * hot as f64;
                let stay = flow / (hot_rate + (valid - hot) as f64);
                time += stay;
                let to_hot = stay * hot_rate;
                self.below[hot] = flow - to_hot;
                if hot > 0 {
                    self.below[hot - 1] += to_hot;
                }
            }
            walk.time += time;
            walk.valid_time += time * valid as f64;
            first = first.saturating_sub(1);
            std::mem::swap(&mut self.flow, &mut self.below);
        }
        self.collect(level, slip, &mut walk, &mut next);
        (walk, next)
    }

    /// The end of the walk: blocks at `level` are collected there, or just after one more page has died.
    fn collect(&mut self, level: usize, slip: f64, walk: &mut Walk, next: &mut [f64]) {
        let collection_rate = level as f64 * (1.0 - slip) / slip;
        let mut slipped = vec![0.0; level + 1];
        let mut taken = vec![0.0; level + 1];
        for hot in 0..=level {
            let flow = self.flow[hot];
            let hot_rate = self.heat * hot as f64;
            let rate = hot_rate + (level - hot) as f64;
            let time = if slip > 0.0 { flow / (rate + collection_rate) } else { 0.0 };
            walk.time += time;
            walk.valid_time += time * level as f64;
            let dying = time * rate;
            taken[hot] += flow - dying;
            if hot > 0 {
                slipped[hot - 1] += time * hot_rate;
            }
            slipped[hot] += time * (level - hot) as f64;
        }
        for (victims, kept) in [(taken, level), (slipped, level - 1)] {
            let host_writes = self.b - kept;
            for (hot, &share) in victims.iter().enumerate() {
                if share > NEGLIGIBLE {
                    walk.pages_won += share * host_writes as f64;
                    add_binomial(next, hot, host_writes, self.hot_writes, share);
                }
            }
        }
        let total: f64 = next.iter().sum();
        next.iter_mut().for_each(|share| *share /= total);
    }
}

/// The stationary distribution of a Markov chain, given by its rows: Grassmann, Taksar and Heyman's elimination,
/// which subtracts nothing and so keeps its digits however slow the chain is.
fn stationary(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let states = rows.len();
    for last in (1..states).rev() {
        let (upper, lower) = rows.split_at_mut(last);
        let leaving = &lower[0][..last];
        let total = leaving.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        for row in upper {
            row[last] /= total;
            let through = row[last];
            if through > 0.0 {
                row.iter_mut().zip(leaving).for_each(|(direct, onward)| *direct += through * onward);
            }
        }
    }
    let mut shares = vec![1.0];
    let mut total = 1.0;
    for state in 1..states {
        let share: f64 = shares.iter().zip(&rows).map(|(share, row)| share * row[state]).sum();
        // Scaled as it grows: it may span hundreds of orders of magnitude.
        total += share;
        shares.push(share);
        if total > 1e200 {
            shares.iter_mut().for_each(|share| *share /= total);
            total = 1.0;
        }
    }
    shares.iter_mut().for_each(|share| *share /= total);
    shares
}

/// Adds `weight` times the binomial distribution of `trials` draws of probability `p`, shifted by `offset`.
fn add_binomial(into: &mut [f64], offset: usize, trials: usize, p: f64, weight: f64) {
    // Outwards from the mode, whose size does not matter as the sum is scaled: no underflow at any b.
    let mode = (((trials + 1) as f64 * p) as usize).min(trials);
    let odds = p / (1.0 - p);
    let mut shares = vec![0.0; trials + 1];
    shares[mode] = 1.0;
    for k in mode..trials {
        shares[k + 1] = shares[k] * odds * (trials - k) as f64 / (k + 1) as f64;
    }
    for k in (0..mode).rev() {
        shares[k] = shares[k + 1] * (k + 1) as f64 / ((trials - k) as f64 * odds);
    }
    let total: f64 = shares.iter().sum();
    for (k, share) in shares.iter().enumerate() {
        into[offset + k] += weight * share / total;
    }
}
