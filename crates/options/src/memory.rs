//! Whether the machine has the memory that a simulation needs.

use crate::size;
use phelsuma_drive::RunError;
use phelsuma_nand::Geometry;

/// What a simulated physical page takes, in bytes, rounded up: spare columns, mapping, counters.
const BYTES_PER_PAGE: u64 = 14;

/// What simulating a drive takes, in bytes, roughly.
pub fn needed(geometry: &Geometry) -> u64 {
    geometry.pages() * BYTES_PER_PAGE
}

/// The machine's memory in bytes, where it says.
pub fn total() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Refuses a drive that does not fit the machine's memory.
///
/// # Errors
/// It does not.
pub fn affordable(geometry: &Geometry) -> Result<(), RunError> {
    copies_affordable(geometry, 1)
}

/// Refuses a drive of which so many copies at a time do not fit the machine's memory.
///
/// # Errors
/// They do not.
pub fn copies_affordable(geometry: &Geometry, copies: u64) -> Result<(), RunError> {
    let needed = needed(geometry).saturating_mul(copies);
    match total() {
        Some(total) if needed > total => Err(RunError::Input(format!(
            "a drive of {}{} takes some {} of memory to simulate, this machine has {}: a smaller capacity or larger pages would be right",
            size::show(geometry.capacity_bytes()),
            if copies > 1 { format!(", held {copies} times,") } else { String::new() },
            size::show(needed),
            size::show(total)
        ))),
        _ => Ok(()),
    }
}

/// How many such drives fit the machine's memory at a time; at least one.
pub fn at_a_time(geometry: &Geometry) -> usize {
    total().map_or(usize::MAX, |total| (total / needed(geometry).max(1)).max(1) as usize)
}
