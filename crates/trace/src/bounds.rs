//! What requests and pages may be at the most.

use crate::TraceError;

/// Every range must end at or below this byte (2^63).
pub const END_BYTES_MAX: u64 = 1 << 63;
/// No read or write that comes out is larger (1 GiB). A trim may be: whole drives are discarded at once.
pub const SIZE_BYTES_MAX: u64 = 1 << 30;
/// A read or write up to this size (1 TiB) comes out in pieces; over it, it is taken for a recorder's error.
pub const SPLIT_BYTES_MAX: u64 = 1 << 40;

/// No sector may be larger (1 MiB).
pub const SECTOR_BYTES_MAX: u32 = 1 << 20;

/// Refuses a page size that is no power of two between 512 bytes and 1 MiB.
///
/// # Errors
/// Names the sizes that would be right.
pub(crate) fn check_page_bytes(page_bytes: u32) -> Result<(), TraceError> {
    if page_bytes.is_power_of_two() && (512..=1 << 20).contains(&page_bytes) {
        return Ok(());
    }
    let what = format!("a page of {page_bytes} bytes cannot be, a power of two from 512 to 1048576 would be right");
    Err(TraceError::Option(what))
}
