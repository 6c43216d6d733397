//! Every state that a power cut may leave of a drive that any program wrote to: recorded, made again and checked.
//!
//! [`torture()`] runs a workload once on a drive that keeps a log ([`model::Run`]), makes drives as power cuts may
//! leave them ([`model`]), and runs the user's check on each.
//!
//! This crate must not depend on flash or FTLs: its drive is any drive with a volatile cache.

pub mod args;
mod command;
mod config;
mod destination;
mod error;
mod filesystem;
mod image;
mod mark;
pub mod model;
mod record;
mod recorder;
mod report;
pub mod saved;
mod search;
mod session;
mod size;
mod sys;
mod unsynced;
mod view;

pub use config::{Budget, Config};
pub use error::{Outcome, TortureError};
pub use filesystem::{Filesystem, Format};
pub use mark::mark;
pub use report::{Recorded, Report, junit_of_error};
pub use search::{Described, Failure, LostWrite};
pub use session::{Files, Progress, torture, unsynced};
pub use unsynced::{Unsynced, UnsyncedWrite};
pub use view::FailureKind;
