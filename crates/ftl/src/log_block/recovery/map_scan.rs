//! The content of map blocks: of each part of a map the newest version that reads well.
//!
//! Where that is suspect, it is also the version before.

use super::super::map_blocks::MapBlocks;
use super::scan::SpareScan;
use crate::barriers::{Barrier, Barriers};
use crate::medium::Session;
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Block, Content, Kind, Nand, Page, PageRead, SpareRead};

/// A version of a part: a page in a map block.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct PartVersion {
    part: u32,
    pub(in super::super) version: u64,
    pub(in super::super) seq: u64,
    pub(in super::super) page: Page,
}

/// The readings of a part.
pub(in super::super) struct ReadPart {
    pub(in super::super) part: u32,
    pub(in super::super) newest: (PartVersion, Vec<u8>),
    /// Whether that is suspect, so far.
    pub(in super::super) is_suspect: bool,
    /// The version before, of one that may have been.
    pub(in super::super) older: Option<(PartVersion, Vec<u8>)>,
}

/// An FTL with a map in map blocks.
pub(in super::super) trait Mapped {
    /// What its map pages are.
    const KINDS: &'static [Kind];

    fn map(&mut self) -> &mut MapBlocks;

    fn barriers(&self) -> Barriers;
}

/// The versions that were found.
#[derive(Default)]
pub(in super::super) struct MapScan {
    versions: Vec<PartVersion>,
}

impl MapScan {
    /// Reads the spare areas of a map block. Map pages are written one after the other, so the first blank page is its
    /// end.
    pub(in super::super) fn block<F: Mapped, N: Nand>(
        &mut self,
        session: &mut Session<'_, F, N>,
        scan: &mut SpareScan,
        block: Block,
    ) {
        let geometry = *session.nand.geometry();
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            match session.read_spare(page) {
                SpareRead::Erased => return,
                SpareRead::Unreadable => {}
                SpareRead::Written(spare) => {
                    scan.note(&spare);
                    if F::KINDS.contains(&spare.kind) {
                        let (part, version, seq) = (spare.key, spare.version, spare.seq);
                        self.versions.push(PartVersion { part, version, seq, page });
                    }
                }
            }
        }
    }

    /// Hands over the newest version of each part that reads well, in the order of the parts. The RAM that the versions
    /// took, in bytes.
    pub(in super::super) fn read<F: Mapped, N: Nand>(
        mut self,
        session: &mut Session<'_, F, N>,
        scan: &SpareScan,
        mut take: impl FnMut(&mut Session<'_, F, N>, ReadPart),
    ) -> u64 {
        let geometry = *session.nand.geometry();
        let (barriers, map) = (session.ftl.barriers(), session.ftl.map());
        for version in &self.versions {
            let block = geometry.block_of(version.page);
            if !map.blocks().any(|known| known == block) {
                map.found(block);
            }
        }
        let all = map.parts();
        self.versions.retain(|version| version.part < all);
        if !barriers.keeps(Barrier::NewestTranslationPages) {
            self.versions.sort_by_key(|version| (version.part, version.page));
        } else {
            self.versions.sort_by_key(|version| (version.part, Reverse((version.version, version.seq))));
        }
        for versions in self.versions.chunk_by(|a, b| a.part == b.part) {
            let mut good =
                versions.iter().filter_map(|version| Some((*version, bytes_of(session, barriers, version.page)?)));
            let Some(newest) = good.next() else { continue };
            let is_suspect = scan.is_suspect(newest.0.seq);
            let older = if is_suspect { good.next() } else { None };
            let part = newest.0.part;
            session.ftl.map().placed(&geometry, part, newest.0.page);
            take(session, ReadPart { part, newest, is_suspect, older });
        }
        (self.versions.capacity() * size_of::<PartVersion>()) as u64
    }
}

/// A map page's bytes, where they are what its spare area says.
fn bytes_of<F, N: Nand>(session: &mut Session<'_, F, N>, barriers: Barriers, page: Page) -> Option<Vec<u8>> {
    let content = match session.read(page) {
        PageRead::Written { content, .. } if !barriers.keeps(Barrier::SuspectsVerified) => content,
        read => read.verified()?.0,
    };
    match content {
        Content::Bytes(bytes) => Some(bytes.to_vec()),
        Content::Hollow(_) => None,
    }
}
