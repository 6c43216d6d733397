//! Where the entry of a logical page stands: four bytes in a translation page. A page of flash is a power of two.

/// The translation page of a logical page.
#[inline]
pub(super) fn part_of(key: u32, entries_per_page: u32) -> u32 {
    debug_assert!(entries_per_page.is_power_of_two(), "{entries_per_page} entries a page");
    key >> entries_per_page.trailing_zeros()
}

/// How many entries stand before it there.
#[inline]
pub(super) fn index_of(key: u32, entries_per_page: u32) -> u32 {
    key & (entries_per_page - 1)
}

/// The entry that stands there.
#[inline]
pub(super) fn get(page: &[u8], index: u32) -> u32 {
    let at = index as usize * 4;
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// The entry stands there from now on.
#[inline]
pub(super) fn put(page: &mut [u8], index: u32, entry: u32) {
    let at = index as usize * 4;
    page[at..at + 4].copy_from_slice(&entry.to_le_bytes());
}
