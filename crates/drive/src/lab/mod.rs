//! The crash laboratory: the power is cut at every program and every erase, with every named fault, also during
//! recovery, and each branch must come up, show what was acknowledged, and be writable in full.
//!
//! The workload runs once (once a thread). Before each program and erase the flash is branched: the laboratory takes a
//! copy, lets the operation become what the fault says, and brings up a fresh FTL on it, with the power cut again at
//! every operation of that recovery, to any depth. Branches whose flash and expectations are equal are checked once and
//! counted as covered. RAM is not branched: a power cut takes it.
//!
//! What is checked is in `verify.rs`; what the host may expect, in `model.rs`.

mod beside;
mod cut_nand;
mod model;
mod path;
mod report;
mod script;
mod sweep;
mod verify;

pub use path::{Cut, Fault, Path};
pub use report::{CrashReport, Failed};
pub use script::Request;
pub use sweep::{LabConfig, LabError, Points, sweep};
pub use verify::FailureKind;
