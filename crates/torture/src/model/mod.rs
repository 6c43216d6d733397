//! Which states of a drive a power cut allows: pure, no file and no process.
//!
//! A drive has a volatile cache. A request is *pending* from its answer to the next flush, and *durable* after it. A
//! power cut keeps all that is durable, and of each pending request any subset of its atoms. A later kept version of a
//! unit wins over an earlier one.
//!
//! This module must not do I/O, and must not depend on how a run was recorded.

mod content;
mod cursor;
mod event;
mod id;
mod moments;
mod plan;
mod ranges;
mod run;
mod state;

pub use content::{CHUNK_BYTES, Content};
pub use cursor::{Cursor, Identity};
pub use event::Event;
pub use id::IdError;
pub use moments::{Moment, Policy, moments};
pub use plan::{Depth, Extent, Plan};
pub use run::{Run, Shape};
pub use state::{Atoms, Lost, State};
