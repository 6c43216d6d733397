//! The letters by which Linux names what a request does (RWBS), as blkparse, ftrace and biosnoop print
//! them.
//!
//! R read, W write (also WZ, a write of zeros), D discard (also DE, a secure one), F a flush (before
//! another letter: flush first; after W: force unit access), N none of them; S, M, A, U and others only
//! qualify. A write with F counts as a write; F alone, or without sectors, is a flush.
//!
//! Zoned drives have ZA append, ZR reset, ZRA reset all, ZF finish, ZO open and ZC close. An append is a
//! write, a reset is a trim of its range. A reset without a range and the others are other commands.

use super::Item;
use crate::request::Op;
use crate::skipped::SkipReason;

/// What the letters say; `None` for a command that moves no data and forgets none.
pub(crate) fn op_of(rwbs: &[u8]) -> Option<Op> {
    let has = |letter| rwbs.contains(&letter);
    if let [b'Z', zone @ ..] = rwbs {
        return match zone.first() {
            Some(b'R') => Some(Op::Trim),
            Some(b'A') => Some(Op::Write),
            _ => None,
        };
    }
    if has(b'D') {
        Some(Op::Trim)
    } else if has(b'W') {
        Some(Op::Write)
    } else if has(b'R') {
        Some(Op::Read)
    } else if has(b'F') {
        Some(Op::Flush)
    } else {
        None
    }
}

/// The operation of a word that is made of these letters in the kernel's order: `WM`, `RA`, `FWFSM`.
pub(crate) fn word_of(word: &[u8]) -> Option<Op> {
    let behind = word.strip_prefix(b"F").filter(|rest| !rest.is_empty()).unwrap_or(word);
    let mut qualifiers = match behind {
        [b'D', b'E', rest @ ..] | [b'W', b'Z', rest @ ..] | [b'R' | b'W' | b'D' | b'F' | b'N', rest @ ..] => rest,
        _ => return None,
    };
    for letter in b"FASMU" {
        qualifiers = qualifiers.strip_prefix(&[*letter]).unwrap_or(qualifiers);
    }
    if qualifiers.is_empty() { op_of(word) } else { None }
}

/// Whether the letters and the number of sectors, 0 where the line has none, are those of a flush.
pub(crate) fn is_flush(rwbs: &[u8], sectors: u64) -> bool {
    match op_of(rwbs) {
        Some(Op::Flush) => true,
        op => op.is_some() && sectors == 0 && !rwbs.starts_with(b"Z") && rwbs.contains(&b'F'),
    }
}

/// The request of these letters; `range` is the first sector and how many, where the line has them.
pub(crate) fn item(time_ns: u64, device: u32, rwbs: &[u8], range: Option<(u64, u64)>, sector_bytes: u64) -> Item {
    let flush = Item::flush(time_ns, device);
    let empty = range.is_none_or(|(_, sectors)| sectors == 0);
    let zoned = rwbs.starts_with(b"Z");
    match (op_of(rwbs), range) {
        _ if is_flush(rwbs, range.map_or(0, |(_, sectors)| sectors)) => flush,
        (Some(_), _) if empty && zoned => Item::Skip(SkipReason::OtherCommand),
        (Some(op), Some((sector, sectors))) => {
            Item::in_units(time_ns, device, op, (sector, sector_bytes), (sectors, sector_bytes))
        }
        _ => Item::Skip(SkipReason::OtherCommand),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Record;

    fn of(rwbs: &str, range: Option<(u64, u64)>) -> Option<(Op, u64)> {
        match item(0, 0, rwbs.as_bytes(), range, 512) {
            Item::Record(Record { op, size_bytes, .. }) => Some((op, size_bytes)),
            _ => None,
        }
    }

    #[test]
    fn letters_are_what_the_kernel_means_by_them() {
        for (rwbs, op) in [
            ("R", Op::Read),
            ("RAM", Op::Read),
            ("W", Op::Write),
            ("WFS", Op::Write),
            ("FWFSM", Op::Write),
            ("WZ", Op::Write),
            ("WSU", Op::Write),
            ("D", Op::Trim),
            ("DE", Op::Trim),
            ("DS", Op::Trim),
            ("ZR", Op::Trim),
            ("ZRA", Op::Trim),
            ("ZRS", Op::Trim),
            ("ZA", Op::Write),
            ("ZAS", Op::Write),
        ] {
            assert_eq!(of(rwbs, Some((8, 8))), Some((op, 4096)), "{rwbs}");
        }
    }

    #[test]
    fn words_are_letters_in_the_order_of_the_kernel() {
        for (word, op) in
            [("RM", Op::Read), ("RAM", Op::Read), ("WM", Op::Write), ("FWFSM", Op::Write), ("DS", Op::Trim)]
        {
            assert_eq!(word_of(word.as_bytes()), Some(op), "{word}");
        }
        for word in ["", "ARM", "FARM", "WARM", "rm", "RX", "N", "ZR", "SR"] {
            assert_eq!(word_of(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn a_flush_has_no_range_and_a_reset_without_one_is_another_command() {
        for rwbs in ["F", "FF", "FN", "FWS", "WFS"] {
            assert_eq!(of(rwbs, None), Some((Op::Flush, 0)), "{rwbs}");
            assert_eq!(of(rwbs, Some((0, 0))), Some((Op::Flush, 0)), "{rwbs}");
        }
        for rwbs in ["N", "ZR", "ZRA", "ZF", "ZO", "ZC", "ZAF", "Z", ""] {
            assert_eq!(of(rwbs, Some((0, 0))), None, "{rwbs}");
            assert_eq!(of(rwbs, None), None, "{rwbs}");
        }
        for rwbs in ["ZF", "ZO", "ZC"] {
            assert_eq!(of(rwbs, Some((8, 8))), None, "{rwbs}");
        }
    }
}
