//! The flash itself: every operation of [`Nand`] as reads and writes of the file.

use super::header::Header;
use super::layout::{Layout, header_at};
use super::plug::FaultPlan;
use super::record::{Bytes, PageRecord, PageState, RECORD_BYTES, Read, SlotRecord, mark_of};
use super::{AnyStorage, Durability, ImageError, RollBack, Storage};
use phelsuma_ftl::Config;
use phelsuma_nand::{
    Block, Content, EraseError, FlashStats, Geometry, Nand, Op, Page, PageRead, ProgramError, Spare, SpareRead, Time,
};
use std::collections::VecDeque;

/// Operations on the file since the image was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileCounts {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// `fdatasync`s: those of [`ImageNand::sync`], and all others.
    pub syncs: u64,
    /// Those of them that were needed to use slots of the file again.
    pub syncs_for_slots: u64,
}

/// The block is marked bad.
pub(super) const BAD: u8 = 1;
/// An erase was torn: programs fail until the block is erased again.
pub(super) const DIRTY: u8 = 2;
/// Some page of the block has another state than sound.
pub(super) const ODD: u8 = 4;

/// The block's page records have not been looked at yet.
pub(super) const UNKNOWN: u16 = u16::MAX;

/// Operations after which a header is written without a request for one.
const HEADER_EVERY: u64 = 1 << 31;

/// The state of a block in memory: 24 bytes. There is none of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockState {
    /// The number of the erase that began it; 0 for none.
    pub(super) begun: u64,
    /// Where in the file it stands.
    pub(super) slot: u32,
    pub(super) erases: u32,
    /// The next page that can be programmed, or [`UNKNOWN`].
    pub(super) next: u16,
    pub(super) flags: u8,
}

/// Why nothing is done any more.
#[derive(Debug)]
pub(super) enum Off {
    /// A fault plan has pulled the plug.
    Plug,
    /// It was closed cleanly.
    Closed,
    /// The file cannot be written.
    Failed(ImageError),
}

/// An operation was not done, for the image is off.
pub(super) struct Stopped;

/// A chip set in a file. It keeps every rule of [`Nand`] as [`SimNand`](phelsuma_nand::SimNand) does, but has no clock:
/// operations are done when their calls return. It does not depend on FTLs, but carries a description for them.
///
/// A program is two writes, a read two reads, a spare area one read; a spare area of the block looked at last is none.
///
/// **When it is off.** A fault plan that has come to its operation, or a file that cannot be written, puts the image
/// off. Nothing is done any more. Programs and erases are refused as if there were no such page or block. (An FTL gives
/// up at that, and does not retire a block for it.) Reads give [`PageRead::Unreadable`]. The server checks
/// [`ImageNand::is_off`] after each request, *before* it acknowledges, and drops the FTL.
pub struct ImageNand<S: Storage = AnyStorage> {
    pub(super) storage: S,
    pub(super) layout: Layout,
    /// As it was written last; `header.synced` is what its copy on disk says, or will.
    pub(super) header: Header,
    /// The largest `synced` of a header that is surely on disk.
    pub(super) synced_on_disk: u64,
    pub(super) durability: Durability,
    /// The number of the last operation.
    pub(super) number: u64,
    /// Whether something was written since the last `fdatasync`.
    pub(super) unsynced: bool,
    pub(super) blocks: Vec<BlockState>,
    /// Slots that may be written.
    pub(super) free: VecDeque<u32>,
    /// Slots that a crash may fall back to, each with the number of the erase that has left it; in their order.
    pub(super) left: VecDeque<(u32, u64)>,
    pub(super) page: Box<[u8]>,
    /// The page records of the block looked at last.
    pub(super) run: Box<[u8]>,
    pub(super) run_of: Option<Block>,
    pub(super) stats: FlashStats,
    pub(super) counts: FileCounts,
    pub(super) operations: u64,
    pub(super) plan: Option<FaultPlan>,
    pub(super) off: Option<Off>,
    pub(super) rolled_back: Option<RollBack>,
    #[cfg(test)]
    pub(super) forgets: super::tests::Forgets,
}

impl<S: Storage> ImageNand<S> {
    /// The configuration that the drive was formatted with, for [`phelsuma_ftl::recover`].
    pub fn config(&self) -> &Config {
        &self.header.config
    }

    /// The failures that a flushed write survives.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// How often the image was opened to be written, this time included.
    pub fn session(&self) -> u32 {
        self.header.session
    }

    /// The operations that were undone when it was opened; none where it had been closed cleanly.
    pub fn rolled_back(&self) -> Option<&RollBack> {
        self.rolled_back.as_ref()
    }

    /// Operations of the FTL by purpose since it was opened.
    pub fn stats(&self) -> &FlashStats {
        &self.stats
    }

    /// Operations on the file since it was opened.
    pub fn file_counts(&self) -> FileCounts {
        self.counts
    }

    /// Programs and erases begun since it was opened: the numbers of a [`FaultPlan`].
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Slots of the file beyond one for each block.
    pub fn spare_slots(&self) -> u32 {
        self.layout.slots - self.layout.blocks
    }

    /// Bytes of the file, holes included.
    pub fn file_bytes(&self) -> u64 {
        self.layout.file_bytes
    }

    /// Host memory that it takes, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        let slots = self.free.capacity() * size_of::<u32>() + self.left.capacity() * size_of::<(u32, u64)>();
        let blocks = self.blocks.capacity() * size_of::<BlockState>();
        (blocks + slots + self.page.len() + self.run.len()) as u64
    }

    /// How often `block` was erased; 0 for one that is not there.
    pub fn erases_of(&self, block: Block) -> u32 {
        self.blocks.get(block.index()).map_or(0, |state| state.erases)
    }

    /// Whether nothing is done any more; see the type's documentation.
    pub fn is_off(&self) -> bool {
        self.off.is_some()
    }

    /// Why it is off, where that was not the plug.
    pub fn failure(&self) -> Option<&ImageError> {
        match &self.off {
            Some(Off::Failed(error)) => Some(error),
            Some(Off::Plug | Off::Closed) | None => None,
        }
    }

    /// Makes every operation so far durable, as [`Durability`] says. A host's flush calls it after
    /// [`Ftl::flush`](phelsuma_ftl::Ftl::flush) has returned. So does a write that is to be durable at once, after
    /// `write` has.
    ///
    /// # Errors
    /// [`ImageError::Io`]: operations since the last time may be lost, and the image is off from now on. An image that
    /// is off says why; one whose plug was pulled has nothing to complain of.
    pub fn sync(&mut self) -> Result<(), ImageError> {
        if self.off.is_none() {
            let _ = self.synchronize();
        }
        match &self.off {
            Some(Off::Failed(error)) => Err(again(error)),
            Some(Off::Plug | Off::Closed) | None => Ok(()),
        }
    }

    /// Closes the image in good order and gives back its storage. One that is off is left as it is.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn close(mut self) -> Result<S, ImageError> {
        self.finish();
        match self.off {
            Some(Off::Failed(error)) => Err(error),
            Some(Off::Plug | Off::Closed) | None => Ok(self.storage),
        }
    }

    /// As [`ImageNand::close`], for a caller that keeps the rest: it is off then, and says so.
    pub(crate) fn finish(&mut self) {
        if self.off.is_some() {
            return;
        }
        self.durability = Durability::Flush;
        if self.synchronize().is_ok() {
            self.header.clean = true;
            self.header.synced = self.number;
            if self.write_header().and_then(|()| self.fdatasync()).is_ok() {
                self.off = Some(Off::Closed);
            }
        }
    }

    /// Its storage, as a process that dies leaves it.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The image is off from now on.
    #[cold]
    pub(super) fn fail(&mut self, error: ImageError) -> Stopped {
        if self.off.is_none() {
            self.off = Some(Off::Failed(error));
        }
        Stopped
    }

    #[inline]
    pub(super) fn write(&mut self, doing: &'static str, at: u64, bytes: &[u8]) -> Result<(), Stopped> {
        self.counts.writes += 1;
        self.counts.written_bytes += bytes.len() as u64;
        self.unsynced = true;
        match self.storage.write_at(at, bytes) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail(ImageError::io(doing)(error))),
        }
    }

    fn fdatasync(&mut self) -> Result<(), Stopped> {
        if self.durability == Durability::Process {
            return Ok(());
        }
        self.counts.syncs += 1;
        match self.storage.sync() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail(ImageError::io("making the image durable")(error))),
        }
    }

    /// Writes the header over its older copy.
    pub(super) fn write_header(&mut self) -> Result<(), Stopped> {
        self.header.sequence += 1;
        let at = header_at(self.header.sequence);
        #[cfg(test)]
        let at = if self.forgets.other_header { header_at(0) } else { at };
        match self.header.encode() {
            Ok(bytes) => self.write("writing the image's header", at, bytes.as_slice()),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// One `fdatasync`. With it everything is durable that was written before, the last header included. So slots that
    /// were left by erases up to that header's `synced` can be used again. Then the next header is written, which will
    /// be durable the next time.
    pub(super) fn synchronize(&mut self) -> Result<(), Stopped> {
        if !self.unsynced {
            return Ok(());
        }
        self.fdatasync()?;
        self.unsynced = false;
        self.synced_on_disk = self.header.synced;
        #[cfg(test)]
        if self.forgets.header_on_disk {
            self.synced_on_disk = self.number;
        }
        while let Some((slot, _)) = self.left.front().filter(|(_, by)| *by <= self.synced_on_disk) {
            self.free.push_back(*slot);
            self.left.pop_front();
        }
        if self.header.synced < self.number {
            self.header.synced = self.number;
            self.write_header()?;
        }
        Ok(())
    }

    /// A slot that may be written.
    fn free_slot(&mut self) -> Result<u32, Stopped> {
        #[cfg(test)]
        if self.forgets.slots_wait
            && let Some((slot, _)) = self.left.pop_front()
        {
            return Ok(slot);
        }
        // Once for the erases themselves, once for the header that says so: there is a slot after two rounds.
        for _ in 0..3 {
            if let Some(slot) = self.free.pop_front() {
                return Ok(slot);
            }
            let before = self.counts.syncs;
            self.synchronize()?;
            self.counts.syncs_for_slots += self.counts.syncs - before;
        }
        Err(self.fail(ImageError::Damaged("no slot of the file is free".to_string())))
    }

    /// Reads the page records of a block, and takes from them what is not in memory yet.
    pub(super) fn look_at(&mut self, block: Block) -> Option<()> {
        let state = self.blocks[block.index()];
        if self.run_of != Some(block) {
            self.run_of = None;
            self.counts.reads += 1;
            self.storage.read_at(self.layout.page_at(state.slot, 0), &mut self.run).ok()?;
            self.run_of = Some(block);
        }
        if state.next == UNKNOWN {
            let (mut next, mut flags) = (0, state.flags);
            for index in 0..self.header.geometry.pages_per_block() {
                let index = index as u16;
                next = match self.record_in_run(block, index.into()) {
                    Read::Is(record) if record.state != PageState::Sound => {
                        flags |= ODD;
                        match record.state {
                            // The remains of a torn erase on a page that was blank.
                            _ if record.number == 0 => next,
                            // A page that a torn program has left so can still be programmed; one of a torn erase
                            // cannot.
                            PageState::LooksErased if state.flags & DIRTY == 0 => index,
                            _ => index + 1,
                        }
                    }
                    Read::Is(_) => index + 1,
                    Read::Bad => {
                        flags |= ODD;
                        index + 1
                    }
                    Read::Blank => next,
                };
            }
            self.blocks[block.index()].next = next;
            self.blocks[block.index()].flags = flags;
        }
        Some(())
    }

    /// The state of a block whose next page is known; none where the file does not say.
    #[inline]
    pub(super) fn known(&mut self, block: Block) -> Option<BlockState> {
        if self.blocks[block.index()].next == UNKNOWN {
            self.look_at(block)?;
        }
        Some(self.blocks[block.index()])
    }

    /// A record of the block looked at; one that its last erase has made void is blank.
    #[inline]
    fn record_in_run(&self, block: Block, index: u32) -> Read<PageRecord> {
        let at = index as usize * RECORD_BYTES;
        let mut bytes = [0; RECORD_BYTES];
        bytes.copy_from_slice(&self.run[at..at + RECORD_BYTES]);
        self.current(block, index, &bytes)
    }

    #[inline]
    fn current(&self, block: Block, index: u32, bytes: &Bytes) -> Read<PageRecord> {
        let state = &self.blocks[block.index()];
        match PageRecord::decode(bytes, self.layout.place(state.slot, index)) {
            Read::Is(record) if record.begun != state.begun => Read::Blank,
            other => other,
        }
    }

    /// A page's record, from the file if need be.
    #[inline]
    pub(super) fn record(&mut self, block: Block, index: u32) -> Read<PageRecord> {
        if self.run_of == Some(block) {
            return self.record_in_run(block, index);
        }
        let mut bytes = [0; RECORD_BYTES];
        self.counts.reads += 1;
        match self.storage.read_at(self.layout.page_at(self.blocks[block.index()].slot, index), &mut bytes) {
            Ok(()) => self.current(block, index, &bytes),
            Err(_) => Read::Bad,
        }
    }

    /// Writes a page's record.
    #[inline]
    pub(super) fn put_record(&mut self, block: Block, index: u32, record: &PageRecord) -> Result<(), Stopped> {
        let slot = self.blocks[block.index()].slot;
        let bytes = record.encode(self.layout.place(slot, index));
        self.write("writing a page's record", self.layout.page_at(slot, index), &bytes)?;
        if self.run_of == Some(block) {
            let at = index as usize * RECORD_BYTES;
            self.run[at..at + RECORD_BYTES].copy_from_slice(&bytes);
        }
        if record.state != PageState::Sound {
            self.blocks[block.index()].flags |= ODD;
        }
        Ok(())
    }

    /// Writes a page's data, and then its record under the next number.
    #[inline]
    pub(super) fn put_page(
        &mut self,
        block: Block,
        index: u32,
        content: Content<'_>,
        spare: &Spare,
        state: PageState,
    ) -> Result<(), Stopped> {
        let at = self.layout.data_at(self.blocks[block.index()].slot, index);
        let hollow = matches!(content, Content::Hollow(_));
        let data_crc = match content {
            Content::Bytes(bytes) => {
                self.write("writing a page", at, bytes)?;
                // Not the spare area's: that is the FTL's affair, and may be wrong on purpose.
                crc32fast::hash(bytes)
            }
            Content::Hollow(_) => {
                let mut page = core::mem::take(&mut self.page);
                content.copy_to(&mut page);
                let (written, crc) = (self.write("writing a page", at, &page), crc32fast::hash(&page));
                self.page = page;
                written?;
                crc
            }
        };
        let (number, begun) = (self.number + 1, self.blocks[block.index()].begun);
        let session = self.header.session;
        let record = PageRecord { spare: Some(*spare), number, begun, state, hollow, session, data_crc };
        self.put_record(block, index, &record)?;
        self.number = number;
        Ok(())
    }

    /// Whether a page that was left unstable has let go by now.
    fn has_let_go(&self, record: &PageRecord) -> bool {
        let unstable = matches!(record.state, PageState::Unstable | PageState::UnstableOnce);
        unstable && self.header.session > record.session.saturating_add(1)
    }

    /// The record of a page that holds something, or the result of a read of it.
    #[inline]
    fn look(&mut self, page: Page, whole_run: bool) -> Result<(Block, u32, PageRecord, Spare), SpareRead> {
        let (block, index) = (self.header.geometry.block_of(page), self.header.geometry.index_of(page));
        let state = self.known(block).ok_or(SpareRead::Unreadable)?;
        if index >= u32::from(state.next) && state.flags & ODD == 0 {
            return Err(SpareRead::Erased);
        }
        if whole_run {
            // Spare areas are read block by block.
            self.look_at(block).ok_or(SpareRead::Unreadable)?;
        }
        match self.record(block, index) {
            Read::Blank => Err(SpareRead::Erased),
            Read::Bad => Err(SpareRead::Unreadable),
            Read::Is(record) if record.state == PageState::LooksErased => Err(SpareRead::Erased),
            Read::Is(record) if !record.state.holds_data() || self.has_let_go(&record) => Err(SpareRead::Unreadable),
            Read::Is(record) => match record.spare {
                Some(spare) => Ok((block, index, record, spare)),
                None => Err(SpareRead::Unreadable),
            },
        }
    }

    /// The rules of programs, in the order in which [`SimNand`](phelsuma_nand::SimNand) checks them. The page's block
    /// and index on success.
    #[inline]
    fn may_program(&mut self, page: Page, content: Content<'_>) -> Result<(Block, u32), ProgramError> {
        let geometry = &self.header.geometry;
        if self.off.is_some() || !geometry.contains(page) {
            return Err(ProgramError::NoSuchPage(page));
        }
        if let Content::Bytes(bytes) = content
            && bytes.len() != geometry.page_bytes() as usize
        {
            return Err(ProgramError::Length { given: bytes.len(), page: geometry.page_bytes() as usize });
        }
        let (block, index) = (geometry.block_of(page), geometry.index_of(page));
        if self.blocks[block.index()].flags & BAD != 0 {
            return Err(ProgramError::Bad(block));
        }
        let state = self.known(block).ok_or(ProgramError::Failed(page))?;
        if state.flags & DIRTY != 0 {
            return Err(ProgramError::Failed(page));
        }
        if index < u32::from(state.next) {
            return Err(match self.record(block, index) {
                Read::Blank => ProgramError::OutOfOrder(page),
                Read::Is(_) | Read::Bad => ProgramError::NotErased(page),
            });
        }
        Ok((block, index))
    }

    /// A program after a torn erase: as a simulated chip does, it leaves nothing readable in even blocks, and in odd
    /// ones the data to be written.
    #[cold]
    fn fail_program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<(), Stopped> {
        let (block, index) = (self.header.geometry.block_of(page), self.header.geometry.index_of(page));
        let Some(state) = self.known(block) else { return Ok(()) };
        self.stats.of_mut(op.purpose).programs += 1;
        if index >= u32::from(state.next) {
            let became = if block.0 % 2 == 1 { PageState::Sound } else { PageState::Unreadable };
            self.put_page(block, index, content, spare, became)?;
            self.blocks[block.index()].next = index as u16 + 1;
        }
        Ok(())
    }

    /// Gives a block another slot, in which all pages are blank.
    pub(super) fn give_slot(&mut self, block: Block, dirty: bool) -> Result<(), Stopped> {
        // No more operations follow a header than numbers skip ahead after a crash.
        if self.number - self.header.synced > HEADER_EVERY {
            self.synchronize()?;
        }
        let slot = self.free_slot()?;
        let before = self.blocks[block.index()];
        let (begun, erases) = (self.number + 1, before.erases.saturating_add(1));
        let record = SlotRecord { block: block.0, begun, erases, dirty };
        self.write("writing a slot's record", self.layout.slot_at(slot), &record.encode(slot))?;
        self.number = begun;
        self.left.push_back((before.slot, begun));
        let flags = before.flags & BAD | if dirty { DIRTY } else { 0 };
        self.blocks[block.index()] = BlockState { begun, slot, erases, next: 0, flags };
        if self.run_of == Some(block) {
            self.run_of = None;
        }
        Ok(())
    }

    fn mark(&mut self, block: Block) -> Result<(), Stopped> {
        // A bad block is not read by a recovery, and a mark is never undone: the operations that the mark rests on come
        // first.
        self.synchronize()?;
        self.write("marking a block bad", self.layout.mark_at(block.0), &mark_of(block.0))?;
        self.blocks[block.index()].flags |= BAD;
        self.fdatasync()
    }
}

/// The same error once more.
fn again(error: &ImageError) -> ImageError {
    match error {
        ImageError::Io { doing, source } => ImageError::Io { doing, source: source.kind().into() },
        other => ImageError::Damaged(other.to_string()),
    }
}

impl<S: Storage> Nand for ImageNand<S> {
    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.header.geometry
    }

    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        if self.off.is_some() || !self.header.geometry.contains(page) {
            return (PageRead::Unreadable, op.at);
        }
        self.stats.of_mut(op.purpose).reads += 1;
        let (block, index, record, spare) = match self.look(page, false) {
            Ok(found) => found,
            Err(SpareRead::Erased) => return (PageRead::Erased, op.at),
            Err(_) => return (PageRead::Unreadable, op.at),
        };
        let at = self.layout.data_at(self.blocks[block.index()].slot, index);
        self.counts.reads += 1;
        // Of a page that repeats itself the beginning is enough.
        let len = if record.hollow { 8 } else { self.page.len() };
        let mut data = core::mem::take(&mut self.page);
        let read = self.storage.read_at(at, &mut data[..len]).is_ok();
        self.page = data;
        let once = record.state == PageState::UnstableOnce;
        if !read
            || once && self.put_record(block, index, &PageRecord { state: PageState::Unreadable, ..record }).is_err()
        {
            return (PageRead::Unreadable, op.at);
        }
        let content = match record.hollow {
            true => Content::Hollow(super::record::u64_at(&self.page, 0)),
            false => Content::Bytes(&self.page),
        };
        (PageRead::Written { content, spare, corrected: 0, checked: false }, op.at)
    }

    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        if self.off.is_some() || !self.header.geometry.contains(page) {
            return (SpareRead::Unreadable, op.at);
        }
        self.stats.of_mut(op.purpose).spare_reads += 1;
        let read = self.look(page, true);
        (read.map_or_else(|nothing| nothing, |(.., spare)| SpareRead::Written(spare)), op.at)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        let off = ProgramError::NoSuchPage(page);
        let (block, index) = match self.may_program(page, content) {
            Ok(place) => place,
            Err(error @ ProgramError::Failed(_)) => {
                self.fail_program(page, content, spare, op).map_err(|Stopped| off)?;
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        if self.is_met_by_plug() {
            let _ = self.cut_program(page, content, spare);
            return Err(off);
        }
        self.stats.of_mut(op.purpose).programs += 1;
        let odd = self.blocks[block.index()].flags & ODD != 0;
        // What looked erased and was not is lost.
        let ruined = odd && !matches!(self.record(block, index), Read::Blank);
        let state = if ruined { PageState::Unreadable } else { PageState::Sound };
        self.put_page(block, index, content, spare, state).map_err(|Stopped| off)?;
        self.blocks[block.index()].next = index as u16 + 1;
        Ok(op.at)
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        let off = EraseError::NoSuchBlock(block);
        if self.off.is_some() || block.0 >= self.layout.blocks {
            return Err(off);
        }
        if self.blocks[block.index()].flags & BAD != 0 {
            return Err(EraseError::Bad(block));
        }
        if self.is_met_by_plug() {
            let _ = self.cut_erase(block);
            return Err(off);
        }
        self.stats.of_mut(op.purpose).erases += 1;
        self.give_slot(block, false).map_err(|Stopped| off)?;
        Ok(op.at)
    }

    fn is_bad(&self, block: Block) -> bool {
        self.blocks.get(block.index()).is_none_or(|state| state.flags & BAD != 0)
    }

    fn mark_bad(&mut self, block: Block) {
        let good = self.blocks.get(block.index()).is_some_and(|state| state.flags & BAD == 0);
        if self.off.is_none() && good {
            // Where it fails the image is off.
            let _ = self.mark(block);
        }
    }
}
