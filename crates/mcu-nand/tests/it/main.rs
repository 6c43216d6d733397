//! The FTL for microcontrollers in the crash laboratory.

#![allow(clippy::unwrap_used, reason = "a test")]

mod laboratory;
#[cfg(phelsuma_mutants)]
mod mutants;
