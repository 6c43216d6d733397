//! Units of addresses and sizes, as options, headings and values have them; and those that times have with them.

use crate::format::disksim::FILE_TIMES;
use crate::format::{SECTOR_BYTES, TimeUnit};

/// The units of addresses and sizes, the largest a page of 1 MiB.
pub(super) const UNITS_BYTES: std::ops::RangeInclusive<u64> = 1..=1 << 20;

/// Bytes of a unit by its name, in lower case.
fn named(unit: &str) -> Option<u64> {
    Some(match unit {
        "b" | "byte" | "bytes" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        "sector" | "sectors" => SECTOR_BYTES,
        "page" | "pages" => 4096,
        _ => return None,
    })
}

/// Bytes of a unit, as options and headings have it: `bytes`, `sector`, `page`, or a number as in `4096`, `4k`, `KiB`.
pub(super) fn unit_bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let factor = match unit {
        "" if !number.is_empty() => 1,
        "lba" | "lbas" | "lbn" | "lsn" | "slba" if number.is_empty() => SECTOR_BYTES,
        "sector" | "sectors" | "page" | "pages" if !number.is_empty() => return None,
        unit => named(unit)?,
    };
    let bytes = if number.is_empty() { factor } else { number.parse::<u64>().ok()?.checked_mul(factor)? };
    UNITS_BYTES.contains(&bytes).then_some(bytes)
}

/// Bytes of a value that has its unit with it, as `4K`, `1.5 MiB` and `4096B` have; none where that is no whole number.
pub(super) fn with_unit(value: &[u8]) -> Option<u64> {
    let value = std::str::from_utf8(value).ok()?;
    let (number, unit) = value.split_at_checked(value.find(|c: char| !c.is_ascii_digit() && c != '.')?)?;
    let factor = named(&unit.trim_start().to_ascii_lowercase())?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    // Above, not each whole number is one of these.
    let exact = bytes.fract() == 0.0 && bytes < (1u64 << f64::MANTISSA_DIGITS) as f64;
    exact.then_some(bytes as u64)
}

/// A unit of times by its name, in lower case.
pub(super) fn time_unit(word: &str) -> Option<TimeUnit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => TimeUnit::S,
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => TimeUnit::Ms,
        "us" | "usec" | "usecs" | "micros" | "microsecond" | "microseconds" | "\u{b5}s" | "\u{3bc}s" | "\u{fffd}s" => {
            TimeUnit::Us
        }
        "100ns" | "filetime" => TimeUnit::HundredNs,
        "ns" | "nsec" | "nsecs" | "nanos" | "nanosecond" | "nanoseconds" => TimeUnit::Ns,
        "ps" | "psec" | "psecs" | "picosecond" | "picoseconds" => TimeUnit::Ps,
        _ => return None,
    })
}

/// A time that has its unit with it, as `12ms` has.
pub(super) fn time_with_unit(value: &[u8]) -> Option<(&[u8], TimeUnit)> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let (number, unit) = value.split_at_checked(digits).filter(|(number, _)| !number.is_empty())?;
    let unit = std::str::from_utf8(unit).ok()?.trim_start().to_ascii_lowercase();
    Some((number, time_unit(&unit)?))
}

/// The unit in which a time of this century counts from 1970, or as Windows does.
pub(super) fn unit_since_1970(time: &[u8]) -> Option<TimeUnit> {
    let whole = time.split(|byte| matches!(byte, b'.' | b',')).next()?;
    since_1970(std::str::from_utf8(whole).ok()?.parse().ok()?)
}

pub(crate) fn since_1970(time: u64) -> Option<TimeUnit> {
    const SECONDS: std::ops::Range<u64> = 900_000_000..4_000_000_000;
    let counts = |a_second: u64| SECONDS.contains(&(time / a_second));
    match time {
        _ if FILE_TIMES.contains(&time) => Some(TimeUnit::HundredNs),
        _ if counts(1) => Some(TimeUnit::S),
        _ if counts(1_000) => Some(TimeUnit::Ms),
        _ if counts(1_000_000) => Some(TimeUnit::Us),
        _ if counts(1_000_000_000) => Some(TimeUnit::Ns),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_units_with_them() {
        for (value, bytes) in [
            ("4K", Some(4096)),
            ("4kB", Some(4096)),
            ("4 KiB", Some(4096)),
            ("4096B", Some(4096)),
            ("1.5M", Some(3 << 19)),
            ("2g", Some(2 << 30)),
            ("8 sectors", Some(4096)),
            ("0b", Some(0)),
            ("0.3K", None),
            ("1.2.3K", None),
            ("9999999999999999999T", None),
            ("9999999999999.5T", None),
            ("4096", None),
            ("K", None),
            ("4x", None),
            ("-4K", None),
        ] {
            assert_eq!(with_unit(value.as_bytes()), bytes, "{value}");
        }
    }
}
