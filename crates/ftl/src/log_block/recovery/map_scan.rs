//! What map blocks tell: the newest version of each part of the map, and of parts whose newest version may have been in
//! flight the one before.

use super::super::data_map::{Entry, oldest_log_in};
use super::super::ground::Ground;
use super::super::map_blocks::parts;
use super::Certain;
use super::scan::{Scan, Seen};
use crate::barriers::Barrier;
use crate::medium::Steps;
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Block, Content, Kind, Nand, Page, PageRead, SpareRead};

/// A version of a part.
#[derive(Clone, Copy, Debug)]
struct Version {
    part: u32,
    version: u64,
    seq: u64,
    page: Page,
}

/// A part whose newest version may have been in flight.
struct Suspect {
    part: u32,
    seq: u64,
    /// Whether it is a page of trims.
    is_trims: bool,
    /// Where its older version stands.
    older: Option<Block>,
    /// What that says.
    entries: Vec<Certain>,
}

#[derive(Default)]
pub(super) struct MapScan {
    versions: Vec<Version>,
    /// RAM of all versions, in bytes: while they were read.
    versions_bytes: u64,
    suspects: Vec<Suspect>,
    /// No page of a log block has a lower seq.
    pub(super) oldest_log: u64,
}

impl MapScan {
    /// Reads the spare areas of a map block. Map pages are written one after the other, so what is blank is its end.
    pub(super) fn block<N: Nand>(&mut self, scan: &mut Scan, nand: &mut N, steps: &mut Steps, block: Block) {
        let geometry = *nand.geometry();
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            match steps.read_spare(nand, page) {
                SpareRead::Erased => return,
                SpareRead::Unreadable => {}
                SpareRead::Written(spare) => {
                    scan.note(&spare);
                    if matches!(spare.kind, Kind::Map | Kind::Tombstone) {
                        let (part, version, seq) = (spare.key, spare.version, spare.seq);
                        self.versions.push(Version { part, version, seq, page });
                    }
                }
            }
        }
    }

    /// Takes the newest version of each part that reads well into RAM; of parts that may have been in flight, as far as is
    /// known, also remembers what the version before says.
    pub(super) fn load<N: Nand>(&mut self, ground: &mut Ground, scan: &Scan, nand: &mut N, steps: &mut Steps) {
        let geometry = ground.geometry;
        let all = ground.map.parts();
        debug_assert_eq!(all, parts(&geometry, ground.data.logical_blocks()));
        for version in &self.versions {
            let block = geometry.block_of(version.page);
            if !ground.map.blocks().any(|known| known == block) {
                ground.map.found(block);
            }
        }
        self.versions.retain(|version| version.part < all);
        if ground.barriers.keeps(Barrier::NewestTranslationPages) {
            self.versions.sort_by_key(|version| (version.part, Reverse((version.version, version.seq))));
        } else {
            self.versions.sort_by_key(|version| (version.part, version.page));
        }
        let mut newest_of_all: Option<(u64, u64)> = None;
        let mut oldest_logs: Vec<u64> = Vec::new();
        // The pages of trims are the last parts: what merges have carried out of them is known by then.
        for versions in self.versions.chunk_by(|a, b| a.part == b.part) {
            let mut good = versions.iter().filter_map(|version| {
                let bytes = read(ground, nand, steps, version)?;
                Some((*version, bytes))
            });
            let Some((newest, bytes)) = good.next() else { continue };
            let suspect = scan.is_suspect(newest.seq);
            let older = if suspect { good.next() } else { None };
            drop(good);
            ground.map.placed(&geometry, newest.part, newest.page);
            let mut entries = Vec::new();
            let trims_page = ground.map.trims_page(newest.part);
            if let Some(page) = trims_page {
                let data = &ground.data;
                let logical_blocks = data.logical_blocks();
                ground.trims.restore(page, &bytes, |logical_block, version| {
                    logical_block >= logical_blocks || version <= data.version(logical_block)
                });
            } else {
                let decoded: Vec<(u32, Entry)> = ground.data.decode(&geometry, newest.part, &bytes).collect();
                for (logical_block, mut entry) in decoded {
                    entry.block = entry.block.filter(|block| stands(scan, nand, steps, *block, newest.seq));
                    ground.data.set(logical_block, entry);
                }
                if suspect {
                    let nothing = |logical_block| (logical_block, Entry { block: None, version: 0 });
                    entries = match &older {
                        Some((_, bytes)) => ground.data.decode(&geometry, newest.part, bytes).collect(),
                        None => ground.data.range_of(newest.part).map(nothing).collect(),
                    };
                    oldest_logs.push(older.as_ref().map_or(0, |(_, bytes)| oldest_log_in(bytes)));
                } else if newest_of_all.is_none_or(|(version, _)| newest.version > version) {
                    newest_of_all = Some((newest.version, oldest_log_in(&bytes)));
                }
            }
            if suspect {
                let older = older.map(|(older, _)| geometry.block_of(older.page));
                let (part, seq, is_trims) = (newest.part, newest.seq, trims_page.is_some());
                self.suspects.push(Suspect { part, seq, is_trims, older, entries });
            }
        }
        // Where the newest may turn bad, the one before is believed: log blocks that are gone by the newest count again.
        let certain = newest_of_all.map(|(_, oldest_log)| oldest_log);
        self.oldest_log = match (certain, oldest_logs.into_iter().max()) {
            (Some(certain), Some(older)) => certain.max(older),
            (certain, older) => certain.or(older).unwrap_or(0),
        };
        self.versions_bytes = (self.versions.capacity() * size_of::<Version>()) as u64;
        self.versions = Vec::new();
    }

    /// All spare areas were read: what cannot have been in flight is no suspect.
    pub(super) fn settle(&mut self, scan: &Scan) {
        self.suspects.retain(|suspect| scan.is_suspect(suspect.seq));
    }

    /// The parts whose newest version may have been in flight.
    pub(super) fn suspects(&self) -> Vec<u32> {
        self.suspects.iter().map(|suspect| suspect.part).collect()
    }

    pub(super) fn trims_are_suspect(&self) -> bool {
        self.suspects.iter().any(|suspect| suspect.is_trims)
    }

    fn certain(&self) -> impl Iterator<Item = &Certain> {
        self.suspects.iter().flat_map(|suspect| &suspect.entries)
    }

    /// The merge version of a logical block as the older version of its part has it, where the newest may turn bad.
    pub(super) fn certain_version(&self, logical_block: u32) -> Option<u64> {
        let (_, entry) = self.certain().find(|(other, _)| *other == logical_block)?;
        Some(entry.version)
    }

    /// Whether a block counts where a newest version turns bad: as a map block or as a data block.
    pub(super) fn falls_back_on(&self, block: Block) -> bool {
        self.suspects.iter().any(|suspect| suspect.older == Some(block))
            || self.certain().any(|(_, entry)| entry.block == Some(block))
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let entries: usize = self.suspects.iter().map(|suspect| suspect.entries.len()).sum();
        self.versions_bytes + (entries * size_of::<Certain>()) as u64
    }
}

/// Whether a data block that a map page names is still that: it was begun before the page was written. Where a younger
/// version of the page has gone bad, a block may have been given back since, and be another's by now, or blank.
fn stands<N: Nand>(scan: &Scan, nand: &mut N, steps: &mut Steps, block: Block, seq: u64) -> bool {
    match scan.seen(block) {
        Seen::Role(_) => scan.first_seq(block) < seq,
        Seen::Nothing => steps.read_spare(nand, nand.geometry().page(block, 0)) != SpareRead::Erased,
    }
}

/// A version's bytes, where they are what its spare area says.
fn read<N: Nand>(ground: &Ground, nand: &mut N, steps: &mut Steps, version: &Version) -> Option<Vec<u8>> {
    let content = match steps.read(nand, version.page) {
        PageRead::Written { content, .. } if !ground.barriers.keeps(Barrier::SuspectsVerified) => content,
        read => read.verified()?.0,
    };
    match content {
        Content::Bytes(bytes) => Some(bytes.to_vec()),
        Content::Hollow(_) => None,
    }
}
