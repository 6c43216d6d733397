//! The chip from outside, in one program.

#![allow(clippy::unwrap_used)]

mod common;
mod faults;
mod rules;
mod store_model;
mod time_and_statistics;
