//! A state as a short text: `57`, `57-41`, `57-41:0_7,43_45`, `57+41`.
//!
//! The number of events before the cut; then, after `-`, what was lost, or, after `+`, the only pending requests that
//! were kept. `43_45` is a range of requests; `:0_7` are atoms of one, several ranges with dots. All of them ascend.

use super::moments::Policy;
use super::run::Run;
use super::state::{Atoms, Lost, State};
use std::fmt::Write as _;

/// A text that is no state of this run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// It is not written like one.
    #[error("'{0}' is no state: 57, 57-41, 57-41:0_7,43_45 or 57+41 would be right")]
    Form(String),
    /// The run has no such event.
    #[error("the run has {events} events, and '{id}' is a cut after {cut}")]
    Cut {
        /// The text.
        id: String,
        /// Its cut.
        cut: u32,
        /// Events of the run.
        events: usize,
    },
    /// A request that was not pending.
    #[error("event {number} is no request that was pending after event {cut}")]
    NotPending {
        /// The request.
        number: u32,
        /// The cut.
        cut: u32,
    },
}

impl State {
    /// The text.
    #[must_use]
    pub fn id(&self, run: &Run, policy: Policy) -> String {
        let pending: Vec<u32> = run.requests(policy.durable(run, self.cut), self.cut).collect();
        let lost = list(&pending, |number| match self.lost.get(&number) {
            None => Kind::Not,
            Some(atoms) if atoms.count() == run.atoms(number) => Kind::Whole,
            Some(atoms) => Kind::Part(atoms.clone()),
        });
        let kept = list(&pending, |number| match self.lost.get(&number) {
            None => Kind::Whole,
            Some(atoms) if atoms.count() == run.atoms(number) => Kind::Not,
            Some(atoms) => Kind::Part(atoms.others(run.atoms(number))),
        });
        match (lost.is_empty(), kept.len() + 8 < lost.len()) {
            (true, _) => self.cut.to_string(),
            (_, true) => format!("{}+{kept}", self.cut),
            _ => format!("{}-{lost}", self.cut),
        }
    }

    /// The state of a text.
    ///
    /// # Errors
    /// It is none of this run.
    pub fn of_id(id: &str, run: &Run, policy: Policy) -> Result<Self, IdError> {
        let form = || IdError::Form(id.to_string());
        let number = |text: &str| text.parse::<u32>().map_err(|_| form());
        let (cut, rest) = id.split_at(id.find(['-', '+']).unwrap_or(id.len()));
        let cut = number(cut)?;
        // The complete drive, after the unmounting, is one too.
        if cut as usize > run.end && cut as usize != run.events.len() {
            return Err(IdError::Cut { id: id.to_string(), cut, events: run.end });
        }
        let durable = policy.durable(run, cut);
        let mut named = Lost::new();
        let mut ascends_from = 0;
        for item in rest.get(1..).unwrap_or("").split(',').filter(|item| !item.is_empty()) {
            let (requests, atoms) = item.split_once(':').map_or((item, None), |(a, b)| (a, Some(b)));
            let (first, last) = requests.split_once('_').unwrap_or((requests, requests));
            let (first, last) = (number(first)?, number(last)?);
            if first <= durable || last > cut || first > last {
                return Err(IdError::NotPending { number: if first <= durable { first } else { last }, cut });
            }
            if first < ascends_from {
                return Err(form());
            }
            ascends_from = last + 1;
            let before = named.len();
            for request in run.requests(first - 1, last) {
                let count = run.atoms(request);
                let mut of = Atoms::default();
                match atoms {
                    None => of = Atoms::first(count),
                    Some(text) => {
                        let mut ascends_from = 0;
                        for range in text.split('.') {
                            let (from, to) = range.split_once('_').unwrap_or((range, range));
                            let (from, to) = (number(from)?, number(to)?);
                            if from < ascends_from || from > to || to >= count {
                                return Err(form());
                            }
                            ascends_from = to + 1;
                            of.push(from..to + 1);
                        }
                    }
                }
                named.insert(request, of);
            }
            if named.len() == before {
                return Err(IdError::NotPending { number: first, cut });
            }
        }
        if rest.starts_with('+') {
            let mut lost = Lost::new();
            for request in run.requests(durable, cut) {
                let count = run.atoms(request);
                let atoms = named.get(&request).map_or(Atoms::first(count), |kept| kept.others(count));
                if !atoms.is_empty() {
                    lost.insert(request, atoms);
                }
            }
            return Ok(Self { cut, lost });
        }
        Ok(Self { cut, lost: named })
    }
}

enum Kind {
    Not,
    Whole,
    Part(Atoms),
}

/// Items with commas; whole requests that follow each other among the pending ones are a range.
fn list(pending: &[u32], kind: impl Fn(u32) -> Kind) -> String {
    let mut text = String::new();
    let mut range: Option<(u32, u32)> = None;
    let end = |range: &mut Option<(u32, u32)>, text: &mut String| {
        if let Some((first, last)) = range.take() {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = match first == last {
                true => write!(text, "{comma}{first}"),
                false => write!(text, "{comma}{first}_{last}"),
            };
        }
    };
    for number in pending {
        match kind(*number) {
            Kind::Whole => range = Some((range.map_or(*number, |(first, _)| first), *number)),
            Kind::Not => end(&mut range, &mut text),
            Kind::Part(atoms) => {
                end(&mut range, &mut text);
                let comma = if text.is_empty() { "" } else { "," };
                let ranges: Vec<String> = atoms
                    .ranges()
                    .map(|r| match r.len() {
                        1 => r.start.to_string(),
                        _ => format!("{}_{}", r.start, r.end - 1),
                    })
                    .collect();
                let _ = write!(text, "{comma}{number}:{}", ranges.join("."));
            }
        }
    }
    end(&mut range, &mut text);
    text
}
