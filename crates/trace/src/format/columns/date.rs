//! Dates with times of day as nanoseconds since 1970: `2024-03-09 23:59:55.005355`, `2024-03-09T23:59:55Z`, `…+01:00`.

use crate::error::excerpt;
use crate::number::Flaw;

/// Whether this begins as a date does.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    let digits = |from: usize, to: usize| text.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit));
    let separates = |at: usize| matches!(text.get(at), Some(b'-' | b'/'));
    digits(0, 4) && separates(4) && digits(5, 7) && separates(7) && digits(8, 10)
}

/// Nanoseconds since 1970; UTC where no offset is named. Digits below a nanosecond are dropped.
pub(crate) fn ns_since_1970(text: &[u8]) -> Result<u64, Flaw> {
    read(text).ok_or_else(|| {
        let what = format!(
            "the time is no date from 1970 to 2500: {}, as 2024-03-09 23:59:55.005 or 2024-03-09T23:59:55Z is",
            excerpt(text)
        );
        Flaw::Shape(what)
    })
}

fn read(text: &[u8]) -> Option<u64> {
    if !looks_like(text) || !matches!(text.get(10), Some(b' ' | b'T' | b't')) {
        return None;
    }
    let number = |from: usize, least: i64, most: i64| -> Option<i64> {
        let digits = std::str::from_utf8(text.get(from..from + 2)?).ok()?;
        let value = if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok()? } else { return None };
        (least..=most).contains(&value).then_some(value)
    };
    let (year, month, day) = (number(0, 19, 24)? * 100 + number(2, 0, 99)?, number(5, 1, 12)?, number(8, 1, 31)?);
    // A leap second is the first one of the next minute.
    let (hour, minute, second) = (number(11, 0, 23)?, number(14, 0, 59)?, number(17, 0, 60)?);
    if text.get(13) != Some(&b':') || text.get(16) != Some(&b':') {
        return None;
    }
    let rest = text.get(19..)?;
    let fraction = if let [b'.' | b',', digits @ ..] = rest { digits } else { &[] };
    let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ns = (0..9).fold(0, |ns, place| {
        ns * 10 + fraction.get(place).filter(|_| place < length).map_or(0, |digit| i64::from(digit - b'0'))
    });
    let zone = if length > 0 { fraction.get(length..)? } else { rest }.trim_ascii();
    let offset = match zone {
        b"" | b"Z" | b"z" | b"UTC" => 0,
        [sign @ (b'+' | b'-'), h @ b'0'..=b'9', hh @ b'0'..=b'9', minutes @ ..] => {
            let hours = i64::from(h - b'0') * 10 + i64::from(hh - b'0');
            let minutes = match minutes.strip_prefix(b":").unwrap_or(minutes) {
                [] => 0,
                [m @ b'0'..=b'5', mm @ b'0'..=b'9'] => i64::from(m - b'0') * 10 + i64::from(mm - b'0'),
                _ => return None,
            };
            (hours * 60 + minutes) * if *sign == b'-' { -60 } else { 60 }
        }
        _ => return None,
    };
    let seconds = days(year, month, day)? * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    u64::try_from(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?).ok()
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month - 1).ok()?;
    if day > *lengths.get(month)? {
        return None;
    }
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400 - 719_162;
    Some(years + lengths.iter().take(month).sum::<i64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_nanoseconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2024-03-09 23:59:55", 1_710_028_795),
            ("2024/03/09 23:59:55", 1_710_028_795),
            ("2024-03-10T01:29:55+01:30", 1_710_028_795),
            ("2024-03-09T18:59:55-0500", 1_710_028_795),
        ] {
            assert_eq!(ns_since_1970(text.as_bytes()), Ok(seconds * 1_000_000_000), "{text}");
        }
        assert_eq!(ns_since_1970(b"1970-01-01 00:00:01.005355"), Ok(1_005_355_000));
        assert_eq!(ns_since_1970(b"1970-01-01T00:00:01.1234567891Z"), Ok(1_123_456_789));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for wrong in [
            "",
            "2024-03-09",
            "2024-02-30 00:00:00",
            "2023-02-29 00:00:00",
            "2024-13-01 00:00:00",
            "1969-12-31 23:59:59",
        ] {
            assert!(ns_since_1970(wrong.as_bytes()).is_err(), "{wrong}");
        }
        for wrong in ["2024-03-09 24:00:00", "2024-03-09 1:00:00", "2024-03-09 01:00:00 CET", "2024-03-09T01:00:00+1"] {
            assert!(ns_since_1970(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
