//! Dates with times of day as nanoseconds since 1970: `2024-03-09 23:59:55.005355`, `2024-03-09T23:59:55Z`, `…+01:00`,
//! `[09/Mar/2024:23:59:55]`, `11:59:55 PM`. A day and a time of day may be in columns of their own. A time of day alone is
//! one of 1970-01-01.

use crate::error::excerpt;
use crate::number::Flaw;

/// A text without brackets around it and marks behind it.
pub(super) fn without_brackets(text: &[u8]) -> &[u8] {
    let mut text = text;
    while let [b'[' | b'(', inside @ ..] | [inside @ .., b']' | b')' | b',' | b':' | b';'] = text {
        text = inside.trim_ascii();
    }
    text
}

/// Whether this begins as a date does.
pub(crate) fn looks_like(text: &[u8]) -> bool {
    day_length(without_brackets(text)).is_some()
}

/// Whether this is a date without a time of day.
pub(super) fn is_day(text: &[u8]) -> bool {
    let text = without_brackets(text);
    day_length(text) == Some(text.len())
}

/// Whether this begins as a time of day does.
pub(super) fn is_clock(text: &[u8]) -> bool {
    let text = without_brackets(text);
    // As many digits may be seconds: six with a zero in front are few of these.
    let packed = matches!(text, [b'0', b'1'..=b'9', b'0'..=b'5', _, b'0'..=b'5', ..]);
    hour_length(text).is_some() || (packed && is_packed(text))
}

/// How long the date is with which a text begins: `2024-03-09`, or `09/Mar/2024` as web servers write it.
fn day_length(text: &[u8]) -> Option<usize> {
    let separates = |at: usize| matches!(text.get(at), Some(b'-' | b'/'));
    let by_number = || digits(text, 0, 4) && separates(4) && digits(text, 5, 7) && separates(7) && digits(text, 8, 10);
    let by_name = || digits(text, 0, 2) && separates(2) && month(text).is_some() && separates(6) && digits(text, 7, 11);
    if by_number() { Some(10) } else { by_name().then_some(11) }
}

/// The month that is named behind a day.
fn month(text: &[u8]) -> Option<i64> {
    let name = text.get(3..6)?;
    (1..).zip(MONTHS).find(|(_, month)| name.eq_ignore_ascii_case(month)).map(|(number, _)| number)
}

/// How many digits the hour has that is before minutes and seconds; one only where AM or PM is behind.
fn hour_length(text: &[u8]) -> Option<usize> {
    let follows = |at: usize| {
        text.get(at) == Some(&b':')
            && digits(text, at + 1, at + 3)
            && text.get(at + 3) == Some(&b':')
            && digits(text, at + 4, at + 6)
    };
    match text {
        _ if digits(text, 0, 2) && follows(2) => Some(2),
        _ if digits(text, 0, 1) && follows(1) && half_day(text).is_some() => Some(1),
        _ => None,
    }
}

/// What is before AM or PM, and whether it is PM.
fn half_day(text: &[u8]) -> Option<(&[u8], bool)> {
    let (clock, half) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let is = |other: &[u8]| half.eq_ignore_ascii_case(other);
    (is(b"AM") || is(b"PM")).then(|| (clock.trim_ascii_end(), is(b"PM")))
}

/// Whether this is a time of day without marks, as 081102.87 is.
pub(super) fn is_packed(text: &[u8]) -> bool {
    digits(text, 0, 6) && text.get(6) == Some(&b'.') && digits(text, 7, text.len())
}

fn digits(text: &[u8], from: usize, to: usize) -> bool {
    text.get(from..to).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
}

/// Nanoseconds since 1970; UTC where no offset is named. Digits below a nanosecond are dropped.
pub(crate) fn ns_since_1970(text: &[u8]) -> Result<u64, Flaw> {
    let bare = without_brackets(text);
    let whole = match day_length(bare).and_then(|length| bare.split_at_checked(length)) {
        Some((day, [b' ' | b'T' | b't' | b':', clock @ ..])) => ns_of(day, clock),
        Some(_) => None,
        None => clock_ns(bare).and_then(|ns| u64::try_from(ns).ok()),
    };
    whole.ok_or_else(|| {
        let what = unread(text).unwrap_or_else(|| {
            format!(
                "no date from 1970 to 2500: {}; 2024-03-09 23:59:55.005 and 2024-03-09T23:59:55Z are read",
                excerpt(text)
            )
        });
        Flaw::Shape(what)
    })
}

/// The same of a day and a time of day in two columns.
pub(super) fn ns_of_two(day: &[u8], clock: &[u8]) -> Result<u64, Flaw> {
    let whole = ns_of(without_brackets(day), without_brackets(clock));
    whole.ok_or_else(|| {
        let unread = [day, clock].into_iter().find_map(unread);
        let (day, clock) = (excerpt(day), excerpt(clock));
        Flaw::Shape(unread.unwrap_or_else(|| {
            format!("no date and time of day from 1970 to 2500: {day} and {clock}; 2024-03-09 and 23:59:55 are read")
        }))
    })
}

const MONTHS: [&[u8]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// What is said of a date in a style that is not read.
pub(super) fn unread(text: &[u8]) -> Option<String> {
    let bare = without_brackets(text);
    if clock_ns(bare).is_some() || day_length(bare).is_some() {
        return None;
    }
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric());
    let is_month = |word: &[u8]| MONTHS.iter().any(|month| word.eq_ignore_ascii_case(month));
    let slashed = digits(text, 0, 2) && digits(text, 3, 5) && digits(text, 6, 10);
    let between = |at: usize| text.get(at).filter(|byte| matches!(byte, b'/' | b'.' | b'-')).copied();
    if text.len() == 2 && half_day(text).is_some() {
        let sed = r"`sed -E 's/(:[0-9][0-9.,]*)[ \t]+([AaPp][Mm])/\1\2/g'`";
        return Some(format!("the time of day has AM or PM apart: {}; {sed} joins them, which is read", excerpt(text)));
    }
    if let Some(mark) = short_date(text).filter(|_| !slashed) {
        let mark = char::from(mark);
        return Some(format!(
            "the date may be day and month or month and day: {}; as 2024-03-09 19:59:59 it is read, with two digits for \
             what is behind each `{mark}`",
            excerpt(text)
        ));
    }
    if digits(text, 0, 1) && !slashed && half_day(text).is_some() {
        return Some(format!("the time of day has AM or PM: {}; 11:59:55 PM and 23:59:55 are read", excerpt(text)));
    }
    if let Some(mark) = between(2).filter(|mark| slashed && between(5) == Some(*mark)) {
        let mark = char::from(mark);
        let sed = |day: u8, month: u8| {
            format!("`sed -E 's#([0-9]{{2}})[{mark}]([0-9]{{2}})[{mark}]([0-9]{{4}})#\\3-\\{month}-\\{day}#g'`")
        };
        let (text, over_12) = (excerpt(text), |at: usize| text.get(at..at + 2).is_some_and(|number| number > b"12"));
        return Some(match (over_12(0), over_12(3)) {
            (false, true) => format!("the date is month and day: {text}; {} makes 2024-03-09 of it", sed(2, 1)),
            (true, false) => format!("the date is day and month: {text}; {} makes 2024-03-09 of it", sed(1, 2)),
            _ => format!(
                "the date may be day and month or month and day: {text}; {} makes 2024-03-09 of a day, a month and a \
                 year, which is read, and {} of a month, a day and a year",
                sed(1, 2),
                sed(2, 1)
            ),
        });
    }
    let is_word = text.first().is_some_and(u8::is_ascii_alphabetic) && text.len() > 3;
    let begins = !is_word || text.iter().any(u8::is_ascii_digit);
    (begins && words.any(is_month))
        .then(|| format!("the date has its month in letters: {}; as 2024-03-09 23:59:55 it is read", excerpt(text)))
}

/// The mark of a date that begins with one or two digits for a day or a month, as 3/2/2024 does.
fn short_date(text: &[u8]) -> Option<u8> {
    let begin = text.split(|byte| byte.is_ascii_whitespace()).next()?;
    let mark = *begin.iter().find(|byte| !byte.is_ascii_digit()).filter(|byte| matches!(byte, b'/' | b'.' | b'-'))?;
    let parts: Vec<&[u8]> = begin.split(|byte| *byte == mark).collect();
    let is = |part: &[u8], lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.iter().all(u8::is_ascii_digit)
    };
    matches!(parts.as_slice(), [one, other, year] if is(one, 1..=2) && is(other, 1..=2) && is(year, 4..=4))
        .then_some(mark)
}

fn ns_of(day: &[u8], clock: &[u8]) -> Option<u64> {
    u64::try_from(i128::from(day_number(day)?) * 86_400_000_000_000 + i128::from(clock_ns(clock)?)).ok()
}

/// The number of two digits there, if it is one of these.
fn number(text: &[u8], from: usize, least: i64, most: i64) -> Option<i64> {
    let value =
        std::str::from_utf8(text.get(from..from + 2).filter(|_| digits(text, from, from + 2))?).ok()?.parse().ok()?;
    (least..=most).contains(&value).then_some(value)
}

/// Days since 1970.
fn day_number(text: &[u8]) -> Option<i64> {
    let length = day_length(text).filter(|length| *length == text.len())?;
    let year = |at: usize| Some(number(text, at, 19, 24)? * 100 + number(text, at + 2, 0, 99)?);
    if length == 11 {
        return days(year(7)?, month(text)?, number(text, 0, 1, 31)?);
    }
    days(year(0)?, number(text, 5, 1, 12)?, number(text, 8, 1, 31)?)
}

/// Nanoseconds since midnight UTC, before it where the offset says so.
fn clock_ns(text: &[u8]) -> Option<i64> {
    // A leap second is the first one of the next minute.
    let minute_and_second =
        |at: usize, apart: usize| Some((number(text, at, 0, 59)?, number(text, at + apart, 0, 60)?));
    let ((hour, (minute, second)), length) = match hour_length(text) {
        Some(1) => ((i64::from(text.first()? - b'0'), minute_and_second(2, 3)?), 7),
        Some(_) => ((number(text, 0, 0, 23)?, minute_and_second(3, 3)?), 8),
        None if is_packed(text) => ((number(text, 0, 0, 23)?, minute_and_second(2, 2)?), 6),
        None => return None,
    };
    let (hour, text) = match half_day(text) {
        Some((clock, is_pm)) if (1..=12).contains(&hour) => (hour % 12 + if is_pm { 12 } else { 0 }, clock),
        Some(_) => return None,
        None => (hour, text),
    };
    let rest = text.get(length..)?;
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
    Some((hour * 3_600 + minute * 60 + second - offset) * 1_000_000_000 + ns)
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
        assert_eq!(ns_since_1970(b"01:00:00.5"), Ok(3_600_500_000_000));
        for (text, seconds) in [
            ("[01/Jan/1970:00:00:02]", 2),
            ("02-Jan-1970 00:00:02", 86_402),
            ("(00:00:02),", 2),
            ("12:00:02 AM", 2),
            ("1:00:02pm", 46_802),
            ("1970-01-01 12:00:02 PM", 43_202),
            ("010002.0", 3_602),
            ("100002.0", 36_002),
        ] {
            assert_eq!(ns_since_1970(text.as_bytes()), Ok(seconds * 1_000_000_000), "{text}");
        }
        assert_eq!(ns_since_1970(b"8:11:02.4933880 AM"), Ok(29_462_493_388_000));
        assert_eq!(ns_of_two(b"1970-01-02", b"00:00:01,5"), Ok(86_401_500_000_000));
        assert!(ns_of_two(b"1970-01-02 ", b"00:00:01").is_err() && ns_of_two(b"1970-01-02", b"1").is_err());
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

    #[test]
    fn other_styles_of_dates_are_said() {
        for date in [
            "31/12/2024 12:00:00",
            "31.12.2024",
            "Jan  1 12:00:00",
            "Jan",
            "1 Jan 2024",
            "Mon Mar  4 2024",
            "PM",
            "1:02 pm",
            "99:02:03 pm",
        ] {
            assert!(unread(date.as_bytes()).is_some(), "{date}");
        }
        for other in [
            "",
            "1:02:03 pm",
            "0x00dec895",
            "1dec",
            "01/Jan/2024",
            "1234",
            "read",
            "may_read",
            "12:00:00",
            "2024-03-09",
            "1/2/3",
            "mar-vol",
            "sda",
        ] {
            assert!(unread(other.as_bytes()).is_none(), "{other}");
        }
    }
}
