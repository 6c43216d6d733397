//! Mixed greedy: hot and cold pages share the blocks, and one greedy collector sees only how many are valid.
//!
//! Mean field for finite b. A block's state is (i, k): valid hot and valid cold pages. Hot pages die at `heat`
//! times the rate of cold ones, so a block walks down from i + k = b one page at a time; from (i, k) the next
//! page to die is hot with probability heat·i/(heat·i + k). As in [`greedy`] there is a threshold: a block that
//! falls below it is collected at once; blocks waiting at it are collected at a rate that does not ask which
//! pages they hold. The victim's valid pages open the next block and host writes fill it, each hot with
//! probability r: *cold pages thus stay together*, and a block is not a random sample of all pages.
//!
//! For a given threshold that is a Markov chain over the number of hot pages in a newly filled block; its
//! stationary distribution is found by running it. Time spent in each state then gives the valid pages per
//! block, hence the ratio that this threshold belongs to; the threshold is moved until the ratio is the one asked
//! for. Hot pages keep their share of the space by themselves: in steady state as many are written as die.
//!
//! Only states that carry any weight are visited, a band of about √b around the mean on each of the b − j*
//! levels, so a figure costs some milliseconds at b = 128.
//!
//! [`greedy`]: crate::greedy()

use crate::error::LimitError;
use crate::hot_cold::HotCold;
use crate::solve::{check_pages_per_block, check_ratio};

/// The largest number of pages per block for [`mixed_greedy`]: its work grows with the square.
pub const MAX_MIXED_PAGES_PER_BLOCK: u32 = 2048;

/// A flow smaller than this is dropped: it changes the result in the twelfth digit at most.
const NEGLIGIBLE: f64 = 1e-18;

/// WA of greedy collection when two classes are mixed in the same blocks, under one collector.
///
/// `rho` is logical over usable physical pages (no unit), the result programs per host page written. Exact for
/// infinitely many blocks and one open block that takes both the victim's pages and the host's.
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
    let failed = LimitError::NoConvergence { model: "mixed greedy", ratio: rho };

    // The lowest threshold whose blocks, if all are taken at it and none below, are at least as full as asked.
    let (mut below, mut above) = (0, b);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        let steady = chain.settle(middle, 0.0).ok_or_else(|| failed.clone())?;
        if steady.ratio < rho { below = middle } else { above = middle }
    }
    let level = above.min(b - 1);
    // Within the level, by the part of the blocks that slip through it. None is ratio at `level`, all that below.
    let (mut low, mut high) = (0.0, 1.0);
    let mut steady = chain.settle(level, high).ok_or_else(|| failed.clone())?;
    if level == 1 && steady.ratio >= rho {
        return Ok(1.0); // blocks empty by themselves
    }
    for _ in 0..40 {
        let slip = 0.5 * (low + high);
        steady = chain.settle(level, slip).ok_or_else(|| failed.clone())?;
        if (steady.ratio / rho - 1.0).abs() < 1e-11 {
            break;
        }
        if steady.ratio > rho { low = slip } else { high = slip }
    }
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
}

/// Sums of one walk from full to collected.
#[derive(Default)]
struct Walk {
    time: f64,
    valid_time: f64,
    pages_won: f64,
}

impl Chain {
    fn new(b: usize, hot: HotCold) -> Self {
        let mut filled = vec![0.0; b + 1];
        add_binomial(&mut filled, 0, b, hot.space(), 1.0);
        Self { b, heat: hot.heat(), hot_writes: hot.writes(), filled, flow: vec![0.0; b + 1], below: vec![0.0; b + 1] }
    }

    /// Runs the chain to its steady state with blocks collected at `level`; the part `slip` of the rate at
    /// which they would leave it goes on to one page less.
    fn settle(&mut self, level: usize, slip: f64) -> Option<Steady> {
        for _ in 0..100_000 {
            let (walk, next) = self.walk(level, slip);
            let change: f64 = next.iter().zip(&self.filled).map(|(new, old)| (new - old).abs()).sum();
            self.filled = next;
            if change < 1e-13 {
                let ratio = walk.valid_time / (walk.time * self.b as f64);
                return Some(Steady { ratio, pages_won: walk.pages_won });
            }
        }
        None
    }

    /// One filled block's way down to its collection, in expectation, and the distribution of the block that
    /// its valid pages open. Time is in lifetimes of a cold page.
    fn walk(&mut self, level: usize, slip: f64) -> (Walk, Vec<f64>) {
        let mut walk = Walk::default();
        let mut next = vec![0.0; self.b + 1];
        self.flow.copy_from_slice(&self.filled);
        for valid in (level + 1..=self.b).rev() {
            self.below[..=valid].fill(0.0);
            for hot in 0..=valid {
                let flow = self.flow[hot];
                if flow < NEGLIGIBLE {
                    continue;
                }
                let hot_rate = self.heat * hot as f64;
                let rate = hot_rate + (valid - hot) as f64;
                walk.time += flow / rate;
                walk.valid_time += flow / rate * valid as f64;
                let to_hot = flow * (hot_rate / rate);
                if hot > 0 {
                    self.below[hot - 1] += to_hot;
                }
                self.below[hot] += flow - to_hot;
            }
            std::mem::swap(&mut self.flow, &mut self.below);
        }
        self.collect(level, slip, &mut walk, &mut next);
        (walk, next)
    }

    /// The end of the walk: blocks at `level` are collected there, or just after one more page has died.
    fn collect(&mut self, level: usize, slip: f64, walk: &mut Walk, next: &mut [f64]) {
        // The collection rate that lets a block with the mean rate of deaths slip through with probability `slip`.
        let mut rates = (0.0, 0.0);
        for hot in 0..=level {
            rates.0 += self.flow[hot];
            rates.1 += self.flow[hot] * (self.heat * hot as f64 + (level - hot) as f64);
        }
        let collection_rate = rates.1 / rates.0 * (1.0 - slip) / slip;
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
