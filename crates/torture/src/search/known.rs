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
    /// Failing states in their smallest form.
    shrunk: Vec<(FailureKind, State)>,
    /// Each with what makes it the same as another one.
    pub(crate) failures: Vec<(String, Failure)>,
    pub(crate) wrong: HashMap<FailureKind, u64>,
    pub(crate) checked: u64,
    pub(crate) equal: u64,
    /// Failures that are neither explained nor like one that is.
    pub(crate) unexplained: u64,
}

impl Results {
    /// Whether a state is new; then it is being checked.
    pub(crate) fn is_new(&mut self, identity: Identity) -> bool {
        let is_new = !self.states.contains_key(&identity);
        if is_new {
            self.states.insert(identity, None);
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
        let found = self.shrunk.iter().find(|(of, known)| {
            let is_near = match known.lost.is_empty() {
                true => known.cut == state.cut,
                false => policy.durable(run, known.cut) == durable && known.cut <= state.cut,
            };
            *of == kind && is_near && within(&known.lost)
        });
        let Some((_, known)) = found else { return false };
        let id = known.id(run, policy);
        if let Some((_, failure)) = self.failures.iter_mut().find(|(_, failure)| failure.ids.contains(&id)) {
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

    /// Whether there is no failure with this explanation yet.
    pub(crate) fn is_new_kind(&self, signature: &str) -> bool {
        self.failures.iter().all(|(of, _)| of != signature)
    }

    /// Keeps an explained failure, with others that have the same explanation.
    pub(crate) fn explained(&mut self, kind: FailureKind, state: State, signature: String, failure: Failure) {
        self.shrunk.push((kind, state));
        match self.failures.iter_mut().find(|(of, _)| *of == signature) {
            Some((_, known)) => {
                known.states += 1;
                let mut ids = failure.ids.clone();
                ids.splice(0..0, known.ids.iter().cloned());
                if failure.lost.len() < known.lost.len() {
                    *known = Failure { states: known.states, ..failure };
                    ids.rotate_right(1);
                }
                known.ids = ids;
            }
            None => self.failures.push((signature, failure)),
        }
    }
}
