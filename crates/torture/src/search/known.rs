//! What is known of states already, and of failures that have been explained.

use super::explain::Failure;
use crate::model::{Identity, Lost, Policy, Run, State};
use crate::view::FailureKind;
use std::collections::HashMap;

/// Explanations are looked for so often. Later failures are counted.
const SHRUNK_MAX: usize = 24;

/// What came of a state: none as long as it is being checked, else in what way it is wrong, if it is.
type Known = Option<Option<FailureKind>>;

/// All that workers share about results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    states: HashMap<Identity, Known>,
    /// Failing states in their smallest form, with the signature of their failure.
    shrunk: Vec<(FailureKind, State, String)>,
    /// Each with what makes it the same as another one.
    pub(crate) failures: Vec<(String, Failure)>,
    pub(crate) wrong: HashMap<FailureKind, u64>,
    pub(crate) checked: u64,
    /// Checked, or being checked.
    pub(crate) begun: u64,
    pub(crate) equal: u64,
    /// Left out, as they tear a superblock.
    pub(crate) left_out: u64,
    /// Failures that are neither explained nor like one that is.
    pub(crate) unexplained: u64,
}

impl Results {
    /// Whether a state is new; then it is being checked.
    pub(crate) fn is_new(&mut self, identity: Identity) -> bool {
        let is_new = !self.states.contains_key(&identity);
        if is_new {
            self.states.insert(identity, None);
            self.begun += 1;
        } else {
            self.equal += 1;
        }
        is_new
    }

    /// What came of it, if that is known.
    pub(crate) fn of(&self, identity: Identity) -> Known {
        self.states.get(&identity).copied().flatten()
    }

    /// What came of it.
    pub(crate) fn done(&mut self, identity: Identity, kind: Option<FailureKind>) {
        self.states.insert(identity, Some(kind));
        self.checked += 1;
        if let Some(kind) = kind {
            *self.wrong.entry(kind).or_default() += 1;
        }
    }

    /// Whether an explained failure of the same moment, or of the same pending requests, has lost no more than this
    /// one.
    pub(crate) fn is_explained(&mut self, kind: FailureKind, state: &State, run: &Run, policy: Policy) -> bool {
        let within = |lost: &Lost| {
            lost.iter().all(|(number, atoms)| {
                state.lost.get(number).is_some_and(|more| {
                    atoms.ranges().all(|a| more.ranges().any(|b| b.start <= a.start && a.end <= b.end))
                })
            })
        };
        let durable = policy.durable(run, state.cut);
        let found = self.shrunk.iter().find(|(of, known, _)| {
            let is_near = match known.lost.is_empty() {
                true => known.cut == state.cut,
                false => policy.durable(run, known.cut) == durable && known.cut <= state.cut,
            };
            *of == kind && is_near && within(&known.lost)
        });
        let Some((.., signature)) = found else { return false };
        if let Some((_, failure)) = self.failures.iter_mut().find(|(of, _)| of == signature) {
            failure.states += 1;
        }
        true
    }

    /// Whether there have been enough explanations.
    pub(crate) fn is_enough(&self) -> bool {
        self.shrunk.len() >= SHRUNK_MAX
    }

    /// Counts a failure that is not shrunk: as one that has lost nothing, if the state with everything kept fails too.
    pub(crate) fn count(&mut self, kind: FailureKind, all_kept: Identity) {
        let fails = self.of(all_kept) == Some(Some(kind));
        match self.failures.iter_mut().find(|(_, failure)| fails && failure.kind == kind && failure.lost.is_empty()) {
            Some((_, failure)) => failure.states += 1,
            None => self.unexplained += 1,
        }
    }

    /// Whether a failure is the one to describe, of those with its explanation: it has lost less, or is earlier.
    pub(crate) fn is_described(&self, signature: &str, failure: &Failure) -> bool {
        let size = |failure: &Failure| (failure.lost.len(), failure.cut);
        self.failures.iter().all(|(of, known)| of != signature || size(failure) < size(known))
    }

    /// Whether a failure that has lost nothing is of an earlier cut than all that are explained.
    pub(crate) fn is_earliest(&self, kind: FailureKind, cut: u32) -> bool {
        self.shrunk.iter().all(|(of, state, _)| *of != kind || !state.lost.is_empty() || cut < state.cut)
    }

    /// Keeps an explained failure, with others that have the same explanation. `smallest` are its smallest states.
    pub(crate) fn explained(&mut self, kind: FailureKind, smallest: Vec<State>, signature: String, failure: Failure) {
        let is_described = self.is_described(&signature, &failure);
        self.shrunk.extend(smallest.into_iter().map(|state| (kind, state, signature.clone())));
        let Some((_, known)) = self.failures.iter_mut().find(|(of, _)| *of == signature) else {
            self.failures.push((signature, failure));
            return;
        };
        let states = known.states + failure.states;
        let (first, second) = if is_described { (failure, known.clone()) } else { (known.clone(), failure) };
        let mut ids = first.ids.clone();
        ids.extend(second.ids.into_iter().filter(|id| !first.ids.contains(id)));
        *known = Failure { states, ids, ..first };
    }
}
