//! Plugins in C, tried by the laboratory; and files that are none.

#![allow(clippy::unwrap_used, reason = "a test")]

mod built;
mod laboratory;
mod refused;
