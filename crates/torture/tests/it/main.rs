//! Tests of the crate.

#![allow(clippy::unwrap_used)]

mod common;
mod ext4;
mod files;
mod garbled;
mod keys;
mod left_behind;
mod model;
mod raw;
mod usage;
