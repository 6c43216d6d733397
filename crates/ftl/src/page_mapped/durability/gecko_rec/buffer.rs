//! Step 4 of GeckoRec: the entries of Gecko's buffer (GeckoFTL appendix C.2).

use super::gathered::{GeckoDrive, GeckoGathered};
use super::translation::{ToldVersion, TranslationPages};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::common::{BlockInformation, was_older_copy};
use crate::page_mapped::validity::Validity;
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Nand, Page, SpareRead};

impl GeckoGathered {
    /// Appendix C.2.2: what synchronizations since the last flush have found to be stale.
    pub(super) fn compare_versions<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, translation: &TranslationPages) {
        for (part, before, version) in translation.replaced() {
            let geometry = drive.geometry();
            let Some(before) = before else { continue };
            let stale = stale_by(drive, (part, [before.page], &version), was_older_copy);
            for (page, read) in stale {
                if self.bid.holds_user_pages(geometry.block_of(page)) {
                    // Its block may have been written anew since.
                    self.silent.extend((read == SpareRead::Unreadable).then(|| drive.silent_at(page)));
                    self.reports.push(page);
                }
            }
        }
    }

    /// That pages of Gecko are lost, if this recovery is the first to see it: before the blocks with the evidence are
    /// erased.
    pub(super) fn write_down_damage<N: Nand>(
        &self,
        drive: &mut GeckoDrive<'_, N>,
        emptied: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if !drive.ftl.validity.has_untold_damage() || !drive.keeps(Barrier::DamageWritten) {
            return Ok(());
        }
        drive.let_go_if_out_of_blocks(emptied);
        drive.write_validity(|validity, io| validity.checkpoint(io))?;
        drive.hear_news()
    }

    /// Appendix C.2: the buffer is as it was, and holds more.
    pub(super) fn write_down<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        frozen: u64,
        user: &[BlockInformation],
    ) -> Result<(), FtlError> {
        let mut suspects = core::mem::take(&mut drive.ftl.before);
        if frozen > 0 {
            for block in self.begun_after(frozen, user) {
                drive.write_validity(|validity, io| validity.erased(io, block))?;
            }
        }
        drive.hear_news()?;
        for page in self.reports.drain(..) {
            drive.write_validity(|validity, io| validity.invalidate(io, page))?;
            drive.hear_news()?;
        }
        drive.ftl.before.append(&mut suspects);
        drive.settle()?;
        let mut more = true;
        while more {
            more = drive.write_mapping(|paged, io, before| paged.evict_surplus(io, before))?;
            drive.settle()?;
        }
        Ok(())
    }
}

/// The pages that the synchronizations replaced which made `version` out of those at `before`, as far as each is the
/// same page still. It goes by the spare area, the logical page, and since when it is stale. With the reading.
pub(super) fn stale_by<N: Nand>(
    drive: &mut GeckoDrive<'_, N>,
    (part, before, version): (u32, impl IntoIterator<Item = Page>, &ToldVersion),
    is_the_same: impl Fn(SpareRead, u32, u64) -> bool,
) -> Vec<(Page, SpareRead)> {
    let geometry = drive.geometry();
    let newer = drive.read_translation_page(part, version.page);
    let mut differing: Vec<(LogicalPage, Page)> = Vec::new();
    for page in before {
        let older = drive.read_translation_page(part, page);
        let (Some(older), Some(newer)) = (&older, &newer) else {
            // There is no way to tell.
            drive.ftl.mapping.set_damaged();
            continue;
        };
        // A table on flash may say anything, with a checksum that fits.
        let of_pair = drive.ftl.mapping.differing(part, older, newer);
        differing.extend(of_pair.filter(|(_, page)| geometry.contains(*page)));
    }
    // Versions that followed each other differ in the same pages.
    differing.sort_unstable();
    differing.dedup();
    let by_seq = drive.keeps(Barrier::SeqBeforeSynchronization);
    let before = if by_seq { version.synchronized } else { u64::MAX };
    let read = differing.into_iter().map(|(key, page)| (key, page, drive.read_spare(page)));
    read.filter(|(key, _, read)| is_the_same(*read, key.0, before)).map(|(_, page, read)| (page, read)).collect()
}
