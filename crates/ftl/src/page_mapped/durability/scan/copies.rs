//! Copies of suspect pages.

use super::Drive;
use super::page_scan::{PageScan, Uncertain};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::RECOVERY_STREAM;
use crate::medium::Owned;
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::common::{FoundPage, Mount};
use crate::page_mapped::mapping::{Mapping, Place};
use crate::page_mapped::validity::Validity;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand};

impl<N: Nand> Drive<'_, N> {
    /// Copies suspect pages, and the pages of part-filled blocks, and writes the tombstones that are due.
    ///
    /// # Errors
    /// No block is left.
    pub(super) fn copy_uncertain(
        &mut self,
        scan: &PageScan,
        uncertain: &[Uncertain],
        holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if self.keeps(Barrier::SuspectsCopied) {
            // Chosen before the first copy is written: copies go to blocks where stale pages of these lists stood.
            let uncertain = uncertain.iter().map(|u| (u.found, Some(&u.data)));
            let part_filled = scan.part_filled.iter().map(|f| (*f, None));
            let mut copies: Vec<(FoundPage, Option<&Owned>)> = uncertain.chain(part_filled).collect();
            copies.retain(|(found, _)| self.is_newest(found));
            for (found, data) in &copies {
                // Since the cut that may have met it, a recovery has come to its end and copied it, unless a recovery
                // wrote it. Streams that sort pages leave many part-filled blocks, and each recovery that is cut would
                // take one block more for a few of them.
                let is_sure = data.is_none() && found.spare.stream != RECOVERY_STREAM;
                if is_sure && self.ftl.blocks.emergency() {
                    continue;
                }
                self.copy(found, *data, holding)?;
            }
        }
        self.write_in_need(holding, Mount::let_go, |drive| {
            drive.write_mapping(|table, io, before| table.write_pending_trims(io, before))
        })?;
        self.wait_for_programs();
        self.hear_news()
    }

    /// Whether a page is the newest of its kind.
    fn is_newest(&mut self, found: &FoundPage) -> bool {
        let key = found.spare.key;
        match found.spare.kind {
            Kind::User => {
                key < self.ftl.shape.logical_pages && self.ftl.mapping.get(LogicalPage(key)) == Place::At(found.page)
            }
            Kind::Tombstone => {
                key < self.ftl.mapping.trims.regions() && self.ftl.mapping.trims.page_of(key) == Some(found.page)
            }
            _ => false,
        }
    }

    /// Copies a last page to a fresh page; from `data`, or by reading it again where it was not in flight at the last
    /// cut.
    fn copy(&mut self, found: &FoundPage, data: Option<&Owned>, holding: &mut Vec<Block>) -> Result<(), FtlError> {
        if found.spare.kind == Kind::Tombstone {
            self.ftl.mapping.trims.mark_pending(found.spare.key);
            return Ok(());
        }
        let key = LogicalPage(found.spare.key);
        let again;
        let data = match data {
            Some(data) if self.keeps(Barrier::SuspectsReadOnce) => data,
            _ => match self.read_page(found.page).verified() {
                Some((content, _)) => {
                    again = Owned::of(content);
                    &again
                }
                None => return Ok(()),
            },
        };
        let (spare, at) = (&found.spare, self.steps.now);
        let to = self.write_in_need(holding, Mount::let_go, |drive| {
            drive.copy_user_page(spare, data, SpareMarks::of_copy(spare), at)
        })?;
        let geometry = self.geometry();
        debug_assert_ne!(
            geometry.block_of(to),
            geometry.block_of(found.page),
            "a copy stands where it may be torn as well"
        );
        self.ftl.validity.validate(to);
        self.ftl.mapping.set(key, Place::At(to));
        self.drop_entered(found.page);
        self.hear_news()
    }
}
