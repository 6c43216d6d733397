//! Tools that the models share: checked inputs, a root by bisection, a minimum by golden section.

use crate::bounds::{MAX_PAGES_PER_BLOCK, SPARE_MIN};
use crate::error::LimitError;

/// Passes on a ratio strictly between 0 and 1, with at least [`SPARE_MIN`] of spare.
pub(crate) fn check_ratio(rho: f64) -> Result<f64, LimitError> {
    if !(rho > 0.0 && rho < 1.0) {
        return Err(LimitError::Ratio(rho));
    }
    if 1.0 - rho < SPARE_MIN {
        return Err(LimitError::RatioTooClose(rho));
    }
    Ok(rho)
}

/// Passes on a number of pages per block from 2 to [`MAX_PAGES_PER_BLOCK`].
pub(crate) fn check_pages_per_block(b: u32) -> Result<u32, LimitError> {
    if (2..=MAX_PAGES_PER_BLOCK).contains(&b) { Ok(b) } else { Err(LimitError::PagesPerBlock(b)) }
}

/// The root of an increasing `f` between `low` and `high`, to the last bit that bisection can reach.
///
/// If `f` has one sign throughout, the end nearer to the root is returned.
pub(crate) fn bisect(mut low: f64, mut high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if f(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// A root of `f` between two points (place, value) where its values have opposite signs: regula falsi, in which
/// an end that stays put is counted half (Illinois). Done when |f| is at most `close`.
pub(crate) fn regula_falsi(
    mut left: (f64, f64),
    mut right: (f64, f64),
    close: f64,
    mut f: impl FnMut(f64) -> f64,
) -> f64 {
    let mut place = left.0;
    let mut moved_left = None;
    for _ in 0..100 {
        place = (left.0 * right.1 - right.0 * left.1) / (right.1 - left.1);
        let value = f(place);
        if value.abs() <= close || (right.0 - left.0).abs() < 1e-15 * place.abs() {
            break;
        }
        let moves_left = (value < 0.0) == (left.1 < 0.0);
        if moves_left {
            left = (place, value);
        } else {
            right = (place, value);
        }
        if moved_left == Some(moves_left) {
            if moves_left { right.1 /= 2.0 } else { left.1 /= 2.0 }
        }
        moved_left = Some(moves_left);
    }
    place
}

/// Where `f`, falling and then rising between `low` and `high`, is smallest. The place is good to about
/// eight digits, the value there to about sixteen.
pub(crate) fn minimize(mut low: f64, mut high: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let mut left = high - golden * (high - low);
    let mut right = low + golden * (high - low);
    let (mut f_left, mut f_right) = (f(left), f(right));
    for _ in 0..60 {
        if f_left <= f_right {
            high = right;
            (right, f_right) = (left, f_left);
            left = high - golden * (high - low);
            f_left = f(left);
        } else {
            low = left;
            (left, f_left) = (right, f_right);
            right = low + golden * (high - low);
            f_right = f(right);
        }
    }
    if f_left <= f_right { left } else { right }
}
