//! Records: 64 bytes for a page, and 64 for a slot. One never crosses a sector, so a host crash leaves it old or new.

use phelsuma_nand::Spare;

/// Bytes of a record.
pub(super) const RECORD_BYTES: usize = 64;
/// Bytes that the checksum is over; it stands in the last four.
const CHECKED: usize = RECORD_BYTES - 4;

/// A record as it stands in the file.
pub(super) type Bytes = [u8; RECORD_BYTES];

/// The kind of a record's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Read<T> {
    /// Zeros: never written, or undone.
    Blank,
    /// A record of this place.
    Is(T),
    /// The checksum does not fit, or it holds what no record does.
    Bad,
}

/// The result of reading a page, besides its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum PageState {
    /// The data as written.
    Sound = 0,
    /// Nothing: ECC has given up.
    Unreadable = 1,
    /// All ones; but programming it leaves it unreadable.
    LooksErased = 2,
    /// The data as written, until the session after the next one begins.
    Unstable = 3,
    /// The same, and once only.
    UnstableOnce = 4,
}

impl PageState {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Sound, Self::Unreadable, Self::LooksErased, Self::Unstable, Self::UnstableOnce]
            .get(byte as usize)
            .copied()
    }

    /// Whether the page holds data.
    pub(super) fn holds_data(self) -> bool {
        matches!(self, Self::Sound | Self::Unstable | Self::UnstableOnce)
    }
}

/// The record of a page.
///
/// | bytes | field |
/// | --- | --- |
/// | 0–31 | the spare area ([`Spare::encode`]) |
/// | 32–39 | number of the program; 0 where a torn erase has left its mark on a page that was blank |
/// | 40–47 | number of the erase that began the block |
/// | 48 | state |
/// | 49 | 1 if the page is hollow: it repeats its first eight bytes, and was written as such |
/// | 50–51 | 0 |
/// | 52–55 | session in which it was written |
/// | 56–59 | CRC-32 of the data as they stand in the file |
/// | 60–63 | CRC-32 of bytes 0 to 59 and of the page's place (8 bytes) |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageRecord {
    pub(super) spare: Option<Spare>,
    pub(super) number: u64,
    pub(super) begun: u64,
    pub(super) state: PageState,
    pub(super) hollow: bool,
    pub(super) session: u32,
    pub(super) data_crc: u32,
}

impl PageRecord {
    #[inline]
    pub(super) fn encode(&self, place: u64) -> Bytes {
        let mut out = [0; RECORD_BYTES];
        if let Some(spare) = &self.spare {
            // There is room for it.
            let _ = spare.encode(&mut out);
        }
        out[32..40].copy_from_slice(&self.number.to_le_bytes());
        out[40..48].copy_from_slice(&self.begun.to_le_bytes());
        out[48] = self.state as u8;
        out[49] = u8::from(self.hollow);
        out[52..56].copy_from_slice(&self.session.to_le_bytes());
        out[56..60].copy_from_slice(&self.data_crc.to_le_bytes());
        seal(&mut out, place);
        out
    }

    #[inline]
    pub(super) fn decode(bytes: &Bytes, place: u64) -> Read<Self> {
        if is_blank(bytes) {
            return Read::Blank;
        }
        let (state, fits) = (PageState::from_byte(bytes[48]), fits(bytes, place));
        let (Some(state), true, 0 | 1) = (state, fits, bytes[49]) else { return Read::Bad };
        Read::Is(Self {
            spare: Spare::decode(&bytes[..Spare::BYTES]).ok(),
            number: u64_at(bytes, 32),
            begun: u64_at(bytes, 40),
            state,
            hollow: bytes[49] == 1,
            session: u32_at(bytes, 52),
            data_crc: u32_at(bytes, 56),
        })
    }
}

/// The record of a slot: whose it is.
///
/// | bytes | field |
/// | --- | --- |
/// | 0–3 | `SLOT` |
/// | 4–7 | block |
/// | 8–15 | number of the erase that gave the block this slot |
/// | 16–19 | how often the block was erased, this erase included |
/// | 20 | 1 if an erase was torn: programs fail until the block is erased again |
/// | 21–59 | 0 |
/// | 60–63 | CRC-32 of bytes 0 to 59 and of the slot's number (8 bytes) |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotRecord {
    pub(super) block: u32,
    pub(super) begun: u64,
    pub(super) erases: u32,
    pub(super) dirty: bool,
}

const SLOT: &[u8; 4] = b"SLOT";

impl SlotRecord {
    pub(super) fn encode(&self, slot: u32) -> Bytes {
        let mut out = [0; RECORD_BYTES];
        out[..4].copy_from_slice(SLOT);
        out[4..8].copy_from_slice(&self.block.to_le_bytes());
        out[8..16].copy_from_slice(&self.begun.to_le_bytes());
        out[16..20].copy_from_slice(&self.erases.to_le_bytes());
        out[20] = u8::from(self.dirty);
        seal(&mut out, u64::from(slot));
        out
    }

    pub(super) fn decode(bytes: &Bytes, slot: u32, blocks: u32) -> Read<Self> {
        if is_blank(bytes) {
            return Read::Blank;
        }
        let block = u32_at(bytes, 4);
        if !fits(bytes, u64::from(slot)) || bytes[..4] != *SLOT || block >= blocks || bytes[20] > 1 {
            return Read::Bad;
        }
        Read::Is(Self { block, begun: u64_at(bytes, 8), erases: u32_at(bytes, 16), dirty: bytes[20] == 1 })
    }
}

#[inline]
fn is_blank(bytes: &Bytes) -> bool {
    *bytes == [0; RECORD_BYTES]
}

#[inline]
fn checksum(bytes: &Bytes, place: u64) -> u32 {
    let mut checked = [0; CHECKED + 8];
    checked[..CHECKED].copy_from_slice(&bytes[..CHECKED]);
    checked[CHECKED..].copy_from_slice(&place.to_le_bytes());
    crc32fast::hash(&checked)
}

#[inline]
fn seal(bytes: &mut Bytes, place: u64) {
    let crc = checksum(bytes, place);
    bytes[CHECKED..].copy_from_slice(&crc.to_le_bytes());
}

#[inline]
fn fits(bytes: &Bytes, place: u64) -> bool {
    checksum(bytes, place) == u32_at(bytes, CHECKED)
}

/// A number of four bytes, little-endian.
#[inline]
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A number of eight bytes, little-endian.
#[inline]
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The mark of a bad block: its number, and the CRC-32 of that. Anything but zeros says that it is bad; a mark that was
/// being written when the process died is one.
pub(super) fn mark_of(block: u32) -> [u8; 8] {
    let mut mark = [0; 8];
    mark[..4].copy_from_slice(&block.to_le_bytes());
    let crc = crc32fast::hash(&mark[..4]);
    mark[4..].copy_from_slice(&crc.to_le_bytes());
    mark
}
