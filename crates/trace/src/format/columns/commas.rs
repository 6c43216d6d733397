//! What commas in numbers mean: one thing in all columns of a file.

/// What is behind a comma.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commas {
    /// A fraction, as in 0,5.
    Decimal,
    /// The next three digits, as in 26,492,928.
    Thousands,
}

/// What a number's own commas mean; none where that is open, as in 1,317, or there are none.
pub(super) fn of(text: &[u8]) -> Option<Commas> {
    let commas = text.iter().filter(|&&byte| byte == b',').count();
    match commas {
        0 => None,
        // A group does not begin with zero.
        1 if ungrouped(text).is_none() || text.starts_with(b"0") => Some(Commas::Decimal),
        1 if text.contains(&b'.') => Some(Commas::Thousands),
        1 => None,
        _ => Some(Commas::Thousands),
    }
}

/// A number without the commas that group its digits by thousands, as in 26,492,928.5; none where they do not.
pub(super) fn ungrouped(text: &[u8]) -> Option<Vec<u8>> {
    let whole = text.split(|&byte| byte == b'.').next()?;
    let mut groups = whole.split(|&byte| byte == b',');
    let first = groups.next()?;
    let is_group = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let grouped = whole.contains(&b',')
        && (1..=3).contains(&first.len())
        && is_group(first)
        && groups.all(|group| group.len() == 3 && is_group(group));
    grouped.then(|| text.iter().copied().filter(|&byte| byte != b',').collect())
}

/// A number with a point for its one comma.
pub(super) fn with_point(text: &[u8]) -> Option<Vec<u8>> {
    let commas = text.iter().filter(|&&byte| byte == b',').count();
    let point = |&byte: &u8| if byte == b',' { b'.' } else { byte };
    (commas == 1 && !text.contains(&b'.')).then(|| text.iter().map(point).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_mean_what_the_digits_around_them_allow() {
        for (number, meaning) in [
            ("0,5", Some(Commas::Decimal)),
            ("0,317", Some(Commas::Decimal)),
            ("1234,567", Some(Commas::Decimal)),
            ("1,5", Some(Commas::Decimal)),
            ("1,317", None),
            ("1317", None),
            ("1,317.5", Some(Commas::Thousands)),
            ("26,492,928", Some(Commas::Thousands)),
        ] {
            assert_eq!(of(number.as_bytes()), meaning, "{number}");
        }
        assert_eq!(ungrouped(b"26,492,928.5").as_deref(), Some(&b"26492928.5"[..]));
        assert_eq!((ungrouped(b"1,31"), with_point(b"1,317").as_deref()), (None, Some(&b"1.317"[..])));
    }
}
