//! A superblock's page map as it stands on a map page, byte by byte, and its share in spare areas.
//!
//! Kang et al. keep the page map in spare areas alone. Each spare area has the tables of its superblock that the page's
//! write has changed. That takes spare areas of their size. Those here have four bytes for the FTL ([`Spare::aux`]),
//! and a page map of 4 blocks of 128 pages takes 1,024. So of the map the spare area of a page holds only its usual key
//! and version: *this logical page is here since then*. And when a block is given back, all of the superblock's map is
//! written to a map page. Its version says that older spare areas do not count any more.
//!
//! Little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | seq of the page programmed last when the map was made: a block begun later is not in it |
//! | 2 | slots |
//! | 6 a slot | physical block (u32, all ones where there is none), pages programmed in it by then (u16) |
//! | 2 a page | where each logical page stands: slot × pages per block + page; all ones where it was never written |
//!
//! A map page is moved unchanged, version included.
//!
//! [`Spare::aux`]: phelsuma_nand::Spare::aux

use super::layout::SuperblockLayout;
use super::state::Member;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry};

/// Where a logical page stands that was never written, or is trimmed.
pub(super) const NOWHERE: u16 = u16::MAX;

const HEAD_BYTES: usize = 10;
const SLOT_BYTES: usize = 6;
const NO_BLOCK: u32 = u32::MAX;

/// Bytes of a page map.
pub(super) fn bytes(layout: &SuperblockLayout) -> usize {
    HEAD_BYTES + layout.slots() as usize * SLOT_BYTES + layout.pages() as usize * 2
}

/// Writes a map into a page of zeros: of its blocks those that `stays` says.
pub(super) fn encode(
    layout: &SuperblockLayout,
    made: u64,
    members: &[Option<Member>],
    stays: impl Fn(usize) -> bool,
    entries: &[u16],
    page: &mut [u8],
) {
    let slots = layout.slots() as usize;
    debug_assert_eq!((members.len(), entries.len()), (slots, layout.pages() as usize), "a map is not a superblock's");
    page[..8].copy_from_slice(&made.to_le_bytes());
    page[8..10].copy_from_slice(&(slots as u16).to_le_bytes());
    let (head, rest) = page[HEAD_BYTES..].split_at_mut(slots * SLOT_BYTES);
    for (slot, bytes) in head.chunks_exact_mut(SLOT_BYTES).enumerate() {
        let member = members.get(slot).and_then(Option::as_ref).filter(|_| stays(slot));
        bytes[..4].copy_from_slice(&member.map_or(NO_BLOCK, |member| member.block.0).to_le_bytes());
        bytes[4..].copy_from_slice(&member.map_or(0, |member| member.next as u16).to_le_bytes());
    }
    for (entry, bytes) in entries.iter().zip(rest.chunks_exact_mut(2)) {
        bytes.copy_from_slice(&entry.to_le_bytes());
    }
}

/// When a map that was read was made.
pub(super) fn made(page: &[u8]) -> u64 {
    page.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn slots_in(page: &[u8]) -> usize {
    page.get(8..10).map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])))
}

/// Its blocks by slot, each with the pages that had been programmed. A block that the drive does not have is none.
pub(super) fn members(geometry: &Geometry, page: &[u8]) -> Vec<Option<(Block, u32)>> {
    let slots = page.get(HEAD_BYTES..).unwrap_or(&[]).chunks_exact(SLOT_BYTES).take(slots_in(page));
    let member = |b: &[u8]| {
        let block = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let next = u32::from(u16::from_le_bytes([b[4], b[5]]));
        (block < geometry.blocks()).then_some((Block(block), next.min(geometry.pages_per_block())))
    };
    slots.map(member).collect()
}

/// Where each logical page stands: as many as there are `entries`, which are nowhere before.
pub(super) fn entries(page: &[u8], entries: &mut [u16]) {
    let from = HEAD_BYTES + slots_in(page) * SLOT_BYTES;
    for (entry, b) in entries.iter_mut().zip(page.get(from..).unwrap_or(&[]).chunks_exact(2)) {
        *entry = u16::from_le_bytes([b[0], b[1]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_map_page_says_what_the_map_says() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        let layout = SuperblockLayout { pages_per_block: 32, blocks: 4, most: 8, logical_pages: 1000 };
        assert!(bytes(&layout) <= 512, "{}", bytes(&layout));
        let mut held: Vec<Option<Member>> = vec![None; 12];
        held[0] = Some(Member { next: 32, ..Member::new(Block(63)) });
        held[2] = Some(Member { next: 7, ..Member::new(Block(5)) });
        held[11] = Some(Member { next: 1, ..Member::new(Block(0)) });
        let map: Vec<u16> = (0..128).map(|page| if page % 3 == 0 { NOWHERE } else { page * 3 }).collect();
        let mut page = vec![0; 512];
        encode(&layout, 1 << 47, &held, |slot| slot != 2, &map, &mut page);
        assert_eq!(made(&page), 1 << 47);
        let said = members(&geometry, &page);
        assert_eq!((said.len(), said[0], said[2], said[11]), (12, Some((Block(63), 32)), None, Some((Block(0), 1))));
        let mut read = vec![NOWHERE; 128];
        entries(&page, &mut read);
        assert_eq!(read, map);
    }

    #[test]
    fn any_bytes_are_taken_without_panic() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        for byte in 0..=255 {
            for bytes in [&[byte; 512][..], &[byte; 9], &[]] {
                assert!(members(&geometry, bytes).len() <= 512 / SLOT_BYTES);
                entries(bytes, &mut [0; 128]);
                made(bytes);
            }
        }
    }
}
