//! The scan of user pages.

use super::found::{FoundEntries, MetPage};
use super::gathered::{Gathered, PagedDrive};
use super::live_by::LiveBy;
use super::translation::Translation;
use crate::barriers::Barrier;
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::durability::common::{BlockInformation, FoundPage, Suspect};
use crate::page_mapped::mapping::Mapping;
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Kind, LogicalPage, Nand, SpareRead};

impl<L: LiveBy> Gathered<L> {
    /// The updates of translation pages that cannot be read any more: all user pages of theirs that are younger than
    /// what is left.
    pub(super) fn scan_for_lost<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        translation: &Translation,
        found: &mut FoundEntries,
    ) {
        if self.gone_bad.is_empty() || !drive.keeps(Barrier::LostVersionsLookedFor) {
            return;
        }
        let geometry = drive.geometry();
        let known = |part| translation.sure_of(part).map_or(0, |version| version.synchronized);
        let parts = 0..drive.ftl.mapping.parts();
        let in_doubt = parts.filter_map(|part| Some((known(part), self.in_doubt_before(translation, part)?)));
        let all = in_doubt.reduce(|(a, b), (known, gone_bad)| (a.min(known), b.max(gone_bad)));
        let Some((known_by_all, gone_bad)) = all else { return };
        let mut learnt: Vec<MetPage> = Vec::new();
        // What is lost names pages that were programmed before.
        let before: Vec<BlockInformation> = self.user.iter().filter(|i| i.first_seq < gone_bad).copied().collect();
        for information in before {
            let end = geometry.page(information.block, geometry.pages_per_block() - 1);
            if information.first_seq <= known_by_all
                && let SpareRead::Written(spare) = drive.read_spare(end)
                && spare.seq <= known_by_all
            {
                continue;
            }
            let (pages, _) = self.pages_of(drive, information.block);
            let Some(last) = pages.last().copied() else { continue };
            let mut is_news = false;
            for FoundPage { page, spare } in pages {
                // Younger pages have been looked at.
                if spare.kind != Kind::User
                    || spare.key >= drive.ftl.shape.logical_pages
                    || spare.seq > found.scan_from.after
                {
                    continue;
                }
                let part = drive.ftl.mapping.part_of(LogicalPage(spare.key));
                if spare.seq > known(part) && self.in_doubt_before(translation, part).is_some() {
                    let (key, version, seq) = (spare.key, spare.version, spare.seq);
                    let marks = SpareMarks::of(&spare);
                    learnt.push(MetPage { key, page, version, seq, marks, is_suspect: false });
                    is_news = true;
                }
            }
            if is_news {
                found.blocks.push((information.first_seq, last.spare.seq));
            }
        }
        if !learnt.is_empty() {
            L::leave_news(self, drive, &mut learnt);
        }
        found.candidates.append(&mut learnt);
    }

    /// The user pages written since `scan_from`.
    pub(super) fn scan_user<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        translation: &Translation,
        scan_from: ScanFrom,
    ) -> FoundEntries {
        let geometry = drive.geometry();
        let mut found = FoundEntries::new(scan_from);
        let mut late: Vec<BlockInformation> =
            self.user.iter().filter(|i| i.first_seq >= scan_from.oldest_open).copied().collect();
        late.sort_unstable_by_key(|information| Reverse(information.first_seq));
        for information in late {
            let end = geometry.page(information.block, geometry.pages_per_block() - 1);
            if information.first_seq <= scan_from.after
                && let SpareRead::Written(spare) = drive.read_spare(end)
                && spare.seq <= scan_from.after
            {
                continue;
            }
            let (mut pages, suspect) = self.pages_of(drive, information.block);
            self.live_by.look_at(drive, translation, information.block, &pages);
            let Some(last) = pages.last().copied() else { continue };
            debug_assert!(
                information.first_seq <= last.spare.seq,
                "{} was written before it was begun",
                information.block
            );
            found.blocks.push((information.first_seq, last.spare.seq));
            self.suspects.extend(suspect.map(|data| Suspect { found: last, data }));
            pages.retain(|page| page.spare.seq > scan_from.after);
            for FoundPage { page, spare } in pages {
                if spare.kind == Kind::User && spare.key < drive.ftl.shape.logical_pages {
                    let (key, version, seq) = (spare.key, spare.version, spare.seq);
                    let marks = SpareMarks::of(&spare);
                    found.candidates.push(MetPage { key, page, version, seq, marks, is_suspect: false });
                }
            }
        }
        found
    }
}
