//! How far back a recovery must look, in the four bytes that a translation page's spare area has room for.
//!
//! These are two distances from the page's version, itself a moment in program order. Each has eleven bits and an
//! exponent, rounded up. So a recovery looks too far back by less than a thousandth and never not far enough.

use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::ScanFrom;

const MANTISSA_BITS: u32 = 11;
/// Too far for a number.
const EVERYTHING: u16 = u16::MAX;

fn distance(far: u64) -> u16 {
    let bits = u64::BITS - far.leading_zeros();
    let mut exponent = bits.saturating_sub(MANTISSA_BITS);
    let mut mantissa = far.div_ceil(1 << exponent);
    if mantissa >> MANTISSA_BITS != 0 {
        exponent += 1;
        mantissa = mantissa.div_ceil(2);
    }
    u16::try_from(u64::from(exponent) << MANTISSA_BITS | mantissa).unwrap_or(EVERYTHING)
}

fn moment(version: u64, distance: u16) -> u64 {
    if distance == EVERYTHING {
        return 0;
    }
    let mantissa = u64::from(distance) & ((1 << MANTISSA_BITS) - 1);
    version.saturating_sub(mantissa << (distance >> MANTISSA_BITS))
}

/// As the spare area of a translation page says it that is synchronized as of `version`.
pub(crate) fn encode(version: u64, from: ScanFrom) -> SpareMarks {
    let far = |moment: u64| u32::from(distance(version.saturating_sub(moment)));
    SpareMarks::scan_mark(far(from.after) | far(from.oldest_open) << 16)
}

/// The mark in the spare area of a translation page.
pub(crate) fn decode(version: u64, marks: SpareMarks) -> ScanFrom {
    let mark = marks.as_scan_mark();
    ScanFrom { after: moment(version, mark as u16), oldest_open: moment(version, (mark >> 16) as u16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_never_later_than_it_was_and_hardly_earlier() {
        let version = 1 << 47;
        let powers = (0..47).flat_map(|n| [(1u64 << n) - 1, 1 << n, (1 << n) + 1]);
        for far in powers.chain([0, 2047, 2048, 2049, 4095, 123_456_789]) {
            let from = ScanFrom { after: version - far, oldest_open: version - far / 2 };
            let back = decode(version, encode(version, from));
            assert!(back.after <= from.after && back.oldest_open <= from.oldest_open, "{far}");
            let beyond = from.after - back.after;
            assert!(beyond <= far / 1024 || back.after == 0 && far > 1 << 41, "{far}: {beyond} too early");
        }
        assert_eq!(decode(5, encode(5, ScanFrom::default())), ScanFrom::default());
        assert_eq!(decode(version, SpareMarks::scan_mark(u32::MAX)), ScanFrom::default());
    }
}
