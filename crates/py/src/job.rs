//! The engine at work, on threads of its own: Python goes on, gets progress, and can interrupt.
//!
//! The calling thread waits without the GIL and wakes ten times and more a second. Then it reports progress, and checks
//! Python for signals. If there are any, it stops the engine, and waits for it no longer. The engine stops by itself at
//! its next look at the clock. Work of unknown length (a trace being read for the first time) may have no such look for
//! a while.

use crate::errors::raised;
use phelsuma_drive::Progress;
use phelsuma_options::Failure;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Between two looks.
pub(crate) const BETWEEN_LOOKS: Duration = Duration::from_millis(40);

/// How far something is, by name: phase, done, of how many; none once it has ended.
type HowFar = (String, Option<(&'static str, u64, Option<u64>)>);

/// What the engine sends to the waiting thread.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    stopped: Arc<AtomicBool>,
    news: Arc<Mutex<Vec<HowFar>>>,
}

impl Watch {
    /// Whether it may go on.
    pub(crate) fn go_on(&self) -> bool {
        !self.stopped.load(Relaxed)
    }

    /// Notes how far `name` is; whether it may go on.
    pub(crate) fn tell(&self, name: &str, progress: Progress) -> bool {
        self.note(name, Some((progress.phase, progress.done, progress.of)));
        self.go_on()
    }

    /// `name` has ended.
    pub(crate) fn ended(&self, name: &str) {
        self.note(name, None);
    }

    fn note(&self, name: &str, how_far: Option<(&'static str, u64, Option<u64>)>) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        match news.iter_mut().find(|(of, _)| of == name) {
            Some(old) => old.1 = how_far,
            None => news.push((name.to_string(), how_far)),
        }
    }
}

/// Does `work` on a thread of its own and waits for it. `progress` is called with what is new: name, phase, pages or
/// requests done, and of how many; the phase is None where something has ended.
///
/// # Errors
/// What the work says, as an exception; what a signal's handler or `progress` raises.
pub(crate) fn done<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let watch = Watch::default();
    let (said, heard) = channel();
    let of_worker = watch.clone();
    let spawned = std::thread::Builder::new().name("phelsuma".into()).spawn(move || {
        // The receiver is gone where a signal came first.
        let _ = said.send(work(&of_worker));
    });
    spawned.map_err(|error| raised(Failure::Failed(format!("no thread: {error}"))))?;
    // The receiver is lent to the thread that waits without the GIL.
    let heard = Mutex::new(heard);
    loop {
        let next = py.detach(|| heard.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(BETWEEN_LOOKS));
        let looked = py.check_signals().and_then(|()| tell(&watch, progress));
        if let Err(error) = looked {
            watch.stopped.store(true, Relaxed);
            return Err(error);
        }
        match next {
            Ok(outcome) => return outcome.map_err(raised),
            Err(RecvTimeoutError::Timeout) => {}
            // It panicked, and has said so on stderr.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raised(Failure::Failed("the engine panicked, which is a defect of its".into())));
            }
        }
    }
}

fn tell(watch: &Watch, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let news = std::mem::take(&mut *watch.news.lock().unwrap_or_else(PoisonError::into_inner));
    let Some(progress) = progress else { return Ok(()) };
    for (name, how_far) in news {
        match how_far {
            Some((phase, done, of)) => progress.call1((name, phase, done, of))?,
            None => progress.call1((name, None::<&str>, 0, None::<u64>))?,
        };
    }
    Ok(())
}
