//! When a drive counts as steady: the rule of SNIA's Solid State Storage Performance Test Specification.

use serde::Serialize;

/// Rounds of the measurement window.
pub const WINDOW: usize = 5;
/// Rounds after which a drive that is not steady is given up, by the specification.
pub const ROUNDS_MAX: u32 = 25;
/// The range of the tracked value in the window is at most this share of its mean.
pub const RANGE_MAX: f64 = 0.20;
/// What the least-squares line changes over the window is at most this share of the mean.
pub const SLOPE_MAX: f64 = 0.10;

/// The last five rounds of a tracked value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// The first of its rounds; they count from 1.
    pub first_round: u32,
    /// The last.
    pub last_round: u32,
    /// The mean of the tracked value.
    pub mean: f64,
    /// The largest value less the smallest, as a share of the mean.
    pub range: f64,
    /// By how much the least-squares line rises or falls from the first round to the last, as a share of the mean.
    pub slope: f64,
}

impl Window {
    /// The window that ends with the last of these rounds; none where there are fewer than five, or the mean is 0.
    pub fn of(tracked: &[f64]) -> Option<Self> {
        let first = tracked.len().checked_sub(WINDOW)?;
        let values = tracked.get(first..)?;
        let count = WINDOW as f64;
        let mean = values.iter().sum::<f64>() / count;
        if !(mean.is_finite() && mean > 0.0) {
            return None;
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = (count - 1.0) / 2.0;
        let from_middle = || (0..WINDOW).map(|n| n as f64 - middle);
        let rise: f64 = from_middle().zip(values).map(|(x, value)| x * value).sum();
        let slope = rise / from_middle().map(|x| x * x).sum::<f64>();
        Some(Self {
            first_round: first as u32 + 1,
            last_round: tracked.len() as u32,
            mean,
            range: (most - least) / mean,
            slope: slope * (count - 1.0) / mean,
        })
    }

    /// Whether the drive is steady by it.
    pub fn is_steady(&self) -> bool {
        self.range <= RANGE_MAX && self.slope.abs() <= SLOPE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(values: [f64; 5]) -> bool {
        Window::of(&values).unwrap().is_steady()
    }

    #[test]
    fn the_range_may_be_a_fifth_of_the_mean() {
        // The slope is 0, the mean 100.
        assert!(steady([100.0, 90.0, 100.0, 110.0, 100.0].map(|v| v)) && steady([90.0, 110.0, 100.0, 110.0, 90.0]));
        assert!(!steady([89.9, 110.1, 100.0, 110.1, 89.9]));
        assert!(steady([89.9, 109.9, 100.0, 109.9, 89.9].map(|v| 100.0 + (v - 99.92) * 0.99)));
    }

    #[test]
    fn the_line_may_change_by_a_tenth_of_the_mean() {
        // On a line the range is what it changes.
        assert!(steady([95.0, 97.5, 100.0, 102.5, 105.0]) && steady([105.0, 102.5, 100.0, 97.5, 95.0]));
        assert!(!steady([94.9, 97.45, 100.0, 102.55, 105.1]) && !steady([105.1, 102.55, 100.0, 97.45, 94.9]));
        // Its slope and not that from the first to the last.
        let window = Window::of(&[100.0, 90.0, 100.0, 110.0, 100.0]).unwrap();
        assert!((window.slope - 0.08).abs() < 1e-12 && (window.range - 0.2).abs() < 1e-12, "{window:?}");
    }

    #[test]
    fn the_window_is_the_last_five_rounds() {
        let window = Window::of(&[1.0, 500.0, 10.0, 10.0, 10.0, 10.0, 10.0]).unwrap();
        assert_eq!((window.first_round, window.last_round, window.mean, window.range), (3, 7, 10.0, 0.0));
        assert_eq!(Window::of(&[10.0; 4]), None);
        assert_eq!(Window::of(&[0.0; 5]), None, "nothing was done");
    }
}
