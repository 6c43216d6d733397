//! FTLs in a browser: a drive whose every page one sees, stepped back and forth, and cut at any program or erase.
//!
//! The drive is the laboratory's ([`Bench`](phelsuma_drive::lab::Bench)): the same FTLs, chips, faults and checks. This
//! crate makes requests for it, keeps its history, and says what there is to see. The page is in `page/`; `make web`
//! puts both together.
//!
//! A page calls [`call`] with a line of JSON and gets one back. In WebAssembly that is a plain C interface over the
//! module's memory (`abi.rs`), and the page has forty lines to load it. `wasm-bindgen` would make them, but its
//! program takes longer to compile than all of this crate, and a page that works from disk cannot use the modules that
//! it writes.

pub mod abi;
mod act;
mod call;
mod command;
mod engine;
mod hints;
mod history;
mod listed;
mod look;
mod recorder;
mod requests;
mod settings;
mod state;
mod trace;

pub use call::{Answer, Opened, call};
pub use engine::Engine;
pub use settings::Settings;
