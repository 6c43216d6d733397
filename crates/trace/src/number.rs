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
    // One comparison settles most bytes.
    let blank = |&byte: &u8| byte <= b' ' && matches!(byte, b' ' | b'\t');
    let (mut count, mut rest) = (0, line);
    while let Some(begin) = rest.iter().position(|byte| !blank(byte)) {
        rest = rest.get(begin..).unwrap_or_default();
        let end = rest.iter().position(blank).unwrap_or(rest.len());
        let (part, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        if let Some(column) = columns.get_mut(count) {
            *column = part;
        }
        rest = after;
        count += 1;
        // Enough to see that there are too many; a line of 64 KiB of separators costs nothing.
        if count > N + 64 {
            break;
        }
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
#[inline]
pub(crate) fn need_columns(found: usize, right: std::ops::RangeInclusive<usize>) -> Result<(), Flaw> {
    if right.contains(&found) { Ok(()) } else { Err(wrong_columns(found, &right)) }
}

#[cold]
fn wrong_columns(found: usize, right: &std::ops::RangeInclusive<usize>) -> Flaw {
    let (low, high) = (*right.start(), *right.end());
    let right = if low == high {
        low.to_string()
    } else if high >= 64 {
        format!("at least {low}")
    } else {
        format!("{low} to {high}")
    };
    let columns = if found == 1 { "column" } else { "columns" };
    Flaw::Shape(format!("{found} {columns} where {right} belong"))
}

/// A whole number that is not negative and fits 64 bits.
#[inline]
pub(crate) fn whole(text: &[u8], what: &str) -> Result<u64, Flaw> {
    // So many digits fit, whatever they are.
    match leading_digits(text) {
        (value, []) if text.len() < 20 && !text.is_empty() => Ok(value),
        _ => odd_whole(text, what),
    }
}

/// The same of a text that is long, or no whole number.
#[cold]
fn odd_whole(text: &[u8], what: &str) -> Result<u64, Flaw> {
    if text.is_empty() {
        return Err(Flaw::Shape(format!("{what} is empty, a whole number belongs there")));
    }
    if !text.iter().all(u8::is_ascii_digit) {
        return Err(not_whole(text, what));
    }
    let value = std::str::from_utf8(text).ok().and_then(|digits| digits.parse().ok());
    value.ok_or_else(|| Flaw::Value(format!("{what} {} does not fit 64 bits", excerpt(text))))
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
    of_hexadecimal(digits, text, what)
}

fn of_hexadecimal(digits: &[u8], text: &[u8], what: &str) -> Result<u64, Flaw> {
    let hexadecimal = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let value = std::str::from_utf8(digits).ok().filter(|_| hexadecimal).map(|text| u64::from_str_radix(text, 16));
    match value {
        Some(Ok(value)) => Ok(value),
        Some(Err(_)) => Err(Flaw::Value(format!("{what} {} does not fit 64 bits", excerpt(text)))),
        None => Err(not_whole(text, what)),
    }
}

/// Whether a text without a mark has hexadecimal digits: letters and figures of them, and nothing else.
pub(crate) fn shows_hexadecimal(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_hexdigit)
        && text.iter().any(u8::is_ascii_digit)
        && text.iter().any(u8::is_ascii_alphabetic)
}

/// A whole number in hexadecimal, with `0x` in front, `h` behind, or neither.
pub(crate) fn hexadecimal(text: &[u8], what: &str) -> Result<u64, Flaw> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    let digits = digits.strip_suffix(b"h").or_else(|| digits.strip_suffix(b"H")).unwrap_or(digits);
    of_hexadecimal(digits, text, what)
}

/// A device number: a whole number of 32 bits.
pub(crate) fn device(text: &[u8], what: &str) -> Result<u32, Flaw> {
    let value = whole(text, what)?;
    u32::try_from(value).map_err(|_| Flaw::Value(format!("{what} {value} does not fit 32 bits")))
}

/// One unit of a time column: whole nanoseconds, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) ns: u64,
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
    let (whole_value, rest) = leading_digits(text);
    let fraction = match rest {
        [] if !text.is_empty() => rest,
        [b'.', fraction @ ..] if text.len() > 1 => fraction,
        _ => return odd_time(text, unit_ns, what),
    };
    // So many digits fit, whatever they are.
    let digits = text.get(..text.len() - rest.len()).unwrap_or_default();
    let whole_value = if digits.len() < 20 { whole_value } else { whole(digits, what)? };
    // Nine digits are a billionth of the unit. Units are at most a second, so nothing is lost, and all fits 64 bits.
    let (billionths, behind) = leading_digits(fraction.get(..9).unwrap_or(fraction));
    if !behind.is_empty() || !fraction.get(9..).unwrap_or_default().iter().all(u8::is_ascii_digit) {
        return odd_time(text, unit_ns, what);
    }
    let tens = [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10];
    let scaled = billionths * tens.get(fraction.len()).unwrap_or(&1);
    let whole_ns = whole_value.checked_mul(unit_ns);
    whole_ns.and_then(|ns| ns.checked_add(scaled * unit_ns / 1_000_000_000)).ok_or_else(|| too_late(text, what))
}

/// The number that a text begins with, modulo 2^64, and what is behind it.
fn leading_digits(text: &[u8]) -> (u64, &[u8]) {
    let (mut value, mut rest) = (0u64, text);
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        rest = behind;
    }
    (value, rest)
}

#[cold]
fn too_late(text: &[u8], what: &str) -> Flaw {
    Flaw::Value(format!("{what} {} is over 584 years, the unit may be another", excerpt(text)))
}

/// A number with an exponent without it, in all of its digits.
fn without_exponent(text: &[u8]) -> Option<Vec<u8>> {
    let (mantissa, exponent) = text.split_at_checked(text.iter().position(|byte| matches!(byte, b'e' | b'E'))?)?;
    let exponent: i32 = std::str::from_utf8(exponent.get(1..)?).ok()?.parse().ok()?;
    let (whole, fraction) = mantissa.split_at_checked(memchr::memchr(b'.', mantissa).unwrap_or(mantissa.len()))?;
    let digits = [whole, fraction.get(1..).unwrap_or_default()].concat();
    let sound = !whole.is_empty() && digits.len() < 40 && digits.iter().all(u8::is_ascii_digit);
    let point = i32::try_from(whole.len()).ok()?.checked_add(exponent).filter(|point| sound && point.abs() < 40)?;
    let zeros = |count: i32| vec![b'0'; usize::try_from(count).unwrap_or(0)];
    let lacking = point - i32::try_from(digits.len()).ok()?;
    let (before, behind) = digits.split_at(usize::try_from(point).unwrap_or(0).min(digits.len()));
    Some([b"0", before, &zeros(lacking), b".", &zeros(-point), behind].concat())
}

#[cold]
fn odd_time(text: &[u8], unit_ns: u64, what: &str) -> Result<u64, Flaw> {
    if let Some(plain) = without_exponent(text) {
        return time_in(&plain, unit_ns, what).map_err(|_| too_late(text, what));
    }
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
        assert_eq!(time(b"1.700000000123456789E+09", Tick::of_ns(1_000_000_000), "t"), Ok(1_700_000_000_123_456_789));
        assert_eq!(time(b"12e3", Tick::of_ns(1), "t"), Ok(12_000));
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
