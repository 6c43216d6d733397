//! GeckoRec: recovery of a demand-paged mapping with Logarithmic Gecko (GeckoFTL section 4.3 and appendix C).
//!
//! The paper's steps: 1 the blocks information directory; 2 the global mapping directory; 3 the run directories; 4 the
//! buffer, as far as it tells of erases (C.2.1) and of synchronizations (C.2.2); 5 the counters of live pages; 6 the
//! dirty entries of the mapping; 7 marks them as unsure; 8 goes on. Here 3 comes before 2, because the newest run tells
//! which translation pages the buffer had not heard of, and 6 before 5, so that what is found to be stale is counted.
//!
//! Not as in the paper, each for the sake of data that would be lost or a drive that would get stuck:
//! - How far to scan back is written in the newest run, not counted in pages: several cuts less than C writes apart
//!   would let dirty entries outlive the count, and a block that is open for long would hide them.
//! - Older copies of a logical page that the scan meets are reported as stale: those of entries that were cached were
//!   known to the buffer alone.
//! - Translation pages are held against what the last flush had heard of (`translation.rs`).
//! - What may have been in flight is read in full, and copied to fresh pages before anything is reported that rests
//!   on it.
//! - Blocks of metadata that are part-filled become candidates for collection.

mod blocks_information;
mod translation;

use super::steps::{Owned, Steps};
use crate::barriers::Barrier;
use crate::blocks::{Clock, EPOCH, NewPage, RECOVERY_STREAM, ScanFrom};
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::{GeckoScan, LogarithmicGecko, Validity};
use crate::page_mapped::{PageMapped, mapping_io};
use crate::recovery_report::RecoveryReport;
use crate::{Config, FtlError};
use alloc::vec;
use alloc::vec::Vec;
use blocks_information::{BlockInformation, BlocksInformation, Found};
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page, PageRead, Purpose, SpareRead, Time};
use translation::{TranslationPages, Version};

/// Scanning this many times C pages means that cuts come faster than checkpoints: everything is synchronized then.
const SCANNED_MAX: u64 = 4;

/// A user page that may have been in flight: read in full, and sound by now.
struct Suspect {
    found: Found,
    data: Owned,
}

/// What is gathered on the way.
struct Gathered {
    bid: BlocksInformation,
    /// Metadata pages that may have been in flight, and are sound by now.
    suspect_metadata: Vec<Found>,
    /// User pages that may have been.
    suspects: Vec<Suspect>,
    /// Pages that are stale, and that Gecko may not know to be.
    reports: Vec<Page>,
    /// Blocks of user pages of which none is live, and Gecko does not know it yet.
    freed: Vec<Block>,
    /// Metadata pages that will be needed if those that may have been in flight turn bad before they are copied.
    fallbacks: Vec<Page>,
    /// Older copies of pages, where the scan met a newer one.
    older: Vec<Found>,
    scanned: u64,
}

impl PageMapped {
    fn paged(&mut self) -> &mut PagedMapping {
        match &mut self.mapping {
            Mapping::Paged(paged) => paged,
            Mapping::Ram(_) => unreachable!("GeckoRec begins with a demand-paged mapping"),
        }
    }

    fn gecko(&mut self) -> &mut LogarithmicGecko {
        match &mut self.validity {
            Validity::Gecko(gecko) => gecko,
            _ => unreachable!("GeckoRec begins with Logarithmic Gecko"),
        }
    }

    /// Brings a drive up from what is on flash.
    pub(super) fn recover_with_gecko_rec<N: Nand>(
        nand: &mut N,
        config: &Config,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let (mut ftl, usable, mut steps) = Self::find_description(nand, config, at)?;
        ftl.blocks.recovering = true;

        steps.begin("1 blocks information directory");
        let mut g = Gathered {
            bid: BlocksInformation::new(&geometry),
            suspect_metadata: Vec::new(),
            suspects: Vec::new(),
            reports: Vec::new(),
            freed: Vec::new(),
            fallbacks: Vec::new(),
            older: Vec::new(),
            scanned: 0,
        };
        for block in &usable {
            g.bid.look_at(nand, &mut steps, *block);
        }

        steps.begin("3 run directories");
        let mut part_filled = vec![false; geometry.blocks() as usize];
        let scan = g.scan_gecko(&mut ftl, nand, &mut steps, &mut part_filled);
        let (frozen, scan_from) = steps.with_io(nand, &mut ftl.blocks, |io| match &mut ftl.validity {
            Validity::Gecko(gecko) => gecko.restore(io, scan.clone()),
            _ => (0, ScanFrom::default()),
        });
        for page in ftl.gecko().metadata_pages().collect::<Vec<_>>() {
            ftl.blocks.counters.add(geometry.block_of(page));
        }

        steps.begin("2 global mapping directory");
        let (translation, sure) = g.scan_translation(&mut ftl, nand, &mut steps, frozen, &mut part_filled);
        for (part, page) in translation.newest() {
            ftl.paged().enter_translation_page(part, page);
            ftl.blocks.counters.add(geometry.block_of(page));
        }

        steps.begin("4 Gecko's buffer");
        g.compare_versions(&mut ftl, nand, &mut steps, &translation);

        steps.begin("6 entries of the pages written last");
        ftl.paged().take_checkpoints(scan_from);
        g.scan_user(&mut ftl, nand, &mut steps, scan_from);
        ftl.blocks.clock = Clock::new(geometry.dies(), g.bid.version_max + EPOCH, g.bid.seq_max + EPOCH);
        if let Some(held) = &mut ftl.blocks.held {
            held.frozen = Some(frozen);
            held.scan_from = scan_from;
        }

        g.find_fallbacks(&mut ftl, nand, &mut steps, &scan, &translation, sure);

        steps.begin("5 counters of live pages");
        let mut emptied = g.count(&mut ftl, nand, &mut steps, frozen, &translation, &part_filled)?;

        steps.begin("7 copies of what may have been in flight");
        g.copy_suspects(&mut ftl, nand, &mut steps, &mut emptied)?;
        ftl.blocks.read_before = Vec::new();
        // None is erased before the copies are on flash.
        for block in emptied {
            ftl.blocks.release_now(block);
        }
        g.write_down(&mut ftl, nand, &mut steps, frozen)?;
        g.tell_of_freed(&mut ftl, nand, &mut steps)?;
        if let Some(held) = &mut ftl.blocks.held {
            held.frozen = None;
        }
        if g.scanned > SCANNED_MAX * u64::from(ftl.paged().cache_entries()) {
            ftl.synchronize_everything(nand, &mut steps)?;
        }
        ftl.hear_news(nand, steps.now)?;
        ftl.blocks.recovering = false;
        steps.now = steps.now.max(ftl.blocks.clock.horizon());
        steps.end();
        let mut report = steps.report;
        // The blocks information directory, the versions of translation pages, and two bytes a block for what is stale.
        report.scratch_bytes = g.bytes() + translation.bytes() + u64::from(geometry.blocks()) * 3;
        report.done = steps.now;
        Ok((ftl, report))
    }

    /// Leaves nothing for the next recovery to scan.
    fn synchronize_everything<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps) -> Result<(), FtlError> {
        let mut part = Some(0);
        while let Some(from) = part {
            let io = &mut MetaIo::new(nand, &mut self.blocks, self.streams.mapping, Purpose::Recovery, steps.now);
            part = self.mapping.synchronize_next(io, from, &mut self.before)?;
            steps.count(io);
            self.settle(nand, steps.now)?;
        }
        let io = &mut MetaIo::new(nand, &mut self.blocks, self.streams.validity, Purpose::Recovery, steps.now);
        if let Mapping::Paged(paged) = &mut self.mapping {
            paged.all_synchronized(io);
        }
        self.validity.checkpoint(io)?;
        steps.count(io);
        Ok(())
    }
}

impl Gathered {
    /// What it takes in RAM.
    fn bytes(&self) -> u64 {
        let founds = (self.older.capacity() + self.suspect_metadata.capacity()) * size_of::<Found>();
        let pages = (self.reports.capacity() + self.fallbacks.capacity()) * size_of::<Page>();
        self.bid.bytes() + (founds + pages + self.suspects.capacity() * size_of::<Suspect>()) as u64
    }

    /// Whether the last page of a block holds what it says, by reading it: some earlier cut may have torn it. Its data
    /// where it may have been in flight at the last one.
    fn is_sound<N: Nand>(
        &self,
        ftl: &PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        last: &Found,
    ) -> (bool, Option<Owned>) {
        steps.report.last_pages += 1;
        let data = match steps.read(nand, last.page) {
            PageRead::Written { content, .. } if ftl.barriers.forget(Barrier::SuspectsVerified) => {
                Some(Owned::of(content))
            }
            read => read.verified().map(|(content, _)| Owned::of(content)),
        };
        steps.report.last_pages_bad += u64::from(data.is_none());
        (data.is_some(), data.filter(|_| self.bid.may_have_been_in_flight(&last.spare)))
    }

    /// The pages of a block of metadata that can be believed; the last one as well, if it may have been in flight.
    fn metadata_pages<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
        part_filled: &mut [bool],
    ) -> (Vec<Found>, Option<Found>) {
        let mut pages = self.bid.pages_of(nand, steps, block);
        let geometry = nand.geometry();
        part_filled[block.index()] =
            pages.last().is_none_or(|last| last.page != geometry.page(block, geometry.pages_per_block() - 1));
        let mut suspect = None;
        if let Some(last) = pages.last().copied() {
            match self.is_sound(ftl, nand, steps, &last) {
                (false, _) => drop(pages.pop()),
                (true, Some(data)) => {
                    suspect = Some(last);
                    if let Owned::Bytes(bytes) = data {
                        ftl.blocks.read_before.push((last.page, last.spare, bytes));
                    }
                }
                (true, None) => {}
            }
        }
        (pages, suspect)
    }

    fn scan_gecko<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        part_filled: &mut [bool],
    ) -> GeckoScan {
        let mut scan = GeckoScan::default();
        for information in self.bid.gecko.clone() {
            let (pages, suspect) = self.metadata_pages(ftl, nand, steps, information.block, part_filled);
            for found in pages.iter().filter(|found| found.spare.kind == Kind::Gecko) {
                scan.note(found.page, &found.spare);
            }
            self.suspect_metadata.extend(suspect);
        }
        scan
    }

    fn scan_translation<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        frozen: u64,
        part_filled: &mut [bool],
    ) -> (TranslationPages, TranslationPages) {
        let mut translation = TranslationPages::new(ftl.paged().translation_pages(), frozen);
        let mut sure = TranslationPages::new(ftl.paged().translation_pages(), frozen);
        for information in self.bid.translation.clone() {
            let (pages, suspect) = self.metadata_pages(ftl, nand, steps, information.block, part_filled);
            for found in pages.iter().filter(|found| found.spare.kind == Kind::Translation) {
                translation.note(found);
                if suspect.is_none_or(|suspect| suspect.page != found.page) {
                    sure.note(found);
                }
            }
            self.suspect_metadata.extend(suspect);
        }
        translation.sort();
        (translation, sure)
    }

    /// Of what may have been in flight keeps what still may, now that all pages written lately are known, and finds what
    /// will be needed should that turn bad before it is copied.
    fn find_fallbacks<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        scan: &GeckoScan,
        translation: &TranslationPages,
        mut sure: TranslationPages,
    ) {
        self.suspects.retain(|suspect| self.bid.may_have_been_in_flight(&suspect.found.spare));
        let metadata = core::mem::take(&mut self.suspect_metadata);
        let (suspects, others): (Vec<Found>, Vec<Found>) =
            metadata.into_iter().partition(|found| self.bid.may_have_been_in_flight(&found.spare));
        self.suspect_metadata = suspects;
        let mut in_use: Vec<Page> = ftl.mapping.metadata_pages(mapping_io!(ftl, nand, steps.now));
        in_use.extend(ftl.validity.metadata_pages());
        in_use.extend(ftl.paged().found_pages());
        in_use.sort_unstable();
        let is_in_use = |found: &Found| in_use.binary_search(&found.page).is_ok();
        let any_in_use = |kind| self.suspect_metadata.iter().any(|found| found.spare.kind == kind && is_in_use(found));
        if any_in_use(Kind::Translation) {
            others.iter().filter(|found| found.spare.kind == Kind::Translation).for_each(|found| sure.note(found));
            sure.sort();
            self.fallbacks.extend(sure.newest().into_iter().map(|(_, page)| page));
            // What a trim made stale is live without it. What else a synchronization made stale has a newer copy that the
            // scan has met; and a recovery trims nothing.
            let suspect = |page: Page| {
                let mut hosts = self.suspect_metadata.iter().filter(|found| found.spare.stream != RECOVERY_STREAM);
                hosts.any(|found| found.page == page)
            };
            let versions = translation.replaced().filter(|(_, _, version)| suspect(version.page));
            for (part, before, version) in versions {
                self.fallbacks.extend(stale_by(ftl, nand, steps, part, before, &version));
            }
        }
        if any_in_use(Kind::Gecko) {
            let suspects: Vec<Page> = self.suspect_metadata.iter().map(|found| found.page).collect();
            if let Validity::Gecko(gecko) = &ftl.validity {
                let needed = steps.with_io(nand, &mut ftl.blocks, |io| gecko.pages_in_use(io, scan.without(&suspects)));
                self.fallbacks.extend(needed);
            }
        }
        // Of the older copies of a suspect the newest, which it was copied from, perhaps, and the newest that is no
        // suspect itself.
        let suspects: Vec<Page> = self.suspects.iter().map(|suspect| suspect.found.page).collect();
        for suspect in self.suspects.iter().map(|suspect| &suspect.found).filter(|found| is_in_use(found)) {
            let older = || self.older.iter().filter(|older| older.spare.key == suspect.spare.key);
            let order = |older: &&Found| (older.spare.version, older.spare.seq);
            self.fallbacks.extend(older().max_by_key(order).map(|older| older.page));
            let sure = older().filter(|older| !suspects.contains(&older.page)).max_by_key(order);
            self.fallbacks.extend(sure.map(|older| older.page));
        }
        // Of copies of one content the first and the last but one: the host may have been told that it is safe, and it is
        // then, whatever became of the copies that recoveries made.
        let mut all: Vec<Found> = self.suspects.iter().map(|suspect| suspect.found).collect();
        all.extend(&self.suspect_metadata);
        let content = |found: &Found| (found.spare.kind, found.spare.key, found.spare.version);
        all.sort_unstable_by_key(|found| (content(found), found.spare.seq));
        for copies in all.chunk_by(|a, b| content(a) == content(b)).filter(|copies| copies.iter().any(is_in_use)) {
            self.fallbacks.extend([copies[0].page, copies[copies.len().saturating_sub(2)].page]);
        }
    }

    /// Appendix C.2.2: what synchronizations since the last flush have found to be stale.
    fn compare_versions<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &TranslationPages,
    ) {
        for (part, before, version) in translation.replaced() {
            self.reports.extend(stale_by(ftl, nand, steps, part, before, &version));
        }
    }

    /// Section 4.3: the pages written last, newest first, as far back as the newest run says.
    fn scan_user<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps, scan_from: ScanFrom) {
        let geometry = *nand.geometry();
        let mut blocks: Vec<BlockInformation> =
            self.bid.user.iter().filter(|i| i.first_seq >= scan_from.oldest_open).copied().collect();
        blocks.sort_unstable_by_key(|information| core::cmp::Reverse(information.first_seq));
        for information in blocks {
            let end = geometry.page(information.block, geometry.pages_per_block() - 1);
            if information.first_seq <= scan_from.after
                && let SpareRead::Written(spare) = steps.read_spare(nand, end)
                && spare.seq <= scan_from.after
            {
                continue;
            }
            self.scan_user_block(ftl, nand, steps, information.block, scan_from);
        }
    }

    fn scan_user_block<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
        scan_from: ScanFrom,
    ) {
        let geometry = *nand.geometry();
        let mut pages = self.bid.pages_of(nand, steps, block);
        if let Some(last) = pages.last().copied() {
            match self.is_sound(ftl, nand, steps, &last) {
                (false, _) => drop(pages.pop()),
                (true, Some(data)) => self.suspects.push(Suspect { found: last, data }),
                (true, None) => {}
            }
        }
        // What was never written, or is torn, is not live.
        let end = pages.last().map_or(0, |last| geometry.index_of(last.page) + 1);
        self.reports.extend((end..geometry.pages_per_block()).map(|index| geometry.page(block, index)));
        for found in pages.iter().rev() {
            let sound = found.spare.kind == Kind::User && found.spare.key < ftl.shape.logical_pages;
            if sound && found.spare.seq > scan_from.after {
                self.scanned += 1;
                self.enter(ftl, nand, steps, found);
            }
        }
    }

    /// A user page that was written lately: its logical page is there, unless a newer one is known. The older of two is
    /// stale, and perhaps only the buffer knew.
    fn enter<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps, found: &Found) {
        let key = LogicalPage(found.spare.key);
        if let Some(Place::At(known)) = ftl.paged().found(key) {
            let suspect = self.suspects.iter().find(|suspect| suspect.found.page == known);
            let other = match suspect {
                // It may have been read for the last time.
                Some(suspect) => Some(suspect.found),
                None => match steps.read_spare(nand, known) {
                    SpareRead::Written(spare) => Some(Found { page: known, spare }),
                    _ => None,
                },
            };
            let order = |found: &Found| (found.spare.version, found.spare.seq);
            // Blocks are looked at from the newest on: what cannot be read any more is likely to be newer.
            let newer = other.is_none_or(|other| order(&other) > order(found));
            let older = if newer { *found } else { other.unwrap_or(*found) };
            if !ftl.barriers.forget(Barrier::OlderCopiesReported) {
                self.reports.push(older.page);
            }
            self.older.push(older);
            if newer {
                return;
            }
        }
        ftl.paged().enter_found(key, found.page);
    }

    /// Step 5: live pages by block, and with that the pool. Blocks of metadata that turn out to be empty, which must
    /// not be erased before the copies of what may have been in flight are on flash.
    fn count<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        frozen: u64,
        translation: &TranslationPages,
        part_filled: &[bool],
    ) -> Result<Vec<Block>, FtlError> {
        const FREE: u16 = u16::MAX;
        let geometry: Geometry = *nand.geometry();
        let since: Vec<Block> = {
            let bid = &self.bid;
            let all = bid.user.iter().chain(&bid.translation).chain(&bid.gecko);
            let mut since: Vec<Block> = all.filter(|i| i.first_seq > frozen).map(|i| i.block).collect();
            since.extend(&bid.empty);
            since.sort_unstable();
            since
        };
        self.reports.sort_unstable();
        self.reports.dedup();
        let found = ftl.paged().found_pages();
        let mut pages = [self.reports.as_slice(), found.as_slice()].concat();
        pages.sort_unstable();
        pages.dedup();
        let mut stale = vec![0u16; geometry.blocks() as usize];
        let validity = &mut ftl.validity;
        let known = steps.with_io(nand, &mut ftl.blocks, |io| match validity {
            Validity::Gecko(gecko) => {
                let erased = |block: Block| since.binary_search(&block).is_ok();
                gecko.block_states(io, erased, &pages, |block, state| {
                    stale[block.index()] = if state.free { FREE } else { state.stale };
                })
            }
            _ => Vec::new(),
        });
        let is_known = |page: &Page| {
            stale[geometry.block_of(*page).index()] == FREE
                || pages.binary_search(page).is_ok_and(|at| known.get(at) == Some(&true))
        };
        // What is known to be stale is no logical page's newest, though the newest that the scan has met: it was trimmed
        // since. The translation page knows, and the block may be erased before that is asked.
        let reports = &self.reports;
        let mapping = &mut ftl.mapping;
        steps.with_io(nand, &mut ftl.blocks, |io| {
            if let Mapping::Paged(paged) = mapping {
                paged.forget_found(io, |page| is_known(&page) || reports.binary_search(&page).is_ok());
            }
        });
        self.reports.retain(|page| !is_known(page));
        for block in &self.bid.empty {
            ftl.blocks.release_now(*block);
        }
        let blocks_of = |pages: &mut dyn Iterator<Item = Page>| {
            let mut blocks: Vec<Block> = pages.map(|page| geometry.block_of(page)).collect();
            blocks.sort_unstable();
            blocks
        };
        let needed = blocks_of(&mut translation.needed());
        let fallbacks = blocks_of(&mut self.fallbacks.iter().copied());
        let hold_fallbacks = !ftl.barriers.forget(Barrier::FallbacksHeld);
        let is_fallback = |block| hold_fallbacks && fallbacks.binary_search(&block).is_ok();
        for page in &self.reports {
            stale[geometry.block_of(*page).index()] += 1;
        }
        let mut emptied = Vec::new();
        // Those written longest ago first: that is the order in which a first-in-first-out policy takes them.
        self.bid.user.sort_unstable_by_key(|information| information.first_seq);
        let written = geometry.pages_per_block() as u16;
        for information in &self.bid.user {
            let block = information.block;
            let stale = stale[block.index()];
            if stale < written {
                ftl.blocks.counters.set(block, written - stale);
                ftl.blocks.close(block, 0);
                ftl.hear_news(nand, steps.now)?;
            } else if is_fallback(block) {
                emptied.push(block);
                self.freed.push(block);
            } else {
                ftl.blocks.release_now(block);
                if stale != FREE {
                    self.freed.push(block);
                }
            }
        }
        let of = |list: &[BlockInformation], stream: u8| list.iter().map(|i| (i.block, stream)).collect::<Vec<_>>();
        let metadata =
            [of(&self.bid.translation, ftl.streams.mapping), of(&self.bid.gecko, ftl.streams.validity)].concat();
        for (block, stream) in metadata {
            if ftl.blocks.counters.live(block) > 0 {
                if part_filled[block.index()] && !ftl.barriers.forget(Barrier::PartFilledCollected) {
                    ftl.blocks.close_part_filled(block, stream);
                } else {
                    ftl.blocks.close(block, stream);
                }
                ftl.hear_news(nand, steps.now)?;
            } else if needed.binary_search(&block).is_ok() {
                ftl.blocks.hold(block, stream);
            } else if is_fallback(block) {
                emptied.push(block);
            } else {
                ftl.blocks.release_now(block);
            }
        }
        // Free blocks need no reports, and may be written anew before Gecko would hear of them.
        self.reports.retain(|page| ftl.blocks.is_in_use(geometry.block_of(*page)));
        ftl.blocks.counters.may_be_low = true;
        Ok(emptied)
    }

    /// What may have been in flight goes to fresh pages, before anything is written that rests on it.
    fn copy_suspects<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        emptied: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if ftl.barriers.forget(Barrier::SuspectsCopied) {
            return Ok(());
        }
        let suspects = |kind| -> Vec<Page> {
            self.suspect_metadata.iter().filter(|found| found.spare.kind == kind).map(|found| found.page).collect()
        };
        ftl.let_go_if_out_of_blocks(emptied);
        let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.validity, Purpose::Recovery, steps.now);
        if let Validity::Gecko(gecko) = &mut ftl.validity {
            gecko.copy_pages(io, &suspects(Kind::Gecko))?;
        }
        steps.count(io);
        ftl.let_go_if_out_of_blocks(emptied);
        let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.mapping, Purpose::Recovery, steps.now);
        if let Mapping::Paged(paged) = &mut ftl.mapping {
            paged.copy_pages(io, &suspects(Kind::Translation))?;
        }
        steps.count(io);
        // Chosen before the first copy is written: copies go to blocks where stale suspects stood.
        self.suspects.retain(|suspect| {
            let Found { page, spare } = suspect.found;
            spare.kind == Kind::User && ftl.paged().found(LogicalPage(spare.key)) == Some(Place::At(page))
        });
        for suspect in &self.suspects {
            let Found { page, spare } = suspect.found;
            let key = LogicalPage(spare.key);
            // A copy looks newer than any trim: whether there was one is asked first.
            let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.mapping, Purpose::Recovery, steps.now);
            ftl.mapping.make_sure(io, key, &mut ftl.before);
            steps.count(io);
            if ftl.paged().found(key) != Some(Place::At(page)) {
                continue;
            }
            ftl.let_go_if_out_of_blocks(emptied);
            let content = suspect.data.content();
            let copy =
                NewPage { kind: Kind::User, key: key.0, version: spare.version, content, data_crc: spare.data_crc };
            let stream = ftl.placement.host();
            let (to, safe) = ftl.blocks.append(nand, stream, RECOVERY_STREAM, &copy, Purpose::Recovery, steps.now)?;
            steps.step.programs += 1;
            steps.now = steps.now.max(safe);
            ftl.paged().copied(key, to);
            ftl.before.push(page);
        }
        Ok(())
    }

    /// Tells Gecko of free blocks: the next recovery takes them for written otherwise. Those that were written anew it has
    /// heard of.
    fn tell_of_freed<N: Nand>(&self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps) -> Result<(), FtlError> {
        ftl.hear_news(nand, steps.now)?;
        for block in &self.freed {
            if !ftl.blocks.is_in_use(*block) {
                let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.validity, Purpose::Recovery, steps.now);
                ftl.validity.freed(io, *block)?;
                steps.count(io);
            }
        }
        ftl.hear_news(nand, steps.now)
    }

    /// Appendix C.2: the buffer is what it was, and more; and the entries for which there was no room.
    fn write_down<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        frozen: u64,
    ) -> Result<(), FtlError> {
        let mut suspects = core::mem::take(&mut ftl.before);
        if frozen > 0 {
            let bid = &self.bid;
            let all = bid.user.iter().chain(&bid.translation).chain(&bid.gecko);
            for block in all.filter(|i| i.first_seq > frozen).map(|i| i.block) {
                let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.validity, Purpose::Recovery, steps.now);
                ftl.validity.erased(io, block)?;
                steps.count(io);
            }
        }
        ftl.hear_news(nand, steps.now)?;
        for page in self.reports.drain(..) {
            let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.validity, Purpose::Recovery, steps.now);
            ftl.validity.invalidate(io, page)?;
            steps.count(io);
            ftl.hear_news(nand, steps.now)?;
        }
        ftl.before.append(&mut suspects);
        ftl.settle(nand, steps.now)?;
        let mut more = true;
        while more {
            let io = &mut MetaIo::new(nand, &mut ftl.blocks, ftl.streams.mapping, Purpose::Recovery, steps.now);
            if let Mapping::Paged(paged) = &mut ftl.mapping {
                more = paged.synchronize_overflow(io, &mut ftl.before)?;
            }
            steps.count(io);
            ftl.settle(nand, steps.now)?;
        }
        Ok(())
    }
}

/// What the synchronization that made `version` out of `before` replaced, as far as it is the same page still: stale.
fn stale_by<N: Nand>(
    ftl: &mut PageMapped,
    nand: &mut N,
    steps: &mut Steps,
    part: u32,
    before: Option<Version>,
    version: &Version,
) -> Vec<Page> {
    let Some(before) = before else { return Vec::new() };
    let mut read =
        |page| steps.with_io(nand, &mut ftl.blocks, |io| io.read(page, Kind::Translation, part).map(<[u8]>::to_vec));
    let (Some(older), Some(newer)) = (read(before.page), read(version.page)) else { return Vec::new() };
    let mut differing: Vec<(LogicalPage, Page)> = ftl.paged().differing(part, &older, &newer).collect();
    let by_key_alone = ftl.barriers.forget(Barrier::SeqBeforeSynchronization);
    differing.retain(|(key, page)| match steps.read_spare(nand, *page) {
        SpareRead::Written(spare) if spare.kind == Kind::User && spare.key == key.0 => {
            spare.seq < version.synchronized || by_key_alone
        }
        _ => false,
    });
    differing.into_iter().map(|(_, page)| page).collect()
}
