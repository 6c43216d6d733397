//! What would count if the pages that may have been in flight turned bad, before they are copied.
//!
//! That is the state without any of them: of each translation page the newest other version, and of each logical page the
//! newest other page that this version does not know, or what it names. And the state without the user pages among them:
//! the newest version, and what it names. What a state with some of them would need is among these and what counts with
//! all of them. And of copies of one content the first and the last but one: the host
//! may have been told that it is safe, and it is then, whatever became of the copies that recoveries made.

use super::found::{FoundEntries, Translation};
use super::{Found, Gathered, PageMapped, Steps};
use crate::barriers::Barrier;
use crate::page_mapped::mapping::{Mapping, Place};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page};

impl Gathered {
    /// The blocks that must not be erased before what may have been in flight is copied, ascending.
    pub(super) fn find_fallbacks<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        found: &FoundEntries,
    ) -> Vec<Block> {
        if ftl.barriers.forget(Barrier::FallbacksHeld) {
            return Vec::new();
        }
        let geometry = *nand.geometry();
        let is_newest_of_users = |suspect: &Found| found.place_of(suspect.spare.key) == Some(suspect.page);
        let is_newest = |suspect: &Found| {
            translation.newest_of(suspect.spare.key).is_some_and(|version| version.page == suspect.page)
        };
        let mut pages = self.first_and_last_but_one(|copy| match copy.spare.kind {
            Kind::User => is_newest_of_users(copy),
            _ => is_newest(copy),
        });
        // Of these translation pages the whole range may be another one without what was in flight.
        let mut parts: Vec<u32> =
            self.suspect_translation.iter().filter(|s| is_newest(s)).map(|s| s.spare.key).collect();
        let users = self.suspects.iter().map(|suspect| &suspect.found).filter(|s| is_newest_of_users(s));
        parts.extend(users.map(|suspect| ftl.paged().part_of(LogicalPage(suspect.spare.key))));
        parts.sort_unstable();
        parts.dedup();
        let versions = parts.into_iter().flat_map(|part| {
            let (sure, newest) = (translation.sure_of(part), translation.newest_of(part));
            let is_other = newest.is_some_and(|newest| sure.is_none_or(|sure| sure.page != newest.page));
            [Some((part, sure)), is_other.then_some((part, newest))].into_iter().flatten()
        });
        for (part, version) in versions {
            let synchronized = version.map_or(0, |version| version.synchronized);
            let Mapping::Paged(paged) = &mut ftl.mapping else { continue };
            let named: Vec<(u32, Place)> = match version {
                Some(version) => {
                    steps.with_io(nand, &mut ftl.blocks, |io| paged.entries_at(io, part, version.page).collect())
                }
                None => paged.range_of(part).map(|key| (key, Place::Nowhere)).collect(),
            };
            pages.extend(version.map(|version| version.page));
            for (key, place) in named {
                let mut others = found.candidates_of(key).iter().filter(|c| !c.is_suspect && c.seq > synchronized);
                match (others.next(), place) {
                    (Some(other), _) => pages.push(other.page),
                    (None, Place::At(page)) if geometry.contains(page) => pages.push(page),
                    _ => {}
                }
            }
        }
        pages.extend(self.log_without_suspects(ftl, nand, steps));
        let mut blocks: Vec<Block> = pages.into_iter().map(|page| geometry.block_of(page)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Of copies of one content that may have been in flight, one of which is the newest of its kind.
    fn first_and_last_but_one(&self, is_newest: impl Fn(&Found) -> bool) -> Vec<Page> {
        let mut all: Vec<Found> = self.suspects.iter().map(|suspect| suspect.found).collect();
        all.extend(&self.suspect_translation);
        let content = |found: &Found| (found.spare.kind, found.spare.key, found.spare.version);
        all.sort_unstable_by_key(|found| (content(found), found.spare.seq));
        let copies = all.chunk_by(|a, b| content(a) == content(b)).filter(|copies| copies.iter().any(&is_newest));
        copies.flat_map(|copies| [copies[0].page, copies[copies.len().saturating_sub(2)].page]).collect()
    }
}
