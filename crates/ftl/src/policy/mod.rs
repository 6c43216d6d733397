//! Policies: which block is collected next ([`Victim`]), and which stream a page is written to ([`Placement`]).
//!
//! These are the parts of a page-mapped FTL that can come from another crate. A policy states itself once, in a
//! [`VictimSpec`] or a [`PlacementSpec`]. It is chosen by value or, once it is in a [`Registry`](crate::Registry), by
//! name. The policies of this crate are written against the same contract.
//!
//! **What a policy may rely on**
//! - It never touches the flash. It sees a [`View`] of the state of the drive's blocks in RAM, and the notes on them
//!   that it [wants](Wants).
//! - Its hooks are called one at a time, in the order in which things happen to the drive.
//! - After a power cut it is made anew: all that it kept is gone. The candidates are reported to it again.
//!
//! **What it must keep to**
//! - No promise of the drive may rest on it, and none does. A wrong victim is replaced by the candidate with the fewest
//!   live pages. It is wrong if it is no candidate, or none where there are some. A stream that does not exist is
//!   replaced by stream 0. Both are counted (`policy_answers_replaced`).
//! - Its memory is [`State`]: what the RAM ledger counts. Anything else does not compile.
//! - It is deterministic: what is random comes from [`Context::seed`].
//! - It does not panic. The drive would not survive that, as no FTL here survives a defect of its own.
//!
//! # A policy, and a drive with it
//!
//! ```
//! use phelsuma_ftl::policy::{self, Choice, Context, Counters, Table, Victim, VictimSpec, View, state};
//! use phelsuma_ftl::{Composition, Config, Ftl, Hint, HostData, PageParts, WriteRequest, format};
//! use phelsuma_nand::sim::SimConfig;
//! use phelsuma_nand::{Block, Geometry, LogicalPage, SimNand, TIMINGS, Time};
//!
//! // The contract that this is written for.
//! const _: () = assert!(policy::VERSION == 1);
//!
//! state! {
//!     /// The block that was closed last.
//!     struct Newest {
//!         closed: Table<u64>,
//!         next: u64,
//!     }
//! }
//!
//! impl Victim for Newest {
//!     fn closed(&mut self, _counters: &Counters, block: Block) {
//!         self.next += 1;
//!         self.closed[block.index()] = self.next;
//!     }
//!
//!     fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
//!         // A block that is full of live pages is not worth collecting.
//!         let worth = view.candidates().filter(|(_, live)| *live < view.pages_per_block());
//!         let (block, _) = worth.max_by_key(|(block, _)| self.closed[block.index()])?;
//!         Some(Choice::new(block, view.blocks()))
//!     }
//! }
//!
//! static NEWEST: VictimSpec = VictimSpec::new("newest", "the block that was closed last", |context: &Context| {
//!     Box::new(Newest { closed: Table::new("victim.closed_order", context.blocks as usize, 0), next: 0 })
//! });
//!
//! let parts = PageParts { victim: NEWEST.chosen(), ..PageParts::PAGE };
//! let config = Config::new("page", Composition::PageMapped(parts), 600, 1);
//! let geometry = Geometry::new(512, 16, 64, 1, 1)?;
//! let mut nand = SimNand::new(&SimConfig::new(geometry, TIMINGS[0].2));
//! let (mut ftl, mut at) = format(&mut nand, &config, Time::ZERO)?;
//! for n in 0..5_000u64 {
//!     let page = LogicalPage((n * n % 600) as u32);
//!     let write = WriteRequest { first: page, pages: 1, data: HostData::Hollow(n), hint: Hint::None };
//!     at = ftl.write(&mut nand, &write, at)?;
//! }
//! assert!(ftl.ram().papers().any(|entry| entry == ("victim.closed_order", 512)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod context;
mod draws;
mod knowledge;
mod notes;
mod placement;
pub(crate) mod placements;
pub(crate) mod registered;
mod state;
mod victim;
pub(crate) mod victims;

pub use crate::blocks::{Counters, GroupMinima, MultiLri, View, Wants};
pub use crate::policy_state as state;
pub use crate::spec::{Chosen, PARAM_NUMBERS_MAX, Param, Values};
pub use context::Context;
pub(crate) use draws::Draws;
pub use knowledge::Knowledge;
#[doc(hidden)]
pub use phelsuma_nand::state::{Preserve, Result as StateResult, StateIn, StateOut};
pub use phelsuma_nand::{Block, LogicalPage, Page, Spare};
pub use placement::{Asks, HostWrite, MovedPage, OldCopy, Placement, PlacementSpec, STREAMS_MAX, Source};
pub use state::{State, Table};
pub(crate) use victim::SampleOf;
pub use victim::{Choice, Victim, VictimSpec};

/// The version of this contract. It grows when a policy that was written for the one before may have to be changed. A
/// hook that is added with a default, or a further property of a spec, does not make it grow.
pub const VERSION: u32 = 1;
