//! Bringing a drive up from flash: the last block by binary search, the last group in it, and what of that group a cut
//! may have met written once more.

use super::layout::{Checkpoint, Group, Layout};
use super::{Journal, JournalFtl, TORN_GROUP};
use phelsuma_ftl::{FtlError, RecoveryReport};
use phelsuma_nand::{Nand, Purpose, Time};
use std::collections::BTreeMap;

/// A block may have lost its checkpoints to cuts, one after the other; more blocks than this in a row have not.
const BLOCKS_TRIED: u32 = 8;

/// The readings so far. A page that a cut has met may read well once and never again, so none is read twice.
struct Search<'a, N> {
    ftl: &'a mut JournalFtl,
    nand: &'a mut N,
    read: BTreeMap<u32, Option<Checkpoint>>,
}

impl<N: Nand> Search<'_, N> {
    fn checkpoint(&mut self, group: u32) -> Option<&Checkpoint> {
        if !self.read.contains_key(&group) {
            let found = match self.ftl.read_group(self.nand, group, Purpose::Recovery) {
                Group::Complete(checkpoint) => Some(checkpoint),
                _ => None,
            };
            self.read.insert(group, found);
        }
        self.read.get(&group).and_then(Option::as_ref)
    }

    /// The first block from this one on that has a checkpoint, and the epoch of that.
    fn written_from(&mut self, block: u32, tried: u32) -> Option<(u32, u32)> {
        let layout = self.ftl.layout;
        let blocks = block..(block + tried).min(layout.geometry.blocks());
        blocks.into_iter().find_map(|block| {
            let epoch = layout.groups(block).find_map(|group| self.checkpoint(group).map(|found| found.epoch));
            epoch.map(|epoch| (block, epoch))
        })
    }

    /// The last group of the log: its first place and its checkpoint.
    fn last(&mut self) -> Option<(u32, Checkpoint)> {
        let layout = self.ftl.layout;
        let blocks = layout.geometry.blocks();
        let (mut last, epoch) = self.written_from(0, blocks)?;
        // The blocks from there on are of this epoch, and then of the one before.
        let mut beyond = blocks;
        while beyond - last > 1 {
            let middle = last + (beyond - last) / 2;
            match self.written_from(middle, BLOCKS_TRIED) {
                Some((block, found)) if found == epoch && block < beyond => last = block,
                _ => beyond = middle,
            }
        }
        let last = layout.groups(last).rev().find(|group| self.checkpoint(*group).is_some_and(|c| c.epoch == epoch))?;
        Some((last, self.checkpoint(last)?.clone()))
    }
}

impl JournalFtl {
    pub(super) fn resume<N: Nand>(
        config: &Journal,
        layout: Layout,
        nand: &mut N,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let mut ftl = Self::empty(config, layout, at);
        let mut search = Search { ftl: &mut ftl, nand, read: BTreeMap::new() };
        let (group, Checkpoint { epoch, tail, root, live, metas }) = search.last().ok_or(FtlError::Blank)?;
        (ftl.tail, ftl.root, ftl.live, ftl.epoch) = (tail, root, live, epoch);
        // What follows in this block may look blank and not be. The next one is erased before it is used.
        let block = layout.block(group) + 1;
        ftl.go_to(block * layout.geometry.pages_per_block());
        // This checkpoint may be the page that the cut has met, and may not be there next time. So what it alone holds
        // is written once more, in one group, before anything is shown. Until then it is held in RAM.
        ftl.held = Some((group, metas.clone()));
        ftl.changed = true;
        for (place, meta) in (group..).zip(&metas) {
            if meta.id >= config.logical_pages {
                continue;
            }
            let way = ftl.way_to(nand, meta.id)?;
            if way.place == Some(place) {
                ftl.append_copy(nand, place, way.meta, Purpose::Recovery)?;
            }
        }
        if ftl.changed {
            ftl.checkpoint(nand)?;
        }
        ftl.held = None;
        // Cuts of recoveries use up blocks. A drive in which nothing can be collected can still be read.
        match ftl.make_space(nand).and_then(|()| ftl.sync(nand)) {
            Ok(()) | Err(TORN_GROUP) => {}
            Err(error) => return Err(error),
        }
        let report = RecoveryReport { done: ftl.done, ..RecoveryReport::default() };
        Ok((ftl, report))
    }
}
