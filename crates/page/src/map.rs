//! The map of the blocks, as few bytes: `docs/reference/page.md` has each of them.

use crate::blocks::{Blocks, Shown};
use phelsuma_ftl::BlockState;
use phelsuma_serve::device::BlockSeen;

/// Cells of a map at the most, and if nothing is said.
pub(crate) const CELLS_MAX: u32 = 1 << 16;
pub(crate) const CELLS_DEFAULT: u32 = 1 << 14;

/// Bytes before the first cell.
const HEADER_BYTES: usize = 16;
/// Bytes of a cell.
const CELL_BYTES: usize = 8;

/// Some block of the cell is being written.
const WRITTEN_NOW: u8 = 1;
/// Live pages of some block in it are counted.
const COUNTED: u8 = 2;

/// The map in so many cells or fewer; a cell is as many blocks, one after the other, as it takes.
pub(crate) fn map(blocks: &Blocks, number: u64, pages_per_block: u32, cells: u32) -> Vec<u8> {
    let count = blocks.seen.len() as u32;
    let per_cell = count.div_ceil(cells.clamp(1, CELLS_MAX)).max(1);
    let cells = count.div_ceil(per_cell);
    let mut out = Vec::with_capacity(HEADER_BYTES + cells as usize * CELL_BYTES);
    for word in [count, per_cell, cells, number as u32] {
        out.extend(word.to_le_bytes());
    }
    let chunks = blocks.seen.chunks(per_cell as usize).zip(blocks.recent.chunks(per_cell as usize));
    for (seen, recent) in chunks {
        out.extend(cell(seen, recent, pages_per_block));
    }
    out
}

/// A part of a whole, of 255.
fn of_255(part: u64, whole: u64) -> u8 {
    (part * 255).checked_div(whole).map_or(0, |share| share.min(255) as u8)
}

fn cell(seen: &[BlockSeen], recent: &[u8], pages_per_block: u32) -> [u8; CELL_BYTES] {
    let mut of_kind = [0u32; Shown::ALL.len()];
    let (mut flags, mut live, mut counted, mut erases) = (0, 0, 0, 0);
    for block in seen {
        of_kind[Shown::of(block) as usize] += 1;
        flags |= if block.look.state == BlockState::Open { WRITTEN_NOW } else { 0 };
        if let Some(pages) = block.look.live_pages {
            (live, counted) = (live + u64::from(pages), counted + u64::from(pages_per_block));
        }
        erases += u64::from(block.erases);
    }
    flags |= if counted > 0 { COUNTED } else { 0 };
    // The two kinds of which there is most; of equally many the one that is rarer elsewhere, which is the later.
    let most = |without: Option<usize>| {
        let others = of_kind.iter().enumerate().filter(|(kind, _)| Some(*kind) != without);
        others.max_by_key(|(_, blocks)| **blocks).map_or((0, 0), |(kind, blocks)| (kind, *blocks))
    };
    let (first, _) = most(None);
    let (second, others) = most(Some(first));
    let second = if others == 0 { first } else { second };
    let blocks = seen.len() as u64;
    let [low, high] = ((erases / blocks.max(1)).min(u64::from(u16::MAX)) as u16).to_le_bytes();
    let recent = recent.iter().copied().max().unwrap_or(0);
    [first as u8, second as u8, of_255(others.into(), blocks), of_255(live, counted), flags, recent, low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use phelsuma_ftl::BlockLook;
    use phelsuma_nand::Kind;

    fn block(state: BlockState, kind: Kind, live: Option<u16>, erases: u32) -> BlockSeen {
        BlockSeen { look: BlockLook { state, kind: Some(kind), live_pages: live, log: None }, erases }
    }

    #[test]
    fn a_cell_of_one_block_says_what_it_is() {
        let open = block(BlockState::Open, Kind::Gecko, Some(16), 300);
        assert_eq!(cell(&[open], &[2], 32), [6, 6, 0, 127, WRITTEN_NOW | COUNTED, 2, 44, 1]);
        let free = block(BlockState::Free, Kind::User, None, 70_000);
        assert_eq!(cell(&[free], &[0], 32), [0, 0, 0, 0, 0, 0, 255, 255]);
    }

    #[test]
    fn a_cell_of_many_blocks_says_of_what_there_is_most() {
        let user = block(BlockState::Written, Kind::User, Some(32), 1);
        let translation = block(BlockState::Written, Kind::Translation, Some(0), 3);
        let seen = [user, translation, user, user];
        assert_eq!(cell(&seen, &[0, 4, 0, 0], 32), [2, 3, 63, 191, COUNTED, 4, 1, 0]);
    }
}
