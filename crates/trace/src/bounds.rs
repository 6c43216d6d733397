//! What requests may be at the most.

/// Every range must end at or below this byte (2^63).
pub const END_BYTES_MAX: u64 = 1 << 63;
/// No read or write that comes out is larger (1 GiB). A trim may be: whole drives are discarded at once.
pub const SIZE_BYTES_MAX: u64 = 1 << 30;
/// A read or write up to this size (1 TiB) comes out in pieces; over it, it is taken for a recorder's error.
pub const SPLIT_BYTES_MAX: u64 = 1 << 40;

/// No sector may be larger (1 MiB).
pub const SECTOR_BYTES_MAX: u32 = 1 << 20;
