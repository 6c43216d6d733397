//! What map blocks tell: the newest version of each superblock's map, and of those that may have been in flight the one
//! before.

use super::super::super::pool::Role;
use super::super::super::recovery::scan::Scan;
use super::super::Superblocks;
use super::super::page_map;
use super::super::state::Member;
use crate::barriers::Barrier;
use crate::medium::Steps;
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Block, Content, Kind, Nand, Page, PageRead, SpareRead};

/// A version of a superblock's map page.
#[derive(Clone, Copy, Debug)]
struct Version {
    superblock: u32,
    version: u64,
    seq: u64,
    page: Page,
}

/// A superblock whose newest map page may have been in flight.
struct Suspect {
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
pub(super) struct MapScan {
    versions: Vec<Version>,
    suspects: Vec<Suspect>,
    /// By superblock: when its map was made.
    made: Vec<u64>,
    /// Blocks that maps name, in order.
    named: Vec<Block>,
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
                    if spare.kind == Kind::Map {
                        let (superblock, version, seq) = (spare.key, spare.version, spare.seq);
                        self.versions.push(Version { superblock, version, seq, page });
                    }
                }
            }
        }
    }

    /// Takes over the newest version of each map that reads well: its blocks, and what is live in them. `owners` says
    /// of each block whose pages it holds.
    pub(super) fn load<N: Nand>(
        &mut self,
        ftl: &mut Superblocks,
        scan: &Scan,
        owners: &[Option<u32>],
        nand: &mut N,
        steps: &mut Steps,
    ) {
        let geometry = ftl.geometry;
        let all = ftl.superblocks.len() as u32;
        for version in &self.versions {
            let block = geometry.block_of(version.page);
            if !ftl.map.blocks().any(|known| known == block) {
                ftl.map.found(block);
            }
        }
        self.made.resize(all as usize, 0);
        self.versions.retain(|version| version.superblock < all);
        if ftl.barriers.keeps(Barrier::NewestTranslationPages) {
            self.versions.sort_by_key(|version| (version.superblock, Reverse((version.version, version.seq))));
        } else {
            self.versions.sort_by_key(|version| (version.superblock, version.page));
        }
        let mut entries = alloc::vec![page_map::NOWHERE; ftl.layout.pages() as usize];
        for versions in self.versions.chunk_by(|a, b| a.superblock == b.superblock) {
            let mut good = versions.iter().filter_map(|version| {
                let bytes = read(ftl, nand, steps, version)?;
                Some((*version, bytes))
            });
            let Some((newest, bytes)) = good.next() else { continue };
            let is_suspect = scan.is_suspect(newest.seq);
            let older = if is_suspect { good.next() } else { None };
            drop(good);
            let superblock = newest.superblock;
            ftl.map.placed(&geometry, superblock, newest.page);
            // A block that was written anew since the map was made, for another superblock or another use, or erased, is not
            // this one's, whatever the map says: that has gone bad since, and an older version of it was read.
            let made = page_map::made(&bytes);
            self.made[superblock as usize] = made;
            entries.fill(page_map::NOWHERE);
            page_map::entries(&bytes, &mut entries[..ftl.layout.pages_in(superblock) as usize]);
            let mut members: Vec<Option<Member>> = Vec::new();
            for member in page_map::members(&geometry, &bytes) {
                let own = match member {
                    Some((block, next)) => {
                        let is_own = match scan.role(block) {
                            Some(Role::Log) => {
                                owners[block.index()] == Some(superblock)
                                    && (next == 0 || scan.first_seq(block) <= made)
                            }
                            Some(_) => false,
                            // Nothing in it can be read, or it is blank: then whose it is no page of it says.
                            None => {
                                !self.named.contains(&block)
                                    && (next == 0
                                        || steps.read_spare(nand, geometry.page(block, 0)) != SpareRead::Erased)
                            }
                        };
                        is_own.then_some((block, next))
                    }
                    None => None,
                };
                let member = own.map(|(block, next)| Member { next, from: next, closed: true, ..Member::new(block) });
                members.push(member);
            }
            let of = &mut ftl.superblocks[superblock as usize];
            of.members = members;
            of.members.resize(ftl.layout.slots() as usize, None);
            for entry in entries.iter().filter(|entry| **entry != page_map::NOWHERE) {
                let slot = u32::from(*entry) / ftl.layout.pages_per_block;
                if let Some(Some(member)) = of.members.get_mut(slot as usize) {
                    member.live += 1;
                }
            }
            self.named.extend(of.members().map(|(_, member)| member.block));
            if is_suspect {
                ftl.kept_maps.push((superblock, newest.version, bytes));
                let (made, version, members) = match &older {
                    Some((older, bytes)) => (page_map::made(bytes), older.version, page_map::members(&geometry, bytes)),
                    None => (0, 0, Vec::new()),
                };
                let members = members.into_iter().flatten().map(|(block, _)| block).collect();
                let older = older.map(|(older, _)| geometry.block_of(older.page));
                let (seq, trimmed) = (newest.seq, Vec::new());
                self.suspects.push(Suspect { superblock, seq, older, made, version, members, trimmed });
            }
        }
        self.named.sort_unstable();
        self.versions = Vec::new();
    }

    /// All spare areas were read: what cannot have been in flight is no suspect.
    pub(super) fn settle<N: Nand>(
        &mut self,
        ftl: &mut Superblocks,
        scan: &Scan,
        owners: &[Option<u32>],
        usable: &[Block],
        nand: &mut N,
        steps: &mut Steps,
    ) {
        self.suspects.retain(|suspect| scan.is_suspect(suspect.seq));
        let mut suspects = core::mem::take(&mut self.suspects);
        ftl.kept_maps.retain(|(of, ..)| suspects.iter().any(|suspect| suspect.superblock == *of));
        for suspect in &mut suspects {
            suspect.trimmed = self.trimmed(ftl, scan, suspect, (owners, usable), nand, steps);
        }
        self.suspects = suspects;
    }

    /// Blocks begun after the older version of a map was made, and before the newest, that neither names: which of them
    /// hold what the newest has trimmed. Whatever else was in them the newest names elsewhere, and it was not programmed
    /// before that was on flash; orphans of recoveries that were cut are such blocks, any number of them.
    fn trimmed<N: Nand>(
        &self,
        ftl: &Superblocks,
        scan: &Scan,
        suspect: &Suspect,
        (owners, usable): (&[Option<u32>], &[Block]),
        nand: &mut N,
        steps: &mut Steps,
    ) -> Vec<Block> {
        let (superblock, made) = (suspect.superblock, self.made(suspect.superblock));
        let Some((.., newest)) = ftl.kept_maps.iter().find(|(of, ..)| *of == superblock) else { return Vec::new() };
        let mut entries = alloc::vec![page_map::NOWHERE; ftl.layout.pages_in(superblock) as usize];
        page_map::entries(newest, &mut entries);
        // By page of the superblock: version and seq of what counts, and where.
        let mut counts: Vec<Option<(u64, Reverse<u64>, Block)>> = alloc::vec![None; entries.len()];
        let begun = suspect.made + 1..=made;
        for block in usable.iter().copied().filter(|block| {
            owners[block.index()] == Some(superblock)
                && scan.role(*block) == Some(Role::Log)
                && begun.contains(&scan.first_seq(*block))
                && !self.is_named(*block)
                && !suspect.members.contains(block)
        }) {
            for index in 0..ftl.geometry.pages_per_block() {
                let SpareRead::Written(spare) = steps.read_spare(nand, ftl.geometry.page(block, index)) else {
                    continue;
                };
                let (of, offset) = ftl.layout.split(spare.key);
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

    /// The superblocks whose newest map page may have been in flight.
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

    /// Whether a block counts where a newest version turns bad: as the map block of the older one, as one of its blocks,
    /// or for what the newest has trimmed.
    pub(super) fn falls_back_on(&self, block: Block) -> bool {
        self.suspects.iter().any(|suspect| {
            suspect.older == Some(block) || suspect.members.contains(&block) || suspect.trimmed.contains(&block)
        })
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let blocks = |suspect: &Suspect| suspect.members.len() + suspect.trimmed.len();
        let members: usize = self.suspects.iter().map(blocks).sum();
        (self.made.len() * 8 + (self.named.len() + members) * size_of::<Block>()) as u64
    }
}

/// A version's bytes, where they are what its spare area says.
fn read<N: Nand>(ftl: &Superblocks, nand: &mut N, steps: &mut Steps, version: &Version) -> Option<Vec<u8>> {
    let content = match steps.read(nand, version.page) {
        PageRead::Written { content, .. } if !ftl.barriers.keeps(Barrier::SuspectsVerified) => content,
        read => read.verified()?.0,
    };
    match content {
        Content::Bytes(bytes) => Some(bytes.to_vec()),
        Content::Hollow(_) => None,
    }
}
