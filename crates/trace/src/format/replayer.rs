//! Cuts of public traces for replayers: the five columns of DiskSim, with address and size in bytes.
//!
//! Milliseconds; type 1 is a read.
//!
//! Five columns are taken for this format on two conditions. Times have a fraction, and every address and every size in
//! the sample is a multiple of 512. A DiskSim trace of multiples of 256 KiB alone, at such addresses, looks the same but
//! for the comment that we write in it.

use super::TimeUnit;
use super::disksim::{FiveColumns, has_fractional_time, marked_unit};
use crate::number::{split_blank, whole};

pub(crate) fn parser(time: TimeUnit) -> FiveColumns {
    FiveColumns { time, guessed_from_whole_times: false, address_unit_bytes: 1, size_unit_bytes: 1, flags_over_one: 0 }
}

/// Whether five columns of numbers are bytes rather than sectors. The last line of a sample that ends
/// inside the file may be cut and must be left out by the caller.
pub(crate) fn looks_like(sample: &[u8]) -> bool {
    let mut records = 0;
    for line in sample.split(|&byte| byte == b'\n') {
        let mut columns = [&[][..]; 5];
        if split_blank(line.trim_ascii(), &mut columns) != 5 {
            continue;
        }
        let (Ok(address), Ok(size)) = (whole(columns[2], ""), whole(columns[3], "")) else { continue };
        if address % 512 != 0 || size % 512 != 0 {
            return false;
        }
        records += u32::from(size > 0);
    }
    records > 0 && has_fractional_time(sample) && marked_unit(sample).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_sectors_in_bytes_are_a_replayer_cut() {
        assert!(looks_like(b"0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 0\n"));
    }

    #[test]
    fn one_odd_address_or_whole_times_make_it_disksim() {
        assert!(!looks_like(b"0.000 0 200626176 512 0\n223.412 0 3159347208 512 0\n"));
        assert!(!looks_like(b"0 0 200626176 512 0\n223 0 3159347200 512 0\n"));
    }
}
