//! Bytes for people.

/// A size in the largest binary unit of which there is at least one.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((name, shift)) if bytes.trailing_zeros() >= *shift => format!("{} {name}", bytes >> shift),
        Some((name, shift)) => format!("{:.2} {name}", bytes as f64 / (1u64 << shift) as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::show_bytes;

    #[test]
    fn sizes_are_shown_short() {
        assert_eq!(show_bytes(4096), "4 KiB");
        assert_eq!(show_bytes(3 << 29), "1.50 GiB");
        assert_eq!(show_bytes(511), "511 B");
    }
}
