//! What is asked of the kernel: processes that leave nothing behind, loop devices, mounts.
//!
//! This module must not depend on what is recorded or checked.

pub(crate) mod apart;
pub(crate) mod folders;
pub(crate) mod loops;
pub(crate) mod mounts;
pub(crate) mod strays;
pub(crate) mod supervisor;
pub(crate) mod writeback;

/// Whether this process may do all of that.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
