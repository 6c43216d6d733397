//! A flash translation layer for microcontrollers.
//!
//! All of its memory is one slice, whose size is a `const fn` of the configuration. There is no heap, no recursion, and
//! nothing that panics. Its parts are types: only what they name is compiled.
//!
//! A write is on flash when it returns. A power cut may come at any operation, also while a drive mounts.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod barriers;
mod check;
mod checkpoint;
mod collect;
mod config;
mod counting;
mod drive;
mod entries;
mod error;
mod flash;
mod gecko;
mod layout;
mod meta;
mod mount;
mod refresh;
mod replay;
mod serve;
mod tables;
mod translation;

#[cfg(phelsuma_mutants)]
pub use barriers::Barrier;
pub use check::Miscounted;
pub use collect::{Operations, WRITE_WHEN_MAINTAINED};
pub use config::{Config, ConfigError, Gecko, Mapping, Parts, RamTable, Smallest, Validity};
pub use drive::{Drive, Tally};
pub use error::Error;
pub use flash::{Chip, Failed, Flash, META_BYTES, MetaPlace, Uncorrectable};
pub use meta::{Kind, Meta};
pub use serve::Info;
