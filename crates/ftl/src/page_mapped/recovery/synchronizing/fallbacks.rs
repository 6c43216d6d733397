//! What would count if the pages that may have been in flight turned bad, before they are copied.
//!
//! That is, by each version of a translation page that may come to count: what it names, or of a logical page the newest
//! page that it does not know and that cannot have been in flight. Those versions are the newest of all, the newest that
//! cannot have been in flight, and all since that may have been. And of copies of one content the first and the last but
//! one: the host may have been told that it is safe, and it is then, whatever became of the copies that recoveries made.

use super::found::{FoundEntries, Translation};
use super::{Found, Gathered, Steps};
use crate::barriers::Barrier;
use crate::page_mapped::mapping::{AnyMapping, Mapping, Place};
use crate::page_mapped::parts::PageMapped;
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
        if !ftl.blocks.keeps(Barrier::FallbacksHeld) {
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
        let mut versions: Vec<(u32, Option<(Page, u64)>)> = Vec::new();
        for part in parts {
            let sure = translation.sure_of(part).map(|version| (version.page, version.synchronized));
            let mut others: Vec<(Page, u64)> = translation.synchronized(part).into_iter().collect();
            // An older one never comes to count.
            let mut since = sure.map_or(0, |(_, synchronized)| synchronized);
            if self.fast {
                // Nor does any but the newest two, sure or not: a version is programmed when all before it is on flash,
                // copies that a recovery has made of the version before included. (Which user pages would tell.)
                let of_part = self.suspect_translation.iter().filter(|s| s.spare.key == part).map(|s| s.spare.version);
                let mut all: Vec<u64> = of_part.chain(others.iter().map(|(_, synchronized)| *synchronized)).collect();
                all.sort_unstable();
                all.dedup();
                since = since.max(all.iter().rev().nth(1).copied().unwrap_or(0));
            }
            let suspects = self.suspect_translation.iter().filter(|s| s.spare.key == part && s.spare.version >= since);
            others.extend(suspects.map(|suspect| (suspect.page, suspect.spare.version)));
            others.sort_unstable();
            others.dedup();
            versions.push((part, sure));
            versions.extend(others.into_iter().map(Some).filter(|other| *other != sure).map(|other| (part, other)));
        }
        for (part, version) in versions {
            let synchronized = version.map_or(0, |(_, synchronized)| synchronized);
            let AnyMapping::Paged(paged) = &mut ftl.mapping else { continue };
            let named: Vec<(u32, Place)> = match version {
                Some((page, _)) => steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| {
                    paged.entries_at(io, part, page).collect()
                }),
                None => paged.range_of(part).map(|key| (key, Place::Nowhere)).collect(),
            };
            pages.extend(version.map(|(page, _)| page));
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
