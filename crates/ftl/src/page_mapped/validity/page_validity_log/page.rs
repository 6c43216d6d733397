//! A page of the log on flash, byte by byte (GeckoFTL appendix E).
//!
//! Little-endian. First comes a header of 56 bytes:
//!
//! | bytes | what |
//! | --- | --- |
//! | 2 | entries on the page (u16) |
//! | 1 | flags (u8) |
//! | 5 | unused |
//! | 8 | the page's number in the log |
//! | 8 | the number of the oldest page that counts |
//! | 8 | when the page was made, in program order |
//! | 8 | when the last flush that this page completes, or an earlier one, froze the buffer |
//! | 8 + 8 | the two moments of that flush's [`ScanFrom`] |
//!
//! Then come entries of twelve bytes:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | the stale page; in the highest bit whether everything behind it in its block is stale as well |
//! | 4 | how many positions before this one the block's previous entry stands, 0 where there is none |
//! | 4 | how long before the page was made the entry was, in program order |

use crate::page_mapped::durability::ScanFrom;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

const HEADER: usize = 56;
const ENTRY: usize = 12;

/// In an entry's page: everything behind it in its block is stale as well.
const AND_BEHIND: u32 = 1 << 31;
/// Flag of a page: a part of the log was lost before.
const DAMAGED: u8 = 1;

/// Pages of flash have numbers below this.
pub(super) const PAGE_NUMBERS_MAX: usize = AND_BEHIND as usize;

/// V: the entries of a page of so many bytes, and of the buffer.
pub(super) fn entries_per_page(page_bytes: u32) -> usize {
    (page_bytes as usize).saturating_sub(HEADER) / ENTRY
}

/// Which pages an entry says to be stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) struct Stale {
    /// The number of the first of them.
    pub(super) page: u32,
    /// Whether those behind it in its block are, too.
    pub(super) and_behind: bool,
}

impl Stale {
    fn word(self) -> u32 {
        self.page | if self.and_behind { AND_BEHIND } else { 0 }
    }

    fn of_word(word: u32) -> Self {
        Self { page: word & !AND_BEHIND, and_behind: word & AND_BEHIND != 0 }
    }

    /// Whether all that `other` says of the same block is said by this one.
    pub(super) fn covers(self, other: Self) -> bool {
        self == other || self.and_behind && self.page <= other.page
    }
}

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(super) struct LogEntry {
    pub(super) stale: Stale,
    /// How many positions before this one the block's previous entry stands; 0 where there is none.
    pub(super) distance: u32,
    /// The timestamp: when the page became stale, in program order.
    pub(super) at: u64,
}

/// A page's statement of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) damaged: bool,
    /// The page's own number.
    pub(super) number: u64,
    /// The number of the oldest page that counts.
    pub(super) oldest: u64,
    /// Program order when it was made.
    pub(super) made: u64,
    /// Program order when the last complete flush froze the buffer.
    pub(super) frozen: u64,
    /// From where on a recovery has to scan if that is the last flush.
    pub(super) scan_from: ScanFrom,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Writes a page.
pub(super) fn encode(bytes: &mut [u8], header: &Header, entries: &[LogEntry]) {
    debug_assert!(entries.len() * ENTRY + HEADER <= bytes.len());
    bytes.fill(0);
    bytes[0..2].copy_from_slice(&(entries.len() as u16).to_le_bytes());
    bytes[2] = if header.damaged { DAMAGED } else { 0 };
    let numbers = [
        header.number,
        header.oldest,
        header.made,
        header.frozen,
        header.scan_from.after,
        header.scan_from.oldest_open,
    ];
    for (n, number) in numbers.iter().enumerate() {
        bytes[8 + n * 8..16 + n * 8].copy_from_slice(&number.to_le_bytes());
    }
    for (entry, room) in entries.iter().zip(bytes[HEADER..].chunks_exact_mut(ENTRY)) {
        // An entry older than four billion programs may pass for one of just that age: events of its block before that
        // have been reported by now.
        let age = u32::try_from(header.made.saturating_sub(entry.at)).unwrap_or(u32::MAX);
        room[0..4].copy_from_slice(&entry.stale.word().to_le_bytes());
        room[4..8].copy_from_slice(&entry.distance.to_le_bytes());
        room[8..12].copy_from_slice(&age.to_le_bytes());
    }
}

/// A page, read.
#[derive(Clone, Copy)]
pub(super) struct LogPage<'a> {
    bytes: &'a [u8],
    entries: usize,
    made: u64,
}

impl<'a> LogPage<'a> {
    /// The page in `bytes`; more entries than fit are none.
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let most = entries_per_page(bytes.len() as u32);
        let entries = usize::from(u16::from_le_bytes([bytes[0], bytes[1]])).min(most);
        Self { bytes, entries, made: u64_at(bytes, 24) }
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<LogEntry> {
        if slot >= self.entries {
            return None;
        }
        let at = HEADER + slot * ENTRY;
        Some(LogEntry {
            stale: Stale::of_word(u32_at(self.bytes, at)),
            distance: u32_at(self.bytes, at + 4),
            at: self.made.saturating_sub(u32_at(self.bytes, at + 8).into()),
        })
    }

    pub(super) fn entries(self) -> impl Iterator<Item = LogEntry> + use<'a> {
        (0..self.entries).map_while(move |slot| self.get(slot))
    }

    pub(super) fn header(&self) -> Header {
        Header {
            damaged: self.bytes[2] & DAMAGED != 0,
            number: u64_at(self.bytes, 8),
            oldest: u64_at(self.bytes, 16),
            made: self.made,
            frozen: u64_at(self.bytes, 32),
            scan_from: ScanFrom { after: u64_at(self.bytes, 40), oldest_open: u64_at(self.bytes, 48) },
        }
    }
}

/// A page in RAM that is to be read while others are written.
pub(super) fn copy(into: &mut Vec<u8>, bytes: &[u8]) {
    into.clear();
    into.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = LogEntry> {
        let numbers = (0..AND_BEHIND, any::<bool>(), any::<u32>(), 0u64..1 << 40);
        numbers.prop_map(|(page, and_behind, distance, at)| LogEntry {
            stale: Stale { page, and_behind },
            distance,
            at,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            mut entries in proptest::collection::vec(entry(), 0..38),
            damaged in any::<bool>(),
            numbers in any::<[u64; 5]>(),
        ) {
            let [number, oldest, frozen, after, oldest_open] = numbers;
            let made = 1 << 40;
            let header = Header { damaged, number, oldest, made, frozen, scan_from: ScanFrom { after, oldest_open } };
            let mut bytes = vec![0xaa; 512];
            encode(&mut bytes, &header, &entries);
            let page = LogPage::new(&bytes);
            prop_assert_eq!(page.header(), header);
            for entry in &mut entries {
                entry.at = entry.at.max(made - u64::from(u32::MAX));
            }
            prop_assert_eq!(page.entries().collect::<Vec<_>>(), entries);
        }
    }

    #[test]
    fn the_papers_page_holds_336_entries() {
        assert_eq!(entries_per_page(4096), 336);
        assert_eq!(entries_per_page(512), 38);
    }

    #[test]
    fn bytes_that_are_no_page_are_read_without_harm() {
        let page = vec![0xff; 512];
        assert_eq!(LogPage::new(&page).entries().count(), 38);
    }
}
