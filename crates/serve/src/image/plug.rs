//! The plug: a fault plan stops the flash at an operation, and leaves of that what a simulated chip would.

use super::nand::{DIRTY, Off, Stopped};
use super::record::{PageRecord, PageState, Read, SlotRecord};
use super::{ImageNand, Storage};
use phelsuma_nand::sim::{EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Op, Page, PageRead, Purpose, SimNand, Spare, TIMINGS, Time};

/// When the power is to fail, and the fate of the operation that it meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultPlan {
    /// Programs and erases that are done before, counted from the opening of the image
    /// ([`ImageNand::operations`]): the next one is met.
    pub after: u64,
    /// What becomes of it if it is a program.
    pub program: ProgramFault,
    /// What becomes of it if it is an erase.
    pub erase: EraseFault,
    /// Where the fault leaves a choice.
    pub seed: u64,
}

impl<S: Storage> ImageNand<S> {
    /// The power is to fail as `plan` says, or not at all. One that lies behind is never met.
    pub fn set_fault_plan(&mut self, plan: Option<FaultPlan>) {
        self.plan = plan;
    }

    /// The power fails now, between two operations.
    pub fn pull_plug(&mut self) {
        if self.off.is_none() {
            self.off = Some(Off::Plug);
        }
    }

    /// Counts an operation; whether the plan meets it.
    #[inline]
    pub(super) fn is_met_by_plug(&mut self) -> bool {
        self.operations += 1;
        self.plan.is_some_and(|plan| plan.after + 1 == self.operations)
    }

    /// The power fails during this program. The data become what a simulated chip makes of them.
    #[cold]
    pub(super) fn cut_program(&mut self, page: Page, content: Content<'_>, spare: &Spare) -> Result<(), Stopped> {
        let Some(plan) = self.plan.filter(|plan| plan.program != ProgramFault::NotStarted) else {
            self.pull_plug();
            return Ok(());
        };
        let geometry = self.header.geometry;
        let (block, index) = (geometry.block_of(page), geometry.index_of(page));
        let state = match plan.program {
            ProgramFault::NotStarted | ProgramFault::Unacknowledged | ProgramFault::TornUnseen => PageState::Sound,
            ProgramFault::TornSeen | ProgramFault::TornSpare => PageState::Unreadable,
            ProgramFault::LooksErased => PageState::LooksErased,
            ProgramFault::Unstable => PageState::Unstable,
            ProgramFault::UnstableOnce => PageState::UnstableOnce,
        };
        // Where a page looked erased and was not, a program that is done in full ruins it.
        let ruined = plan.program == ProgramFault::Unacknowledged && !matches!(self.record(block, index), Read::Blank);
        let state = if ruined { PageState::Unreadable } else { state };
        if plan.program == ProgramFault::TornUnseen {
            let mut chip = chip(geometry.page_bytes(), 4);
            // A blank chip takes it.
            let _ = chip.cut_program(Page(0), content, spare, plan.program, plan.seed);
            if let PageRead::Written { content, .. } = chip.read(Page(0), look()).0 {
                self.put_page(block, index, content, spare, state)?;
            }
        } else {
            self.put_page(block, index, content, spare, state)?;
        }
        self.pull_plug();
        Ok(())
    }

    /// The power fails during this erase.
    #[cold]
    pub(super) fn cut_erase(&mut self, block: Block) -> Result<(), Stopped> {
        match self.plan.map(|plan| (plan.erase, plan.seed)) {
            None | Some((EraseFault::NotStarted, _)) => {}
            Some((EraseFault::Unacknowledged, _)) => self.give_slot(block, false)?,
            Some((EraseFault::UnstableErase, _)) => self.give_slot(block, true)?,
            Some((fault @ (EraseFault::PartialMixed | EraseFault::PartialFront), seed)) => {
                self.erase_in_part(block, fault, seed)?;
            }
        }
        self.pull_plug();
        Ok(())
    }

    /// Some pages are as they were, some look erased, some are unreadable: as of a simulated block that is full.
    fn erase_in_part(&mut self, block: Block, fault: EraseFault, seed: u64) -> Result<(), Stopped> {
        let pages = self.header.geometry.pages_per_block();
        let mut chip = chip(512, pages);
        for index in 0..pages {
            let page = chip.geometry().page(Block(0), index);
            let spare = Spare { kind: Kind::User, stream: 0, key: 0, version: 0, seq: 0, data_crc: 0, aux: 0 };
            let _ = chip.program(page, Content::Hollow(0), &spare, look());
        }
        let _ = chip.cut_erase(Block(0), fault, seed);
        let Some(before) = self.known(block) else { return Ok(()) };
        for index in 0..pages {
            let page = chip.geometry().page(Block(0), index);
            let state = match chip.read(page, look()).0 {
                PageRead::Erased => PageState::LooksErased,
                PageRead::Unreadable => PageState::Unreadable,
                PageRead::Written { .. } => continue,
            };
            let blank = PageRecord {
                spare: None,
                number: 0,
                begun: before.begun,
                state,
                hollow: false,
                session: self.header.session,
                data_crc: 0,
            };
            // What stays of a record keeps its number: a roll-back counts them.
            let record = match self.record(block, index) {
                Read::Is(record) => PageRecord { state, ..record },
                Read::Blank | Read::Bad => blank,
            };
            self.put_record(block, index, &record)?;
        }
        let record = SlotRecord { block: block.0, begun: before.begun, erases: before.erases, dirty: true };
        self.write("writing a slot's record", self.layout.slot_at(before.slot), &record.encode(before.slot))?;
        self.blocks[block.index()].flags |= DIRTY;
        Ok(())
    }
}

/// A small simulated chip to compare with.
fn chip(page_bytes: u32, pages_per_block: u32) -> SimNand {
    // As many pages as a block of an image has are a block of any chip, and so is a page of it.
    let shape = Geometry::new(page_bytes, pages_per_block, 4, 1, 1);
    let config = shape.map(|shape| SimConfig { tagged: true, ..SimConfig::new(shape, TIMINGS[0].2) });
    match config {
        Ok(config) => SimNand::new(&config),
        Err(error) => unreachable!("{error}"),
    }
}

fn look() -> Op {
    Op::new(Time::ZERO, Purpose::Recovery)
}
