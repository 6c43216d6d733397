//! Of each translation page the newest version that the last flush covered, at 16 bytes and a bit each.
//!
//! There are as many as translation pages, so this is most of a recovery's RAM on a large drive.

use super::translation::ToldVersion;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{CLOCK_MAX, Page};

/// No page has this number.
const NONE: u32 = u32::MAX;

/// A version: the page, and its two moments of 48 bits.
#[derive(Clone, Copy)]
struct Packed {
    page: u32,
    synchronized: u32,
    seq: u32,
    /// The upper 16 bits of either, those of `seq` first.
    high: u32,
}

/// The versions, by translation page.
pub(super) struct CoveredVersions {
    versions: Vec<Packed>,
    /// By translation page: what its version says of damage.
    says: Vec<u64>,
}

impl CoveredVersions {
    /// Of so many translation pages, of which none is known.
    pub(super) fn new(parts: u32) -> Self {
        let nothing = Packed { page: NONE, synchronized: 0, seq: 0, high: 0 };
        Self { versions: vec![nothing; parts as usize], says: vec![0; parts.div_ceil(64) as usize] }
    }

    /// How many translation pages there are.
    pub(super) fn parts(&self) -> u32 {
        self.versions.len() as u32
    }

    /// The version of a translation page, if there is one.
    pub(super) fn of(&self, part: u32) -> Option<ToldVersion> {
        let packed = self.versions.get(part as usize).filter(|packed| packed.page != NONE)?;
        let clock = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Some(ToldVersion {
            page: Page(packed.page),
            synchronized: clock(packed.synchronized, packed.high & 0xffff),
            seq: clock(packed.seq, packed.high >> 16),
            says: self.says[part as usize / 64] >> (part % 64) & 1 == 1,
        })
    }

    /// From now on it is this one.
    pub(super) fn set(&mut self, part: u32, version: ToldVersion) {
        debug_assert!(version.synchronized.max(version.seq) <= CLOCK_MAX, "a clock ran over 48 bits");
        debug_assert!(version.page.0 != NONE, "{} has the number of none", version.page);
        let high = |clock: u64| (clock >> 32) as u32 & 0xffff;
        self.versions[part as usize] = Packed {
            page: version.page.0,
            synchronized: version.synchronized as u32,
            seq: version.seq as u32,
            high: high(version.seq) << 16 | high(version.synchronized),
        };
        let says = &mut self.says[part as usize / 64];
        *says = *says & !(1 << (part % 64)) | u64::from(version.says) << (part % 64);
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.versions.capacity() * size_of::<Packed>() + self.says.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_back_with_all_their_bits() {
        let mut covered = CoveredVersions::new(130);
        let versions = [(0, 1, false), (CLOCK_MAX, CLOCK_MAX, true), (1 << 32, 0xffff_ffff, true), (7, 1 << 47, false)];
        for (part, (synchronized, seq, says)) in [0, 63, 64, 129].into_iter().zip(versions) {
            covered.set(part, ToldVersion { page: Page(9), synchronized: 5, seq: 6, says: !says });
            covered.set(part, ToldVersion { page: Page(part), synchronized, seq, says });
        }
        for (part, (synchronized, seq, says)) in [0, 63, 64, 129].into_iter().zip(versions) {
            let version = covered.of(part).unwrap();
            assert_eq!(
                (version.page, version.synchronized, version.seq, version.says),
                (Page(part), synchronized, seq, says)
            );
        }
        assert!(covered.of(1).is_none() && covered.of(130).is_none());
        assert_eq!((covered.parts(), covered.bytes()), (130, 130 * 16 + 3 * 8));
    }
}
