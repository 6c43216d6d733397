//! Mapping: where each logical page is.
//!
//! The mapping reports which physical pages became stale: at once where the entry is at hand, later where it is not. It
//! reads and writes its part on flash through a [`MetaIo`]. The pages that it made stale it adds to a list called
//! `before`.

mod any;
mod mu;
mod paged;
mod ram_mapping;
mod ram_table;
mod trim_map;

pub(crate) use any::AnyMapping;
pub(crate) use mu::{MuMapping, PART_PAGES, TREE_UNREADABLE, bitmap_key, bitmap_needs, of_tree, parts_of_block};
pub(crate) use paged::{Overruled, PagedMapping};
pub(crate) use ram_mapping::RamMapping;

use super::meta_io::MetaIo;
use crate::mu_tree::MuTree;
use crate::{Counter, ExtentLook, FtlError, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, Purpose, Time};

/// Where a logical page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) enum Place {
    /// It was never written.
    Nowhere,
    /// It was discarded: reads as zeros, and older copies may still be on flash.
    Trimmed,
    /// It was somewhere, and the flash gave it back no more. A read error until it is written again.
    Lost,
    /// Here.
    At(Page),
}

const NOWHERE: u32 = u32::MAX;
const TRIMMED: u32 = u32::MAX - 1;
const LOST: u32 = u32::MAX - 2;
/// Lost with its translation page: there is no record of which physical page it was.
const MISLAID: u32 = u32::MAX - 3;

/// A place as an entry of a table: a page number, or one of those that no page has.
#[inline]
fn entry_of(place: Place) -> u32 {
    match place {
        Place::Nowhere => NOWHERE,
        Place::Trimmed => TRIMMED,
        Place::Lost => LOST,
        Place::At(page) => {
            debug_assert!(page.0 < MISLAID, "{page} has the number of a mark");
            page.0
        }
    }
}

/// In the entry of a trimmed page: the rest is the page that it was. For tables that name those; physical pages of such
/// drives have numbers below it.
const TRIMMED_FROM: u32 = 1 << 31;

/// The physical page that an entry names, though it be trimmed, in a table that names those.
#[inline]
fn page_named(entry: u32) -> Option<Page> {
    (entry < MISLAID).then_some(Page(entry & !TRIMMED_FROM))
}

/// What an entry of a table says.
#[inline]
fn place_of(entry: u32) -> Place {
    match entry {
        NOWHERE => Place::Nowhere,
        TRIMMED => Place::Trimmed,
        LOST | MISLAID => Place::Lost,
        page => Place::At(Page(page)),
    }
}

/// The physical page that a logical page had last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LastPlace {
    /// It had none, or that one was reported.
    Nowhere,
    /// This, though it may be trimmed since.
    At(Page),
    /// There is no record any more.
    Mislaid,
}

/// The place of a logical page before it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// This.
    Known(Place),
    /// A page that only its translation page names: to be identified when that is synchronized.
    Unidentified,
}

/// The verdict on a page in a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judgement {
    /// It is moved.
    Live,
    /// It is not: the logical page is elsewhere.
    Stale,
}

/// The mapping part of a page-mapped FTL.
///
/// The defaults are those of a table that is in RAM as a whole.
pub(crate) trait Mapping: Clone {
    /// Why it uses the flash.
    fn purpose(&self) -> Purpose {
        Purpose::Translation
    }

    /// What its pages are on flash.
    fn kind(&self) -> Kind;

    /// Whether there can be stale pages that validity takes for live.
    #[inline]
    fn is_lazy(&self) -> bool {
        false
    }

    /// A request of the host begins, of these logical pages.
    #[inline]
    fn requested(&mut self, _pages: Range<u32>) {}

    /// Where `key` is.
    fn lookup<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage, before: &mut Vec<Page>) -> Place;

    /// Whether a lookup may program pages.
    #[inline]
    fn lookups_program(&self) -> bool {
        false
    }

    /// Where `key` is; no entry is cached for it.
    fn peek<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place;

    /// Where `key` is, if that is to be had without a read of flash, and from when on. It is `now`, and another request may
    /// have begun that read. For a host's read: a cache notes that the entry was used.
    fn cached(&mut self, key: LogicalPage, now: Time) -> Option<(Place, Time)>;

    /// Where `key` is, if there is a table in RAM. Nothing changes, and nothing is counted.
    #[inline]
    fn in_table(&self, _key: LogicalPage) -> Option<Place> {
        None
    }

    /// Has memory fetched that is likely to be read when the entries of these pages are entered: the table on
    /// flash, where the host's memory holds it. Nothing changes by it. Whether it keeps its table there.
    #[inline]
    fn warm<N: Nand>(&self, _nand: &N, _entered: impl Iterator<Item = LogicalPage> + Clone, _by_host: bool) -> bool {
        false
    }

    /// Does everything about `key` that needs flash, so that [`Mapping::written`] and [`Mapping::moved`] need none.
    ///
    /// # Errors
    /// No block is left.
    fn prepare<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        by_host: bool,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError>;

    /// Where `key`, which is prepared, is now, as far as RAM has it. Nothing changes, and nothing is counted.
    fn known(&self, key: LogicalPage) -> Option<Place>;

    /// Whether the page that a host write makes stale is needed at once, from now on: entries that are not cached are
    /// fetched for it.
    fn fetch_for_placement(&mut self, fetches: bool) {
        let _ = fetches;
    }

    /// The physical page that `key`, which is prepared, had last: what its next page is to name in its spare area.
    #[inline]
    fn last_place(&self, _key: LogicalPage) -> LastPlace {
        LastPlace::Nowhere
    }

    /// The host has written `key` to `to`.
    fn written(&mut self, key: LogicalPage, to: Page) -> Before;

    /// Does what a request needs when all of its pages are written.
    ///
    /// # Errors
    /// No block is left.
    #[inline]
    fn request_written<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        Ok(())
    }

    /// `key`'s page has been moved out of a victim, or was lost there.
    fn moved(&mut self, key: LogicalPage, place: Place);

    /// The verdict on a page of a victim that validity takes for live and that says it is `key`'s. A stale one is
    /// identified by that: the mapping's note to report it later is cleared.
    fn judge(&mut self, key: LogicalPage, page: Page) -> Judgement;

    /// A victim is given up, of which pages have moved or were found stale: entries on flash may name them still.
    fn victim_given_up(&mut self) {}

    /// Whether it reads flash to judge pages ([`Mapping::look_up_for_judging`]).
    #[inline]
    fn judges_by_flash(&self) -> bool {
        false
    }

    /// Reads what [`Mapping::judge`] is to know of these logical pages.
    fn look_up_for_judging<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _keys: impl Iterator<Item = LogicalPage>) {}

    /// Whose page `page` is, for one that cannot say so itself. Looks at everything.
    fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage>;

    /// Whether it says durably that data are lost which a collection cannot read.
    #[inline]
    fn marks_lost(&self) -> bool {
        false
    }

    /// How many logical pages from `key` on one call of [`Mapping::trim`] can take.
    fn trim_reach(&self, key: LogicalPage) -> u32;

    /// Discards logical pages.
    ///
    /// # Errors
    /// No block is left.
    fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError>;

    /// Whether there are trims that a power cut would undo.
    #[inline]
    fn has_pending_trims(&self) -> bool {
        false
    }

    /// Whether trims stand in tombstones, which can go bad.
    #[inline]
    fn has_tombstones(&self) -> bool {
        false
    }

    /// Makes all trims durable.
    ///
    /// # Errors
    /// No block is left.
    fn write_pending_trims<N: Nand>(
        &mut self,
        _io: &mut MetaIo<'_, N>,
        _before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        Ok(())
    }

    /// Adds the pages of a part to `places`, in logical order, each with its place. What cannot be read is left out. The
    /// part is read once.
    fn places_of<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _part: u32, _places: &mut Vec<(LogicalPage, Page)>) {}

    /// Parts of the table that are synchronized each by itself; none of a table in RAM.
    fn parts(&self) -> u32 {
        0
    }

    /// The part in which the entry of `key` stands.
    #[inline]
    fn part_of(&self, _key: LogicalPage) -> u32 {
        0
    }

    /// Whether a part has entries that are in RAM alone.
    #[inline]
    fn is_dirty(&self, _part: u32) -> bool {
        false
    }

    /// Makes the entries of a part durable that are in RAM alone.
    ///
    /// # Errors
    /// No block is left.
    fn synchronize_part<N: Nand>(
        &mut self,
        _io: &mut MetaIo<'_, N>,
        _part: u32,
        _before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        Ok(())
    }

    /// Writes down as lost those of these logical pages whose entries cannot be read. Whether the table has changed.
    ///
    /// # Errors
    /// No block is left.
    fn lose_unreadable<N: Nand>(
        &mut self,
        _io: &mut MetaIo<'_, N>,
        _keys: &[LogicalPage],
        _before: &mut Vec<Page>,
    ) -> Result<bool, FtlError> {
        Ok(false)
    }

    /// Makes some of the state durable that is in RAM alone, from part `from` of the table on; the part to go on with.
    ///
    /// # Errors
    /// No block is left.
    fn synchronize_next<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        _from: u32,
        before: &mut Vec<Page>,
    ) -> Result<Option<u32>, FtlError> {
        self.write_pending_trims(io, before).map(|()| None)
    }

    /// Whether stale pages may be taken for live because a part of the table could not be read.
    #[inline]
    fn is_damaged(&self) -> bool {
        false
    }

    /// Whether a µ-Tree cannot be read: the drive has to mount anew.
    #[inline]
    fn is_unreadable(&self) -> bool {
        false
    }

    /// Moves its pages out of a victim.
    ///
    /// # Errors
    /// No block is left.
    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError>;

    /// Programs that moving one of its pages out of a victim takes at the most.
    #[inline]
    fn programs_to_move(&self) -> u32 {
        1
    }

    /// The live pages that it keeps on flash.
    fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page>;

    /// Stale pages that are not identified yet, or, where `unsure`, those that perhaps are not.
    fn unidentified<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>, _unsure: bool) -> Vec<Page> {
        Vec::new()
    }

    /// A part of the table that RAM has otherwise than flash: for checks.
    fn part_amiss<N: Nand>(&mut self, _io: &mut MetaIo<'_, N>) -> Option<u32> {
        None
    }

    /// The extents that an onlooker sees, where the table is made of them and stands in `tree`.
    fn extents<N: Nand>(&self, _nand: &mut N, _tree: &MuTree) -> Option<Vec<ExtentLook>> {
        None
    }

    /// Its RAM.
    fn ram(&self, ledger: &mut RamLedger);

    /// Its counters.
    fn counters(&self, out: &mut Vec<Counter>);
}
