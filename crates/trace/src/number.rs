//! Columns and numbers of text formats, read from bytes and refused with a reason.

use crate::error::excerpt;

/// The error of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It is not of the format's shape: wrong columns, words where numbers belong. Before the first
    /// record that is junk to be skipped, afterwards an error.
    Shape(String),
    /// It has the shape but an impossible value. Always an error.
    Value(String),
}

/// Splits a line at runs of spaces and tabs into the first `N` columns; returns how many there are
/// in all, which may be more.
pub(crate) fn split_blank<'a, const N: usize>(line: &'a [u8], columns: &mut [&'a [u8]; N]) -> usize {
    let (mut count, mut start) = (0, None);
    for (at, byte) in line.iter().enumerate() {
        let separates = matches!(byte, b' ' | b'\t');
        match start {
            None if !separates => start = Some(at),
            Some(begin) if separates => {
                if let (Some(column), Some(part)) = (columns.get_mut(count), line.get(begin..at)) {
                    *column = part;
                }
                start = None;
                count += 1;
                // Enough to see that there are too many; a line of 64 KiB of separators costs nothing.
                if count > N + 64 {
                    return count;
                }
            }
            _ => {}
        }
    }
    if let Some(begin) = start {
        if let (Some(column), Some(part)) = (columns.get_mut(count), line.get(begin..)) {
            *column = part;
        }
        count += 1;
    }
    count
}

/// Splits a line at every comma, trimming blanks around the columns.
pub(crate) fn split_comma<'a, const N: usize>(line: &'a [u8], columns: &mut [&'a [u8]; N]) -> usize {
    fill(line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii), columns)
}

/// A column without blanks and quotes around it.
pub(crate) fn unquoted(column: &[u8]) -> &[u8] {
    let column = column.trim_ascii();
    let inside = column.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    inside.unwrap_or(column)
}

/// Whether a line has these names of columns, in any case, with or without blanks and quotes around them.
pub(crate) fn is_heading(line: &[u8], names: &str) -> bool {
    // Records begin with a digit, most of them.
    if line.first().is_none_or(u8::is_ascii_digit) {
        return false;
    }
    let found =
        line.split(|byte| matches!(byte, b',' | b';' | b'\t')).map(|column| unquoted(column).to_ascii_lowercase());
    found.eq(names.split(',').map(|name| name.to_ascii_lowercase().into_bytes()))
}

fn fill<'a, const N: usize>(parts: impl Iterator<Item = &'a [u8]>, columns: &mut [&'a [u8]; N]) -> usize {
    let mut count = 0;
    for part in parts {
        if let Some(column) = columns.get_mut(count) {
            *column = part;
        }
        count += 1;
        // Enough to see that there are too many; a line of 64 KiB of separators costs nothing.
        if count > N + 64 {
            break;
        }
    }
    count
}

/// Refuses a line whose number of columns is wrong.
pub(crate) fn need_columns(found: usize, right: std::ops::RangeInclusive<usize>) -> Result<(), Flaw> {
    if right.contains(&found) {
        return Ok(());
    }
    let (low, high) = (*right.start(), *right.end());
    let right = if low == high {
        low.to_string()
    } else if high >= 64 {
        format!("at least {low}")
    } else {
        format!("{low} to {high}")
    };
    Err(Flaw::Shape(format!("{found} columns where {right} belong")))
}

/// A whole number that is not negative and fits 64 bits.
pub(crate) fn whole(text: &[u8], what: &str) -> Result<u64, Flaw> {
    if text.is_empty() {
        return Err(Flaw::Shape(format!("{what} is empty, a whole number belongs there")));
    }
    let mut value: u64 = 0;
    // So many digits fit, whatever they are.
    if text.len() < 20 {
        let mut odd = false;
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            odd |= digit > 9;
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        return if odd { Err(not_whole(text, what)) } else { Ok(value) };
    }
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_whole(text, what));
        }
        value = match value.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit))) {
            Some(value) => value,
            None if text.iter().all(u8::is_ascii_digit) => {
                return Err(Flaw::Value(format!("{what} {} does not fit 64 bits", excerpt(text))));
            }
            None => return Err(not_whole(text, what)),
        };
    }
    Ok(value)
}

#[cold]
fn not_whole(text: &[u8], what: &str) -> Flaw {
    match text.split_first() {
        Some((b'-', digits)) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            Flaw::Value(format!("{what} is negative ({}), 0 or more would be right", excerpt(text)))
        }
        _ => Flaw::Shape(format!("{what} is not a whole number: {}", excerpt(text))),
    }
}

/// A whole number, in decimal or behind `0x` in hexadecimal.
pub(crate) fn whole_or_hexadecimal(text: &[u8], what: &str) -> Result<u64, Flaw> {
    let Some(digits) = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")) else {
        return whole(text, what);
    };
    let hexadecimal = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let value = std::str::from_utf8(digits).ok().filter(|_| hexadecimal).map(|text| u64::from_str_radix(text, 16));
    match value {
        Some(Ok(value)) => Ok(value),
        Some(Err(_)) => Err(Flaw::Value(format!("{what} {} does not fit 64 bits", excerpt(text)))),
        None => Err(not_whole(text, what)),
    }
}

/// A device number: a whole number of 32 bits.
pub(crate) fn device(text: &[u8], what: &str) -> Result<u32, Flaw> {
    let value = whole(text, what)?;
    u32::try_from(value).map_err(|_| Flaw::Value(format!("{what} {value} does not fit 32 bits")))
}

/// One unit of a time column: whole nanoseconds, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick {
    ns: u64,
    /// How many units make `ns` nanoseconds.
    parts: u64,
}

impl Tick {
    /// A unit of so many nanoseconds.
    pub(crate) const fn of_ns(ns: u64) -> Self {
        Tick { ns, parts: 1 }
    }

    /// A picosecond.
    pub(crate) const PS: Tick = Tick { ns: 1, parts: 1000 };

    /// So many units in nanoseconds, rounded down; `None` if that does not fit 64 bits.
    pub(crate) fn whole_ns(self, units: u64) -> Option<u64> {
        units.checked_mul(self.ns).map(|ns| ns / self.parts)
    }
}

/// A time in units of `tick`, whole or with a fraction (digits below a nanosecond are dropped). It may have an exponent,
/// as some scripts print small values.
pub(crate) fn time(text: &[u8], tick: Tick, what: &str) -> Result<u64, Flaw> {
    let ns = time_in(text, tick.ns, what)?;
    Ok(if tick.parts == 1 { ns } else { ns / tick.parts })
}

fn time_in(text: &[u8], unit_ns: u64, what: &str) -> Result<u64, Flaw> {
    let point = memchr::memchr(b'.', text).unwrap_or(text.len());
    let (whole_text, fraction) = text.split_at_checked(point).unwrap_or((text, &[]));
    let fraction = fraction.strip_prefix(b".").unwrap_or_default();
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if (whole_text.is_empty() && fraction.is_empty()) || !digits(whole_text) || !digits(fraction) {
        return odd_time(text, unit_ns, what);
    }
    let whole_value = if whole_text.is_empty() { 0 } else { whole(whole_text, what)? };
    // Nine digits are a billionth of the unit. Units are at most a second, so nothing is lost.
    let mut billionths: u64 = 0;
    for place in 0..9 {
        let digit = fraction.get(place).map_or(0, |byte| u64::from(byte - b'0'));
        billionths = billionths * 10 + digit;
    }
    let fraction_ns = u128::from(billionths) * u128::from(unit_ns) / 1_000_000_000;
    let ns = u128::from(whole_value) * u128::from(unit_ns) + fraction_ns;
    u64::try_from(ns).map_err(|_| too_late(text, what))
}

#[cold]
fn too_late(text: &[u8], what: &str) -> Flaw {
    Flaw::Value(format!("{what} {} is over 584 years, the unit may be another", excerpt(text)))
}

#[cold]
fn odd_time(text: &[u8], unit_ns: u64, what: &str) -> Result<u64, Flaw> {
    let numeric = text.first().is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    let value = std::str::from_utf8(text).ok().filter(|_| numeric).and_then(|text| text.parse::<f64>().ok());
    match value {
        Some(value) if value < 0.0 => {
            Err(Flaw::Value(format!("{what} is negative ({}), 0 or more would be right", excerpt(text))))
        }
        Some(value) if value.is_finite() => {
            let ns = value * unit_ns as f64;
            if ns < 1.8e19 { Ok(ns as u64) } else { Err(too_late(text, what)) }
        }
        _ => Err(Flaw::Shape(format!("{what} is not a number: {}", excerpt(text)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_exactly() {
        assert_eq!(whole(b"0", "n"), Ok(0));
        assert_eq!(whole(b"18446744073709551615", "n"), Ok(u64::MAX));
    }

    #[test]
    fn hexadecimal_numbers_need_their_mark() {
        assert_eq!(whole_or_hexadecimal(b"0x00010000", "n"), Ok(65536));
        assert_eq!(whole_or_hexadecimal(b"0XffFFffFFffFFffFF", "n"), Ok(u64::MAX));
        assert_eq!(whole_or_hexadecimal(b"4096", "n"), Ok(4096));
        assert!(matches!(whole_or_hexadecimal(b"0x10000000000000000", "n"), Err(Flaw::Value(_))));
        for junk in [&b"0x"[..], b"0x-1", b"0x+1", b"ff", b"0xg", b""] {
            assert!(matches!(whole_or_hexadecimal(junk, "n"), Err(Flaw::Shape(_))), "{junk:?}");
        }
    }

    #[test]
    fn what_is_no_whole_number_is_told_apart() {
        assert!(matches!(whole(b"18446744073709551616", "n"), Err(Flaw::Value(_))));
        assert!(matches!(whole(b"-1", "n"), Err(Flaw::Value(_))));
        for junk in [&b""[..], b"-", b"1.0", b"x", b"99999999999999999999999x", b"+1", b" 1"] {
            assert!(matches!(whole(junk, "n"), Err(Flaw::Shape(_))), "{junk:?}");
        }
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(time(b"1398396860.168065791", Tick::of_ns(1_000_000_000), "t"), Ok(1_398_396_860_168_065_791));
        assert_eq!(time(b"0.999999999", Tick::of_ns(1_000_000_000), "t"), Ok(999_999_999));
        assert_eq!(time(b"26.214000", Tick::of_ns(1_000_000), "t"), Ok(26_214_000));
        assert_eq!(time(b"12.3456789012345", Tick::of_ns(1_000), "t"), Ok(12_345));
        assert_eq!(time(b"7", Tick::of_ns(100), "t"), Ok(700));
        assert_eq!(time(b".5", Tick::of_ns(1_000), "t"), Ok(500));
        assert_eq!(time(b"5.", Tick::of_ns(1_000), "t"), Ok(5_000));
        assert_eq!(time(b"1.5e-05", Tick::of_ns(1_000_000_000), "t"), Ok(15_000));
    }

    #[test]
    fn picoseconds_are_rounded_down_to_nanoseconds() {
        assert_eq!(time(b"1999", Tick::PS, "t"), Ok(1));
        assert_eq!(time(b"18446744073709551615", Tick::PS, "t"), Ok(18_446_744_073_709_551));
        assert_eq!(time(b"2500.9", Tick::PS, "t"), Ok(2));
        assert_eq!((Tick::PS.whole_ns(3_000), Tick::of_ns(100).whole_ns(7)), (Some(3), Some(700)));
        assert_eq!(Tick::of_ns(100).whole_ns(u64::MAX), None);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for junk in [&b""[..], b".", b"inf", b"nan", b"1.2.3", b"x", b"1,5"] {
            assert!(matches!(time(junk, Tick::of_ns(1), "t"), Err(Flaw::Shape(_))), "{junk:?}");
        }
        for value in [&b"-1"[..], b"-0.5", b"1e300", b"18446744073709551615"] {
            assert!(matches!(time(value, Tick::of_ns(1_000), "t"), Err(Flaw::Value(_))), "{value:?}");
        }
    }
}
