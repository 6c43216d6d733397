//! Drives on a chip in RAM.

#![allow(clippy::unwrap_used, reason = "a test")]

mod chip;
mod cuts;
mod use_case;
