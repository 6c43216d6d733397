//! The machine's clock as simulated time.

use phelsuma_nand::Time;
use std::time::{Duration, Instant};

/// Simulated moments of what happens on the machine's clock.
pub(super) struct Clock {
    begun: Instant,
    base: Time,
    /// Real over simulated time; none: requests do not wait for simulated flash.
    pub(super) scale: Option<f64>,
}

impl Clock {
    pub(super) fn new(base: Time, scale: Option<f64>) -> Self {
        Self { begun: Instant::now(), base, scale }
    }

    pub(super) fn now(&self) -> Time {
        match self.scale {
            Some(scale) => self.base + (self.begun.elapsed().as_nanos() as f64 / scale) as u64,
            None => Time::ZERO,
        }
    }

    /// How long it is until then.
    pub(super) fn until(&self, done: Time) -> Duration {
        let Some(scale) = self.scale else { return Duration::ZERO };
        let real = done.0.saturating_sub(self.base.0) as f64 * scale / 1e9;
        Duration::try_from_secs_f64(real).unwrap_or(Duration::MAX).saturating_sub(self.begun.elapsed())
    }
}
