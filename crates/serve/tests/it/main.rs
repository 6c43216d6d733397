//! Tests of images and of drives that are served: one binary, for each binary of its own would compile all FTLs once more.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod device_errors;
mod device_model;
mod files;
mod garbled;
mod golden;
mod host_crash;
mod image_full;
mod looks;

/// A file that a test has made up. One type for all, for each is a set of FTLs more to compile.
type MadeUp = Box<dyn phelsuma_serve::image::Storage + Send>;
