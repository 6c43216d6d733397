//! What every order of the cache has: places for entries, their flags, and a hash.

use phelsuma_nand::state::Preserve;

/// An entry of which the translation page is out of date.
pub(super) const DIRTY: u8 = 1;
/// A before-image is not identified yet.
pub(super) const UIP: u8 = 2;
/// Updated since the checkpoints' hand came by.
pub(super) const UPDATED: u8 = 4;
/// Found by a recovery: what its translation page names is stale, and was perhaps reported (GeckoFTL appendix C.3.2).
pub(super) const UNSURE: u8 = 8;

/// A place in the cache, of which an entry has one as long as it is cached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(in super::super) struct Slot(pub(super) u32);

impl Slot {
    /// The first one.
    pub(in super::super) const FIRST: Self = Self(0);

    /// Its number: below that of the cache's slots.
    #[inline]
    pub(in super::super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One of `n`, evenly, and the same for the same number.
#[inline]
pub(in super::super) fn scattered(number: u32, n: usize) -> usize {
    let hash = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((hash * n as u64) >> 32) as usize
}
