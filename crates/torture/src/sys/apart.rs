//! Calls that may wait for the recorded drive, in a process apart.
//!
//! This process serves the drive. SIGKILL may come while one of its threads waits for the drive in the kernel. Then the
//! thread that answers is gone, the kernel sees the drive still open, and the wait never ends.

// There is no safe `fork`.
#![allow(unsafe_code)]

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs it in a child that has none of this process's files open, and gives its error back.
pub(crate) fn apart(work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // SAFETY: the child has one thread. It allocates, which the allocators' fork handlers make safe. It takes no other
    // lock of this process, runs no destructor of it, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child == 0 {
        let run = || {
            // SAFETY: system calls with values.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
            }
            work()
        };
        let code = match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => 0,
            Ok(Err(error)) => error.raw_os_error().filter(|code| (1..=255).contains(code)).unwrap_or(libc::EIO),
            Err(_) => libc::EIO,
        };
        // SAFETY: it does not return.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: the status is a local that lives longer.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(()),
        (true, code) => Err(io::Error::from_raw_os_error(code)),
        (false, _) => Err(io::Error::other("it was killed")),
    }
}
