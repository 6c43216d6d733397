//! Sizes in bytes as people write and read them.

/// Reads a size: digits, and perhaps KiB, MiB, GiB, TiB, KB, MB, GB or TB.
///
/// # Errors
/// It is no size.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{}' is no size: 4096, 4KiB or 64MiB would be right", text.escape_debug());
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor)).ok_or_else(wrong)
}

/// A size as people read it: `64 KiB`, `1.5 MiB`.
pub(crate) fn text(bytes: u64) -> String {
    let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None if bytes == 1 => "1 byte".to_string(),
        None => format!("{bytes} bytes"),
    }
}

/// As `parse`, of what has 32 bits.
///
/// # Errors
/// It is no size, or too large.
pub(crate) fn parse_small(text: &str) -> Result<u32, String> {
    u32::try_from(parse(text)?).map_err(|_| format!("'{text}' is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told() {
        let told: Vec<String> = [0, 1, 512, 64 << 10, 3 << 19, 1 << 40].into_iter().map(text).collect();
        assert_eq!(told, ["0 bytes", "1 byte", "512 bytes", "64 KiB", "1.5 MiB", "1 TiB"]);
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("64MiB"), Ok(64 << 20));
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("1 KB"), Ok(1000));
        assert!(parse("MiB").is_err() && parse("1.5GiB").is_err() && parse("99999999TiB").is_err());
    }
}
