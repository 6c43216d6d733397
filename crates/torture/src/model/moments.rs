//! Moments at which a power cut leaves states that no other moment leaves.
//!
//! A cut while requests are pending leaves what a later cut leaves too, as long as no flush and no mark comes between.
//! So the moments just before each flush, just before each mark, and at the end have all states. Where a mark syncs, the
//! moment just after it has one more.

use super::event::Event;
use super::run::Run;

/// What a power cut leaves of the volatile cache. These lines are also the command's help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Any subset of what was written since the last flush
    #[default]
    Subset,
    /// What came first, in units: the last request may be cut off within
    Prefix,
    /// All that was written, at any moment: a drive with power-loss protection
    Protected,
    /// All that was written, and the page cache too: as it was at each mark
    All,
    /// Any subset of everything: flushes are answered and ignored
    Lies,
}

impl Policy {
    /// Events that are durable at a cut.
    #[must_use]
    pub fn durable(self, run: &Run, cut: u32) -> u32 {
        if self == Self::Lies {
            return 0;
        }
        let before = run.events.get(..cut as usize).unwrap_or(&run.events);
        before.iter().rposition(|event| *event == Event::Flush).map_or(0, |at| at as u32 + 1)
    }
}

/// A moment of a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Events that have happened.
    pub cut: u32,
    /// Of those, events that are durable.
    pub durable: u32,
    /// Marks that were passed.
    pub marks: u32,
}

/// All moments, in order.
#[must_use]
pub fn moments(run: &Run, policy: Policy) -> Vec<Moment> {
    let mut found: Vec<Moment> = Vec::new();
    let (mut durable, mut marks) = (0, 0);
    // Requests since the moment before.
    let mut is_new = true;
    for (at, event) in run.events.iter().take(run.end).enumerate() {
        let cut = at as u32;
        let ends = match event {
            Event::Mark(_) => true,
            Event::Flush => matches!(policy, Policy::Subset | Policy::Prefix),
            Event::Write { .. } | Event::Trim { .. } => policy == Policy::Protected,
        };
        if ends && is_new {
            found.push(Moment { cut, durable, marks });
            is_new = false;
        }
        match event {
            Event::Mark(_) => {
                marks += 1;
                is_new = true;
                // What it syncs has this mark, and none of the requests of the next one.
                if policy == Policy::All {
                    found.push(Moment { cut: cut + 1, durable, marks });
                    is_new = false;
                }
            }
            Event::Flush if policy != Policy::Lies => durable = cut + 1,
            Event::Flush => {}
            Event::Write { .. } | Event::Trim { .. } => is_new = true,
        }
    }
    if is_new {
        found.push(Moment { cut: run.end as u32, durable, marks });
    }
    found
}
