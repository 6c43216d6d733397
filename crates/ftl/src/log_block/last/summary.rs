//! Summary pages (LAST++ section 4.7): the last page of a random log block, which describes the others.
//!
//! It has the logical page and version of each. A recovery reads it instead of their spare areas. Where it is not
//! there, or torn, the recovery reads those.
//!
//! A block does one thing after another, so when a summary was begun all pages in front of it were done. It repeats the
//! spare areas, so nothing is lost where a summary that read well goes bad.
//!
//! A *sequential* log block has none: its last page is the host's, or it could never become a data block.

use super::tables::Tables;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::log_block::ground::Ground;
use crate::log_block::log_index::LogIndex;
use crate::log_block::log_state::NONE;
use crate::log_block::pool::Role;
use crate::log_block::recovery::{LogScan, ReadLogBlock, SpareScan};
use crate::medium::{NewPage, Session};
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, PageRead, Purpose, Time};

/// Bytes of an entry: logical page (u32), all ones where none is there, and version (48 bits), little-endian.
const ENTRY_BYTES: usize = 10;

/// Whether a page has room for the summary of a block.
pub(super) fn fits(geometry: &Geometry) -> bool {
    geometry.pages_per_block() > 1
        && (geometry.pages_per_block() as usize - 1) * ENTRY_BYTES <= geometry.page_bytes() as usize
}

/// The content of a summary page: by page, the logical page with its version where there is one.
fn decode(page: &[u8], pages: u32) -> impl Iterator<Item = (u32, Option<(u32, u64)>)> + '_ {
    (0..pages).zip(page.chunks_exact(ENTRY_BYTES)).map(|(index, b)| {
        let key = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let version = u64::from_le_bytes([b[4], b[5], b[6], b[7], b[8], b[9], 0, 0]);
        (index, (key != NONE).then_some((key, version)))
    })
}

/// Reads a random log block by its summary, where there may be one; otherwise by its spare areas.
pub(super) struct Summaries {
    /// Whether random log blocks end with a summary, if they came to their ends.
    pub(super) are_written: bool,
}

impl ReadLogBlock for Summaries {
    /// One whose last page is no summary has the last page that it has read besides.
    fn pages_at_most(&self) -> u64 {
        1 + u64::from(self.are_written)
    }

    fn read<I: LogIndex, N: Nand>(
        &self,
        log: &mut LogScan,
        session: &mut Session<'_, Ground<I>, N>,
        scan: &mut SpareScan,
        block: Block,
    ) {
        let may_have_one = self.are_written && scan.role(block) != Some(Role::Sequential);
        if !may_have_one || !read_summary(log, session, scan, block) {
            log.spare_areas(session, scan, block);
        }
    }
}

/// Reads a log block's summary instead of its spare areas, if there is one.
fn read_summary<I: LogIndex, N: Nand>(
    log: &mut LogScan,
    session: &mut Session<'_, Ground<I>, N>,
    scan: &mut SpareScan,
    block: Block,
) -> bool {
    let (geometry, barriers) = (session.ftl.geometry, session.ftl.barriers);
    let last = geometry.pages_per_block() - 1;
    let (content, spare) = match session.read(geometry.page(block, last)) {
        PageRead::Written { content, spare, .. } if !barriers.keeps(Barrier::SuspectsVerified) => (content, spare),
        read => match read.verified() {
            Some(read) => read,
            None => return false,
        },
    };
    let Content::Bytes(bytes) = content else { return false };
    if spare.kind != Kind::Summary || spare.key != block.0 {
        return false;
    }
    scan.note(&spare);
    let first_seq = scan.first_seq(block);
    for (index, entry) in decode(bytes, last) {
        if let Some((key, version)) = entry {
            log.certain(geometry.page(block, index), key, version, first_seq + u64::from(index));
        }
    }
    true
}

impl Ground<Tables> {
    /// Writes a log block's summary behind its pages, of which these are the versions. Where that fails there is none,
    /// and the block is closed.
    pub(super) fn write_summary<N: Nand>(
        &mut self,
        nand: &mut N,
        slot: u32,
        versions: &[u64],
        at: Time,
    ) -> Result<(), FtlError> {
        let state = self.log.get(slot);
        let (index, role, block) = (state.next, state.role, state.block);
        debug_assert_eq!(versions.len(), index as usize, "a summary speaks of another number of pages than there are");
        self.bytes.clear();
        self.bytes.resize(self.geometry.page_bytes() as usize, 0);
        for ((key, version), bytes) in state.keys.iter().zip(versions).zip(self.bytes.chunks_exact_mut(ENTRY_BYTES)) {
            bytes[..4].copy_from_slice(&key.to_le_bytes());
            bytes[4..].copy_from_slice(&version.to_le_bytes()[..6]);
        }
        let content = Content::Bytes(&self.bytes);
        let page = NewPage::of(Kind::Summary, block.0, self.pool.clock.next_version(), content);
        let to = self.geometry.page(block, index);
        let written = self.pool.program(nand, to, role, &page, Purpose::Checkpoint, at)?;
        let state = self.log.get_mut(slot);
        state.next = index + 1;
        state.closed |= written.is_none();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_must_have_room_for_a_summary() {
        let fits = |page_bytes, pages| fits(&Geometry::new(page_bytes, pages, 64, 1, 1).unwrap());
        assert!(fits(4096, 128) && fits(512, 32) && !fits(512, 128));
    }

    #[test]
    fn any_bytes_are_taken_without_panic() {
        for byte in 0..=255 {
            assert!(decode(&[byte; 512], 64).count() <= 64);
            assert_eq!(decode(&[byte; 3], 64).count(), 0);
        }
        assert_eq!(decode(&[0xff; 20], 2).last(), Some((1, None)));
    }
}
