//! Page-mapped FTLs: any page anywhere, as a composition of four parts.
//!
//! *Mapping* says where each logical page is, *validity* which physical pages are live. *Victim* chooses the block that
//! is collected next, *placement* the stream to which a page is written. The composition owns the blocks and does
//! everything that touches flash; the parts own none.

mod check;
mod collect;
mod collecting;
mod compose;
mod directory;
mod durability;
mod flushing;
mod folding;
mod groups;
mod hooks;
mod judging;
mod look;
mod mapping;
mod mending;
mod meta_io;
mod move_buffer;
mod needs;
mod parts;
mod recount;
mod requests;
mod runs;
mod sampling;
mod serving;
mod settle;
mod shape;
mod shared_marks;
mod shared_tree;
mod short_mounts;
mod slices;
mod sorting;
mod starting;
mod streams;
mod tree;
mod validity;
mod wear;

pub(crate) use starting::{format, recover};
