//! Bytes for people.

/// A size in the largest binary unit of which there is at least one.
pub fn show_bytes(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((name, shift)) if bytes.trailing_zeros() >= *shift => format!("{} {name}", bytes >> shift),
        Some((name, shift)) => {
            let units = bytes as f64 / (1u64 << shift) as f64;
            // What only looks whole when it is rounded is not to be taken for that.
            let digits = (2..6).find(|digits| !format!("{units:.digits$}").ends_with("00")).unwrap_or(6);
            format!("{units:.digits$} {name}")
        }
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
        assert_eq!(show_bytes((4 << 30) - (4 << 20)), "3.996 GiB");
    }
}
