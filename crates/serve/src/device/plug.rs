//! The plug: flash whose power can be pulled at a chosen program or erase, with a fault of one's choice.
//!
//! Simplified: what the FTL had declared parallel to the operation that the cut meets is done in full. The crash
//! laboratory goes through every subset of it.

use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{Block, FlashStats, Nand};
use std::io;
use std::panic::resume_unwind;

/// Where the power fails, and what that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The program or erase that meets the cut, counted as [`Plug::operations`] does: this one is not acknowledged.
    pub operation: u64,
    /// What becomes of it if it is a program.
    pub program: ProgramFault,
    /// What becomes of it if it is an erase.
    pub erase: EraseFault,
    /// Chooses where a fault leaves a choice.
    pub seed: u64,
}

/// The plug of a flash.
pub trait Plug {
    /// Programs and erases that were begun since the power came on.
    fn operations(&self) -> u64;

    /// The power fails at this operation, or at none. When the operation comes, an implementation does to the flash
    /// what the fault says, is off from then on, and calls [`power_fails`].
    fn arm(&mut self, cut: Option<Cut>);

    /// The power fails now, with no operation in progress.
    fn switch_off(&mut self);

    /// Whether the power is off. It is on again when the drive is opened anew.
    fn is_off(&self) -> bool;
}

/// Flash that a drive can be served from.
pub trait Flash: Nand + Plug + Send + 'static {
    /// Makes everything that the flash has acknowledged safe from a crash of the machine it is on, as a client's flush
    /// requires. Flash that is gone with the process has nothing to do.
    ///
    /// # Errors
    /// The system's error; the client's flush fails then.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends in good order, after the FTL has. Nothing can be done any more.
    ///
    /// # Errors
    /// The system's error.
    fn close(&mut self) -> io::Result<()> {
        self.sync()
    }

    /// Operations by purpose since the power came on.
    fn stats(&self) -> FlashStats;

    /// How often a block was erased in its life; 0 for one that is not there.
    fn erases_of(&self, block: Block) -> u32;

    /// Why it is off, in one line, where that was not the plug: the storage under it has failed.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// What unwinds through an FTL when its power fails.
pub(crate) struct PowerFailed;

/// The power fails in the middle of an operation, and ends the FTL's work: unwinds to the device, without a message. To
/// be called by an armed flash, and by one that cannot go on.
pub fn power_fails() -> ! {
    resume_unwind(Box::new(PowerFailed))
}
