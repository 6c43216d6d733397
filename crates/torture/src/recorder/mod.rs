//! A drive that keeps a log: a file `drive` on a FUSE file system that this process serves, and marks beside it.

mod at_mark;
mod drive;
mod fuse;
mod marks;

pub(crate) use at_mark::AtMark;
pub(crate) use drive::{Drive, Limits, MARK_BYTES_MAX, Over};
pub(crate) use fuse::Served;
pub(crate) use marks::{Marks, Pipe};
