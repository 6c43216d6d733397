//! Placement (data separation): which stream a page is written to.

/// The placement part of a page-mapped FTL: user pages go to one of `streams()` open blocks.
pub(crate) trait Placement {
    /// How many streams it uses.
    fn streams(&self) -> u8;

    /// The stream for a page that the host writes.
    fn host(&mut self) -> u8;

    /// The stream for a page that collection moves.
    fn moved(&mut self) -> u8;
}

/// Everything to one stream.
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
}

/// Host writes to one stream, moved pages to another: what the Dual Greedy paper calls PL+greedy does (its section V).
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
}
