//! The crash laboratory: the power is cut at every program and every erase, with every named fault, also during
//! recovery.
//!
//! Each branch must mount, show what was acknowledged, and be writable in full.
//!
//! A drive is filled until collection is at work, and then runs a workload (`workload.rs`, `script.rs`), once on each
//! thread (`host.rs`). Some workloads cut the power themselves, and what they do is the same every time. The flash is
//! branched before each program and erase of the workload, and before a few of the preconditioning (`points.rs`). The
//! laboratory takes a copy, lets the operation become what the fault says, and mounts a fresh FTL on it. The power is
//! cut again at every operation of that recovery, up to three deep (`branch.rs`). Branches whose flash and expectations
//! are equal are checked once and counted as covered (`seen.rs`). RAM is not branched: a power cut takes it.
//!
//! Operations are numbered from 0 since the drive was formatted, the preconditioning included. A branch is named by its
//! cuts ([`Path`]). Its id depends on FTL, geometry, timing, workload and seed. It does not depend on the points
//! chosen, the faults or the threads. Nor does it depend on the number of writes, as long as the workload gets there.
//!
//! An FTL with a battery is cut after requests, as its contract says (`announced.rs`), and its ids count requests.
//!
//! FTLs from outside are tried in the same way (`subject.rs`).
//!
//! Defects besides cuts, alone and with cuts behind them, are in `defects.rs`.
//!
//! Some FTLs promise no more than what was flushed. They are held to that, and what cuts took back of the rest is
//! counted (`taken_back.rs`).
//!
//! A drive can also be driven by hand, and go on after a cut (`bench.rs`).
//!
//! The checks are in `verify.rs`; what the host may expect, in `model.rs`.

mod again;
mod announced;
mod bench;
mod beside;
mod branch;
mod config;
mod cut_nand;
mod decay;
mod defects;
mod draw;
mod failure;
mod fewest;
mod host;
mod model;
mod panics;
mod path;
mod plug;
mod points;
mod power_fail;
mod report;
mod script;
mod seen;
mod shared;
mod shrink;
mod soak;
mod subject;
mod sweep;
mod taken_back;
mod verify;
mod workload;

pub use bench::{BENCH_REQUESTS_MAX, Bench, BenchError, Recovered, Wrong};
pub use config::{LabConfig, LabError, script};
pub use cut_nand::CutNand;
pub use failure::FailureKind;
pub use path::{Cut, Defect, Fault, Path};
pub use plug::{Met, Moment, Plug};
pub use points::Points;
pub use report::{CrashReport, CrashReports, Failed};
pub use script::Request;
pub use soak::{SoakConfig, SoakFound, SoakState};
pub use subject::{Promise, Ready, Subject};
pub use sweep::{Progress, Sweep};
pub use taken_back::{Spread, TakenBackReport};
pub use workload::Workload;
