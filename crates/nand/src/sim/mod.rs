//! A simulated chip set.
//!
//! It keeps every rule of [`Nand`], answers violations with typed errors, and keeps time by dies and channels. It
//! counts operations by purpose, has listeners, and can be cut at any operation with any named fault. It does not
//! depend on FTLs, and FTLs do not depend on its inside.
//!
//! Simplified: reads disturb nothing; ECC corrects nothing by itself.

mod busy;
mod columns;
mod cut;
mod decay;
mod fault;
mod fingerprint;
mod meter;
mod odd;
mod payload;
mod readers;
mod schedule;
mod units;

pub use decay::Decay;
pub use fault::{EraseFault, ProgramFault};
pub use meter::{HostPage, Kind, Meter, Work};
pub use readers::Readers;
pub use schedule::Schedule;

use crate::state::Preserve;
use crate::{
    Action, Block, ChannelStats, Content, EraseError, Event, FlashStats, Geometry, Nand, Observer, Op, Page, PageRead,
    ProgramError, Purpose, Spare, SpareRead, Time, Timing,
};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use busy::{Busy, Span};
use columns::{BAD, Columns, DIRTY, FAILS_ERASE, FAILS_PROGRAM, ODD};
use fingerprint::Fingerprint;
use odd::OddPage;
use payload::Payload;
use units::Place;

/// The configuration of a simulated chip set.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// Its shape.
    pub geometry: Geometry,
    /// How long operations take.
    pub timing: Timing,
    /// Whether hollow pages may carry a tag other than 0 without being held as bytes (8 bytes of host memory a page).
    pub tagged: bool,
    /// Whether a fingerprint of the whole flash is kept ([`SimNand::fingerprint`]).
    pub fingerprint: bool,
    /// Program/erase cycles a block endures; the erase after the last one fails. None: forever.
    pub cycles_max: Option<u32>,
}

impl SimConfig {
    /// A chip set for plain simulation: no tags, no fingerprint, blocks that last forever.
    pub fn new(geometry: Geometry, timing: Timing) -> Self {
        Self { geometry, timing, tagged: false, fingerprint: false, cycles_max: None }
    }
}

/// A simulated chip set; see the module's documentation.
#[derive(Preserve)]
pub struct SimNand {
    geometry: Geometry,
    busy: Busy,
    columns: Columns,
    payload: Payload,
    odd: BTreeMap<u32, OddPage>,
    stats: FlashStats,
    failed_programs: u64,
    cycles_max: u32,
    fingerprint: Option<Fingerprint>,
    readers: Readers,
    /// Pages may be without the CRC of their data, which is 0 then.
    some_crcs_missing: bool,
    reads_in_vain: u64,
    /// Pages of blocks in one-bit mode, 0 of others; empty as long as none was.
    one_bit: Vec<u32>,
    #[preserve(fixed)]
    observer: Option<Box<dyn Observer>>,
}

impl Clone for SimNand {
    /// A copy that goes its own way: same flash, same clocks, same statistics, and no listener. Page data are shared
    /// until erased.
    fn clone(&self) -> Self {
        Self {
            geometry: self.geometry,
            busy: self.busy.clone(),
            columns: self.columns.clone(),
            payload: self.payload.clone(),
            odd: self.odd.clone(),
            stats: self.stats,
            failed_programs: self.failed_programs,
            cycles_max: self.cycles_max,
            fingerprint: self.fingerprint.clone(),
            readers: self.readers,
            some_crcs_missing: self.some_crcs_missing,
            reads_in_vain: self.reads_in_vain,
            one_bit: self.one_bit.clone(),
            observer: None,
        }
    }
}

impl SimNand {
    /// A blank chip set.
    pub fn new(config: &SimConfig) -> Self {
        let geometry = config.geometry;
        Self {
            geometry,
            busy: Busy::new(&geometry, config.timing),
            columns: Columns::new(&geometry),
            // The fingerprint wants every page at hand.
            payload: Payload::new(&geometry, config.tagged, !config.fingerprint),
            odd: BTreeMap::new(),
            stats: FlashStats::default(),
            failed_programs: 0,
            cycles_max: config.cycles_max.unwrap_or(u32::MAX),
            fingerprint: config.fingerprint.then(|| Fingerprint::new(geometry.blocks() as usize)),
            readers: Readers::Anyone,
            some_crcs_missing: false,
            reads_in_vain: 0,
            one_bit: Vec::new(),
            observer: None,
        }
    }

    /// How long its operations take.
    pub fn timing(&self) -> &Timing {
        self.busy.timing()
    }

    /// Operations by purpose since the chip set was made.
    pub fn stats(&self) -> &FlashStats {
        &self.stats
    }

    /// Programs that have failed since the chip set was made; [`SimNand::stats`] has them among its programs.
    pub fn failed_programs(&self) -> u64 {
        self.failed_programs
    }

    /// What each channel has done since the chip set was made.
    pub fn channel_stats(&self) -> &[ChannelStats] {
        self.busy.stats()
    }

    /// From now on it is noted which die and which channel works when ([`work_until`](Self::work_until)).
    pub fn meter(&mut self) {
        self.busy.meter();
    }

    /// Whether that is noted.
    #[inline]
    pub fn is_metered(&self) -> bool {
        self.busy.meters.is_some()
    }

    /// Counts that work from this moment on, what was accepted before and is done after it included.
    pub fn work_from(&mut self, from: Time) {
        if let Some(meters) = &mut self.busy.meters {
            meters.begin(from);
        }
    }

    /// The work up to this moment; none unless it is [noted](Self::meter).
    pub fn work_until(&self, end: Time) -> Option<Work> {
        self.busy.meters.as_ref().map(|meters| meters.until(end))
    }

    /// Of the pages with [`Purpose::Host`] since this was called before, the one that was done last; none unless it is
    /// [noted](Self::meter). A page that was buffered took no work.
    #[inline]
    pub fn take_host_page(&mut self) -> Option<HostPage> {
        self.busy.meters.as_mut().map(|meters| meters.take_last())
    }

    /// How often `block` was erased.
    pub fn erases_of(&self, block: Block) -> u32 {
        self.columns.blocks[block.index()].erases
    }

    /// A hash over everything on the flash, if the configuration has it on. Equal flash gives equal values; wear,
    /// clocks and statistics are not part of it.
    pub fn fingerprint(&self) -> Option<u128> {
        self.fingerprint.as_ref().map(Fingerprint::value)
    }

    /// Keeps no fingerprint from now on: it will not be needed.
    pub fn forget_fingerprint(&mut self) {
        self.fingerprint = None;
    }

    /// From now on these read the flash, and nobody else. A chip set begins with [`Readers::Anyone`].
    ///
    /// Programs and reads take the same time, and reads give the same data, whoever it is.
    pub fn expect(&mut self, readers: Readers) {
        self.readers = readers;
        self.some_crcs_missing |= readers < Readers::Anyone;
        if readers == Readers::Service {
            self.payload.hold_live_alone();
        }
    }

    /// How often data were read that had been let go. Where there is one such read, the readers were
    /// others than those [expected](Self::expect).
    pub fn reads_in_vain(&self) -> u64 {
        self.reads_in_vain
    }

    /// Sets the listener to every operation from now on, or none.
    pub fn observe(&mut self, observer: Option<Box<dyn Observer>>) {
        self.observer = observer;
    }

    /// Host memory that the simulation of this chip set takes, in bytes, page data apart.
    pub fn heap_bytes(&self) -> u64 {
        self.columns.heap_bytes()
            + self.payload.heap_bytes()
            + self.odd.len() as u64 * 128
            + self.one_bit.len() as u64 * 4
    }

    /// Bytes of page data held at the most (metadata; user data where they are not hollow).
    pub fn payload_bytes_peak(&self) -> u64 {
        self.payload.bytes_peak()
    }

    #[inline]
    fn tell(&mut self, action: Action, purpose: Purpose, span: Span) {
        if let Some(observer) = &mut self.observer {
            observer.observe(&Event { action, purpose, start: span.start, done: span.done });
        }
    }

    /// The rules of rule book points 1 and 2, and the chip's own mood. The page's block and index on success.
    #[inline]
    fn may_program(&self, page: Page, content: Content<'_>) -> Result<(Block, u32), ProgramError> {
        if !self.geometry.contains(page) {
            return Err(ProgramError::NoSuchPage(page));
        }
        if let Content::Bytes(bytes) = content
            && bytes.len() != self.geometry.page_bytes() as usize
        {
            return Err(ProgramError::Length { given: bytes.len(), page: self.geometry.page_bytes() as usize });
        }
        let block = self.geometry.block_of(page);
        let index = self.geometry.index_of(page);
        let state = &self.columns.blocks[block.index()];
        if state.flags & BAD != 0 {
            return Err(ProgramError::Bad(block));
        }
        if state.flags & (DIRTY | FAILS_PROGRAM) != 0 {
            return Err(ProgramError::Failed(page));
        }
        if index < u32::from(state.next) {
            let left_out = self.columns.is_left_out(block, page) && !self.odd.contains_key(&page.0);
            return Err(if left_out { ProgramError::OutOfOrder(page) } else { ProgramError::NotErased(page) });
        }
        Ok((block, index))
    }

    /// Writes a page into the columns, or beside them where it does not fit.
    #[inline]
    fn put(&mut self, page: Page, block: Block, index: u32, content: Content<'_>, spare: &Spare) {
        let state = &self.columns.blocks[block.index()];
        if state.flags & ODD != 0 {
            self.put_beside_others(page, block, index, content, spare);
            return;
        }
        let next = u32::from(state.next);
        if index != next {
            self.leave_out(block, next, index);
        }
        let fits = match content {
            Content::Hollow(tag) => self.payload.holds_hollow(tag) && content.crc() == spare.data_crc,
            Content::Bytes(_) => true,
        };
        if !fits || !self.columns.store(&self.geometry, page, spare) {
            let spare = self.with_crc(content, spare);
            self.put_odd(page, OddPage::written(content, Some(spare)));
        } else {
            match content {
                Content::Hollow(tag) => self.payload.store_hollow(page, tag),
                Content::Bytes(bytes) => {
                    self.payload.store_bytes(&self.geometry, page, spare, bytes);
                }
            }
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.toggle(block, fingerprint::written(page, content, spare));
            }
        }
        self.columns.blocks[block.index()].next = (index + 1) as u16;
    }

    #[inline]
    fn place(&self, block: Block, index: u32) -> Place {
        let die = self.geometry.die_of(block);
        let one_bit = self.one_bit.get(block.index()).copied().unwrap_or(0);
        Place { die, channel: self.geometry.channel_of(die), block: block.0, index, one_bit }
    }

    #[inline]
    fn look(&mut self, page: Page) -> Option<(Block, u32)> {
        if !self.geometry.contains(page) {
            return None;
        }
        Some((self.geometry.block_of(page), self.geometry.index_of(page)))
    }
}

impl Nand for SimNand {
    #[inline]
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        let Some((block, index)) = self.look(page) else { return (PageRead::Unreadable, op.at) };
        let span = self.busy.read(self.place(block, index), op, false);
        self.stats.of_mut(op.purpose).reads += 1;
        self.tell(Action::Read(page), op.purpose, span);
        let state = &self.columns.blocks[block.index()];
        if state.flags & ODD != 0 && self.odd.contains_key(&page.0) {
            return (self.read_odd(page), span.done);
        }
        if index >= u32::from(state.next) || self.columns.is_left_out(block, page) {
            return (PageRead::Erased, span.done);
        }
        let Some((content, crc)) = self.payload.read(page) else {
            self.reads_in_vain += 1;
            return (PageRead::Unreadable, span.done);
        };
        let checked = self.readers < Readers::Anyone;
        let crc = if crc == 0 && self.some_crcs_missing && !checked { content.crc() } else { crc };
        let spare = self.columns.spare(&self.geometry, page, crc);
        (PageRead::Written { content, spare, corrected: 0, checked }, span.done)
    }

    #[inline]
    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        let Some((block, index)) = self.look(page) else { return (SpareRead::Unreadable, op.at) };
        let span = self.busy.read(self.place(block, index), op, true);
        self.stats.of_mut(op.purpose).spare_reads += 1;
        self.tell(Action::ReadSpare(page), op.purpose, span);
        let state = &self.columns.blocks[block.index()];
        if state.flags & ODD != 0
            && let Some(odd) = self.odd.get(&page.0)
        {
            return (odd.spare_read(), span.done);
        }
        if index >= u32::from(state.next) || self.columns.is_left_out(block, page) {
            return (SpareRead::Erased, span.done);
        }
        let mut crc = self.payload.crc(page);
        if crc == 0 && self.some_crcs_missing && self.readers == Readers::Anyone && self.payload.has_bytes(page) {
            crc = self.payload.read(page).map_or(0, |(content, _)| content.crc());
        }
        (SpareRead::Written(self.columns.spare(&self.geometry, page, crc)), span.done)
    }

    #[inline]
    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        let (block, index) = match self.may_program(page, content) {
            Ok(place) => place,
            Err(error) => {
                if let ProgramError::Failed(_) = error {
                    self.failed_programs += 1;
                    self.fail_program(page, content, spare, op);
                }
                return Err(error);
            }
        };
        let place = self.place(block, index);
        if place.one_bit > 0 && index >= place.one_bit {
            return Err(ProgramError::NoSuchPage(page));
        }
        let span = self.busy.program(place, op);
        self.stats.of_mut(op.purpose).programs += 1;
        if let Some(observer) = &mut self.observer {
            let action = Action::Program(page);
            observer.observe(&Event { action, purpose: op.purpose, start: span.start, done: span.done });
            observer.programmed(page, spare, op.purpose);
        }
        self.put(page, block, index, content, spare);
        Ok(span.done)
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        if block.0 >= self.geometry.blocks() {
            return Err(EraseError::NoSuchBlock(block));
        }
        let state = &self.columns.blocks[block.index()];
        if state.flags & BAD != 0 {
            return Err(EraseError::Bad(block));
        }
        let span = self.busy.erase(self.place(block, 0), op);
        self.stats.of_mut(op.purpose).erases += 1;
        self.tell(Action::Erase(block), op.purpose, span);
        let state = &self.columns.blocks[block.index()];
        if state.flags & FAILS_ERASE != 0 || state.erases >= self.cycles_max {
            return Err(EraseError::Failed(block));
        }
        self.wipe(block);
        Ok(span.done)
    }

    fn set_one_bit(&mut self, block: Block, pages: Option<u32>) {
        if pages.is_some() && self.one_bit.is_empty() {
            self.one_bit = vec![0; self.geometry.blocks() as usize];
        }
        if let Some(of_block) = self.one_bit.get_mut(block.index()) {
            *of_block = pages.unwrap_or(0);
        }
    }

    fn is_bad(&self, block: Block) -> bool {
        self.columns.blocks.get(block.index()).is_none_or(|b| b.flags & BAD != 0)
    }

    fn mark_bad(&mut self, block: Block) {
        if self.columns.blocks.get(block.index()).is_some_and(|b| b.flags & BAD == 0) {
            self.mark(block, BAD);
        }
    }

    #[inline]
    fn crc(&self, content: Content<'_>) -> u32 {
        match content {
            Content::Bytes(_) if self.readers < Readers::Anyone => 0,
            _ => content.crc(),
        }
    }

    #[inline]
    fn stale(&mut self, page: Page) {
        if self.readers == Readers::Service {
            self.payload.stale(page);
        }
    }

    fn warm(&self, pages: &[Page]) {
        let on_chip = |page: &&Page| self.geometry.contains(**page);
        let spares = pages.iter().filter(on_chip).map(|page| self.columns.touch(&self.geometry, *page));
        core::hint::black_box(spares.fold(0, u32::wrapping_add));
        self.payload.warm(pages);
    }
}
