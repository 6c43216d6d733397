//! The command as its users meet it, in one program.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod claims;
mod common;
mod compare;
mod filesystem;
mod holes;
mod image;
mod image_cuts;
mod json_keys;
mod mid_request;
#[path = "../../../../examples/my_policy/tests/command.rs"]
mod my_policy;
mod nbd;
mod output;
mod page;
mod plugin;
mod public_traces;
mod readme;
mod search;
mod serve;
mod serve_image;
mod trace_files;
mod trace_get;
