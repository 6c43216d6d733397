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

/// Bytes of a unit in a heading, where numbers are also widths of values and versions: what sectors and blocks have.
pub(super) fn unit_bytes_of_name(word: &str) -> Option<u64> {
    let has_number = word.starts_with(|c: char| c.is_ascii_digit());
    let of_sectors =
        |bytes: &u64| (bytes.is_power_of_two() && *bytes >= 512) || matches!(bytes, 520 | 528 | 4104 | 4160 | 4224);
    unit_bytes(word).filter(|bytes| !has_number || of_sectors(bytes))
}

/// Whether a word says how wide values are, as the 48 of `LBA48`, `u64` and `32bit` do.
pub(super) fn is_width(word: &str) -> bool {
    let word = word.strip_prefix("uint").or(word.strip_prefix("int")).or(word.strip_prefix('u')).unwrap_or(word);
    let bits = ["bits", "bit", "b"].iter().find_map(|unit| word.strip_suffix(unit)).unwrap_or(word);
    matches!(bits, "16" | "28" | "32" | "48" | "64" | "128")
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

/// Whether a value is one in bytes, or a hexadecimal number that ends in b: `10b`.
pub(super) fn may_be_hexadecimal(value: &[u8]) -> bool {
    let [digits @ .., b'b' | b'B'] = value else { return false };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A unit of times by its name, in lower case.
pub(super) fn time_unit(word: &str) -> Option<TimeUnit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => TimeUnit::S,
        "ms" | "msec" | "msecs" | "milli" | "millis" | "millisec" | "millisecs" | "millisecond" | "milliseconds" => {
            TimeUnit::Ms
        }
        "us" | "usec" | "usecs" | "micro" | "micros" | "microsec" | "microsecs" | "microsecond" | "microseconds"
        | "\u{b5}s" | "\u{3bc}s" | "\u{fffd}s" => TimeUnit::Us,
        "100ns" | "filetime" => TimeUnit::HundredNs,
        "ns" | "nsec" | "nsecs" | "nano" | "nanos" | "nanosec" | "nanosecs" | "nanosecond" | "nanoseconds" => {
            TimeUnit::Ns
        }
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
    fn numbers_in_names_are_units_where_sectors_have_so_many_bytes() {
        for (word, bytes, width) in [
            ("512", Some(512), false),
            ("520", Some(520), false),
            ("4k", Some(4096), false),
            ("512b", Some(512), false),
            ("kib", Some(1024), false),
            ("48", None, true),
            ("64b", None, true),
            ("u64", None, true),
            ("uint32", None, true),
            ("100", None, false),
            ("1", None, false),
        ] {
            assert_eq!((unit_bytes_of_name(word), is_width(word)), (bytes, width), "{word}");
        }
    }

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
