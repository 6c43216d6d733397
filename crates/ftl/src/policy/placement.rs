//! Placement (data separation): which stream a page is written to.
//!
//! A policy never touches flash. For each page it is given what needs no look-up:
//! - the copy that a write makes stale, as far as RAM has it;
//! - the spare area of a page that is being moved;
//! - the notes on blocks that it requests (`blocks/notes.rs`).
//!
//! A policy declares once what it needs from flash ([`Asks`]). The composition looks it up, and pays.

use super::{Context, Knowledge, State};
use crate::Counter;
use crate::blocks::{View, Wants};
use crate::ftl::Hint;
use crate::spec::{Chosen, Param, Spec, Values};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, LogicalPage, Page, Spare};

/// The most streams that a placement may have: a spare area says the stream in a byte, and metadata have some.
pub const STREAMS_MAX: u8 = 240;

/// The copy of a logical page that a host write makes stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldCopy {
    /// There is none: it was never written, or trimmed since, or lost.
    None,
    /// It is in this block.
    Known(Block),
    /// A lazy mapping does not have where it is, or whether there is one: the entry is not cached.
    Unknown,
}

/// A page that the host writes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HostWrite {
    /// Which.
    pub page: LogicalPage,
    /// The copy that it makes stale.
    pub old: OldCopy,
    /// The content of the old copy's spare area, for those that request it ([`Asks::old_spares`]), if its place is
    /// known and it can be read.
    pub old_spare: Option<Spare>,
    /// What it says of the page's life ([`Placement::life`]); 0 where nothing is known.
    pub old_life: u8,
    /// The host's hint on the page.
    pub hint: Hint,
}

/// A page that collection moves.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MovedPage {
    /// Which.
    pub page: LogicalPage,
    /// Where it is: a page of the victim.
    pub from: Page,
    /// The stream that began the victim. With [`Asks::shares_blocks`] another may have written the page.
    pub stream: u8,
    /// The content of the page's spare area there.
    pub spare: Spare,
    /// What it says of the page's life ([`Placement::life`]).
    pub life: u8,
}

/// Where a page is from that has been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The host, which said this besides.
    Host(Hint),
    /// It was moved from here.
    Moved(Page),
}

/// What a placement needs of each page: `Asks::NOTHING.pages().old_spares()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub struct Asks {
    pub(crate) pages: bool,
    pub(crate) fetches: bool,
    pub(crate) old_spares: bool,
    pub(crate) places: bool,
    pub(crate) lives: bool,
    pub(crate) shares: bool,
}

impl Asks {
    /// Nothing: pages that the host writes go to stream 0.
    pub const NOTHING: Self =
        Self { pages: false, fetches: false, old_spares: false, places: false, lives: false, shares: false };

    /// To be called for the stream of each page that the host writes ([`Placement::host`]).
    pub const fn pages(self) -> Self {
        Self { pages: true, ..self }
    }

    /// Entries that a lazy mapping does not have are fetched first, where that is worth it
    /// ([`Placement::reads_old`]). No old copy of such a page is [`OldCopy::Unknown`].
    pub const fn fetches(self) -> Self {
        Self { fetches: true, ..self }
    }

    /// The spare area of the old copy is read first, where that is worth it ([`Placement::reads_old`]).
    pub const fn old_spares(self) -> Self {
        Self { old_spares: true, ..self }
    }

    /// A byte of each page's spare area is the placement's: how long the page is likely to live ([`Placement::life`]). A
    /// collection copies it.
    pub const fn lives(self) -> Self {
        Self { lives: true, ..self }
    }

    /// Its streams may write on in each other's blocks, where one has had a block open for long. They do under GeckoRec and
    /// Synchronize, without wear levelling. The placement must not go by the stream of a page's block.
    pub const fn shares_blocks(self) -> Self {
        Self { shares: true, ..self }
    }

    /// To be called with where each page lies, and when it is live no longer ([`Placement::placed`],
    /// [`Placement::gone`]).
    pub const fn places(self) -> Self {
        Self { places: true, ..self }
    }
}

/// The placement part of a page-mapped FTL: user pages go to the open block of one of its streams.
pub trait Placement: State + PlacementCopy + Send {
    /// The stream for a page that the host writes. In `view` the write has not happened yet, but for the time.
    #[inline]
    fn host(&mut self, view: &View<'_>, write: &HostWrite) -> u8 {
        let _ = (view, write);
        0
    }

    /// Whether it is worth the reads to know the old copy of a page that the host writes: its spare area, and before that
    /// its place where a lazy mapping does not have it. Called before [`Placement::host`], for those that request either.
    #[inline]
    fn reads_old(&self, page: LogicalPage) -> bool {
        let _ = page;
        true
    }

    /// What the spare area of the page that was sorted last is to say, for those that request it ([`Asks::lives`]).
    #[inline]
    fn life(&self) -> u8 {
        0
    }

    /// The stream for a page that collection moves.
    fn moved(&mut self, view: &View<'_>, page: &MovedPage) -> u8;

    /// The stream for copies that a recovery makes.
    fn recovered(&self) -> u8 {
        0
    }

    /// This block is going to be collected, and is a candidate still. How many blocks were looked at.
    fn collecting(&mut self, view: &View<'_>, victim: Block) -> u32 {
        let _ = (view, victim);
        0
    }

    /// A page of the host's has been written here.
    fn placed(&mut self, view: &View<'_>, page: Page, source: Source) {
        let _ = (view, page, source);
    }

    /// The page here is live no longer. An unidentified stale page is not reported. It is gone when the first page of
    /// its block is written anew.
    fn gone(&mut self, page: Page) {
        let _ = page;
    }

    /// Its notes for a victim part that is made for it ([`View::of_placement`]).
    fn notes(&self) -> Option<&dyn Any> {
        None
    }

    /// Its counters, each under a name that nothing else has.
    fn counters(&self, out: &mut Vec<Counter>) {
        let _ = out;
    }
}

/// Another one in the same state: every policy is `Clone`.
#[doc(hidden)]
pub trait PlacementCopy {
    /// Another one.
    fn copied(&self) -> Box<dyn Placement>;
}

impl<P: Placement + Clone + 'static> PlacementCopy for P {
    fn copied(&self) -> Box<dyn Placement> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Placement> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// A placement part's statement of itself.
#[derive(Clone, Copy, Debug)]
pub struct PlacementSpec {
    pub(crate) spec: Spec,
    streams: fn(&Context) -> u8,
    build: fn(&Context) -> Box<dyn Placement>,
    wants: fn(&Values) -> Wants,
    asks: fn(&Values) -> Asks,
    counts_all: bool,
    knows: Option<fn(&Values) -> Knowledge>,
    handles: Option<fn(&Values) -> u8>,
    partition: Option<fn(&Context) -> u32>,
}

impl PlacementSpec {
    /// The part called `name`, with its description in a line, its number of streams, from 1 to [`STREAMS_MAX`], and
    /// how it is made.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        streams: fn(&Context) -> u8,
        build: fn(&Context) -> Box<dyn Placement>,
    ) -> Self {
        Self {
            spec: Spec::new(name, about),
            streams,
            build,
            wants: |_| Wants::NOTHING,
            asks: |_| Asks::NOTHING,
            counts_all: false,
            knows: None,
            handles: None,
            partition: None,
        }
    }

    /// With these parameters.
    pub const fn params(mut self, params: &'static [Param]) -> Self {
        self.spec.params = params;
        self
    }

    /// With this noted of blocks.
    pub const fn wants(self, wants: fn(&Values) -> Wants) -> Self {
        Self { wants, ..self }
    }

    /// It needs this of each page.
    pub const fn asks(self, asks: fn(&Values) -> Asks) -> Self {
        Self { asks, ..self }
    }

    /// It needs the live pages of all blocks: a victim part that counts those of a sample alone is refused.
    pub const fn counts_all(self) -> Self {
        Self { counts_all: true, ..self }
    }

    /// It is an oracle: each write has to say this, which no real host has.
    pub const fn knows(self, knows: fn(&Values) -> Knowledge) -> Self {
        Self { knows: Some(knows), ..self }
    }

    /// It goes by the host's handles, of which it has so many ([`Hint::Handle`]). Hosts send them, so it is no oracle.
    pub const fn handles(self, handles: fn(&Values) -> u8) -> Self {
        Self { handles: Some(handles), ..self }
    }

    /// Each piece of so many logical pages has a stream of its own: no extent of a µ-Tree reaches across.
    pub const fn partition(self, pages: fn(&Context) -> u32) -> Self {
        Self { partition: Some(pages), ..self }
    }

    /// The part with its defaults.
    pub const fn chosen(&'static self) -> Chosen<Self> {
        Chosen::new(self, &self.spec)
    }
}

impl Chosen<PlacementSpec> {
    fn of(&self, context: &Context) -> Context {
        Context { values: **self, ..*context }
    }

    pub(crate) fn build(&self, context: &Context) -> Box<dyn Placement> {
        (self.part().build)(&self.of(context))
    }

    pub(crate) fn streams(&self, context: &Context) -> u8 {
        (self.part().streams)(&self.of(context))
    }

    pub(crate) fn wants(&self) -> Wants {
        (self.part().wants)(self)
    }

    pub(crate) fn asks(&self) -> Asks {
        (self.part().asks)(self)
    }

    pub(crate) fn counts_all(&self) -> bool {
        self.part().counts_all
    }

    pub(crate) fn knowledge(&self) -> Option<Knowledge> {
        self.part().knows.map(|knows| knows(self))
    }

    /// How many placement handles of the host's it goes by; none if it ignores them.
    pub fn handles(&self) -> Option<u8> {
        self.part().handles.map(|handles| handles(self))
    }

    /// Logical pages of a partition, at least one; all where there are none.
    pub(crate) fn partition(&self, context: &Context) -> u32 {
        self.part().partition.map_or(u32::MAX, |pages| pages(&self.of(context)).max(1))
    }
}
