//! Tests of images and of drives that are served: one binary, for each binary of its own would compile all FTLs once
//! more.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod device_errors;
mod device_model;
mod extents;
mod files;
mod garbled;
mod golden;
mod host_crash;
mod image_full;
mod last_stop;
mod looks;
mod write_cache;

use phelsuma_serve::image::{AnyStorage, Storage};

fn boxed(storage: impl Storage + Send + 'static) -> AnyStorage {
    Box::new(storage)
}

/// The bytes that an image stands on.
fn bytes_of(storage: &AnyStorage) -> Vec<u8> {
    let mut bytes = vec![0; storage.len().unwrap() as usize];
    storage.read_at(0, &mut bytes).unwrap();
    bytes
}
