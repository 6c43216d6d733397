//! Tests of the crate.

mod model;
