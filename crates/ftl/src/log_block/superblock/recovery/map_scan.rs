//! What map blocks tell: the newest version of each superblock's map, and of those that may have been in flight the one
//! before.

use super::super::super::recovery::scan::Scan;
use super::super::Superblocks;
use super::super::page_map;
use super::super::state::Member;
use crate::barriers::Barrier;
use crate::steps::Steps;
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
    /// When that was made: a block begun later belongs to the superblock.
    made: u64,
    /// Its blocks.
    members: Vec<Block>,
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
        if ftl.barriers.forget(Barrier::NewestTranslationPages) {
            self.versions.sort_by_key(|version| (version.superblock, version.page));
        } else {
            self.versions.sort_by_key(|version| (version.superblock, Reverse((version.version, version.seq))));
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
            self.made[superblock as usize] = page_map::made(&bytes);
            // A block that holds another superblock's pages is not this one's, whatever the map says: that has gone bad
            // since, and an older version of it was read.
            let is_own = |block: &Block| owners[block.index()].is_none_or(|owner| owner == superblock);
            entries.fill(page_map::NOWHERE);
            page_map::entries(&bytes, &mut entries[..ftl.layout.pages_in(superblock) as usize]);
            let members = page_map::members(&geometry, &bytes).into_iter();
            let members = members.map(|member| member.filter(|(block, _)| is_own(block)));
            let members: Vec<Option<Member>> = members
                .map(|member| {
                    let (block, next) = member?;
                    Some(Member { next, from: next, closed: true, ..Member::new(block) })
                })
                .collect();
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
                let (made, members) = match &older {
                    Some((_, bytes)) => (page_map::made(bytes), page_map::members(&geometry, bytes)),
                    None => (0, Vec::new()),
                };
                let members = members.into_iter().flatten().map(|(block, _)| block).collect();
                let older = older.map(|(older, _)| geometry.block_of(older.page));
                self.suspects.push(Suspect { superblock, seq: newest.seq, older, made, members });
            }
        }
        self.named.sort_unstable();
        self.versions = Vec::new();
    }

    /// All spare areas were read: what cannot have been in flight is no suspect.
    pub(super) fn settle(&mut self, ftl: &mut Superblocks, scan: &Scan) {
        self.suspects.retain(|suspect| scan.is_suspect(suspect.seq));
        let suspects: Vec<u32> = self.suspects().collect();
        ftl.kept_maps.retain(|(superblock, ..)| suspects.contains(superblock));
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

    /// Whether a block, begun then with pages of that superblock, counts where a newest version turns bad: as the map
    /// block of the older one, or as one of its blocks, or as one that is younger.
    pub(super) fn falls_back_on(&self, block: Block, owner: Option<u32>, first_seq: u64) -> bool {
        self.suspects.iter().any(|suspect| {
            suspect.older == Some(block)
                || suspect.members.contains(&block)
                || (owner == Some(suspect.superblock) && first_seq > suspect.made)
        })
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let members: usize = self.suspects.iter().map(|suspect| suspect.members.len()).sum();
        (self.made.len() * 8 + (self.named.len() + members) * size_of::<Block>()) as u64
    }
}

/// A version's bytes, where they are what its spare area says.
fn read<N: Nand>(ftl: &Superblocks, nand: &mut N, steps: &mut Steps, version: &Version) -> Option<Vec<u8>> {
    let content = match steps.read(nand, version.page) {
        PageRead::Written { content, .. } if ftl.barriers.forget(Barrier::SuspectsVerified) => content,
        read => read.verified()?.0,
    };
    match content {
        Content::Bytes(bytes) => Some(bytes.to_vec()),
        Content::Hollow(_) => None,
    }
}
