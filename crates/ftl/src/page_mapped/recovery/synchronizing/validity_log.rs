//! What the page validity log knew that is not on flash: entries that were in its buffer when the power failed.
//!
//! GeckoFTL (section 5.3) has IB-FTL's recovery read the whole log, and is silent on these. Here they are found again,
//! because whatever makes a page stale says so elsewhere as well, in something that a recovery reads anyway:
//!
//! - A user page names in its spare area the page whose place it took. All that were written since the last flush are
//!   looked at, and until there is another flush none of their blocks is erased (`blocks/young.rs`).
//! - The entry of a trimmed page, in its translation page, names the page that was. Those that were synchronized since the
//!   last flush are read.
//! - What a page names is stale if it still holds the same logical page, and an older copy of it; or nothing that can be
//!   read.
//! - What was never written in a block, or torn, is not live.
//! - Where the last place of a page was lost with its translation page, the page that takes its place says that, and so
//!   does the entry of a trimmed one. From then on, for good, only the mapping tells what is live.
//!
//! No older version of a translation page is needed, so these may be collected like all others.

use super::found::{Candidate, FoundEntries, Translation};
use super::{Found, Gathered, Steps};
use crate::FtlError;
use crate::blocks::{BlockUse, RECOVERY_STREAM};
use crate::medium::marks::{PointsBack, SpareMarks};
use crate::page_mapped::durability::{ScanFrom, Survival, Synchronizing, YoungBlocks};
use crate::page_mapped::mapping::{PagedMapping, Place};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::recovery::blocks_information::BlockInformation;
use crate::page_mapped::recovery::last_page::Silent;
use crate::page_mapped::recovery::was_older_copy;
use crate::page_mapped::validity::{AnyValidity, Validity, ValidityScan};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Page, Purpose, SpareRead};

/// Of a block: nothing in it was live when the log was last heard of.
const FREE: u16 = u16::MAX;

/// What a recovery gathers for the log.
pub(super) struct OfLog {
    scan: ValidityScan,
    /// Pages of the log that may have been in flight; their bytes are kept where it reads them.
    pub(super) suspects: Vec<Found>,
    /// From where on it may not know all, though those turn bad.
    pub(super) heard_until: ScanFrom,
    /// Pages that are stale, and that it may not know to be.
    reports: Vec<Page>,
    /// Where the part of a block begins that is not live because it was not written.
    unwritten: Vec<Page>,
    /// Of these pages, the ones of which nothing can be read.
    silent: Vec<Silent>,
    /// Others of which nothing can be read, in front of some that can.
    unreadable: Vec<Silent>,
    /// When its last page was programmed, in program order.
    told_until: u64,
    /// Blocks of user pages of which none is live, and it does not know that: it would take them for written ones.
    freed: Vec<Block>,
    /// Blocks with user pages that were written since, with the seq of the last of them.
    young: Vec<(Block, u64)>,
    /// Bytes of what was there for a while.
    scratch: usize,
    /// Of these, ascending, the ones that must not be erased before it is told: where a page was copied by a recovery
    /// that did not come to its end, the copy says the same.
    kept: Vec<Block>,
}

/// What a recovery has to tell the log.
enum News {
    /// This page is stale.
    Stale(Page),
    /// From this page on its block was not written.
    Unwritten(Page),
    /// Nothing in this block is live.
    Freed(Block),
}

impl OfLog {
    /// What it takes in RAM.
    pub(super) fn bytes(&self) -> u64 {
        let pages = self.reports.capacity() + self.unwritten.capacity() + self.freed.capacity() + self.kept.capacity();
        (self.suspects.capacity() * size_of::<Found>()
            + self.scan.bytes()
            + pages * size_of::<Page>()
            + self.young.capacity() * size_of::<(Block, u64)>()
            + (self.silent.capacity() + self.unreadable.capacity()) * size_of::<Silent>()
            + self.scratch) as u64
    }

    /// Looks at a block of user pages, of which these can be believed: what else is in it is not live.
    pub(super) fn look_at<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        block: Block,
        pages: &[Found],
    ) {
        let geometry: Geometry = *nand.geometry();
        let end = pages.last().map_or(0, |last| geometry.index_of(last.page) + 1);
        let last_seq = pages.last().map_or(0, |last| last.spare.seq);
        let is_young = last_seq > self.heard_until.after;
        // Recoveries copy what others say as well, and their blocks may be erased: an erase that was cut.
        let says_more = is_young && pages.iter().any(|found| found.spare.stream != RECOVERY_STREAM);
        if end < geometry.pages_per_block() {
            self.silent.extend(ftl.silent_behind(nand, steps, block, pages.last()));
            let next = geometry.page(block, end);
            let is_named = match steps.read_spare(nand, next) {
                SpareRead::Written(spare) => {
                    ftl.is_named(nand, steps, &Found { page: next, spare }, |part| translation.synchronized(part))
                }
                SpareRead::Erased | SpareRead::Unreadable => false,
            };
            if is_named {
                // It may have taken a place as well.
                ftl.validity.set_damaged();
            }
            let from = end + u32::from(is_named);
            self.unwritten.extend((from < geometry.pages_per_block()).then(|| geometry.page(block, from)));
        }
        let mut readable = pages.iter().peekable();
        let mut after = 0;
        for page in (0..end).map(|index| geometry.page(block, index)) {
            if let Some(found) = readable.next_if(|found| found.page == page) {
                after = found.spare.seq;
                continue;
            }
            match steps.read_spare(nand, page) {
                // An erase that was cut has made it blank.
                SpareRead::Erased => self.reports.push(page),
                SpareRead::Unreadable => {
                    self.unreadable.push(Silent { page, after });
                    if says_more {
                        // Whose place it took nobody knows: from now on only the mapping tells what is live.
                        ftl.validity.set_damaged();
                    }
                }
                SpareRead::Written(_) => {}
            }
        }
        if is_young {
            self.young.push((block, last_seq));
        }
    }

    /// These pages are live, though nothing in them can be read: what lies behind the last of a block was not written,
    /// what lies before it is torn.
    fn leave_out(&mut self, geometry: &Geometry, named: &[Page]) {
        let (mut torn, mut unwritten) = (Vec::new(), Vec::new());
        for from in self.unwritten.drain(..) {
            let end = geometry.page(geometry.block_of(from), geometry.pages_per_block() - 1);
            let of_block = named.iter().filter(|page| (from..=end).contains(*page));
            let Some(last) = of_block.max() else {
                unwritten.push(from);
                continue;
            };
            torn.extend((from.0..last.0).map(Page).filter(|page| named.binary_search(page).is_err()));
            unwritten.extend((*last < end).then_some(Page(last.0 + 1)));
        }
        self.unwritten = unwritten;
        self.reports.extend(torn);
        self.reports.sort_unstable();
    }

    /// The last resort: blocks are let go that were kept for what their pages say.
    pub(super) fn gives_up(&self, ftl: &mut PageMapped, holding: &[Block]) {
        if holding.iter().any(|block| self.keeps(*block)) {
            ftl.validity.set_damaged();
        }
    }

    /// Blocks that must not be erased before the log has heard of what their pages say.
    pub(super) fn keeps(&self, block: Block) -> bool {
        self.kept.binary_search(&block).is_ok()
    }
}

impl Gathered {
    /// Finds the log.
    pub(super) fn scan_log<N: Nand>(&mut self, ftl: &mut PageMapped, nand: &mut N, steps: &mut Steps) {
        let (mut scan, kind) = (ValidityScan::default(), ftl.validity.kind());
        let mut suspects = Vec::new();
        for information in self.bid.validity.clone() {
            let (pages, suspect) = self.pages_of(ftl, nand, steps, information.block);
            for found in pages.iter().filter(|found| found.spare.kind == kind) {
                scan.note(found.page, &found.spare);
            }
            if let (Some(data), Some(last)) = (suspect, pages.last()) {
                suspects.push(*last);
                data.keep_for_metadata(ftl, last);
            }
        }
        let sure = scan.without(&suspects.iter().map(|found| found.page).collect::<Vec<Page>>());
        let validity = &mut ftl.validity;
        let heard_until = steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| {
            validity.restore(io, scan.clone());
            validity.heard_until(io, sure)
        });
        for page in ftl.validity.metadata_pages() {
            ftl.blocks.counters.add(ftl.blocks.geometry().block_of(page));
        }
        let (reports, unwritten, freed) = (Vec::new(), Vec::new(), Vec::new());
        let (silent, unreadable, told_until) = (Vec::new(), Vec::new(), scan.programmed_last());
        let (young, kept, scratch) = (Vec::new(), Vec::new(), 0);
        self.log = Some(OfLog {
            scan,
            suspects,
            heard_until,
            reports,
            unwritten,
            silent,
            unreadable,
            told_until,
            freed,
            young,
            scratch,
            kept,
        });
    }

    /// The pages of the log that would be needed without those that may have been in flight.
    pub(super) fn log_without_suspects<N: Nand>(
        &self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
    ) -> Vec<Page> {
        let Some(log) = self.log.as_ref().filter(|log| !log.suspects.is_empty()) else { return Vec::new() };
        let suspects: Vec<Page> = log.suspects.iter().map(|found| found.page).collect();
        let (validity, scan) = (&ftl.validity, log.scan.without(&suspects));
        steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| validity.pages_in_use(io, scan))
    }

    /// Leaves of these pages, which translation pages may have learnt of, those that the log does not know to be stale. If
    /// there are any, a trim may be lost with them, and from now on only the mapping tells what is live.
    pub(super) fn ask_log<N: Nand>(
        &self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        learnt: &mut Vec<Candidate>,
    ) {
        let AnyValidity::Log(log) = &mut ftl.validity else { return };
        learnt.sort_unstable_by_key(|candidate| candidate.page);
        let pages: Vec<Page> = learnt.iter().map(|candidate| candidate.page).collect();
        let begun = |block: Block| match self.user_since[block.index()] {
            0 => u64::MAX,
            since => since,
        };
        let known = steps
            .with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| log.block_states(io, begun, &pages, |_, _| {}));
        let mut known = known.into_iter();
        learnt.retain(|_| !known.next().unwrap_or(false));
        if !learnt.is_empty() {
            ftl.validity.set_damaged();
        }
    }

    /// Finds what was made stale since the log has heard of it.
    pub(super) fn find_stale<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        let Some(log) = &mut self.log else { return };
        let until = log.heard_until.after;
        let geometry = *nand.geometry();
        // The page, whose it must be, and that it must be older.
        let mut named: Vec<(Page, u32, u64)> = Vec::new();
        for candidates in found.by_key() {
            let mut is_news = false;
            let mut copies = None;
            for candidate in candidates {
                if is_news {
                    log.reports.push(candidate.page);
                }
                is_news |= candidate.seq > until;
                if candidate.seq > until {
                    match candidate.marks.points_back() {
                        PointsBack::Nowhere => {}
                        PointsBack::AtMislaid => ftl.validity.set_damaged(),
                        PointsBack::At(page) => named.push((page, candidate.key, candidate.seq)),
                    }
                    let says = (candidate.version, candidate.marks);
                    if copies.replace(says) != Some(says) {
                        log.kept.push(geometry.block_of(candidate.page));
                    }
                }
            }
        }
        for (part, version) in translation.newest().filter(|(_, version)| version.synchronized > until) {
            let paged = ftl.mapping.paged_mut();
            let trimmed: Vec<(u32, Option<Page>)> =
                steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| match paged {
                    Some(paged) => paged.trimmed_at(io, part, version.page).collect(),
                    None => Vec::new(),
                });
            for (key, page) in trimmed {
                match page {
                    Some(page) => named.push((page, key, version.synchronized)),
                    None => ftl.validity.set_damaged(),
                }
            }
        }
        let mut looked_at = 0;
        while let Some((page, key, before)) = named.get(looked_at).copied() {
            looked_at += 1;
            // What holds no user pages has been erased since.
            let since = match geometry.contains(page) {
                true => self.user_since[geometry.block_of(page).index()],
                false => 0,
            };
            if since == 0 {
                continue;
            }
            let read = steps.read_spare(nand, page);
            if !was_older_copy(read, key, before) {
                continue;
            }
            match read {
                // The last page of its block, and bad. That something took its place tells that it had completed.
                SpareRead::Written(spare) if spare.seq > until => {
                    let is_believed = found.candidates_of(key).iter().any(|candidate| candidate.page == page);
                    match SpareMarks::of(&spare).points_back() {
                        _ if is_believed => {}
                        PointsBack::Nowhere => {}
                        PointsBack::AtMislaid => ftl.validity.set_damaged(),
                        PointsBack::At(page) => named.push((page, key, spare.seq)),
                    }
                }
                SpareRead::Unreadable => {
                    // Its block may have been written anew since.
                    log.silent.push(ftl.silent_at(nand, steps, page));
                    // Or it has gone bad, and whose place it took nobody knows.
                    if since >= log.heard_until.oldest_open {
                        ftl.validity.set_damaged();
                    }
                }
                _ => {}
            }
            log.reports.push(page);
        }
        log.scratch = named.capacity() * size_of::<(Page, u32, u64)>();
        log.reports.sort_unstable();
        log.reports.dedup();
        log.kept.sort_unstable();
        log.kept.dedup();
    }

    /// Reads the log, as the paper charges IB-FTL's recovery with: how many pages are live in each block. What it is to
    /// be told remains.
    pub(super) fn read_log<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        let Some(log) = &mut self.log else { return };
        let geometry = *nand.geometry();
        let all = geometry.pages_per_block();
        for (_, version) in translation.newest() {
            ftl.blocks.counters.add(geometry.block_of(version.page));
        }
        let mut told = log.reports.clone();
        for from in &log.unwritten {
            let block = geometry.block_of(*from);
            told.extend((geometry.index_of(*from)..all).map(|index| geometry.page(block, index)));
        }
        told.extend(log.unreadable.iter().map(|silent| silent.page));
        // Of blocks that were not looked at as well: the log may have heard of them before the first page that can be read
        // was programmed, which counts as when the block was begun.
        let mut in_front: Vec<Silent> =
            self.bid.unreadable_in_front.iter().map(|page| Silent { page: *page, after: 0 }).collect();
        in_front.retain(|silent| !told.contains(&silent.page));
        told.extend(in_front.iter().map(|silent| silent.page));
        told.sort_unstable();
        told.dedup();
        // What is stale in each block, here and in the log, takes two bytes.
        let told_bytes = told.capacity() * (size_of::<Page>() + size_of::<bool>());
        log.scratch = log.scratch.max(told_bytes + 4 * geometry.blocks() as usize);
        let mut stale = vec![0u16; geometry.blocks() as usize];
        // All that is known of blocks without user pages is older than their last erase.
        let user_since = &self.user_since;
        let begun = |block: Block| match user_since[block.index()] {
            0 => u64::MAX,
            since => since,
        };
        let AnyValidity::Log(page_validity_log) = &mut ftl.validity else { return };
        let mut known = steps
            .with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| {
                page_validity_log.block_states(io, begun, &told, |block, state| {
                    stale[block.index()] = if state.free { FREE } else { state.stale };
                })
            })
            .into_iter();
        told.retain(|page| !known.next().unwrap_or(false) && stale[geometry.block_of(*page).index()] != FREE);
        log.silent.retain(|silent| told.binary_search(&silent.page).is_ok());
        log.unreadable.retain(|silent| told.binary_search(&silent.page).is_ok());
        in_front.retain(|silent| told.binary_search(&silent.page).is_ok());
        let versions = || translation.newest().map(|(part, version)| (part, version.page, version.synchronized));
        let overruled = |_: &PagedMapping, key: LogicalPage| found.knows(key.0);
        let named = ftl.named_among(nand, steps, &log.silent, versions(), overruled);
        if !named.is_empty() {
            log.leave_out(&geometry, &named);
            log.reports.retain(|page| named.binary_search(page).is_err());
            told.retain(|page| named.binary_search(page).is_err());
            // Whose place they took nobody knows.
            ftl.validity.set_damaged();
        }
        log.silent.retain(|silent| named.binary_search(&silent.page).is_err());
        let unreadable: Vec<Silent> = log.unreadable.iter().chain(&in_front).copied().collect();
        let named = ftl.named_among(nand, steps, &unreadable, versions(), overruled);
        told.retain(|page| named.binary_search(page).is_err());
        log.unreadable.retain(|silent| named.binary_search(&silent.page).is_err());
        in_front.retain(|silent| named.binary_search(&silent.page).is_err());
        log.reports.extend(log.unreadable.iter().chain(&in_front).map(|silent| silent.page));
        log.reports.sort_unstable();
        log.reports.dedup();
        for page in &told {
            stale[geometry.block_of(*page).index()] += 1;
        }
        let is_news = |page: &Page| told.binary_search(page).is_ok();
        log.reports.retain(is_news);
        log.unwritten.retain(|from| {
            let block = geometry.block_of(*from);
            (geometry.index_of(*from)..all).any(|index| is_news(&geometry.page(block, index)))
        });
        for BlockInformation { block, .. } in &self.user {
            let stale = stale[block.index()].min(all as u16);
            if stale < all as u16 {
                ftl.blocks.counters.set(*block, all as u16 - stale);
            }
        }
        // A page may have been reported more than once.
        ftl.blocks.counters.may_be_low = true;
        // What took the place of another, if the log has heard of that or the other's block was written anew, is older than
        // the log's last page or the block begun last.
        let begun_last = self.user.iter().map(|information| information.first_seq).max().unwrap_or(0);
        let until = log.told_until.max(begun_last);
        let took_a_place = |silent: &Silent| silent.after < until;
        if log.silent.iter().chain(&log.unreadable).any(took_a_place) {
            // Those in front of others that can be read are no torn ones.
            let completed = |silent: &Silent| took_a_place(silent) && ftl.has_completed(silent, &self.user);
            let has_gone_bad = log.unreadable.iter().any(took_a_place) || log.silent.iter().any(completed);
            self.find_dangling(ftl, nand, steps, (translation, found), has_gone_bad);
        }
    }

    /// Finds entries that name what is not there any more, because the page that took its place cannot be read: of an entry
    /// that was dirty only its page tells. What the log knows to be stale, or what stood in a block that was begun after the
    /// translation page was synchronized, is no page of an entry: it would be one of two owners, or be reported as stale
    /// once more when it is somebody else's. What the log has not heard of stays: nothing tells it from the newest page.
    ///
    /// All translation pages are read for it, and the log once more. Where a page `has_gone_bad`, and no cut can have torn
    /// it, it is also looked whether what they name has been made blank by an erase that was cut.
    fn find_dangling<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        (translation, found): (&Translation, &FoundEntries),
        has_gone_bad: bool,
    ) {
        let geometry = *nand.geometry();
        let user_since = &self.user_since;
        let mut stale: Vec<u64> = vec![0; (geometry.pages() as usize).div_ceil(64)];
        if let AnyValidity::Log(log) = &mut ftl.validity {
            let begun = |block: Block| match user_since[block.index()] {
                0 => u64::MAX,
                since => since,
            };
            steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| {
                log.stale_pages(io, begun, |page| stale[page.0 as usize / 64] |= 1 << (page.0 % 64));
            });
        }
        if let Some(log) = &mut self.log {
            log.scratch = log.scratch.max(stale.capacity() * 8);
        }
        let is_stale = |page: Page| stale[page.0 as usize / 64] >> (page.0 % 64) & 1 == 1;
        let of_found = found.all().filter(|entry| entry.page().is_some_and(is_stale));
        self.lost.extend(of_found.map(|entry| entry.key));
        for (part, version) in translation.newest() {
            let Some(bytes) = ftl.read_translation_page(nand, steps, part, version.page) else { continue };
            for key in ftl.paged().range_of(part).filter(|key| !found.knows(*key)) {
                let Place::At(page) = ftl.paged().place_in(&bytes, LogicalPage(key)) else { continue };
                let since = match geometry.contains(page) {
                    true => user_since[geometry.block_of(page).index()],
                    false => 0,
                };
                let of_key = (page, LogicalPage(key));
                if since == 0
                    || since > version.synchronized
                    || is_stale(page)
                    || has_gone_bad && ftl.holds_another(nand, steps, of_key, version.synchronized)
                {
                    self.lost.push(key);
                }
            }
        }
    }

    /// From now on blocks of user pages are noted as they are closed, and no flush says that the log has heard of
    /// everything.
    pub(super) fn begin_telling(&mut self, ftl: &mut PageMapped, geometry: &Geometry) {
        let Some(log) = &mut self.log else { return };
        // What is free now may be written anew before the log hears of it.
        let mut freed = core::mem::take(&mut log.freed);
        let mut is_news = |page: &Page| {
            let block = geometry.block_of(*page);
            let in_use = ftl.blocks.is_in_use(block);
            freed.extend((!in_use).then_some(block));
            in_use
        };
        log.reports.retain(&mut is_news);
        log.unwritten.retain(&mut is_news);
        freed.sort_unstable();
        freed.dedup();
        log.freed = freed;
        let mut young = YoungBlocks::new(geometry, ftl.blocks.barriers());
        for (block, last_seq) in log.young.iter().filter(|(block, _)| ftl.blocks.use_of(*block) == BlockUse::Closed) {
            young.closed(*block, *last_seq);
        }
        young.begin_reporting(log.heard_until);
        ftl.durability.begin(Survival::Synchronize(Synchronizing::ByLog(young)));
    }

    /// Tells the log, once the copies of what may have been in flight are safe: then the blocks that were kept for it
    /// need not be any more.
    pub(super) fn tell_log<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        kept: bool,
    ) -> Result<(), FtlError> {
        let Some(log) = &self.log else { return Ok(()) };
        ftl.hear_news(nand, steps.now)?;
        let stale = log.reports.iter().map(|page| News::Stale(*page));
        let unwritten = log.unwritten.iter().map(|page| News::Unwritten(*page));
        let freed = log.freed.iter().map(|block| News::Freed(*block));
        // What was copied is stale as well.
        let mut is_told = !self.suspects.is_empty();
        for news in stale.chain(unwritten).chain(freed) {
            if matches!(news, News::Freed(block) if ftl.blocks.is_in_use(block)) {
                continue;
            }
            ftl.gather_part_filled(nand, steps)?;
            let io = &mut MetaIo::new(
                nand,
                (&mut ftl.blocks, &mut ftl.durability),
                ftl.streams.validity,
                Purpose::Recovery,
                steps.now,
            );
            match news {
                News::Stale(page) => ftl.validity.invalidate(io, page)?,
                News::Unwritten(page) => ftl.validity.failed(io, page)?,
                News::Freed(block) => ftl.validity.freed(io, block)?,
            }
            steps.count(io);
            ftl.hear_news(nand, steps.now)?;
            is_told = true;
        }
        ftl.durability.reported();
        if is_told || kept || ftl.validity.is_damaged() || ftl.durability.wants_checkpoint(&ftl.blocks) {
            ftl.gather_part_filled(nand, steps)?;
            let io = &mut MetaIo::new(
                nand,
                (&mut ftl.blocks, &mut ftl.durability),
                ftl.streams.validity,
                Purpose::Recovery,
                steps.now,
            );
            ftl.validity.prepare_checkpoint(io)?;
            ftl.validity.checkpoint(io)?;
            steps.count(io);
            ftl.hear_news(nand, steps.now)?;
        }
        Ok(())
    }
}
