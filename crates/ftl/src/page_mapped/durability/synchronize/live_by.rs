//! The source from which a recovery that synchronizes takes which pages are live.

use super::found::{FoundEntries, MetPage};
use super::gathered::{Gathered, PagedDrive};
use super::translation::Translation;
use crate::FtlError;
use crate::page_mapped::durability::common::{BlocksInformation, FoundPage};
use crate::page_mapped::durability::{ScanFrom, Survival};
use crate::page_mapped::mapping::PagedMapping;
use crate::page_mapped::validity::{AnyValidity, Validity};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Page};

/// The source for which pages are live, and what is gathered for it. It is the translation table alone, or a page
/// validity log, to which missing reports are made in turn.
pub(crate) trait LiveBy: Default + Sized {
    type Store: Validity + Into<AnyValidity> + TryFrom<AnyValidity, Error = FtlError>;

    /// The step that finds out which pages are live.
    const READS: &'static str;

    /// A recovery of a drive with these parts begins. The state of the scheme while it does.
    fn begin(paged: &mut PagedMapping, store: &mut Self::Store) -> Survival;

    /// Finds the store on flash. From where on it may be incomplete; nothing where it is not there.
    fn find<N: Nand>(_of: &mut Gathered<Self>, _drive: &mut PagedDrive<'_, Self::Store, N>) -> Option<ScanFrom> {
        None
    }

    /// Looks at a block of user pages, of which these can be believed.
    fn look_at<N: Nand>(
        &mut self,
        _drive: &mut PagedDrive<'_, Self::Store, N>,
        _translation: &Translation,
        _block: Block,
        _pages: &[FoundPage],
    ) {
    }

    /// By now all pages were found that prove another one complete.
    fn keep_suspects(&mut self, _bid: &BlocksInformation) {}

    /// Entries were found that only a lost translation page can have had.
    fn learnt<N: Nand>(_drive: &mut PagedDrive<'_, Self::Store, N>) {}

    /// Leaves of these pages, which may have been in translation pages, those that are not known to be stale.
    fn leave_news<N: Nand>(
        _of: &Gathered<Self>,
        _drive: &mut PagedDrive<'_, Self::Store, N>,
        _learnt: &mut Vec<MetPage>,
    ) {
    }

    /// Finds pages that became stale since the last report to the store.
    fn find_stale<N: Nand>(
        _of: &mut Gathered<Self>,
        _drive: &mut PagedDrive<'_, Self::Store, N>,
        _translation: &Translation,
        _found: &FoundEntries,
    ) {
    }

    /// The pages of the store that would be needed without the suspect ones, or without some of them.
    fn without_suspects<N: Nand>(_of: &Gathered<Self>, _drive: &mut PagedDrive<'_, Self::Store, N>) -> Vec<Page> {
        Vec::new()
    }

    /// Finds out which pages are live.
    fn read<N: Nand>(
        of: &mut Gathered<Self>,
        drive: &mut PagedDrive<'_, Self::Store, N>,
        translation: &Translation,
        found: &FoundEntries,
    );

    /// Blocks that must not be erased before what their pages say was reported to the store.
    fn keeps(&self, _block: Block) -> bool {
        false
    }

    /// The last resort: such blocks are let go.
    fn gives_up<N: Nand>(&self, _drive: &mut PagedDrive<'_, Self::Store, N>, _holding: &[Block]) {}

    /// The recovery begins to write.
    fn begin_telling<N: Nand>(_of: &mut Gathered<Self>, _drive: &mut PagedDrive<'_, Self::Store, N>) {}

    /// Suspect pages of the store go to fresh ones.
    ///
    /// # Errors
    /// No block is left.
    fn copy_suspects<N: Nand>(
        _of: &Gathered<Self>,
        _drive: &mut PagedDrive<'_, Self::Store, N>,
        _holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        Ok(())
    }

    /// Makes the missing reports to the store, once copies are safe; `kept` where blocks are held for it.
    ///
    /// # Errors
    /// No block is left.
    fn tell<N: Nand>(
        _of: &Gathered<Self>,
        _drive: &mut PagedDrive<'_, Self::Store, N>,
        _kept: bool,
    ) -> Result<(), FtlError> {
        Ok(())
    }

    /// Its RAM.
    fn bytes(&self) -> u64 {
        0
    }
}
