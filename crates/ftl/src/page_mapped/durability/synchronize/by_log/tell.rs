//! Adding the entries to the log that were missing.

use super::LiveByLog;
use crate::FtlError;
use crate::blocks::BlockUse;
use crate::page_mapped::durability::synchronize::gathered::{Gathered, PagedDrive};
use crate::page_mapped::durability::{Survival, Synchronizing, YoungBlocks};
use crate::page_mapped::validity::{PageValidityLog, Validity};
use phelsuma_nand::{Block, Nand, Page};

/// A report to the log from a recovery.
enum LogNews {
    /// This page is stale.
    Stale(Page),
    /// From this page on its block was not written.
    Unwritten(Page),
    /// Nothing in this block is live.
    Freed(Block),
}

impl Gathered<LiveByLog> {
    /// From now on blocks of user pages are noted as they are closed, and no flush claims to cover everything.
    pub(super) fn begin_telling_log<N: Nand>(&mut self, drive: &mut PagedDrive<'_, PageValidityLog, N>) {
        let geometry = drive.geometry();
        let log = &mut self.live_by;
        // A block that is free now may be written anew before the report.
        let mut freed = core::mem::take(&mut log.freed);
        let mut is_news = |page: &Page| {
            let block = geometry.block_of(*page);
            let in_use = drive.ftl.blocks.is_in_use(block);
            freed.extend((!in_use).then_some(block));
            in_use
        };
        log.reports.retain(&mut is_news);
        log.unwritten.retain(&mut is_news);
        freed.sort_unstable();
        freed.dedup();
        log.freed = freed;
        let mut young = YoungBlocks::new(&geometry);
        let is_closed = |block: Block| drive.ftl.blocks.use_of(block) == BlockUse::Closed;
        for (block, last_seq) in log.young.iter().filter(|(block, _)| is_closed(*block)) {
            debug_assert!(*last_seq > log.heard_until.after, "the log has heard of all that is in {block}");
            young.closed(*block, *last_seq);
        }
        young.begin_reporting(log.heard_until);
        drive.ftl.durability.begin(Survival::Synchronize(Synchronizing::ByLog(young)));
    }

    /// Reports to the log, once the copies of suspect pages are safe. Then the blocks that were kept for it need not be
    /// any more.
    pub(super) fn tell_log<N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        kept: bool,
    ) -> Result<(), FtlError> {
        let log = &self.live_by;
        drive.hear_news()?;
        let stale = log.reports.iter().map(|page| LogNews::Stale(*page));
        let unwritten = log.unwritten.iter().map(|page| LogNews::Unwritten(*page));
        let freed = log.freed.iter().map(|block| LogNews::Freed(*block));
        // The originals of copies are stale as well.
        let mut is_told = !self.suspects.is_empty();
        for news in stale.chain(unwritten).chain(freed) {
            if matches!(news, LogNews::Freed(block) if drive.ftl.blocks.is_in_use(block)) {
                continue;
            }
            drive.gather_part_filled()?;
            drive.write_validity(|store, io| match news {
                LogNews::Stale(page) => store.invalidate(io, page),
                LogNews::Unwritten(page) => store.failed(io, page),
                LogNews::Freed(block) => store.freed(io, block),
            })?;
            drive.hear_news()?;
            is_told = true;
        }
        drive.ftl.durability.reported();
        let ftl = &drive.ftl;
        if is_told || kept || ftl.validity.is_damaged() || ftl.durability.wants_checkpoint(&ftl.blocks) {
            drive.gather_part_filled()?;
            drive.write_validity(|store, io| {
                store.clean_ahead(io)?;
                store.checkpoint(io)
            })?;
            drive.hear_news()?;
        }
        Ok(())
    }
}
