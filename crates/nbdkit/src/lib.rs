//! The plugin with which nbdkit serves a drive.
//!
//! nbdkit speaks the protocol, keeps the connections and does TLS and filters. It calls `server` here, through the C
//! interface of `abi`. The crate `nbdkit` wraps that interface, but not its `block_size` and `cleanup`. Without those,
//! block sizes cannot be announced, and the drive cannot be closed while there are threads to do it.
//!
//! Parameters are those of [`phelsuma_serve::device::options`]; `phelsuma serve` passes them.

mod abi;
mod connections;
mod server;
