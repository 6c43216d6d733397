//! FlashSim's `_4k` ASCII: the five columns of DiskSim, with the size in units of 4 KiB.
//!
//! The converter has rounded sizes up. The address is still in 512-byte sectors. Times are milliseconds.
//!
//! Nothing in the file says so. It is taken for FlashSim when its columns are separated by tabs and three signs agree:
//!
//! - Times have a fraction. SSDsim's are whole nanoseconds.
//! - Not each size is a multiple of 8. Sectors of pages of 4 KiB are.
//! - No more requests continue their predecessor with sizes read as sectors than as units of 4 KiB. The address grows by
//!   the size then, or by eight times the size. Steps of fewer than 8 say nothing: records of a database log lie that
//!   close in both.
//!
//! Everything else of this shape is DiskSim.

use super::TimeUnit;
use super::disksim::{FiveColumns, has_fractional_time};
use crate::number::{split_blank, whole};

/// Bytes of one unit of the size column.
const SIZE_UNIT_BYTES: u64 = 4096;

/// Shortest step, in sectors, that counts as one request continuing another.
const TELLING_STEP: u64 = 8;

pub(crate) fn parser(time: TimeUnit, sector_bytes: u64) -> FiveColumns {
    FiveColumns {
        time,
        guessed_from_whole_times: false,
        address_unit_bytes: sector_bytes,
        size_unit_bytes: SIZE_UNIT_BYTES,
        flags_over_one: 0,
    }
}

/// Whether five columns of numbers are FlashSim's rather than DiskSim's.
pub(crate) fn looks_like(sample: &[u8]) -> bool {
    let (mut tabbed, mut lines, mut odd_sizes) = (0u32, 0u32, 0u32);
    let (mut as_sectors, mut as_4k) = (0u32, 0u32);
    let mut previous = None;
    for line in sample.split(|&byte| byte == b'\n') {
        let mut columns = [&[][..]; 5];
        if split_blank(line.trim_ascii(), &mut columns) != 5 {
            continue;
        }
        let [_, device, address, size, _] = columns;
        let (Ok(address), Ok(size)) = (whole(address, ""), whole(size, "")) else { continue };
        lines += 1;
        odd_sizes += u32::from(size % TELLING_STEP != 0);
        tabbed += u32::from(line.contains(&b'\t'));
        if let Some((last_device, last_address, last_size)) = previous
            && last_device == device
            && let Some(step) = u64::checked_sub(address, last_address)
            && step >= TELLING_STEP
        {
            as_sectors += u32::from(step == last_size);
            as_4k += u32::from(Some(step) == u64::checked_mul(last_size, 8));
        }
        previous = Some((device, address, size));
    }
    tabbed * 2 > lines && odd_sizes > 0 && has_fractional_time(sample) && as_4k >= as_sectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_steps_of_eight_are_flashsim() {
        assert!(looks_like(b"1.0\t0\t800\t2\t0\n2.0\t0\t816\t1\t0\n"));
    }

    #[test]
    fn tabs_without_any_sequential_pair_are_flashsim() {
        assert!(looks_like(b"1.0\t0\t800\t2\t0\n2.0\t0\t9000\t1\t0\n"));
    }

    #[test]
    fn tabs_with_steps_of_the_size_are_disksim() {
        assert!(!looks_like(b"1.0\t0\t800\t8\t0\n2.0\t0\t808\t8\t0\n"));
    }

    #[test]
    fn tabs_with_whole_times_or_pages_of_sectors_are_disksim() {
        assert!(!looks_like(b"1\t0\t800\t2\t0\n2\t0\t9000\t1\t0\n"));
        assert!(!looks_like(b"1.0\t0\t800\t16\t0\n2.0\t0\t9000\t8\t0\n"));
    }

    #[test]
    fn blanks_are_disksim() {
        assert!(!looks_like(b"1.0 0 800 2 0\n2.0 0 816 1 0\n"));
    }
}
