//! Step 4 of GeckoRec: what Gecko's buffer knew (GeckoFTL appendix C.2).

use super::Gathered;
use super::translation::{TranslationPages, TranslationVersion};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::mapping::AnyMapping;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::recovery::blocks_information::BlockInformation;
use crate::page_mapped::recovery::steps::Steps;
use crate::page_mapped::recovery::was_older_copy;
use crate::page_mapped::validity::Validity;
use alloc::vec::Vec;
use phelsuma_nand::{Geometry, LogicalPage, Nand, Page, Purpose, SpareRead};

impl Gathered {
    /// Appendix C.2.2: what synchronizations since the last flush have found to be stale.
    pub(super) fn compare_versions<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &TranslationPages,
    ) {
        for (part, before, version) in translation.replaced() {
            let geometry: Geometry = *nand.geometry();
            let Some(before) = before else { continue };
            let stale = stale_by(ftl, nand, steps, (part, before.page, &version), was_older_copy);
            for (page, read) in stale {
                if self.bid.holds_user_pages(geometry.block_of(page)) {
                    // Its block may have been written anew since.
                    self.silent.extend((read == SpareRead::Unreadable).then(|| ftl.silent_at(nand, steps, page)));
                    self.reports.push(page);
                }
            }
        }
    }

    /// That pages of Gecko are lost, if this recovery is the first to see it: before the blocks that told it are erased.
    pub(super) fn write_down_damage<N: Nand>(
        &self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
    ) -> Result<(), FtlError> {
        if !ftl.validity.has_untold_damage() || !ftl.blocks.keeps(Barrier::DamageWritten) {
            return Ok(());
        }
        let io = &mut MetaIo::new(
            nand,
            (&mut ftl.blocks, &mut ftl.durability),
            ftl.streams.validity,
            Purpose::Recovery,
            steps.now,
        );
        ftl.validity.checkpoint(io)?;
        steps.count(io);
        ftl.hear_news(nand, steps.now)
    }

    /// Appendix C.2: the buffer is what it was, and more.
    pub(super) fn write_down<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        frozen: u64,
        user: &[BlockInformation],
    ) -> Result<(), FtlError> {
        let mut suspects = core::mem::take(&mut ftl.before);
        if frozen > 0 {
            let all = user.iter().chain(&self.bid.translation).chain(&self.bid.validity);
            for block in all.filter(|i| i.first_seq > frozen).map(|i| i.block) {
                let io = &mut MetaIo::new(
                    nand,
                    (&mut ftl.blocks, &mut ftl.durability),
                    ftl.streams.validity,
                    Purpose::Recovery,
                    steps.now,
                );
                ftl.validity.erased(io, block)?;
                steps.count(io);
            }
        }
        ftl.hear_news(nand, steps.now)?;
        for page in self.reports.drain(..) {
            let io = &mut MetaIo::new(
                nand,
                (&mut ftl.blocks, &mut ftl.durability),
                ftl.streams.validity,
                Purpose::Recovery,
                steps.now,
            );
            ftl.validity.invalidate(io, page)?;
            steps.count(io);
            ftl.hear_news(nand, steps.now)?;
        }
        ftl.before.append(&mut suspects);
        ftl.settle(nand, steps.now)?;
        let mut more = true;
        while more {
            let io = &mut MetaIo::new(
                nand,
                (&mut ftl.blocks, &mut ftl.durability),
                ftl.streams.mapping,
                Purpose::Recovery,
                steps.now,
            );
            if let AnyMapping::Paged(paged) = &mut ftl.mapping {
                more = paged.evict_surplus(io, &mut ftl.before)?;
            }
            steps.count(io);
            ftl.settle(nand, steps.now)?;
        }
        Ok(())
    }
}

/// What the synchronizations that made `version` out of the one at `before` replaced, as far as it is the same page still:
/// by what its spare area reads as, the logical page, and since when it is stale. With what was read.
pub(super) fn stale_by<N: Nand>(
    ftl: &mut PageMapped,
    nand: &mut N,
    steps: &mut Steps,
    (part, before, version): (u32, Page, &TranslationVersion),
    is_the_same: impl Fn(SpareRead, u32, u64) -> bool,
) -> Vec<(Page, SpareRead)> {
    let mut read = |page| ftl.read_translation_page(nand, steps, part, page);
    let (Some(older), Some(newer)) = (read(before), read(version.page)) else {
        // Nobody can tell.
        ftl.paged().set_damaged();
        return Vec::new();
    };
    // A table on flash may say anything, with a checksum that fits.
    let geometry = *nand.geometry();
    let differing = ftl.paged().differing(part, &older, &newer).filter(|(_, page)| geometry.contains(*page));
    let differing: Vec<(LogicalPage, Page)> = differing.collect();
    let by_seq = ftl.blocks.keeps(Barrier::SeqBeforeSynchronization);
    let before = if by_seq { version.synchronized } else { u64::MAX };
    let read = differing.into_iter().map(|(key, page)| (key, page, steps.read_spare(nand, page)));
    read.filter(|(key, _, read)| is_the_same(*read, key.0, before)).map(|(_, page, read)| (page, read)).collect()
}
