//! Placement (data separation): which stream a page is written to.

use alloc::boxed::Box;

/// The placement part of a page-mapped FTL: user pages go to one of `streams()` open blocks.
pub(crate) trait Placement: Send {
    /// How many streams it uses.
    fn streams(&self) -> u8;

    /// The stream for a page that the host writes.
    fn host(&mut self) -> u8;

    /// The stream for a page that collection moves.
    fn moved(&mut self) -> u8;

    /// Another one in the same state.
    fn copy(&self) -> Box<dyn Placement>;
}

impl Clone for Box<dyn Placement> {
    fn clone(&self) -> Self {
        self.as_ref().copy()
    }
}

/// Everything to one stream.
#[derive(Clone)]
pub(crate) struct OneStream;

impl Placement for OneStream {
    fn streams(&self) -> u8 {
        1
    }

    fn host(&mut self) -> u8 {
        0
    }

    fn moved(&mut self) -> u8 {
        0
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}

/// Host writes to one stream, moved pages to another: what the Dual Greedy paper calls PL+greedy does (its section V).
#[derive(Clone)]
pub(crate) struct HostGc;

impl Placement for HostGc {
    fn streams(&self) -> u8 {
        2
    }

    fn host(&mut self) -> u8 {
        0
    }

    fn moved(&mut self) -> u8 {
        1
    }

    fn copy(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}
