//! The flash that a part of an FTL needs for itself. Each part says so where it is; `shape.rs` adds it up.

/// A part's own needs of flash.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Needs {
    /// Pages of metadata that can be live at a time.
    pub(crate) live_pages: u64,
    /// Pages that may be programmed during one collection, besides the pages moved.
    pub(crate) programs: u64,
    /// User pages that can be stale and not identified.
    pub(crate) unidentified: u64,
    /// Pages that are programmed on battery.
    pub(crate) battery: u64,
}

impl Needs {
    /// Of two parts.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            live_pages: self.live_pages + other.live_pages,
            programs: self.programs + other.programs,
            unidentified: self.unidentified + other.unidentified,
            battery: self.battery + other.battery,
        }
    }
}
