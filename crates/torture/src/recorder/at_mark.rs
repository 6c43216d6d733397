//! What a mark does to the page cache of the workload's file system.
//!
//! A kernel writes dirty pages back when it likes. A workload that is over in a second gives it no time to, so the
//! recorder has it write some back at marks.

use crate::sys::{mounts, writeback};
use rand_core::RngCore;
use rand_xoshiro::SplitMix64;
use std::io;
use std::path::PathBuf;

/// One write-back in so many is a sync of the file system, as of the kernel's timer.
const SYNC_ONE_OF: u64 = 8;

/// It.
#[derive(Debug)]
pub(crate) enum AtMark {
    /// Nothing.
    Nothing,
    /// The file system is synced.
    Synced(PathBuf),
    /// At one mark of so many the kernel writes random pages back.
    WrittenBack {
        /// The file system.
        mount: PathBuf,
        /// One mark of so many, on average.
        one_of: u64,
        /// Which marks and pages.
        random: SplitMix64,
    },
}

impl AtMark {
    /// Before a mark by the socket is recorded, while its client waits. An error: it promises what was not synced.
    pub(crate) fn before_socket(&mut self) -> io::Result<()> {
        if let Self::Synced(mount) = self {
            mounts::synced(mount)?;
        }
        self.write_back();
        Ok(())
    }

    /// After marks by the pipe, whose program goes on meanwhile.
    pub(crate) fn after_pipe(&mut self) {
        self.write_back();
    }

    fn write_back(&mut self) {
        let Self::WrittenBack { mount, one_of, random } = self else { return };
        if !random.next_u64().is_multiple_of(*one_of) {
            return;
        }
        // What cannot be written back stays in the page cache.
        let _ = match random.next_u64().is_multiple_of(SYNC_ONE_OF) {
            true => mounts::synced(mount),
            false => writeback::some(mount, random.next_u64()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_whose_sync_fails_is_refused() {
        let mut at_mark = AtMark::Synced(PathBuf::from("/there/is/none"));
        assert_eq!(at_mark.before_socket().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
