//! The memory that the runs of this process take together: one that does not fit beside the others waits for them.

use crate::job::{BETWEEN_LOOKS, Watch};
use phelsuma_drive::RunError;
use phelsuma_options::memory;
use std::sync::{Condvar, Mutex, PoisonError};

static TAKEN_BYTES: Mutex<u64> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// What a run has taken, until it is dropped.
pub(crate) struct Room {
    bytes: u64,
}

impl Room {
    /// Takes so many bytes as soon as they fit `most` beside what others have taken, or the machine's memory where that
    /// is none. Without others they always do: what is too large for the machine is refused elsewhere.
    ///
    /// # Errors
    /// It was stopped while it waited.
    pub(crate) fn take(bytes: u64, most: Option<u64>, watch: &Watch) -> Result<Self, RunError> {
        let most = most.or_else(memory::total).unwrap_or(u64::MAX);
        let mut taken = TAKEN_BYTES.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && taken.saturating_add(bytes) > most {
            if !watch.go_on() {
                return Err(RunError::Stopped);
            }
            taken = GIVEN_BACK.wait_timeout(taken, BETWEEN_LOOKS).unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken = taken.saturating_add(bytes);
        Ok(Self { bytes })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut taken = TAKEN_BYTES.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.bytes);
        GIVEN_BACK.notify_all();
    }
}
