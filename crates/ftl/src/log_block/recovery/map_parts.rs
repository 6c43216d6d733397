//! The parts of a block map as a recovery takes them over. Of suspect ones the older version is kept as well.

use super::super::data_map::{MapEntry, oldest_log_in};
use super::super::ground::Ground;
use super::super::log_index::LogIndex;
use super::super::map_blocks::MapBlocks;
use super::map_scan::{MapScan, Mapped, ReadPart};
use super::scan::{Seen, SpareScan};
use crate::barriers::Barriers;
use crate::medium::Session;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, SpareRead};

/// An entry of the map as it is where suspect pages turn bad.
type Certain = (u32, MapEntry);

/// A part whose newest version is suspect.
struct SuspectPart {
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
pub(super) struct MapParts {
    /// RAM of all versions, in bytes: while they were read.
    versions_bytes: u64,
    suspects: Vec<SuspectPart>,
    /// No page of a log block has a lower seq.
    pub(super) oldest_log: u64,
}

/// What map pages say of the oldest log block.
#[derive(Default)]
struct OldestLog {
    /// Of those that are certain the newest: its version, and its content.
    certain: Option<(u64, u64)>,
    /// The content of the versions before, of those that are not.
    older: Option<u64>,
}

impl<I: LogIndex> Mapped for Ground<I> {
    const KINDS: &'static [Kind] = &[Kind::Map, Kind::Tombstone];

    fn map(&mut self) -> &mut MapBlocks {
        &mut self.map
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }
}

impl MapParts {
    /// Takes the newest version of each part that reads well into RAM.
    pub(super) fn load<I: LogIndex, N: Nand>(
        found: MapScan,
        session: &mut Session<'_, Ground<I>, N>,
        scan: &SpareScan,
    ) -> Self {
        let (mut parts, mut oldest_log) = (Self::default(), OldestLog::default());
        parts.versions_bytes = found.read(session, scan, |session, read| {
            // The pages of trims are the last parts: what merges have carried out of them is known by then.
            match session.ftl.map.trims_page(read.part) {
                Some(page) => {
                    session.ftl.restore_trims(page, &read.newest.1);
                    parts.suspect(session.ftl, read, true);
                }
                None => {
                    restore_entries(session, scan, &read);
                    oldest_log.note(&read);
                    parts.suspect(session.ftl, read, false);
                }
            }
        });
        parts.oldest_log = oldest_log.bound();
        parts
    }

    /// Notes the older version of a suspect part.
    fn suspect<I: LogIndex>(&mut self, ground: &Ground<I>, read: ReadPart, is_trims: bool) {
        let ReadPart { part, newest: (newest, _), is_suspect, older } = read;
        if !is_suspect {
            return;
        }
        let nothing = |logical_block| (logical_block, MapEntry { block: None, version: 0 });
        let entries = match &older {
            _ if is_trims => Vec::new(),
            Some((_, bytes)) => ground.data.decode(&ground.geometry, part, bytes).collect(),
            None => ground.data.range_of(part).map(nothing).collect(),
        };
        let older = older.map(|(older, _)| ground.geometry.block_of(older.page));
        self.suspects.push(SuspectPart { part, seq: newest.seq, is_trims, older, entries });
    }

    /// All spare areas were read: what cannot have been in flight is no suspect.
    pub(super) fn settle(&mut self, scan: &SpareScan) {
        self.suspects.retain(|suspect| scan.is_suspect(suspect.seq));
    }

    /// The parts whose newest version is suspect.
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

impl OldestLog {
    fn note(&mut self, read: &ReadPart) {
        let (newest, bytes) = &read.newest;
        if read.is_suspect {
            let older = read.older.as_ref().map_or(0, |(_, bytes)| oldest_log_in(bytes));
            self.older = self.older.max(Some(older));
        } else if self.certain.is_none_or(|(version, _)| newest.version > version) {
            self.certain = Some((newest.version, oldest_log_in(bytes)));
        }
    }

    /// Where the newest may turn bad, the one before is believed: log blocks that are gone by the newest count again.
    fn bound(self) -> u64 {
        let certain = self.certain.map(|(_, oldest_log)| oldest_log);
        certain.max(self.older).unwrap_or(0)
    }
}

impl<I: LogIndex> Ground<I> {
    /// Takes over a page of the table of trims, but for trims that a merge has carried out since.
    pub(super) fn restore_trims(&mut self, page: u32, bytes: &[u8]) {
        let data = &self.data;
        let logical_blocks = data.logical_blocks();
        self.trims.restore(page, bytes, |logical_block, version| {
            logical_block >= logical_blocks || data.version(logical_block).is_some_and(|merged| version <= merged)
        });
    }
}

/// Takes over a page of the block map, but for blocks that have another use by now.
fn restore_entries<I: LogIndex, N: Nand>(session: &mut Session<'_, Ground<I>, N>, scan: &SpareScan, read: &ReadPart) {
    let (newest, bytes) = &read.newest;
    let decoded: Vec<Certain> = session.ftl.data.decode(&session.ftl.geometry, read.part, bytes).collect();
    for (logical_block, mut entry) in decoded {
        entry.block = entry.block.filter(|block| stands(session, scan, *block, newest.seq));
        session.ftl.data.set(logical_block, entry);
    }
}

/// Whether a data block that a map page names is still that: it was begun before the page was written. Where a younger
/// version of the page has gone bad, a block may have been given back since, and be another's by now, or blank.
fn stands<F, N: Nand>(session: &mut Session<'_, F, N>, scan: &SpareScan, block: Block, seq: u64) -> bool {
    match scan.seen(block) {
        Seen::Role(_) => scan.first_seq(block) < seq,
        Seen::Nothing => {
            let first = session.nand.geometry().page(block, 0);
            session.read_spare(first) != SpareRead::Erased
        }
    }
}
