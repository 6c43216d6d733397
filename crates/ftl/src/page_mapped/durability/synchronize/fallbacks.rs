//! Fallbacks: what would count if the suspect pages turned bad, before they are copied.
//!
//! A fallback follows from each version of a translation page that may come to count. It is what that version names. Or
//! it is the newest page of a logical page that is not in that version and is not suspect. These versions may come to
//! count: the newest of all, the newest that is not suspect, and all suspect ones since. So may suspect pages
//! ([`suspects_that_may_count`]).

use super::found::FoundEntries;
use super::gathered::{Gathered, PagedDrive};
use super::live_by::LiveBy;
use super::translation::Translation;
use crate::barriers::Barrier;
use crate::page_mapped::durability::common::{FoundPage, suspects_that_may_count};
use crate::page_mapped::mapping::{Mapping, Place};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page};

/// A version of a translation page: where it is, and when it was synchronized.
type VersionAt = (Page, u64);

impl<L: LiveBy> Gathered<L> {
    /// The blocks that must not be erased before suspect pages are copied, ascending. `oldest` takes the moments at
    /// which the versions of a translation page were synchronized, ascending. No version older than its result comes to
    /// count.
    pub(crate) fn find_fallbacks<N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        translation: &Translation,
        found: &FoundEntries,
        oldest: impl Fn(&[u64]) -> u64,
    ) -> Vec<Block> {
        if !drive.keeps(Barrier::FallbacksHeld) {
            return Vec::new();
        }
        let geometry = drive.geometry();
        let is_newest = |suspect: &FoundPage| {
            translation.newest_of(suspect.spare.key).is_some_and(|version| version.page == suspect.page)
        };
        let is_suspect = |part| self.suspect_translation.iter().any(|s| s.spare.key == part && is_newest(s));
        // Or it was the newest before a translation page that may turn bad.
        let is_newest_of_users = |suspect: &FoundPage| {
            let (key, page) = (suspect.spare.key, suspect.page);
            found.place_of(key) == Some(page)
                || found.candidates_of(key).first().is_some_and(|newest| newest.page == page)
                    && is_suspect(drive.ftl.mapping.part_of(LogicalPage(key)))
        };
        let is_newest_of_its_kind = |found: &FoundPage| match found.spare.kind {
            Kind::User => is_newest_of_users(found),
            _ => is_newest(found),
        };
        let sure = |key| found.candidates_of(key).iter().find(|c| !c.is_suspect).map_or((0, 0), |c| (c.version, c.seq));
        let mut pages = suspects_that_may_count(&self.suspects, &self.suspect_translation, is_newest_of_its_kind, sure);
        // Of these translation pages the whole range may be different without the suspect pages.
        let mut parts: Vec<u32> =
            self.suspect_translation.iter().filter(|s| is_newest(s)).map(|s| s.spare.key).collect();
        let users = self.suspects.iter().map(|suspect| &suspect.found).filter(|s| is_newest_of_users(s));
        parts.extend(users.map(|suspect| drive.ftl.mapping.part_of(LogicalPage(suspect.spare.key))));
        parts.sort_unstable();
        parts.dedup();
        let versions: Vec<(u32, Option<VersionAt>)> =
            parts.into_iter().flat_map(|part| self.versions_that_may_count(part, translation, &oldest)).collect();
        for (part, version) in versions {
            let synchronized = version.map_or(0, |(_, synchronized)| synchronized);
            let named: Vec<(u32, Place)> = match version {
                Some((page, _)) => {
                    drive.read_mapping(|paged, io| paged.entries_at(io, part, page).into_iter().flatten().collect())
                }
                None => drive.ftl.mapping.range_of(part).map(|key| (key, Place::Nowhere)).collect(),
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
        pages.extend(L::without_suspects(self, drive));
        let mut blocks: Vec<Block> = pages.into_iter().map(|page| geometry.block_of(page)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// The versions of a translation page that may come to count: the newest that is sure, or none where there is none,
    /// and others.
    fn versions_that_may_count(
        &self,
        part: u32,
        translation: &Translation,
        oldest: impl Fn(&[u64]) -> u64,
    ) -> Vec<(u32, Option<VersionAt>)> {
        let sure = translation.sure_of(part).map(|version| (version.page, version.synchronized));
        let mut others: Vec<VersionAt> = translation.synchronized(part).into_iter().collect();
        debug_assert!(sure.is_none() || !others.is_empty(), "a version is sure and there is none");
        let of_part = || self.suspect_translation.iter().filter(|suspect| suspect.spare.key == part);
        let newest = others.iter().map(|(_, synchronized)| *synchronized);
        let mut all: Vec<u64> = of_part().map(|suspect| suspect.spare.version).chain(newest).collect();
        all.sort_unstable();
        all.dedup();
        // One that is older than the newest that is sure never comes to count.
        let since = sure.map_or(0, |(_, synchronized)| synchronized).max(oldest(&all));
        let suspects = of_part().filter(|suspect| suspect.spare.version >= since);
        others.extend(suspects.map(|suspect| (suspect.page, suspect.spare.version)));
        others.sort_unstable();
        others.dedup();
        let others = others.into_iter().map(Some).filter(|other| *other != sure);
        core::iter::once(sure).chain(others).map(|version| (part, version)).collect()
    }
}
