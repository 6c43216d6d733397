//! Sizes in bytes as people write them: KiB, MiB, GiB and TiB are powers of 1,024, KB, MB, GB and TB of 1,000.

pub use phelsuma_drive::show_bytes as show;
use phelsuma_trace::SECTOR_BYTES_MAX;

const UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// Reads a size: digits, perhaps with a fraction, and perhaps a unit; whole bytes.
///
/// # Errors
/// It is no size.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{}' is no size: 4096, 4KiB, 1.5GiB or 64GB would be right", text.escape_debug());
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let unit = unit.trim_start();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(wrong());
    }
    let factor = match UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => 1,
        None => {
            let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
            return Err(format!("unknown unit '{}'; known are {}", unit.escape_debug(), names.join(", ")));
        }
    };
    let too_large = || format!("'{text}' is too large: below 2^64 bytes would be right");
    let fraction = fraction.trim_end_matches('0');
    let no_whole = || match next_whole(number, factor) {
        Some(right) => format!("'{text}' is no whole number of bytes; {right} would be right"),
        None => format!("'{text}' is no whole number of bytes"),
    };
    if fraction.len() > 18 {
        return Err(no_whole());
    }
    let value = |digits: &str| if digits.is_empty() { Ok(0) } else { digits.parse::<u64>().map_err(|_| too_large()) };
    let tenths = 10u128.pow(fraction.len() as u32);
    let parts = u128::from(value(fraction)?) * u128::from(factor);
    if !parts.is_multiple_of(tenths) {
        return Err(no_whole());
    }
    let bytes = u128::from(value(whole)?) * u128::from(factor) + parts / tenths;
    u64::try_from(bytes).map_err(|_| too_large())
}

/// A size that is no whole number of bytes, rounded up to one of the unit below its own.
fn next_whole(number: &str, factor: u64) -> Option<String> {
    let step = if factor.is_multiple_of(1 << 10) { 1 << 10 } else { 1_000 };
    let below = UNITS.iter().find(|(_, of)| *of == factor / step)?;
    let whole = (number.parse::<f64>().ok()? * step as f64).ceil();
    (whole < 1e15).then(|| format!("{whole}{}", below.0))
}

/// The size of a page: it has 32 bits.
///
/// # Errors
/// It is no size, or more.
pub fn parse_page(text: &str) -> Result<u32, String> {
    let bytes = parse(text)?;
    u32::try_from(bytes).map_err(|_| format!("a page of {bytes} bytes: must be a power of two from 512 to 65,536"))
}

/// Reads the size of a sector of a trace: a power of two, at most 1 MiB.
///
/// # Errors
/// It is none.
pub(crate) fn parse_sector(text: &str) -> Result<u32, String> {
    let bytes = parse(text)?;
    u32::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two() && *bytes <= SECTOR_BYTES_MAX).ok_or_else(|| {
        format!("a sector of {bytes} bytes cannot be; a power of two up to {SECTOR_BYTES_MAX} would be right")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_exactly() {
        let right = [
            ("0", 0),
            ("4096", 4096),
            ("512B", 512),
            ("4KiB", 4096),
            ("4kib", 4096),
            ("4 KiB", 4096),
            ("4KB", 4000),
            ("1.5GiB", 3 << 29),
            ("0.5KiB", 512),
            (".5KiB", 512),
            ("1.000000000000GB", 1_000_000_000),
            ("2TB", 2_000_000_000_000),
            ("1TiB", 1 << 40),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in right {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        let wrong = [
            "",
            " ",
            ".",
            "-1",
            "+1",
            "x",
            "KiB",
            "1K",
            "1.2.3",
            "1.5",
            "0.3KiB",
            "1e3",
            "nan",
            "1 2",
            "٣",
            "1\n2",
            "18446744073709551616",
            "99999999999999999999999TiB",
            "17000000TiB",
            "1.0000000000000000000000001TiB",
            "4KiBé",
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_size_between_two_bytes_is_answered_with_one_that_can_be_typed() {
        let said = |text| parse(text).unwrap_err();
        assert_eq!(said("1.14GiB"), "'1.14GiB' is no whole number of bytes; 1168MiB would be right");
        assert_eq!(said("0.3KiB"), "'0.3KiB' is no whole number of bytes; 308B would be right");
        assert_eq!(said("1.0000001MB"), "'1.0000001MB' is no whole number of bytes; 1001KB would be right");
        assert_eq!(said("1.5"), "'1.5' is no whole number of bytes");
        assert_eq!(parse("1168MiB"), Ok(1168 << 20));
    }

    #[test]
    fn a_page_has_a_size_of_32_bits() {
        assert_eq!(
            parse_page("8GiB").unwrap_err(),
            "a page of 8589934592 bytes: must be a power of two from 512 to 65,536"
        );
    }
}
