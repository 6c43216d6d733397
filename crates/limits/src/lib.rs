//! The analytic models of write amplification.
//!
//! Write amplification (WA) is programs per page that the host writes, in steady state, metadata excluded. Three
//! numbers come up everywhere:
//!
//! - the *ratio* ρ: logical pages over the physical pages that garbage collection can use. Open blocks and the free
//!   reserve are not spare; [`effective_ratio`] subtracts them. α = 1/ρ;
//! - *b*: pages per block;
//! - *d*: how many randomly drawn blocks a collector compares before it takes the emptiest.
//!
//! | question | models |
//! | --- | --- |
//! | uniform random writes | [`lru`], [`greedy`], [`desnoyers`], [`d_choices`], [`random`] |
//! | hot and cold pages | [`best_quota`], [`small_spare`]; [`mixed_greedy`], [`mixed_lru`] |
//! | Zipf | [`zipf_best_split`], [`zipf_mixed_lru`] |
//! | page validity in flash | [`gecko()`] |
//! | everything for one drive at once | [`Limits::compute`] |
//!
//! Invariants of this crate: it imports no other crate of the workspace. Every figure is computed, none is stored.
//! Every input is checked, so a model returns either a finite number or one typed [`LimitError`].

#![forbid(unsafe_code)]

mod bounds;
mod d_choices;
mod desnoyers;
mod effective;
mod error;
pub mod gecko;
pub mod gecko_ram;
pub mod gecko_recovery;
mod greedy;
mod hot_cold;
mod limits;
mod lru;
mod mixed_greedy;
mod mixed_lru;
mod solve;
mod split;
pub mod table;
mod zipf;

pub use bounds::{MAX_CHOICES, MAX_PAGES_PER_BLOCK, MAX_ZIPF_EXPONENT};
pub use d_choices::{d_choices, random};
pub use desnoyers::desnoyers;
pub use effective::effective_ratio;
pub use error::LimitError;
pub use gecko::{Gecko, GeckoCosts, Merge, gecko};
pub use greedy::greedy;
pub use hot_cold::HotCold;
pub use limits::{HotLimits, Limits, UniformLimits, ZipfLimit};
pub use lru::{lru, lru_small_spare};
pub use mixed_greedy::{MAX_MIXED_PAGES_PER_BLOCK, mixed_greedy};
pub use mixed_lru::{mixed_lru, zipf_mixed_lru};
pub use split::{BestQuota, best_quota, small_spare};
pub use zipf::zipf_best_split;
