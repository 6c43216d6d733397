//! An FTL from a shared library, whoever wrote it: a subject of the crash laboratory.
//!
//! ```text
//! laboratory ──> Subject ──> Session ──> phelsuma_plugin (theirs)
//!                                            │
//! CutNand <── Lent <── phelsuma_nand (ours) <┘
//! ```
//!
//! A plugin keeps its whole state in memory that is lent. So the laboratory copies a drive by copying bytes. The state
//! may hold pointers into itself: all copies of a drive take turns in the same memory.

// A C interface has no other way in.
#![allow(unsafe_code)]

mod arena;
pub mod interface;
mod lent;
mod library;
mod session;
mod subject;

pub use library::LoadError;
pub use subject::{Plugin, PluginSubject, Unsuited};
