//! A chip set whose power can be cut.
//!
//! Before every program and erase its owner may take a copy of the flash and decide the fate of the operations in
//! flight.
//!
//! The FTL declares which operations are in flight together. An operation may overlap every earlier one whose
//! completion its own [`Op::at`] does not wait for. A die works in order. So of a die's operations a first part is
//! done, at most one is torn, and the rest has not begun.

use super::model::Expectation;
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{
    Block, Content, EraseError, Geometry, Nand, Op, Page, PageRead, ProgramError, SimNand, Spare, SpareRead, Time,
};
use std::sync::{Arc, Mutex, PoisonError};

/// A program or an erase, by value.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Program { page: Page, content: Held, spare: Spare },
    Erase { block: Block },
}

/// Data by value.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Hollow(u64),
    Bytes(Vec<u8>),
}

impl Held {
    fn of(content: Content<'_>) -> Self {
        match content {
            Content::Hollow(tag) => Self::Hollow(tag),
            Content::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    fn content(&self) -> Content<'_> {
        match self {
            Self::Hollow(tag) => Content::Hollow(*tag),
            Self::Bytes(bytes) => Content::Bytes(bytes),
        }
    }
}

impl Change {
    pub(crate) fn is_program(&self) -> bool {
        matches!(self, Self::Program { .. })
    }

    /// Does it to `flash` as a power cut with this fault leaves it.
    pub(crate) fn cut(&self, flash: &mut SimNand, program: ProgramFault, erase: EraseFault, seed: u64) {
        // An operation that the chip refuses changes nothing, and the FTL gets the error when it gets there itself.
        match self {
            Self::Program { page, content, spare } => {
                let _ = flash.cut_program(*page, content.content(), spare, program, seed);
            }
            Self::Erase { block } => {
                let _ = flash.cut_erase(*block, erase, seed);
            }
        }
    }

    pub(crate) fn complete(&self, flash: &mut SimNand) {
        self.cut(flash, ProgramFault::Unacknowledged, EraseFault::Unacknowledged, 0);
    }
}

/// An operation that may still be in flight.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) change: Change,
    pub(crate) die: u32,
    pub(crate) at: Time,
    pub(crate) done: Time,
}

/// A moment at which the power can fail: an operation is about to begin.
pub(crate) struct CutPoint<'a> {
    /// Which program or erase it is, counted from 0 since the drive was formatted, or mounted after a cut.
    pub(crate) operation: u32,
    /// The flash with everything that is surely done.
    pub(crate) flash: &'a SimNand,
    /// Operations on other dies that may overlap this one, in the order of their calls.
    pub(crate) beside: &'a [InFlight],
    /// The operation.
    pub(crate) change: &'a Change,
    /// The host's expectations.
    pub(crate) expectation: &'a Expectation,
}

/// The flash as a cut has left it, once the power has failed. Later operations on the drive are of no interest.
#[derive(Default)]
pub(crate) struct CutFlash(Arc<Mutex<Option<SimNand>>>);

impl CutFlash {
    pub(crate) fn take(&self) -> Option<SimNand> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Who looks at every cut point.
pub(crate) type Watcher = Box<dyn FnMut(&CutPoint<'_>) + Send>;

/// A simulated chip set with a plug. To an FTL it is a [`Nand`] and nothing else.
pub struct CutNand {
    /// As the FTL sees it.
    pub(crate) sim: SimNand,
    /// As far as it is surely done; only kept on drives of several dies, on others it is `sim`.
    settled: Option<SimNand>,
    in_flight: Vec<InFlight>,
    last_programmed: Option<Block>,
    pub(crate) operations: u32,
    /// This one fails.
    fails: Option<u32>,
    watcher: Option<Watcher>,
    /// The host's expectations, should the power fail now.
    pub(crate) expectation: Expectation,
}

impl CutNand {
    pub(crate) fn new(sim: SimNand, expectation: Expectation) -> Self {
        Self {
            sim,
            settled: None,
            in_flight: Vec::new(),
            last_programmed: None,
            operations: 0,
            fails: None,
            watcher: None,
            expectation,
        }
    }

    /// Has every cut point from now on looked at. The next operation is the one with this number.
    pub(crate) fn watch(&mut self, watcher: Watcher, operations: u32) {
        self.settled = (self.sim.geometry().dies() > 1).then(|| self.sim.clone());
        self.in_flight.clear();
        self.operations = operations;
        self.watcher = Some(watcher);
    }

    /// The power fails at the operation with this number, counted from now on, and `cut` says what that leaves.
    pub(crate) fn cut_at(
        &mut self,
        operation: u32,
        cut: impl Fn(&CutPoint<'_>) -> SimNand + Send + 'static,
    ) -> CutFlash {
        let flash = CutFlash::default();
        let kept = Arc::clone(&flash.0);
        let watcher = move |point: &CutPoint<'_>| {
            if point.operation == operation {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(cut(point));
            }
        };
        self.watch(Box::new(watcher), 0);
        flash
    }

    pub(crate) fn stop_watching(&mut self) {
        self.watcher = None;
        self.settled = None;
        self.in_flight.clear();
    }

    /// The program or erase with this number will fail, and its block is bad then.
    pub(crate) fn fail_at(&mut self, operation: u32) {
        self.fails = Some(operation);
    }

    /// The block grows bad if this is the operation that is to fail.
    fn break_if_due(&mut self, block: Block, break_it: fn(&mut SimNand, Block)) {
        if self.fails == Some(self.operations) {
            self.settle_die(self.sim.geometry().die_of(block));
            break_it(&mut self.sim, block);
            if let Some(settled) = &mut self.settled {
                break_it(settled, block);
            }
        }
    }

    /// The power is off and on again, with nothing in flight.
    pub(crate) fn power_cycle(&mut self) {
        self.sim.power_cycle();
        self.operations = 0;
    }

    /// The power is off and on again between two requests, when all operations in flight have completed. Operations are
    /// counted on, and watched, through the recovery from it and after.
    pub(crate) fn restart(&mut self) {
        self.settle(|_| true);
        self.sim.power_cycle();
        if let Some(settled) = &mut self.settled {
            settled.power_cycle();
        }
    }

    /// The block that was programmed last, since the power came back, grows bad: its next program fails. Whether there
    /// is one.
    pub(crate) fn break_last_programmed(&mut self) -> bool {
        let Some(block) = self.last_programmed else { return false };
        self.settle_die(self.sim.geometry().die_of(block));
        self.sim.break_at_program(block);
        if let Some(settled) = &mut self.settled {
            settled.break_at_program(block);
        }
        true
    }

    /// Operations that fit are done for sure.
    fn settle(&mut self, over: impl Fn(&InFlight) -> bool) {
        if let Some(settled) = &mut self.settled {
            self.in_flight.retain(|operation| {
                let over = over(operation);
                if over {
                    operation.change.complete(settled);
                }
                !over
            });
        }
    }

    /// What `die` has in flight is done for sure.
    fn settle_die(&mut self, die: u32) {
        self.settle(|operation| operation.die == die);
    }

    /// An operation is about to begin. The operations that it waits for, and the earlier ones of its own die, are done.
    fn about_to(&mut self, change: &Change, die: u32, at: Time) {
        self.settle(|operation| operation.done <= at || operation.die == die);
        if let Some(watcher) = &mut self.watcher {
            watcher(&CutPoint {
                operation: self.operations,
                flash: self.settled.as_ref().unwrap_or(&self.sim),
                beside: &self.in_flight,
                change,
                expectation: &self.expectation,
            });
        }
        self.operations += 1;
    }

    fn begun(&mut self, change: Change, die: u32, at: Time, done: Time) {
        if self.settled.is_some() {
            self.in_flight.push(InFlight { change, die, at, done });
        }
    }
}

impl Nand for CutNand {
    fn geometry(&self) -> &Geometry {
        self.sim.geometry()
    }

    fn read(&mut self, page: Page, op: Op) -> (PageRead<'_>, Time) {
        self.sim.read(page, op)
    }

    fn read_spare(&mut self, page: Page, op: Op) -> (SpareRead, Time) {
        self.sim.read_spare(page, op)
    }

    fn program(&mut self, page: Page, content: Content<'_>, spare: &Spare, op: Op) -> Result<Time, ProgramError> {
        let block = self.sim.geometry().block_of(page);
        self.last_programmed = Some(block);
        self.break_if_due(block, SimNand::break_at_program);
        if self.watcher.is_none() {
            self.operations += 1;
            return self.sim.program(page, content, spare, op);
        }
        let change = Change::Program { page, content: Held::of(content), spare: *spare };
        let die = self.sim.geometry().die_of(block);
        self.about_to(&change, die, op.at);
        match self.sim.program(page, content, spare, op) {
            Ok(done) => {
                self.begun(change, die, op.at, done);
                Ok(done)
            }
            Err(error) => {
                // The FTL has the error, so the chip has returned it: a failure is never in flight. What is on other
                // dies still is.
                if let Some(settled) = &mut self.settled {
                    let _ = settled.program(page, content, spare, op);
                }
                Err(error)
            }
        }
    }

    fn erase(&mut self, block: Block, op: Op) -> Result<Time, EraseError> {
        self.break_if_due(block, SimNand::break_at_erase);
        if self.watcher.is_none() {
            self.operations += 1;
            return self.sim.erase(block, op);
        }
        let change = Change::Erase { block };
        let die = self.sim.geometry().die_of(block);
        self.about_to(&change, die, op.at);
        match self.sim.erase(block, op) {
            Ok(done) => {
                self.begun(change, die, op.at, done);
                Ok(done)
            }
            Err(error) => {
                // As with a program that fails.
                if let Some(settled) = &mut self.settled {
                    let _ = settled.erase(block, op);
                }
                Err(error)
            }
        }
    }

    fn set_one_bit(&mut self, block: Block, pages: Option<u32>) {
        self.sim.set_one_bit(block, pages);
        if let Some(settled) = &mut self.settled {
            settled.set_one_bit(block, pages);
        }
    }

    fn is_bad(&self, block: Block) -> bool {
        self.sim.is_bad(block)
    }

    fn mark_bad(&mut self, block: Block) {
        // At once and for good (rule 8), whatever other dies are doing; this one does it in its turn.
        self.settle_die(self.sim.geometry().die_of(block));
        self.sim.mark_bad(block);
        if let Some(settled) = &mut self.settled {
            settled.mark_bad(block);
        }
    }
}
