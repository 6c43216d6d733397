//! Superblocks' maps as a recovery takes them over. Of suspect ones the older version is kept as well.

use super::super::super::map_blocks::MapBlocks;
use super::super::super::pool::Role;
use super::super::super::recovery::{MapScan, Mapped, ReadPart, SpareScan};
use super::super::page_map;
use super::super::state::Member;
use super::super::superblocks::Superblocks;
use crate::barriers::Barriers;
use crate::medium::Session;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Block, Kind, Nand, SpareRead};

/// A superblock whose newest map page is suspect.
struct SuspectMap {
    superblock: u32,
    seq: u64,
    /// The map block of the version before.
    older: Option<Block>,
    /// Of that version: when it was made, a block begun later belongs to the superblock; its version; its blocks.
    made: u64,
    version: u64,
    members: Vec<Block>,
    /// Blocks begun between the two that neither names, and that count where the newest turns bad.
    trimmed: Vec<Block>,
}

#[derive(Default)]
pub(super) struct Maps {
    suspects: Vec<SuspectMap>,
    /// By superblock: when its map was made.
    made: Vec<u64>,
    /// Blocks that maps name, in order.
    named: Vec<Block>,
}

impl Mapped for Superblocks {
    const KINDS: &'static [Kind] = &[Kind::Map];

    fn map(&mut self) -> &mut MapBlocks {
        &mut self.map
    }

    fn barriers(&self) -> Barriers {
        self.barriers
    }
}

impl Maps {
    /// Takes over the newest version of each map that reads well: its blocks, and the live pages in them. `owners` says
    /// of each block whose pages it holds.
    pub(super) fn load<N: Nand>(
        found: MapScan,
        session: &mut Session<'_, Superblocks, N>,
        scan: &SpareScan,
        owners: &[Option<u32>],
    ) -> Self {
        let mut maps = Self { made: vec![0; session.ftl.superblocks.len()], ..Self::default() };
        let mut entries = vec![page_map::NOWHERE; session.ftl.layout.pages() as usize];
        found.read(session, scan, |session, read| {
            let superblock = read.part;
            let bytes = &read.newest.1;
            maps.made[superblock as usize] = page_map::made(bytes);
            entries.fill(page_map::NOWHERE);
            page_map::entries(bytes, &mut entries[..session.ftl.layout.pages_in(superblock) as usize]);
            let members = maps.members(session, scan, owners, &read);
            let (slots, pages) = (session.ftl.layout.slots(), session.ftl.layout.pages_per_block);
            let of = &mut session.ftl.superblocks[superblock as usize];
            of.members = members;
            of.members.resize(slots as usize, None);
            for entry in entries.iter().filter(|entry| **entry != page_map::NOWHERE) {
                if let Some(Some(member)) = of.members.get_mut((u32::from(*entry) / pages) as usize) {
                    member.live += 1;
                }
            }
            maps.named.extend(of.members().map(|(_, member)| member.block));
            maps.suspect(session.ftl, read);
        });
        maps.named.sort_unstable();
        maps
    }

    /// The blocks that a map page names, but for those that are its superblock's no longer. A block may have been
    /// written anew since the map was made, for another superblock or another use, or erased. It is not this one's,
    /// whatever the map says: the newer map has gone bad since, and an older version was read.
    fn members<N: Nand>(
        &self,
        session: &mut Session<'_, Superblocks, N>,
        scan: &SpareScan,
        owners: &[Option<u32>],
        read: &ReadPart,
    ) -> Vec<Option<Member>> {
        let geometry = session.ftl.geometry;
        let (superblock, made) = (read.part, self.made(read.part));
        let mut is_own = |(block, next): &(Block, u32)| match scan.role(*block) {
            Some(Role::Log) => {
                owners[block.index()] == Some(superblock) && (*next == 0 || scan.first_seq(*block) <= made)
            }
            Some(_) => false,
            // Nothing in it can be read, or it is blank: then whose it is no page of it says.
            None => {
                !self.named.contains(block)
                    && (*next == 0 || session.read_spare(geometry.page(*block, 0)) != SpareRead::Erased)
            }
        };
        let own = page_map::members(&geometry, &read.newest.1).into_iter().map(|member| member.filter(&mut is_own));
        own.map(|own| own.map(|(block, next)| Member { next, from: next, closed: true, ..Member::new(block) }))
            .collect()
    }

    /// Notes the content of a suspect map, and the version before.
    fn suspect(&mut self, ftl: &mut Superblocks, read: ReadPart) {
        let ReadPart { part: superblock, newest: (newest, bytes), is_suspect, older } = read;
        if !is_suspect {
            return;
        }
        ftl.kept_maps.push((superblock, newest.version, bytes));
        let (made, version, members) = match &older {
            Some((older, bytes)) => (page_map::made(bytes), older.version, page_map::members(&ftl.geometry, bytes)),
            None => (0, 0, Vec::new()),
        };
        let members = members.into_iter().flatten().map(|(block, _)| block).collect();
        let older = older.map(|(older, _)| ftl.geometry.block_of(older.page));
        let (seq, trimmed) = (newest.seq, Vec::new());
        self.suspects.push(SuspectMap { superblock, seq, older, made, version, members, trimmed });
    }

    /// All spare areas were read: what cannot have been in flight is no suspect.
    pub(super) fn settle<N: Nand>(
        &mut self,
        session: &mut Session<'_, Superblocks, N>,
        scan: &SpareScan,
        owners: &[Option<u32>],
        usable: &[Block],
    ) {
        self.suspects.retain(|suspect| scan.is_suspect(suspect.seq));
        let mut suspects = core::mem::take(&mut self.suspects);
        session.ftl.kept_maps.retain(|(of, ..)| suspects.iter().any(|suspect| suspect.superblock == *of));
        for suspect in &mut suspects {
            suspect.trimmed = self.trimmed(session, scan, suspect, (owners, usable));
        }
        self.suspects = suspects;
    }

    /// Blocks that hold pages which the newest version of a map has trimmed. They were begun after the older version
    /// was made and before the newest, and neither names them. Every other page of them the newest names elsewhere, and
    /// it was not programmed before that was on flash. Orphans of recoveries that were cut are such blocks, any number
    /// of them.
    fn trimmed<N: Nand>(
        &self,
        session: &mut Session<'_, Superblocks, N>,
        scan: &SpareScan,
        suspect: &SuspectMap,
        (owners, usable): (&[Option<u32>], &[Block]),
    ) -> Vec<Block> {
        let (geometry, layout) = (session.ftl.geometry, session.ftl.layout);
        let (superblock, made) = (suspect.superblock, self.made(suspect.superblock));
        let Some((.., newest)) = session.ftl.kept_maps.iter().find(|(of, ..)| *of == superblock) else {
            return Vec::new();
        };
        let mut entries = vec![page_map::NOWHERE; layout.pages_in(superblock) as usize];
        page_map::entries(newest, &mut entries);
        // By page of the superblock: version and seq of what counts, and where.
        let mut counts: Vec<Option<(u64, Reverse<u64>, Block)>> = vec![None; entries.len()];
        let begun = suspect.made + 1..=made;
        for block in usable.iter().copied().filter(|block| {
            owners[block.index()] == Some(superblock)
                && scan.role(*block) == Some(Role::Log)
                && begun.contains(&scan.first_seq(*block))
                && !self.is_named(*block)
                && !suspect.members.contains(block)
        }) {
            for index in 0..geometry.pages_per_block() {
                let SpareRead::Written(spare) = session.read_spare(geometry.page(block, index)) else {
                    continue;
                };
                let (of, offset) = layout.split(spare.key);
                let is_trimmed = entries.get(offset as usize) == Some(&page_map::NOWHERE);
                if spare.kind != Kind::User || of != superblock || !is_trimmed || spare.version <= suspect.version {
                    continue;
                }
                // Of copies of one version the first counts.
                let this = Some((spare.version, Reverse(spare.seq), block));
                let known = &mut counts[offset as usize];
                *known = this.max(*known);
            }
        }
        let mut blocks: Vec<Block> = counts.iter().flatten().map(|(.., block)| *block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// The superblocks whose newest map page is suspect.
    pub(super) fn suspects(&self) -> impl Iterator<Item = u32> {
        self.suspects.iter().map(|suspect| suspect.superblock)
    }

    /// When a superblock's map was made.
    pub(super) fn made(&self, superblock: u32) -> u64 {
        self.made.get(superblock as usize).copied().unwrap_or(0)
    }

    pub(super) fn is_named(&self, block: Block) -> bool {
        self.named.binary_search(&block).is_ok()
    }

    /// Whether a block counts where a newest version turns bad. It does as the map block of the older one, as one of
    /// its blocks, or for pages that the newest has trimmed.
    pub(super) fn falls_back_on(&self, block: Block) -> bool {
        self.suspects.iter().any(|suspect| {
            suspect.older == Some(block) || suspect.members.contains(&block) || suspect.trimmed.contains(&block)
        })
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let blocks = |suspect: &SuspectMap| suspect.members.len() + suspect.trimmed.len();
        let members: usize = self.suspects.iter().map(blocks).sum();
        (self.made.len() * 8 + (self.named.len() + members) * size_of::<Block>()) as u64
    }
}
