//! The thread that looks at the drive, so that the others need not: twice a second, while there are requests.

use crate::blocks::Blocks;
use phelsuma_serve::device::{Look, Served};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// From the beginning of a look to that of the next, at the least.
pub(crate) const EVERY: Duration = Duration::from_millis(500);
/// A look that takes long is not taken more often than this share of the time, one in so many.
const SHARE: u32 = 20;
/// How long after a request another one is expected.
const WANTED_FOR: Duration = Duration::from_secs(3);
/// An older look is not shown before a new one was tried.
const FRESH: Duration = Duration::from_millis(1500);
/// How long a new look is waited for; then the one before does.
const PATIENCE: Duration = Duration::from_secs(2);

/// A look at a drive at a moment.
#[derive(Clone)]
pub(crate) struct Seen {
    /// Looks until then, this one included.
    pub(crate) number: u64,
    pub(crate) at: Instant,
    /// Everything but the blocks.
    pub(crate) look: Look,
    /// The blocks, where there is anything to be seen of them.
    pub(crate) blocks: Option<Arc<Blocks>>,
}

/// Until when a look is wanted, and whether to stop.
#[derive(Default)]
struct Wanted {
    until: Option<Instant>,
    stop: bool,
}

/// The state that the looking thread and those that answer share.
pub(crate) struct Looker {
    wanted: Mutex<Wanted>,
    knock: Condvar,
    seen: watch::Sender<Option<Arc<Seen>>>,
}

impl Default for Looker {
    fn default() -> Self {
        Self { wanted: Mutex::default(), knock: Condvar::new(), seen: watch::Sender::new(None) }
    }
}

impl Looker {
    /// Ends [`Looker::look`].
    pub(crate) fn stop(&self) {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.knock.notify_all();
    }

    /// Looks whenever there are requests, until it is stopped.
    pub(crate) fn look(&self, served: &Served) {
        let (mut number, mut due) = (0, Instant::now());
        while self.wait_until_wanted(due) {
            let begun = Instant::now();
            let before = self.seen.borrow().as_ref().and_then(|seen| seen.blocks.clone());
            let look = served.look();
            let blocks = Blocks::look(served, before.as_deref());
            number += 1;
            let seen = Seen { number, at: begun, look, blocks: blocks.map(Arc::new) };
            self.seen.send_replace(Some(Arc::new(seen)));
            due = begun + EVERY.max(begun.elapsed() * SHARE);
        }
    }

    /// Waits until there is a request and the time has come. False if it was stopped.
    fn wait_until_wanted(&self, due: Instant) -> bool {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = Instant::now();
            let is_wanted = wanted.until.is_some_and(|until| now < until);
            if wanted.stop || is_wanted && now >= due {
                return !wanted.stop;
            }
            wanted = match is_wanted {
                true => self.knock.wait_timeout(wanted, due - now).unwrap_or_else(PoisonError::into_inner).0,
                false => self.knock.wait(wanted).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// The latest look, if it is recent. While the drive allows no look (`busy`), the latest of any age.
    pub(crate) async fn seen(&self, busy: bool) -> Option<Arc<Seen>> {
        let mut seen = self.seen.subscribe();
        {
            let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.until = Some(Instant::now() + WANTED_FOR);
        }
        self.knock.notify_one();
        let is_fresh = |seen: &Option<Arc<Seen>>| seen.as_ref().is_some_and(|seen| busy || seen.at.elapsed() < FRESH);
        let _ = tokio::time::timeout(PATIENCE, seen.wait_for(is_fresh)).await;
        self.seen.borrow().clone()
    }
}
