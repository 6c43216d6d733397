//! Step 1 of GeckoRec from the block log (`blocks/block_log`), as far as that is whole.
//!
//! The newest page is found by spare areas of the region alone. It is in doubt whether that is the newest one
//! - if a page behind it in its block is not blank, or the first one of the next block cannot be read: it may have been
//!   newer, and have gone bad since;
//! - if its own data are bad;
//! - if the first page of its block cannot be read: mounts pass over such a block, and erase younger ones before it.
//!
//! Then, and if pages are missing before the whole table is found, every block is looked at as without a log, and the log
//! is written anew. A page that a cut has torn looks like one that has gone bad. So such a cut costs a look at all
//! blocks.
//!
//! A block that no page reserves which was read was begun before the oldest of these. So the pages back to a moment show
//! all blocks begun since. The recovery reads further back for the moment from which on it scans. A chain that begins
//! later does not show them. Then all user blocks are looked at.
//!
//! A first page that a cut has torn may read well once and never again. So a look may show something else than the slice
//! says, though no page from the slice on reserves the block. This mount goes by the look. The next one might go by the
//! slice, so the log is written anew.

use super::gathered::{GeckoDrive, GeckoGathered};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::{BlockLogPage, FoundChain, FoundLog};
use crate::medium::{Holds, HoldsOfBlocks};
use crate::page_mapped::durability::common::FoundPage;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, Nand, Spare, SpareRead};

/// The log, as far as a mount has read it.
pub(super) struct LogReader {
    /// Blocks of the region that were not read yet, the newest last.
    blocks: Vec<Block>,
    /// Pages of the block that is being read, the newest last.
    pages: Vec<FoundPage>,
    /// The page read last: its chain, its number, and where its slice begins.
    last: Option<(Spare, u32)>,
    /// The newest page, where its slice ends, and what it reserves.
    newest: Option<(FoundPage, u32, Vec<Block>)>,
    /// The block with the newest page.
    newest_block: Block,
    /// The last block in which something may have been written since.
    written_to: Block,
    /// Whether the log is in doubt.
    in_doubt: bool,
    /// By block: whether it was looked at.
    looked_at: Vec<u64>,
    /// A slice says something else than the look at a block that was not opened since.
    is_outdated: bool,
}

/// The first pages of a block of the region.
enum Front {
    /// The first page is blank, or the block is bad.
    Nothing,
    /// The first page that can be read, and whether it is the very first.
    Page(Spare, bool),
    /// Pages in front cannot be read, and none behind them can.
    Unreadable,
}

impl LogReader {
    /// Finds the newest page.
    fn find<N: Nand>(drive: &mut GeckoDrive<'_, N>, g: &mut GeckoGathered) -> Self {
        let geometry = drive.geometry();
        let region = drive.ftl.blocks.region();
        let good: Vec<Block> = region.good(drive.nand).collect();
        let mut fronts: Vec<(Block, Front)> = Vec::new();
        for block in good {
            let front = match g.bid.first_spare(drive, block) {
                Some((index, spare)) => Front::Page(spare, index == 0),
                None => match drive.read_spare(geometry.page(block, 0)) {
                    SpareRead::Erased => Front::Nothing,
                    SpareRead::Unreadable | SpareRead::Written(_) => Front::Unreadable,
                },
            };
            fronts.push((block, front));
        }
        let seq = |front: &Front| if let Front::Page(spare, _) = front { spare.seq } else { 0 };
        let newest = fronts.iter().max_by_key(|(_, front)| seq(front)).filter(|(_, front)| seq(front) > 0);
        let is_foreign = |front: &Front| matches!(front, Front::Page(spare, _) if spare.kind != Kind::BlockLog);
        // A block whose first page cannot be read may have been passed over, so that younger ones were erased before it.
        let is_sure = newest.is_some_and(|(_, front)| matches!(front, Front::Page(_, true)));
        let in_doubt = !is_sure || fronts.iter().any(|(_, front)| is_foreign(front));
        let newest_block = newest.map_or(region.last(), |(block, _)| *block);
        let mut reader = Self {
            blocks: Vec::new(),
            pages: Vec::new(),
            last: None,
            newest: None,
            newest_block,
            written_to: newest_block,
            in_doubt,
            looked_at: alloc::vec![0; geometry.blocks().div_ceil(64) as usize],
            is_outdated: false,
        };
        let mut ring: Vec<Block> = region.behind_in_ring(newest_block).collect();
        ring.retain(|block| !drive.nand.is_bad(*block));
        // Blocks behind the newest one of which nothing can be read: what stood there may be newer.
        let of = |block: Block| fronts.iter().find(|(other, _)| *other == block).map(|(_, front)| front);
        let is_silent = |block: Block| matches!(of(block), Some(Front::Unreadable | Front::Page(_, false)));
        let silent = ring.iter().filter(|block| **block != newest_block).take_while(|block| is_silent(**block));
        if let Some(last) = silent.last() {
            (reader.written_to, reader.in_doubt) = (*last, true);
        }
        reader.blocks = ring;
        if reader.blocks.last() == Some(&newest_block) {
            reader.in_doubt |= reader.next_block(drive, g) && newest.is_some();
        }
        if !drive.keeps(Barrier::NewestLogPageFound) && newest.is_some() {
            reader.in_doubt = false;
        }
        reader
    }

    /// Goes on to the next older block. Whether a page behind its last one that can be read is not blank.
    fn next_block<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, g: &mut GeckoGathered) -> bool {
        let Some(block) = self.blocks.pop() else { return false };
        let geometry = drive.geometry();
        let mut is_blank = true;
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            match drive.read_spare(page) {
                SpareRead::Written(spare) => {
                    g.bid.note(&spare);
                    self.pages.push(FoundPage { page, spare });
                    is_blank = true;
                }
                SpareRead::Unreadable => is_blank = false,
                SpareRead::Erased => {}
            }
        }
        !is_blank
    }

    /// The next older page of the chain; none where there is none, or it cannot be believed.
    fn older<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        g: &mut GeckoGathered,
    ) -> Option<(FoundPage, BlockLogPage)> {
        while self.pages.is_empty() && !self.blocks.is_empty() {
            self.next_block(drive, g);
        }
        let found = self.pages.pop()?;
        let geometry = drive.geometry();
        let page = match drive.read_page(found.page).verified() {
            Some((Content::Bytes(bytes), spare)) if spare == found.spare && spare.kind == Kind::BlockLog => {
                BlockLogPage::decode(&geometry, bytes)
            }
            _ => None,
        };
        let Some(page) = page else {
            let goes_on = self.newest.is_none() && !drive.keeps(Barrier::NewestLogPageFound);
            return if goes_on { self.older(drive, g) } else { None };
        };
        if let Some((newer, begins)) = &self.last {
            let precedes = found.spare.version == newer.version
                && found.spare.key.checked_add(1) == Some(newer.key)
                && found.spare.seq < newer.seq;
            let ends = if *begins == 0 { geometry.blocks() } else { *begins };
            if !precedes || page.to != ends {
                return None;
            }
        }
        self.last = Some((found.spare, page.from));
        Some((found, page))
    }

    fn is_looked_at(&self, block: Block) -> bool {
        self.looked_at[block.index() / 64] >> (block.0 % 64) & 1 == 1
    }

    /// Looks at a block, if that was not done. Whether it shows something else than the table has.
    fn look_at<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, g: &mut GeckoGathered, block: Block) -> bool {
        if self.is_looked_at(block) || !drive.is_usable(block) {
            return false;
        }
        self.looked_at[block.index() / 64] |= 1 << (block.0 % 64);
        let had = g.bid.table().of(block);
        g.bid.look_again(drive, block);
        g.bid.table().of(block) != had
    }

    /// Reads the whole table. Whether it is all there.
    fn read_table<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, g: &mut GeckoGathered) -> bool {
        let blocks = drive.geometry().blocks();
        let mut holds = HoldsOfBlocks::new(blocks);
        let (mut covered, mut reserved, mut since) = (0, Vec::new(), 0);
        // Blocks that may have been opened since their slice.
        let mut opened: Vec<Block> = Vec::new();
        while covered < blocks {
            let Some((found, page)) = self.older(drive, g) else { return false };
            if self.newest.is_none() {
                self.newest = Some((found, page.to, page.reserved.clone()));
            }
            let own = (page.to - page.from).min(blocks - covered);
            for block in (page.to - own..page.to).map(Block) {
                holds.set(block, page.holds(block).unwrap_or(Holds::Nothing));
            }
            covered += own;
            reserved.extend(page.reserved);
            opened.extend(reserved.iter().filter(|block| (page.to - own..page.to).contains(&block.0)));
            since = found.spare.seq;
        }
        (0..blocks)
            .map(Block)
            .filter(|block| !drive.is_usable(*block))
            .for_each(|block| holds.set(block, Holds::Nothing));
        opened.sort_unstable();
        let lists = reserved.capacity() + opened.capacity();
        g.scratch += lists * size_of::<Block>() + self.looked_at.capacity() * 8;
        g.bid.take_table(holds);
        // Of blocks of metadata all spare areas are read anyway.
        reserved.extend(g.bid.metadata_blocks());
        reserved.sort_unstable();
        for block in reserved {
            let differs = self.look_at(drive, g, block) && opened.binary_search(&block).is_err();
            self.is_outdated |= differs;
        }
        g.bid.are_known_since(since);
        true
    }

    /// The log for the drive to go on with.
    fn into_found<N: Nand>(self, drive: &GeckoDrive<'_, N>, g: &GeckoGathered) -> FoundLog {
        let chain = self.newest.filter(|_| !self.in_doubt).map(|(newest, slice_end, reserved)| {
            // What may have been in flight may not be readable the next time.
            let is_sure = !g.bid.may_have_been_in_flight(&newest.spare);
            let usable = reserved.into_iter().filter(|block| is_sure && drive.is_usable(*block));
            FoundChain {
                version: newest.spare.version,
                number: newest.spare.key,
                slice_end,
                reserved: usable.collect(),
            }
        });
        FoundLog { newest: self.newest_block, written_to: self.written_to, chain }
    }
}

impl GeckoGathered {
    /// Step 1: what each block holds. From the block log, if there is one that is not in doubt.
    pub(super) fn find_blocks<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>) {
        if !drive.ftl.blocks.region().is_empty() {
            let mut log = LogReader::find(drive, self);
            if !log.in_doubt && log.read_table(drive, self) {
                self.log = Some(log);
                return;
            }
            log.in_doubt = true;
            self.log = Some(log);
            self.bid.forget_blocks();
        }
        for block in (0..drive.geometry().blocks()).map(Block) {
            if drive.is_usable(block) {
                self.bid.look_at(drive, block);
            }
        }
    }

    /// Reads the log back to a moment, so that all blocks begun since are known.
    pub(super) fn read_log_since<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, seq: u64) {
        let Some(mut log) = self.log.take() else { return };
        while !log.in_doubt && log.last.is_some_and(|(last, _)| last.seq > seq) {
            let Some((found, page)) = log.older(drive, self) else { break };
            for block in page.reserved {
                if self.bid.holds_user_pages(block) {
                    log.is_outdated |= log.look_at(drive, self, block);
                }
            }
            self.bid.are_known_since(found.spare.seq);
        }
        if !self.bid.knows_since(seq) {
            for block in (0..drive.geometry().blocks()).map(Block) {
                if self.bid.holds_user_pages(block) {
                    log.is_outdated |= log.look_at(drive, self, block);
                }
            }
            self.bid.are_known_since(0);
        }
        self.log = Some(log);
    }

    /// The drive goes on with the log, or writes it anew.
    pub(super) fn go_on_with_log<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>) -> Result<(), FtlError> {
        let Some(mut log) = self.log.take() else { return Ok(()) };
        log.in_doubt |= log.is_outdated && drive.keeps(Barrier::OutdatedLogWrittenAnew);
        if log.in_doubt {
            drive.begin("block log written anew");
        }
        let found = log.into_found(drive, self);
        drive.go_on_with_log(self.bid.table().clone(), found)
    }
}
