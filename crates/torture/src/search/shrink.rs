//! From a failing state to one that has lost as little as possible and still fails.

use crate::error::Outcome;
use crate::model::{Atoms, Lost, Run, State};

/// At most so many checks for one failure.
const CHECKS_MAX: u32 = 150;
/// Up to so many lost requests, each is tried alone, and each pair.
const ALONE_MAX: usize = 48;
const PAIRS_MAX: usize = 10;

/// Asks whether a state fails in the same way; none stops.
pub(super) type Fails<'f> = dyn FnMut(&State) -> Outcome<Option<bool>> + 'f;

/// The smallest state that was found. All kept comes first: then what is missing had not reached the drive.
pub(crate) fn shrink(run: &Run, state: &State, fails: &mut Fails<'_>) -> Outcome<State> {
    let mut shrinking = Shrinking { fails, left: CHECKS_MAX, best: state.clone() };
    shrinking.all(run)?;
    Ok(shrinking.best)
}

struct Shrinking<'f, 'g> {
    fails: &'f mut Fails<'g>,
    left: u32,
    best: State,
}

impl Shrinking<'_, '_> {
    /// Keeps a smaller one if it fails.
    fn takes(&mut self, lost: Lost) -> Outcome<bool> {
        if lost == self.best.lost {
            return Ok(true);
        }
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let state = State { cut: self.best.cut, lost };
        let fails = (self.fails)(&state)?;
        match fails {
            Some(true) => self.best = state,
            Some(false) => {}
            None => self.left = 0,
        }
        Ok(fails == Some(true))
    }

    fn all(&mut self, run: &Run) -> Outcome {
        if self.takes(Lost::new())? {
            return Ok(());
        }
        self.untear(run)?;
        let lost: Vec<(u32, Atoms)> = self.best.lost.clone().into_iter().collect();
        if lost.len() > ALONE_MAX {
            self.in_halves()?;
        } else {
            for one in &lost {
                if self.takes(Lost::from([one.clone()]))? {
                    break;
                }
            }
            if self.best.lost.len() > 2 && lost.len() <= PAIRS_MAX {
                'pairs: for (at, first) in lost.iter().enumerate() {
                    for second in lost.iter().skip(at + 1) {
                        if self.takes(Lost::from([first.clone(), second.clone()]))? {
                            break 'pairs;
                        }
                    }
                }
            }
            if self.best.lost.len() > 2 {
                self.in_halves()?;
            }
        }
        self.untear(run)
    }

    /// Whole requests are easier to explain than parts.
    fn untear(&mut self, run: &Run) -> Outcome {
        let is_torn = |lost: &Lost| lost.iter().any(|(number, atoms)| atoms.count() < run.atoms(*number));
        if !is_torn(&self.best.lost) {
            return Ok(());
        }
        let whole =
            |lost: &Lost| lost.keys().map(|number| (*number, Atoms::first(run.atoms(*number)))).collect::<Lost>();
        let mut kept = self.best.lost.clone();
        kept.retain(|number, atoms| atoms.count() == run.atoms(*number));
        if self.takes(kept)? || self.takes(whole(&self.best.lost))? {
            return Ok(());
        }
        for number in self.best.lost.keys().copied().collect::<Vec<_>>() {
            let mut without = self.best.lost.clone();
            without.remove(&number);
            if self.takes(without)? {
                continue;
            }
            let mut whole = self.best.lost.clone();
            whole.insert(number, Atoms::first(run.atoms(number)));
            self.takes(whole)?;
        }
        Ok(())
    }

    /// Delta debugging (Zeller and Hildebrandt 2002): parts, then what is left without a part.
    fn in_halves(&mut self) -> Outcome {
        let mut parts = 2;
        while self.left > 0 && self.best.lost.len() > 1 {
            let all: Vec<(u32, Atoms)> = self.best.lost.clone().into_iter().collect();
            let size = all.len().div_ceil(parts);
            let mut is_smaller = false;
            for part in all.chunks(size) {
                if part.len() < all.len() && self.takes(part.iter().cloned().collect())? {
                    (parts, is_smaller) = (2, true);
                    break;
                }
            }
            if is_smaller {
                continue;
            }
            for part in all.chunks(size).filter(|_| parts > 2) {
                let rest: Lost =
                    all.iter().filter(|(number, _)| part.iter().all(|(other, _)| other != number)).cloned().collect();
                if self.takes(rest)? {
                    (parts, is_smaller) = ((parts - 1).max(2), true);
                    break;
                }
            }
            if !is_smaller {
                if size == 1 {
                    break;
                }
                parts = (parts * 2).min(all.len());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Content, Event, Shape};

    fn run() -> Run {
        let events: Vec<Event> =
            (0..100u64).map(|n| Event::Write { offset: n * 2048, data: vec![1; 2048].into() }).collect();
        let shape = Shape { size: 1 << 20, unit: 512, atomic_write: 512 };
        Run { shape, base: Content::default(), end: events.len(), events }
    }

    fn shrunk(from: &[u32], fails: impl Fn(&Lost) -> bool) -> Lost {
        let run = run();
        let lost = from.iter().map(|number| (*number, Atoms::first(4))).collect();
        let mut fails = |state: &State| Ok(Some(fails(&state.lost)));
        shrink(&run, &State { cut: 100, lost }, &mut fails).unwrap().lost
    }

    #[test]
    fn what_does_not_matter_is_kept() {
        let all: Vec<u32> = (1..=100).collect();
        assert_eq!(shrunk(&all, |_| true), Lost::new());
        let of = |numbers: &[u32]| numbers.iter().map(|n| (*n, Atoms::first(4))).collect::<Lost>();
        assert_eq!(shrunk(&all, |lost| lost.contains_key(&37)), of(&[37]));
        assert_eq!(shrunk(&all[..30], |lost| lost.contains_key(&7)), of(&[7]));
        let three = |lost: &Lost| [20, 21, 80].iter().all(|n| lost.contains_key(n));
        assert_eq!(shrunk(&all, three), of(&[20, 21, 80]));
        assert_eq!(shrunk(&all[..8], |lost| lost.contains_key(&3) && lost.contains_key(&8)), of(&[3, 8]));
    }

    #[test]
    fn a_tear_stays_where_it_matters() {
        let run = run();
        let lost = Lost::from([(5, Atoms::range(1..3)), (9, Atoms::range(0..1))]);
        let mut torn = |state: &State| Ok(Some(state.lost.get(&5).is_some_and(|atoms| atoms.count() == 2)));
        let found = shrink(&run, &State { cut: 100, lost: lost.clone() }, &mut torn).unwrap();
        assert_eq!(found.lost, Lost::from([(5, Atoms::range(1..3))]));
        let mut any = |state: &State| Ok(Some(state.lost.contains_key(&9)));
        let found = shrink(&run, &State { cut: 100, lost }, &mut any).unwrap();
        assert_eq!(found.lost, Lost::from([(9, Atoms::first(4))]));
    }
}
