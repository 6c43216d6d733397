//! A recovery session: the FTL, the flash and the steps that its functions are lent together.

use super::Steps;
use phelsuma_nand::{Nand, Page, PageRead, SpareRead};

/// The FTL that is being mounted, or a part of it, the flash that it is on, and the table of the recovery's steps.
pub(crate) struct Session<'s, F, N> {
    pub(crate) ftl: &'s mut F,
    pub(crate) nand: &'s mut N,
    pub(crate) steps: &'s mut Steps,
}

impl<F, N: Nand> Session<'_, F, N> {
    /// The same for a function that needs a part of the FTL alone.
    pub(crate) fn of<'p, P>(&'p mut self, part: impl FnOnce(&'p mut F) -> &'p mut P) -> Session<'p, P, N> {
        Session { ftl: part(self.ftl), nand: self.nand, steps: self.steps }
    }

    /// Reads a spare area, as a part of the step that is at work.
    pub(crate) fn read_spare(&mut self, page: Page) -> SpareRead {
        self.steps.read_spare(self.nand, page)
    }

    /// Reads a page in full, as a part of the step that is at work. Who goes on using the FTL or the steps while the
    /// data are lent reads by [`Steps::read`].
    pub(crate) fn read(&mut self, page: Page) -> PageRead<'_> {
        self.steps.read(self.nand, page)
    }
}
