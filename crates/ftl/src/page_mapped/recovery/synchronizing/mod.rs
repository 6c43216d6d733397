//! Recovery that synchronizes everything before the drive goes on, and makes the bitmap anew from the translation table
//! (LazyFTL as GeckoFTL sections 2, 5.3 and 6 take it).
//!
//! What makes it exact: a translation page is always written with all of its dirty entries, and its version is the moment
//! of that in program order. A user page that was programmed later is not known to it, one that was programmed earlier
//! is, or was stale by then. How far back there may be unknown ones, a mark in the spare area of the translation page
//! synchronized last says (`mapping/paged/scan_mark.rs`): of all dirty entries, its own included, so that it holds
//! for the one before should this one be torn.
//!
//! - **Nothing of the table is taken back.** Pages are looked for from the mark of a translation page that cannot have
//!   been in flight, and what the state without the pages that may have been would need is not erased before those are
//!   copied (`fallbacks.rs`).
//! - **A translation page may name a place that was erased since**: where the block's first page is newer than the
//!   translation page, the place holds something else. What was live there was moved and is found; otherwise it was lost
//!   in RAM, and is made a read error for good.
//! - **The table is read before it is written.** So the live pages of all blocks are known when entries are
//!   synchronized, and where next to nothing is free, blocks that earlier cuts left part-filled are gathered: each cut of
//!   a recovery may leave one.
//! - **A translation page that does not say any more which one it was** leaves an older version as the newest. What it had
//!   learnt the spare areas of user pages tell: all of them are read then, and the block that says so is not erased before
//!   the table is written. That a page was trimmed they do not tell: such a trim may be undone.
//! - **[`PowerPart::Fast`]** looks for no user page: the table is all that counts (`integrity.rs` has what is in it
//!   when). Of user blocks it reads the first spare area, which tells which entries name what has been erased since.
//!   Where a translation page does not say any more which one it was, those that may have been it are lost, all of
//!   their entries: user pages would bring back what was in flight at some cut, or not flushed, and has been shown to
//!   be gone.
//! - **Marks move on while entries are synchronized**, those with the oldest page first. A run of cuts that come sooner
//!   than the drive synchronizes anything by itself does not add up to ever longer scans.

mod fallbacks;
mod found;
mod validity_log;

use super::Found;
use super::blocks_information::{BlockInformation, BlocksInformation};
use super::last_page::LastPage;
use super::steps::{Owned, Steps};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::BlockUse;
use crate::config::PowerPart;
use crate::medium::NewPage;
use crate::medium::marks::SpareMarks;
use crate::page_mapped::durability::{ScanFrom, Survival};
use crate::page_mapped::mapping::{AnyMapping, Mapping, Place};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageConfig;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::validity::{AnyValidity, Validity};
use crate::recovery_report::RecoveryReport;
use alloc::vec;
use alloc::vec::Vec;
use found::{FoundEntries, Translation};
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page, Purpose, Time};
use validity_log::OfLog;

/// A page that may have been in flight when the power failed: read in full, and sound by now.
struct Suspect {
    found: Found,
    data: Owned,
}

/// What is gathered on the way.
struct Gathered {
    bid: BlocksInformation,
    /// All blocks of user pages.
    user: Vec<BlockInformation>,
    /// Translation pages that may have been in flight; their bytes are kept where the mapping reads them.
    suspect_translation: Vec<Found>,
    suspects: Vec<Suspect>,
    /// By block, for those of translation pages: whether it has room behind its last page.
    part_filled: Vec<Block>,
    /// By block: the seq of its first page where it holds user pages, 0 where it does not.
    user_since: Vec<u64>,
    /// Entries that name what is gone: read errors from now on.
    lost: Vec<u32>,
    /// Translation pages have gone bad that cannot say which ones they were: programmed before this seq, the last of them.
    gone_bad: Option<u64>,
    /// In these blocks.
    gone_bad_in: Vec<Block>,
    /// Where a page validity log tells what is live.
    log: Option<OfLog>,
    /// No page of the host's is looked at.
    fast: bool,
}

impl PageMapped {
    /// Brings a drive up from what is on flash.
    pub(super) fn recover_by_synchronizing<N: Nand>(
        nand: &mut N,
        config: &PageConfig,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let (mut ftl, usable, mut steps) = Self::find_description(nand, config, at)?;
        let has_log = matches!(ftl.validity, AnyValidity::Log(_));
        // What is closed from now on is not what was written lately.
        if has_log {
            ftl.durability.begin(Survival::Nothing);
        }

        steps.begin("blocks information directory");
        let mut g = Gathered::new(&geometry);
        g.fast = config.composition.power == PowerPart::Fast;
        for block in &usable {
            g.bid.look_at(nand, &mut steps, *block);
        }
        g.user = g.bid.user_since(nand, &mut steps, 0);
        for information in &g.user {
            g.user_since[information.block.index()] = information.first_seq;
        }

        steps.begin("global mapping directory");
        let mut translation = g.scan_translation(&mut ftl, nand, &mut steps);
        let fast = g.fast;
        let mut scan_from = if fast { ScanFrom::NOTHING } else { translation.scan_from() };

        if has_log {
            steps.begin("page validity log");
            g.scan_log(&mut ftl, nand, &mut steps);
        }
        if let Some(log) = &g.log {
            scan_from = scan_from.and(log.heard_until);
        }

        if !fast {
            steps.begin("pages written last");
        }
        let mut found = g.scan_user(&mut ftl, nand, &mut steps, &translation, scan_from);
        if !fast {
            g.scan_for_lost(&mut ftl, nand, &mut steps, &translation, &mut found);
        }
        // Where no page of the host's is looked at, what was written behind the first pages of blocks that were open.
        let unseen = match fast {
            true => u64::from(ftl.shape.open_blocks) * u64::from(geometry.pages_per_block()),
            false => 0,
        };
        ftl.blocks.begin_session(g.bid.version_max + unseen, g.bid.seq_max + unseen);
        g.keep_suspects(&mut translation, &mut found);
        found.choose(&mut ftl, &translation);
        g.find_stale(&mut ftl, nand, &mut steps, &translation, &found);
        let fallbacks = g.find_fallbacks(&mut ftl, nand, &mut steps, &translation, &found);

        steps.begin(if has_log { "read the page validity log" } else { "read the translation table" });
        match has_log {
            true => g.read_log(&mut ftl, nand, &mut steps, &translation, &found),
            false => {
                let in_doubt = if fast { g.gone_bad } else { None };
                g.read_table(&mut ftl, nand, &mut steps, &translation, &found, in_doubt);
            }
        }
        let mut holding = g.settle_blocks(&mut ftl, &fallbacks);
        let is_lost_in = |block: &mut Block| g.gone_bad_in.contains(block);
        let until_synchronized: Vec<Block> = holding.extract_if(.., is_lost_in).collect();
        g.begin_telling(&mut ftl, &geometry);
        ftl.hear_news(nand, steps.now)?;

        steps.begin("copies of what may have been in flight");
        // Nothing rests on the nodes of a tree: every recovery makes them anew.
        for (part, version) in translation.newest() {
            ftl.paged().enter_translation_page(part, version.page);
        }
        while let Err(error) = ftl.build_tree(nand, &mut steps) {
            if holding.is_empty() {
                return Err(error);
            }
            g.let_go(&mut ftl, &mut holding);
        }
        match g.copy_suspects(&mut ftl, nand, &mut steps, &mut found, &mut holding) {
            // So many blocks have grown bad that none is left: what is there can be read, and a read holds its key against
            // it.
            Err(FtlError::Full { .. }) if fast => ftl.blocks.stop_writing(&mut ftl.durability),
            copied => copied?,
        }
        ftl.let_kept_go();
        g.tell_log(&mut ftl, nand, &mut steps, !holding.is_empty())?;
        for block in holding {
            ftl.blocks.release(block);
        }
        ftl.hear_news(nand, steps.now)?;

        steps.begin("synchronize");
        g.lost.sort_unstable();
        found.add_lost(&g.lost);
        match ftl.synchronize_found(nand, &mut steps, &found) {
            // As above.
            Err(FtlError::Full { .. }) if fast => ftl.blocks.stop_writing(&mut ftl.durability),
            synchronized => synchronized?,
        }
        for block in until_synchronized {
            ftl.blocks.release(block);
        }
        steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| match &mut ftl.mapping {
            AnyMapping::Paged(paged) => paged.nothing_is_dirty(io),
            AnyMapping::Ram(_) | AnyMapping::Mu(_) => {}
        });
        steps.now = steps.now.max(ftl.blocks.clock.horizon());
        steps.count_rest(&mut ftl.durability);
        steps.end();
        let mut report = steps.report;
        report.lost_entries = g.lost.len() as u64;
        report.scratch_bytes = g.bytes() + translation.bytes() + found.bytes();
        report.done = steps.now;
        ftl.note_first_pages(&steps.first, &mut report);
        Ok((ftl, report))
    }

    /// Writes the inner nodes above the translation pages that were entered, where there is a tree.
    fn build_tree<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps) -> Result<(), FtlError> {
        let io = &mut MetaIo::new(
            nand,
            (&mut self.blocks, &mut self.durability),
            self.streams.mapping,
            Purpose::Recovery,
            steps.now,
        );
        let AnyMapping::Paged(paged) = &mut self.mapping else { return Ok(()) };
        let built = paged.build(io).map(drop);
        steps.count(io);
        built
    }

    /// Writes all that was found into translation pages.
    fn synchronize_found<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        found: &FoundEntries,
    ) -> Result<(), FtlError> {
        let paged = self.paged();
        for group in found.groups(|key| paged.part_of(LogicalPage(key))) {
            self.gather_part_filled(nand, steps)?;
            let stream = self.streams.mapping;
            let io =
                &mut MetaIo::new(nand, (&mut self.blocks, &mut self.durability), stream, Purpose::Recovery, steps.now);
            if let AnyMapping::Paged(paged) = &mut self.mapping {
                let entries = found.in_group(&group).iter().map(|entry| (entry.key, entry.place));
                paged.synchronize_found(io, group.part, entries, found.scan_from(group.oldest))?;
            }
            steps.count(io);
            self.hear_news(nand, steps.now)?;
        }
        Ok(())
    }

    /// Where next to nothing is free, moves what is live in the emptiest blocks of metadata together: cuts of
    /// earlier recoveries leave part-filled ones.
    fn gather_part_filled<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps) -> Result<(), FtlError> {
        let geometry: Geometry = *self.blocks.geometry();
        while self.blocks.emergency() {
            let live = |block: &Block| u32::from(self.blocks.counters.live(*block));
            let emptiest = (0..geometry.blocks())
                .map(Block)
                .filter(|block| self.blocks.use_of(*block) == BlockUse::Closed)
                .filter(|block| self.blocks.is_metadata(self.blocks.stream_of(*block)))
                .min_by_key(live);
            let Some(victim) = emptiest.filter(|block| 2 * live(block) <= geometry.pages_per_block()) else { break };
            let stream = self.blocks.stream_of(victim);
            self.blocks.begin_collection(victim);
            self.victim.taken(&self.blocks.counters, victim);
            let io =
                &mut MetaIo::new(nand, (&mut self.blocks, &mut self.durability), stream, Purpose::Recovery, steps.now);
            match stream == self.streams.mapping {
                true => self.mapping.relocate(io, victim)?,
                false => self.validity.relocate(io, victim)?,
            };
            steps.count(io);
            self.hear_news(nand, steps.now)?;
            self.blocks.release(victim);
        }
        Ok(())
    }
}

impl Gathered {
    fn new(geometry: &Geometry) -> Self {
        Self {
            // When they were begun is needed of all.
            bid: BlocksInformation::new(geometry, geometry.blocks() as usize),
            user: Vec::new(),
            suspect_translation: Vec::new(),
            suspects: Vec::new(),
            part_filled: Vec::new(),
            user_since: vec![0; geometry.blocks() as usize],
            lost: Vec::new(),
            gone_bad: None,
            gone_bad_in: Vec::new(),
            log: None,
            fast: false,
        }
    }

    /// What it takes in RAM.
    fn bytes(&self) -> u64 {
        let suspects = self.suspects.capacity() * size_of::<Suspect>();
        let translation = self.suspect_translation.capacity() * size_of::<Found>();
        let blocks = self.part_filled.capacity() * size_of::<Block>()
            + self.user_since.len() * 8
            + self.user.capacity() * size_of::<BlockInformation>();
        let log = self.log.as_ref().map_or(0, OfLog::bytes);
        self.bid.bytes()
            + log
            + (suspects + translation + blocks + (self.lost.capacity() + self.gone_bad_in.capacity()) * 4) as u64
    }

    /// The pages of a block that can be believed, in order; the data of the last one too, where it may have been in flight
    /// as far as is known by now. Some earlier cut may have torn it, so it is read in full.
    fn pages_of<N: Nand>(
        &mut self,
        ftl: &PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
    ) -> (Vec<Found>, Option<Owned>) {
        let mut pages = self.bid.pages_of(nand, steps, block);
        let Some(last) = pages.last().copied() else { return (pages, None) };
        match LastPage::read(&self.bid, ftl.blocks.barriers(), nand, steps, &last) {
            LastPage::Bad => {
                pages.pop();
                (pages, None)
            }
            LastPage::Sound => (pages, None),
            LastPage::MayHaveBeenInFlight(data) => (pages, Some(data)),
        }
    }

    /// All spare areas of the blocks of translation pages.
    fn scan_translation<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps) -> Translation {
        let geometry = *nand.geometry();
        let mut gone_bad: Vec<(Block, u64)> = Vec::new();
        let mut translation = Translation::new(ftl.paged().parts());
        for information in self.bid.translation.clone() {
            let (mut pages, suspect) = self.pages_of(ftl, nand, steps, information.block);
            let end = geometry.page(information.block, geometry.pages_per_block() - 1);
            if pages.last().is_none_or(|last| last.page != end) {
                self.part_filled.push(information.block);
            }
            let before = self.bid.gone_bad_before(nand, steps, &pages);
            gone_bad.extend(before.map(|before| (information.block, before)));
            if let Some(data) = suspect
                && let Some(last) = pages.pop()
            {
                translation.note_suspect(&last);
                self.suspect_translation.push(last);
                data.keep_for_metadata(ftl, &last);
            }
            for found in pages.iter().filter(|found| found.spare.kind == Kind::Translation) {
                translation.note(found);
            }
        }
        // Where all else is stale as well an erase may have been cut.
        let in_use: Vec<Block> = translation.newest().map(|(_, version)| geometry.block_of(version.page)).collect();
        gone_bad.retain(|(block, _)| in_use.contains(block));
        self.gone_bad = gone_bad.iter().map(|(_, before)| *before).max();
        self.gone_bad_in = gone_bad.into_iter().map(|(block, _)| block).collect();
        translation
    }

    /// Every page is known by now that tells of another that it had completed.
    fn keep_suspects(&mut self, translation: &mut Translation, found: &mut FoundEntries) {
        let bid = &self.bid;
        self.suspects.retain(|suspect| bid.may_have_been_in_flight(&suspect.found.spare));
        found.suspect(&self.suspects);
        if let Some(log) = &mut self.log {
            log.suspects.retain(|found| bid.may_have_been_in_flight(&found.spare));
        }
        self.suspect_translation.retain(|found| {
            let suspect = bid.may_have_been_in_flight(&found.spare);
            if !suspect {
                translation.note(found);
            }
            suspect
        });
    }

    /// Reads the whole table: which pages are live. Those translation pages are lost that may have had a newer version,
    /// which has gone bad, programmed before `in_doubt`.
    fn read_table<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        found: &FoundEntries,
        in_doubt: Option<u64>,
    ) {
        let geometry = *nand.geometry();
        let gives_up = ftl.blocks.keeps(Barrier::StaleEntriesGivenUp);
        for part in 0..ftl.paged().parts() {
            let range = ftl.paged().range_of(part);
            let mut entries = found.of(range.clone()).iter().peekable();
            let version = translation.newest_of(part);
            if in_doubt.is_some_and(|gone_bad| translation.may_have_been_newer(part, gone_bad)) {
                self.lost.extend(range);
                version.iter().for_each(|version| ftl.blocks.counters.add(geometry.block_of(version.page)));
                continue;
            }
            if let Some(version) = version {
                ftl.blocks.counters.add(geometry.block_of(version.page));
            } else if entries.peek().is_none() {
                continue;
            }
            let PageMapped { mapping, validity, blocks, durability, .. } = ftl;
            let AnyMapping::Paged(paged) = mapping else { return };
            let mut live = Vec::new();
            // A table with checksums that fit may name a page twice all the same.
            let mut enter = |page| {
                let is_news = !validity.touch(page);
                if is_news {
                    validity.validate(page);
                }
                is_news
            };
            steps.with_io(nand, (&mut *blocks, durability), |io| {
                let known: Vec<(u32, Place)> = match version {
                    Some(version) => paged.entries_at(io, part, version.page).collect(),
                    None => range.map(|key| (key, Place::Nowhere)).collect(),
                };
                for (key, place) in known {
                    match (entries.next_if(|entry| entry.key == key), place) {
                        (Some(entry), _) => live.extend(entry.page().filter(|page| enter(*page))),
                        (None, Place::At(page)) => {
                            // Programmed before the translation page, and not erased since.
                            let since = match geometry.contains(page) {
                                true => self.user_since[geometry.block_of(page).index()],
                                false => 0,
                            };
                            let named =
                                |since: u64| version.is_some_and(|version| !gives_up || since < version.synchronized);
                            if since > 0 && named(since) && enter(page) {
                                live.push(page);
                            } else {
                                self.lost.push(key);
                            }
                        }
                        _ => {}
                    }
                }
            });
            for page in live {
                blocks.counters.add(geometry.block_of(page));
            }
        }
    }

    /// Blocks with live pages become candidates, in the order of their first pages; all others go into the pool, but for
    /// those that the pages that may have been in flight need should they turn bad: those are given back.
    fn settle_blocks(&self, ftl: &mut PageMapped, fallbacks: &[Block]) -> Vec<Block> {
        let bid = &self.bid;
        for block in &bid.empty {
            ftl.blocks.release(*block);
        }
        let mapping = ftl.streams.mapping;
        let users = self.user.iter().map(|information| (*information, 0));
        let validity = ftl.streams.validity;
        let others = bid.translation.iter().map(|information| (*information, mapping));
        let log = bid.validity.iter().map(|information| (*information, validity));
        let mut all: Vec<_> = users.chain(others).chain(log).collect();
        all.sort_unstable_by_key(|(information, _)| information.first_seq);
        let mut holding = Vec::new();
        for (information, stream) in all {
            let block = information.block;
            if ftl.blocks.counters.live(block) > 0 {
                ftl.blocks.close(&mut ftl.durability, block, stream);
            } else if fallbacks.binary_search(&block).is_ok()
                || self.gone_bad_in.contains(&block)
                || self.log.as_ref().is_some_and(|log| log.keeps(block))
            {
                holding.push(block);
            } else {
                ftl.blocks.release(block);
            }
        }
        holding
    }

    /// See [`PageMapped::let_go_if_out_of_blocks`].
    fn let_go_if_out_of_blocks(&self, ftl: &mut PageMapped, holding: &mut Vec<Block>) {
        if ftl.blocks.to_open() == 0 {
            self.let_go(ftl, holding);
        }
    }

    /// Lets everything go that is held.
    fn let_go(&self, ftl: &mut PageMapped, holding: &mut Vec<Block>) {
        if let Some(log) = &self.log {
            log.gives_up(ftl, holding);
        }
        for block in holding.drain(..) {
            ftl.blocks.release(block);
        }
    }

    /// What may have been in flight goes to fresh pages, before anything is written that rests on it.
    fn copy_suspects<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        found: &mut FoundEntries,
        holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if !ftl.blocks.keeps(Barrier::SuspectsCopied) {
            return Ok(());
        }
        if let Some(log) = self.log.as_ref().filter(|log| !log.suspects.is_empty()) {
            self.let_go_if_out_of_blocks(ftl, holding);
            let pages: Vec<Page> = log.suspects.iter().map(|found| found.page).collect();
            let io = &mut MetaIo::new(
                nand,
                (&mut ftl.blocks, &mut ftl.durability),
                ftl.streams.validity,
                Purpose::Recovery,
                steps.now,
            );
            ftl.validity.copy_pages(io, &pages)?;
            steps.count(io);
        }
        for suspect in &self.suspect_translation {
            self.let_go_if_out_of_blocks(ftl, holding);
            let stream = ftl.streams.mapping;
            let io =
                &mut MetaIo::new(nand, (&mut ftl.blocks, &mut ftl.durability), stream, Purpose::Recovery, steps.now);
            if let AnyMapping::Paged(paged) = &mut ftl.mapping {
                paged.copy_pages(io, &[suspect.page])?;
            }
            steps.count(io);
        }
        // Chosen before the first copy is written: copies go to blocks where stale suspects stood.
        self.suspects.retain(|suspect| found.place_of(suspect.found.spare.key) == Some(suspect.found.page));
        for suspect in &self.suspects {
            self.let_go_if_out_of_blocks(ftl, holding);
            let Found { page, spare } = suspect.found;
            let content = suspect.data.content();
            let (kind, key, version, data_crc) = (Kind::User, spare.key, spare.version, spare.data_crc);
            let copy = NewPage { kind, key, version, content, data_crc, marks: SpareMarks::of(&spare) };
            let stream = ftl.stream_for_recovered();
            let (to, safe) =
                ftl.blocks.append(nand, &mut ftl.durability, stream, &copy, Purpose::Recovery, steps.now)?;
            steps.step.programs += 1;
            steps.now = steps.now.max(safe);
            ftl.validity.validate(to);
            found.copied(key, to);
            ftl.drop_entered(page);
            ftl.hear_news(nand, steps.now)?;
        }
        ftl.hear_news(nand, steps.now)
    }
}
