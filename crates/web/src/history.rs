//! Copies of a drive as it was, from which it is brought to any step again.

/// Copies kept at the most.
const COPIES_MAX: usize = 24;

/// Copies by step, the earliest first. The earliest stays.
pub(crate) struct History<T> {
    copies: Vec<(u64, T)>,
    /// Steps between copies; it doubles whenever there are too many.
    every: u64,
}

impl<T> History<T> {
    /// The first copy is of this step.
    pub(crate) fn new(step: u64, first: T) -> Self {
        Self { copies: vec![(step, first)], every: 64 }
    }

    /// The first step that there is.
    pub(crate) fn first(&self) -> u64 {
        self.copies.first().map_or(0, |(of, _)| *of)
    }

    /// Whether a copy is due at this step.
    pub(crate) fn is_due(&self, step: u64) -> bool {
        self.copies.last().is_none_or(|(last, _)| step >= last + self.every)
    }

    /// So many steps may be done from here on before a copy is due.
    pub(crate) fn until_due(&self, step: u64) -> u64 {
        self.copies.last().map_or(0, |(last, _)| (last + self.every).saturating_sub(step))
    }

    pub(crate) fn keep(&mut self, step: u64, copy: T) {
        if self.copies.len() == COPIES_MAX {
            // Every second one goes, and the earliest is not among them.
            let mut nth = 0;
            self.copies.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every *= 2;
        }
        self.copies.push((step, copy));
    }

    /// The latest copy that is not behind this step.
    pub(crate) fn before(&self, step: u64) -> Option<&(u64, T)> {
        self.copies.iter().rev().find(|(of, _)| *of <= step)
    }

    /// What comes behind this step is another one from now on.
    pub(crate) fn forget_behind(&mut self, step: u64) {
        self.copies.retain(|(of, _)| *of <= step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_stay_few_and_the_first_stays() {
        let mut history = History::new(0, 0);
        for step in 1..1_000_000 {
            if history.is_due(step) {
                history.keep(step, step);
            }
        }
        assert!(history.copies.len() <= COPIES_MAX && history.copies.len() > COPIES_MAX / 3);
        assert_eq!(history.before(63).map(|(of, _)| *of), Some(0));
        let (of, copy) = history.before(700_000).unwrap();
        assert!(of == copy && *of <= 700_000 && *of > 500_000);
        history.forget_behind(700_000);
        assert!(history.copies.iter().all(|(of, _)| *of <= 700_000) && history.copies[0].0 == 0);
    }
}
