//! The models from outside, in one program.

#![allow(clippy::unwrap_used)]

mod monte_carlo;
mod properties;
mod refusals;
mod simulator;
mod sweep;
mod tables;
