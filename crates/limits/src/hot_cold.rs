//! Two classes of pages: hot ones take a share of the writes on a share of the space, cold ones the rest.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::LimitError;

/// The smallest share of either class: below it nothing is left that could be measured.
const SHARE_MIN: f64 = 0.9999e-9; // 10⁻⁹, and room for 1 − 0.999999999 to round

/// "80/20": 80 % of the writes go to 20 % of the logical pages, uniformly within each class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HotCold {
    writes: f64,
    space: f64,
}

impl HotCold {
    /// From shares of writes and space, both between 0 and 1 and at least 10⁻⁹ away from either.
    ///
    /// # Errors
    /// [`LimitError::HotRange`] for a share outside, [`LimitError::HotIsCold`] for fewer writes than space.
    pub fn new(writes: f64, space: f64) -> Result<Self, LimitError> {
        let inside = |share: f64| share >= SHARE_MIN && 1.0 - share >= SHARE_MIN;
        if !inside(writes) || !inside(space) {
            return Err(LimitError::HotRange { writes: percent(writes), space: percent(space) });
        }
        if writes < space {
            return Err(LimitError::HotIsCold { writes: percent(writes), space: percent(space) });
        }
        Ok(Self { writes, space })
    }

    /// The hot class's share of the writes, 0 to 1.
    pub fn writes(self) -> f64 {
        self.writes
    }

    /// The hot class's share of the logical pages, 0 to 1.
    pub fn space(self) -> f64 {
        self.space
    }

    /// How many times more often a hot page is written than a cold one.
    pub fn heat(self) -> f64 {
        (self.writes / self.space) / ((1.0 - self.writes) / (1.0 - self.space))
    }
}

impl FromStr for HotCold {
    type Err = LimitError;

    /// Reads WRITES/SPACE in percent: `80/20`, `99.5/1`.
    fn from_str(text: &str) -> Result<Self, LimitError> {
        let wrong = || LimitError::HotSyntax(text.to_owned());
        let (writes, space) = text.split_once('/').ok_or_else(wrong)?;
        let number = |part: &str| part.trim().parse::<f64>().map_err(|_| wrong());
        Self::new(number(writes)? / 100.0, number(space)? / 100.0)
    }
}

impl fmt::Display for HotCold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", percent(self.writes), percent(self.space))
    }
}

/// A share in percent, without the noise that 0.07 · 100 brings.
fn percent(share: f64) -> f64 {
    (share * 100.0 * 1e9).round() / 1e9
}
