//! The spare (out-of-band) area: the metadata that is written beside every page, and how it stands in bytes.

use crate::state::Preserve;
use thiserror::Error;

/// What kind of page it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Preserve)]
#[repr(u8)]
pub enum Kind {
    /// Host data; the key is the logical page.
    User = 1,
    /// Which pages of a region are trimmed; the key is the region.
    Tombstone = 2,
    /// The drive's own description, written at format; the key is the copy's number.
    Anchor = 3,
    /// A part of the mapping table; the key is its number.
    Translation = 4,
    /// A part of a bitmap of invalid pages; the key is its number.
    Bitmap = 5,
    /// A page of a run of Logarithmic Gecko; the key is its place in the run.
    Gecko = 6,
    /// A page of a page validity log; the key is its number in the log, the low 32 bits.
    ValidityLog = 7,
    /// A page of a map block: where data blocks are; the key is its number.
    Map = 8,
    /// What stands in the pages in front of it in its block; the key is the block.
    Summary = 9,
    /// A page of a µ-Tree: a path from a leaf upwards; the key is the lowest in the leaf.
    Tree = 10,
    /// A page of a block log: which blocks may be opened, and what a part of them holds; the key is its number in the
    /// chain of pages that its version names.
    BlockLog = 11,
    /// A page of a run of the mapping log; the key is its place in the run.
    MappingLog = 12,
}

impl Kind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::User,
        Self::Tombstone,
        Self::Anchor,
        Self::Translation,
        Self::Bitmap,
        Self::Gecko,
        Self::ValidityLog,
        Self::Map,
        Self::Summary,
        Self::Tree,
        Self::BlockLog,
        Self::MappingLog,
    ];

    #[inline]
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        // Numbers begin at 1 and have no gaps.
        Self::ALL.get(usize::from(byte).wrapping_sub(1)).copied()
    }
}

/// The spare area of a page, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub struct Spare {
    /// What kind of page it is.
    pub kind: Kind,
    /// The stream (open block) that the page was written to.
    pub stream: u8,
    /// The number of the page's content: logical page, region, copy number, by kind.
    pub key: u32,
    /// Order of contents over the whole drive, the host's and the FTL's own: larger is newer, and every copy preserves
    /// it. 48 bits. (Where each channel has an FTL of its own, this and `seq` are orders over a channel.)
    pub version: u64,
    /// Order of programs over the whole drive, never reused. 48 bits.
    pub seq: u64,
    /// [`Content::crc`](crate::Content::crc) of the data.
    pub data_crc: u32,
    /// Room for the FTL, which gives it a meaning (say, an erase count on a block's first page).
    pub aux: u32,
}

/// Bytes that are no spare area.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SpareError {
    /// Too few bytes.
    #[error("a spare area of {0} bytes: at least 32 are needed")]
    Short(usize),
    /// The CRC over the spare area itself does not fit.
    #[error("the spare area's checksum does not fit")]
    Checksum,
    /// The checksum fits, yet layout or kind are unknown: written by something else, or by a later version.
    #[error("a spare area of unknown layout {layout:#x}, kind {kind}")]
    Unknown {
        /// The layout byte found.
        layout: u8,
        /// The kind byte found.
        kind: u8,
    },
}

const LAYOUT: u8 = 0xf1;

/// The largest version and seq that a spare area holds.
pub const CLOCK_MAX: u64 = (1 << 48) - 1;

impl Spare {
    /// Bytes that the fields take; the rest of the spare area is zero.
    pub const BYTES: usize = 32;

    /// Writes the spare area into `out`, little-endian:
    ///
    /// | bytes | field |
    /// | --- | --- |
    /// | 0 | layout, 0xf1 |
    /// | 1 | kind |
    /// | 2 | stream |
    /// | 3 | 0 |
    /// | 4–7 | key |
    /// | 8–13 | version |
    /// | 14–19 | seq |
    /// | 20–23 | CRC-32 of the data |
    /// | 24–27 | aux |
    /// | 28–31 | CRC-32 of bytes 0 to 27 |
    ///
    /// # Errors
    /// [`SpareError::Short`] where `out` has no room.
    pub fn encode(&self, out: &mut [u8]) -> Result<(), SpareError> {
        let len = out.len();
        let out = out.get_mut(..Self::BYTES).ok_or(SpareError::Short(len))?;
        debug_assert!(self.version <= CLOCK_MAX && self.seq <= CLOCK_MAX, "a clock ran over 48 bits");
        out[0] = LAYOUT;
        out[1] = self.kind as u8;
        out[2] = self.stream;
        out[3] = 0;
        out[4..8].copy_from_slice(&self.key.to_le_bytes());
        out[8..14].copy_from_slice(&self.version.to_le_bytes()[..6]);
        out[14..20].copy_from_slice(&self.seq.to_le_bytes()[..6]);
        out[20..24].copy_from_slice(&self.data_crc.to_le_bytes());
        out[24..28].copy_from_slice(&self.aux.to_le_bytes());
        let crc = crc32fast::hash(&out[..28]);
        out[28..32].copy_from_slice(&crc.to_le_bytes());
        Ok(())
    }

    /// Reads a spare area back.
    ///
    /// # Errors
    /// [`SpareError`]: too short, wrong checksum, unknown layout or kind.
    pub fn decode(bytes: &[u8]) -> Result<Self, SpareError> {
        let b: &[u8; Self::BYTES] =
            bytes.get(..Self::BYTES).and_then(|b| b.try_into().ok()).ok_or(SpareError::Short(bytes.len()))?;
        let u32_at = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let u48_at = |i: usize| u64::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3], b[i + 4], b[i + 5], 0, 0]);
        if crc32fast::hash(&b[..28]) != u32_at(28) {
            return Err(SpareError::Checksum);
        }
        match (b[0], Kind::from_byte(b[1])) {
            (LAYOUT, Some(kind)) => Ok(Self {
                kind,
                stream: b[2],
                key: u32_at(4),
                version: u48_at(8),
                seq: u48_at(14),
                data_crc: u32_at(20),
                aux: u32_at(24),
            }),
            (layout, _) => Err(SpareError::Unknown { layout, kind: b[1] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_spare() -> impl Strategy<Value = Spare> {
        (0..Kind::ALL.len(), any::<u8>(), any::<u32>(), 0..=CLOCK_MAX, 0..=CLOCK_MAX, any::<u32>(), any::<u32>())
            .prop_map(|(kind, stream, key, version, seq, data_crc, aux)| Spare {
                kind: Kind::ALL[kind],
                stream,
                key,
                version,
                seq,
                data_crc,
                aux,
            })
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(spare in any_spare()) {
            let mut bytes = [0; 40];
            spare.encode(&mut bytes).unwrap();
            prop_assert_eq!(Spare::decode(&bytes), Ok(spare));
        }

        #[test]
        fn no_single_flipped_bit_goes_unseen(spare in any_spare(), bit in 0..Spare::BYTES * 8) {
            let mut bytes = [0; Spare::BYTES];
            spare.encode(&mut bytes).unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Spare::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_decode_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Spare::decode(&bytes);
        }
    }

    #[test]
    fn blank_and_zero_flash_are_no_spare_areas() {
        assert_eq!(Spare::decode(&[0xff; 32]), Err(SpareError::Checksum));
        assert!(Spare::decode(&[0; 32]).is_err());
    }

    #[test]
    fn the_bytes_are_the_documented_ones() {
        let spare = Spare { kind: Kind::User, stream: 2, key: 0x0403_0201, version: 5, seq: 6, data_crc: 7, aux: 8 };
        let mut bytes = [0; 32];
        spare.encode(&mut bytes).unwrap();
        assert_eq!(
            bytes[..28],
            [0xf1, 1, 2, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0]
        );
    }
}
