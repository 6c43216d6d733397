//! Mapping: where each logical page is.
//!
//! The mapping tells which physical pages became stale: at once where it knows, later where it does not. What it keeps
//! on flash it reads and writes through a [`MetaIo`], and the pages that it made stale it adds to a list called
//! `before`.

mod mu;
mod paged;
mod ram_mapping;
mod ram_table;
mod trim_map;

pub(crate) use mu::{MuMapping, PART_PAGES, TREE_UNREADABLE, bitmap_key, bitmap_needs, of_tree, parts_of_block};
pub(crate) use paged::PagedMapping;
pub(crate) use ram_mapping::RamMapping;

use super::meta_io::MetaIo;
use crate::{Counter, FtlError, RamLedger};
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Nand, Page, Purpose};

/// Where a logical page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
/// Lost with its translation page: nobody knows which physical page it was.
const MISLAID: u32 = u32::MAX - 3;

/// A place as an entry of a table: a page number, or one of those that no page has.
#[inline]
fn entry_of(place: Place) -> u32 {
    match place {
        Place::Nowhere => NOWHERE,
        Place::Trimmed => TRIMMED,
        Place::Lost => LOST,
        Place::At(page) => page.0,
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
    /// Nobody knows any more.
    Mislaid,
}

/// What was there before a logical page was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// This.
    Known(Place),
    /// Something that only its translation page knows: to be identified when that is synchronized.
    Unidentified,
}

/// What is to become of a page in a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judgement {
    /// It is moved.
    Live,
    /// It is not: the logical page is elsewhere.
    Stale,
}

/// The mapping part of a page-mapped FTL.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is used for every page")]
pub(crate) enum Mapping {
    /// The whole table in RAM.
    Ram(RamMapping),
    /// Translation pages on flash, a directory and a cache in RAM.
    Paged(PagedMapping),
    /// Extents in a µ-Tree on flash.
    Mu(MuMapping),
}

impl Mapping {
    /// Why it uses the flash.
    pub(crate) fn purpose(&self) -> Purpose {
        match self {
            Self::Ram(_) => Purpose::Trim,
            Self::Paged(_) | Self::Mu(_) => Purpose::Translation,
        }
    }

    /// The demand-paged mapping, if it is one.
    pub(crate) fn paged_mut(&mut self) -> Option<&mut PagedMapping> {
        match self {
            Self::Ram(_) | Self::Mu(_) => None,
            Self::Paged(paged) => Some(paged),
        }
    }

    /// Whether there can be stale pages that validity takes for live.
    #[inline]
    pub(crate) fn is_lazy(&self) -> bool {
        match self {
            Self::Ram(_) | Self::Mu(_) => false,
            Self::Paged(paged) => paged.is_lazy(),
        }
    }

    /// Where `key` is.
    #[inline]
    pub(crate) fn lookup<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        before: &mut Vec<Page>,
    ) -> Place {
        match self {
            Self::Ram(ram) => ram.lookup(key),
            Self::Paged(paged) => paged.lookup(io, key, before),
            Self::Mu(mu) => mu.lookup(io, key),
        }
    }

    /// Where `key` is; no entry is cached for it.
    pub(crate) fn peek<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        match self {
            Self::Ram(ram) => ram.lookup(key),
            Self::Paged(paged) => paged.peek(io, key),
            Self::Mu(mu) => mu.lookup(io, key),
        }
    }

    /// Where `key` is, if that is to be had without flash. For a host's read: a cache notes that the entry was used.
    #[inline]
    pub(crate) fn cached(&mut self, key: LogicalPage) -> Option<Place> {
        match self {
            Self::Ram(ram) => Some(ram.lookup(key)),
            Self::Paged(paged) => paged.cached(key),
            Self::Mu(mu) => mu.cached(key),
        }
    }

    /// Where `key` is, if there is a table in RAM. Nothing changes, and nothing is counted.
    #[inline]
    pub(crate) fn in_table(&self, key: LogicalPage) -> Option<Place> {
        match self {
            Self::Ram(ram) => Some(ram.lookup(key)),
            Self::Paged(_) | Self::Mu(_) => None,
        }
    }

    /// Does everything about `key` that needs flash, so that [`Mapping::written`] and [`Mapping::moved`] need none.
    ///
    /// # Errors
    /// No block is left.
    #[inline]
    pub(crate) fn prepare<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        by_host: bool,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) => Ok(()),
            Self::Paged(paged) => paged.prepare(io, key, by_host, before),
            Self::Mu(mu) => mu.prepare(io, key),
        }
    }

    /// Where `key`, which is prepared, is now, as far as RAM knows. Nothing changes, and nothing is counted.
    #[inline]
    pub(crate) fn known(&self, key: LogicalPage) -> Option<Place> {
        match self {
            Self::Ram(ram) => Some(ram.lookup(key)),
            Self::Paged(paged) => paged.known(key),
            Self::Mu(mu) => mu.known(key),
        }
    }

    /// From now on a host write is to know what it makes stale: entries that are not cached are fetched for it.
    pub(crate) fn fetch_for_placement(&mut self) {
        if let Self::Paged(paged) = self {
            paged.fetch_for_placement();
        }
    }

    /// The physical page that `key`, which is prepared, had last: what its next page is to name in its spare area.
    #[inline]
    pub(crate) fn last_place(&self, key: LogicalPage) -> LastPlace {
        match self {
            Self::Ram(_) | Self::Mu(_) => LastPlace::Nowhere,
            Self::Paged(paged) => paged.last_place(key),
        }
    }

    /// Makes durable what RAM alone knows of `key`.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn synchronize_key<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) | Self::Mu(_) => Ok(()),
            Self::Paged(paged) => paged.synchronize_key(io, key, before),
        }
    }

    /// The host has written `key` to `to`.
    #[inline]
    pub(crate) fn written(&mut self, key: LogicalPage, to: Page) -> Before {
        match self {
            Self::Ram(ram) => Before::Known(ram.set(key, Place::At(to))),
            Self::Paged(paged) => paged.written(key, to),
            Self::Mu(mu) => mu.written(key, Place::At(to)),
        }
    }

    /// `key`'s page has been moved out of a victim, or was lost there.
    #[inline]
    pub(crate) fn moved(&mut self, key: LogicalPage, place: Place) {
        match self {
            Self::Ram(ram) => {
                ram.set(key, place);
            }
            Self::Paged(paged) => paged.moved(key, place),
            Self::Mu(mu) => {
                mu.written(key, place);
            }
        }
    }

    /// What is to become of a page of a victim that validity takes for live and that says it is `key`'s. A stale
    /// one is identified by that: what the mapping had noted to report it later is cleared.
    #[inline]
    pub(crate) fn judge(&mut self, key: LogicalPage, page: Page) -> Judgement {
        match self {
            Self::Ram(ram) if ram.lookup(key) == Place::At(page) => Judgement::Live,
            Self::Ram(_) => Judgement::Stale,
            Self::Paged(paged) => paged.judge(key, page),
            // What it makes stale it has told at once.
            Self::Mu(_) => Judgement::Live,
        }
    }

    /// Whose page `page` is, for one that cannot say so itself. Looks at everything.
    pub(crate) fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        match self {
            Self::Ram(ram) => ram.owner_of(page),
            Self::Paged(paged) => paged.owner_of(io, page),
            Self::Mu(mu) => mu.owner_of(io, page),
        }
    }

    /// How many logical pages from `key` on one call of [`Mapping::trim`] can take.
    pub(crate) fn trim_reach(&self, key: LogicalPage) -> u32 {
        match self {
            Self::Ram(ram) => ram.trim_reach(key),
            Self::Paged(paged) => paged.trim_reach(key),
            Self::Mu(mu) => mu.trim_reach(key),
        }
    }

    /// Discards logical pages.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: core::ops::Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        match self {
            Self::Ram(ram) => ram.trim(io, pages, before),
            Self::Paged(paged) => paged.trim(io, pages, before),
            Self::Mu(mu) => mu.trim(io, pages, before),
        }
    }

    /// Whether there are trims that a power cut would undo.
    #[inline]
    pub(crate) fn has_pending_trims(&self) -> bool {
        match self {
            Self::Ram(ram) => ram.has_pending(),
            Self::Paged(_) => false,
            Self::Mu(mu) => mu.has_pending(),
        }
    }

    /// Whether what is trimmed stands in tombstone pages, which can go bad.
    pub(crate) fn has_tombstones(&self) -> bool {
        match self {
            Self::Ram(ram) => ram.trims.any_page(),
            Self::Paged(_) => false,
            Self::Mu(mu) => mu.trims.any_page(),
        }
    }

    /// Makes all trims durable.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn write_pending_trims<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        match self {
            Self::Ram(ram) => ram.write_pending(io).map(drop),
            Self::Paged(_) => Ok(()),
            Self::Mu(mu) => mu.write_pending(io).map(drop),
        }
    }

    /// Makes a piece of what only RAM knows durable, from part `from` of the table on; the part to go on with.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn synchronize_next<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        from: u32,
        before: &mut Vec<Page>,
    ) -> Result<Option<u32>, FtlError> {
        match self {
            Self::Ram(ram) => ram.write_pending(io).map(|_| None),
            Self::Paged(paged) => paged.synchronize_next(io, from, before),
            Self::Mu(mu) => mu.write_pending(io).map(|_| None),
        }
    }

    /// Whether stale pages may be taken for live because a part of the table could not be read.
    pub(crate) fn is_damaged(&self) -> bool {
        match self {
            // A tree that cannot be read is written anew before anything else is done.
            Self::Ram(_) | Self::Mu(_) => false,
            Self::Paged(paged) => paged.is_damaged(),
        }
    }

    /// Whether a µ-Tree cannot be read: the drive has to come up anew.
    #[inline]
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Mu(mu) if mu.is_damaged())
    }

    /// Moves its pages out of a victim.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        match self {
            Self::Ram(ram) => ram.relocate(io, victim),
            Self::Paged(paged) => paged.relocate(io, victim),
            Self::Mu(mu) => mu.relocate(io, victim),
        }
    }

    /// Programs that moving one of its pages out of a victim takes at the most.
    #[inline]
    pub(crate) fn programs_to_move(&self) -> u32 {
        match self {
            Self::Ram(_) | Self::Mu(_) => 1,
            Self::Paged(paged) => paged.programs_to_move(),
        }
    }

    /// The live pages that it keeps on flash.
    pub(crate) fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        match self {
            Self::Ram(ram) => ram.metadata_pages().collect(),
            Self::Paged(paged) => paged.metadata_pages(io),
            Self::Mu(mu) => mu.metadata_pages(io),
        }
    }

    /// Stale pages that are not identified yet, or, where `unsure`, those that perhaps are not.
    pub(crate) fn unidentified<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, unsure: bool) -> Vec<Page> {
        match self {
            Self::Ram(_) | Self::Mu(_) => Vec::new(),
            Self::Paged(paged) => paged.unidentified(io, unsure),
        }
    }

    /// What it keeps in RAM.
    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        match self {
            Self::Ram(ram) => ram.ram(ledger),
            Self::Paged(paged) => paged.ram(ledger),
            Self::Mu(mu) => mu.ram(ledger),
        }
    }

    /// Writes what is in RAM of a table whose entries are all synchronized.
    ///
    /// # Errors
    /// No block is left.
    pub(crate) fn write_dirty_nodes<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        match self {
            Self::Ram(_) | Self::Mu(_) => Ok(()),
            Self::Paged(paged) => paged.write_dirty_nodes(io),
        }
    }

    /// What it has counted.
    pub(crate) fn counters(&self, out: &mut Vec<Counter>) {
        match self {
            Self::Ram(ram) => ram.counters(out),
            Self::Paged(paged) => paged.counters(out),
            Self::Mu(mu) => mu.counters(out),
        }
    }
}
