//! Which state of which moment comes next.
//!
//! In turns: the first state of each moment, the second of each, and so on. Where there are more moments than the
//! budget has states for, they are taken in groups that are spread over the run. The first state of a moment has lost
//! nothing, so a budget that ended in the first turn would have tested no loss.

use crate::config::Budget;
use crate::model::{Depth, Extent, Moment, Plan, Policy, Run, State, moments};

/// Turns before the next group of moments.
const TURNS: u64 = 16;
/// Moments of a group where the budget is a time: how many states that is depends on the check.
const MOMENTS: u64 = 8;

/// All states, in the order in which they are checked.
#[derive(Debug)]
pub(crate) struct Queue<'r> {
    run: &'r Run,
    policy: Policy,
    depth: Depth,
    moments: Vec<Moment>,
    /// States of each moment's plan.
    lengths: Vec<u64>,
    groups: usize,
    round: u64,
    group: usize,
    turn: u64,
    at: usize,
    longest: u64,
    /// Of each moment: the logarithm of how many states are allowed. And whether all plans have all of them.
    pub(crate) allowed_log2: Vec<u64>,
    pub(crate) is_complete: bool,
    plan: Option<(usize, Plan<'r>)>,
}

impl<'r> Queue<'r> {
    /// Of a run, for a budget.
    pub(crate) fn new(run: &'r Run, policy: Policy, depth: Depth, budget: Budget) -> Self {
        let moments = moments(run, policy);
        let extents = Extent::of_all(run, policy, &moments, depth);
        let lengths: Vec<u64> = extents.iter().map(Extent::states).collect();
        let count = moments.len() as u64;
        let of_states = budget.states.map_or(1, |states| (count * TURNS).div_ceil(states.max(1)));
        let of_time = budget.time.map_or(1, |_| count.div_ceil(MOMENTS));
        let groups = of_states.max(of_time).clamp(1, count.max(1));
        Self {
            run,
            policy,
            depth,
            groups: groups as usize,
            round: 0,
            group: 0,
            turn: 0,
            at: 0,
            longest: lengths.iter().copied().max().unwrap_or(0),
            allowed_log2: extents.iter().map(|extent| extent.allowed_log2).collect(),
            is_complete: extents.iter().all(|extent| extent.is_complete),
            moments,
            lengths,
            plan: None,
        }
    }

    /// Moments in all.
    pub(crate) fn moments(&self) -> usize {
        self.moments.len()
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Option<State> {
        while self.round * TURNS < self.longest {
            let index = self.round * TURNS + self.turn;
            let at = self.at + self.group;
            if at < self.moments.len() {
                self.at += self.groups;
                if self.lengths.get(at).is_some_and(|length| index < *length) {
                    return self.state(at, index);
                }
                continue;
            }
            self.at = 0;
            self.turn += 1;
            if self.turn == TURNS {
                (self.turn, self.group) = (0, self.group + 1);
                if self.group == self.groups {
                    (self.group, self.round) = (0, self.round + 1);
                }
            }
        }
        None
    }

    fn state(&mut self, at: usize, index: u64) -> Option<State> {
        if self.plan.as_ref().is_none_or(|(of, _)| *of != at) {
            let moment = *self.moments.get(at)?;
            self.plan = Some((at, Plan::new(self.run, self.policy, moment, self.depth)));
        }
        self.plan.as_ref().and_then(|(_, plan)| plan.state(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Content, Event, Shape};
    use std::collections::HashSet;

    #[test]
    fn every_state_comes_once_and_a_small_budget_sees_the_whole_run() {
        let mut events = Vec::new();
        for number in 0..500u64 {
            events.push(Event::Write { offset: number * 512, data: vec![1; 512].into() });
            events.push(Event::Write { offset: number * 512, data: vec![2; 512].into() });
            events.push(Event::Flush);
        }
        let shape = Shape { size: 1 << 20, unit: 512, atomic_write: 512 };
        let run = Run { shape, base: Content::default(), end: events.len(), events };
        let depth = Depth { subsets: 5, samples: 3, seed: 7 };
        let all = |states, time| {
            let budget = Budget { states, time };
            let mut queue = Queue::new(&run, Policy::Subset, depth, budget);
            let mut states = Vec::new();
            while let Some(state) = queue.next() {
                states.push(state);
            }
            states
        };
        let whole = all(None, None);
        for small in [all(Some(100), None), all(None, Some(std::time::Duration::from_secs(60)))] {
            assert_eq!(whole.len(), small.len());
            assert_eq!(whole.iter().collect::<HashSet<_>>(), small.iter().collect::<HashSet<_>>());
            let first = &small[..100];
            let cuts: Vec<u32> = first.iter().map(|state| state.cut).collect();
            assert!(cuts.iter().any(|cut| *cut < 200) && cuts.iter().any(|cut| *cut > 1000), "{cuts:?}");
            assert!(first.iter().filter(|state| !state.lost.is_empty()).count() > 50);
        }
    }

    #[test]
    fn many_marks_with_no_flush_between_are_one_walk() {
        let events = (0..200_000u32).map(|number| match number % 2 {
            0 => Event::Write { offset: u64::from(number) * 512, data: vec![1; 512].into() },
            _ => Event::Mark(String::new()),
        });
        let shape = Shape { size: 1 << 30, unit: 512, atomic_write: 512 };
        let run = Run { shape, base: Content::default(), end: 200_000, events: events.collect() };
        let began = std::time::Instant::now();
        let queue = Queue::new(&run, Policy::Subset, Depth { subsets: 5, samples: 3, seed: 7 }, Budget::default());
        // A walk for each moment would take a minute.
        assert!(began.elapsed().as_secs() < 5);
        assert_eq!((queue.moments(), queue.allowed_log2.last()), (100_001, Some(&100_000)));
    }
}
