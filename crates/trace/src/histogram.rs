//! A histogram by powers of two: how many values there are of each magnitude.

use std::fmt;
use std::ops::RangeInclusive;

/// How many values of each magnitude there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHistogram {
    counts: [u64; 64],
}

/// Two peaks of a histogram and the valley between them, as indexes of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modes {
    /// The peak of small values.
    pub low: usize,
    /// Between the two; it has at most half of what either peak has.
    pub valley: usize,
    /// The peak of large values.
    pub high: usize,
}

impl Default for LogHistogram {
    fn default() -> Self {
        LogHistogram { counts: [0; 64] }
    }
}

impl LogHistogram {
    /// Counts a value; 0 counts as 1.
    #[inline]
    pub fn add(&mut self, value: u64) {
        if let Some(entry) = self.counts.get_mut(value.max(1).ilog2() as usize) {
            *entry += 1;
        }
    }

    /// Counts a value so many times.
    pub(crate) fn add_many(&mut self, value: u64, times: u64) {
        if let Some(entry) = self.counts.get_mut(value.max(1).ilog2() as usize) {
            *entry += times;
        }
    }

    /// Counts each of these values once.
    pub(crate) fn add_each(&mut self, values: RangeInclusive<u64>) {
        let (mut low, high) = (*values.start(), *values.end());
        while low <= high {
            let last = (u64::MAX >> low.max(1).leading_zeros()).min(high);
            self.add_many(low, last - low + 1);
            low = last.saturating_add(1);
            if last == u64::MAX {
                break;
            }
        }
    }

    /// Entry k counts values from 2^k to 2^(k+1) - 1; up to the last that is not 0.
    #[must_use]
    pub fn entries(&self) -> Vec<u64> {
        let used = self.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        self.counts.iter().take(used).copied().collect()
    }

    /// The largest value of the entry up to which so many percent of the values are; 0 without any.
    #[must_use]
    pub fn at_most(&self, percent: u64) -> u64 {
        let values: u64 = self.counts.iter().sum();
        let rank = (u128::from(values) * u128::from(percent)).div_ceil(100);
        let mut seen = 0;
        let reached = self.counts.iter().position(|&count| {
            seen += u128::from(count);
            values > 0 && seen >= rank
        });
        reached.map_or(0, |k| u64::MAX >> (63 - k))
    }
}

/// Of entries that count magnitudes, the two modes if there are two: an entry that has at most half of the largest on
/// either side of it, with a twentieth of all values or more on either side. Where several are such valleys, the one
/// that is deepest, and among equals the first.
#[must_use]
pub fn modes(entries: &[u64]) -> Option<Modes> {
    let all: u64 = entries.iter().sum();
    let mut deepest: Option<(f64, Modes)> = None;
    for (valley, &count) in entries.iter().enumerate() {
        let (before, after) = (entries.get(..valley)?, entries.get(valley + 1..)?);
        let peak = |side: &[u64]| {
            let sum: u64 = side.iter().sum();
            let enough = sum > 0 && u128::from(sum) * 20 >= u128::from(all);
            // The first of the largest.
            let largest = side.iter().enumerate().max_by_key(|&(at, count)| (*count, std::cmp::Reverse(at)));
            largest.filter(|_| enough).map(|(at, count)| (at, *count))
        };
        let (Some((low, left)), Some((high, right))) = (peak(before), peak(after)) else { continue };
        let depth = count as f64 / left.min(right) as f64;
        if depth <= 0.5 && deepest.is_none_or(|(so_far, _)| depth < so_far) {
            deepest = Some((depth, Modes { low, valley, high: valley + 1 + high }));
        }
    }
    deepest.map(|(_, modes)| modes)
}

/// Entries that count magnitudes, as a picture: a line each, with its share and a bar.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// The entries.
    pub entries: &'a [u64],
}

const BAR_MAX: u64 = 60;

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: u64 = self.entries.iter().sum();
        let largest = self.entries.iter().copied().max().unwrap_or(0).max(1);
        let empty = self.entries.iter().take_while(|&&count| count == 0).count();
        for (number, (magnitude, &count)) in self.entries.iter().enumerate().skip(empty).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let percent = count as f64 / all.max(1) as f64 * 100.0;
            // A bar of nothing is of nothing.
            let bar = (u128::from(count) * u128::from(BAR_MAX)).div_ceil(u128::from(largest)) as usize;
            write!(f, "  from 2^{magnitude:<2} {percent:5.1} %{}{}", if bar > 0 { " " } else { "" }, "▪".repeat(bar))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_ends_of_histogram_entries() {
        let mut histogram = LogHistogram::default();
        for value in [1, 2, 3, 4, 1000] {
            histogram.add(value);
        }
        assert_eq!(histogram.entries(), [1, 2, 1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!([50, 90, 99].map(|percent| histogram.at_most(percent)), [3, 1023, 1023]);
    }

    #[test]
    fn without_values_all_is_zero() {
        let none = LogHistogram::default();
        assert_eq!((none.entries(), none.at_most(50)), (Vec::new(), 0));
        assert_eq!(modes(&[]), None);
        assert_eq!(Picture { entries: &[] }.to_string(), "");
    }

    #[test]
    fn the_largest_values_have_an_entry_and_nothing_overflows() {
        let mut histogram = LogHistogram::default();
        histogram.add(u64::MAX);
        histogram.add(0);
        assert_eq!((histogram.entries().len(), histogram.at_most(50), histogram.at_most(99)), (64, 1, u64::MAX));
    }

    #[test]
    fn two_modes_have_a_valley_of_at_most_half_between_them() {
        assert_eq!(modes(&[1, 10, 3, 5, 20, 4]), Some(Modes { low: 1, valley: 2, high: 4 }));
        assert_eq!(modes(&[1, 10, 6, 20, 4]), None, "not deep enough");
        assert_eq!(modes(&[1, 2, 4, 8, 16, 8, 4]), None);
        assert_eq!(modes(&[16, 8, 4, 2, 1]), None);
        assert_eq!(modes(&[4, 0, 1000, 900]), None, "too few for a mode");
        assert_eq!(modes(&[100, 0, 0, 900]), Some(Modes { low: 0, valley: 1, high: 3 }));
    }

    #[test]
    fn a_picture_has_a_line_for_each_magnitude_from_the_first_on() {
        let picture = Picture { entries: &[0, 1, 0, 2, 1] }.to_string();
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], format!("  from 2^1   25.0 % {}", "▪".repeat(30)));
        assert_eq!(lines[1], "  from 2^2    0.0 %");
        assert_eq!(lines[2], format!("  from 2^3   50.0 % {}", "▪".repeat(60)));
    }
}
