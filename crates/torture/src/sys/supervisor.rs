//! A command in a session of its own, with a supervisor that kills all that is left of it when it ends.
//!
//! The supervisor is the process between this one and the command. Whatever the command starts, daemons too, has it as
//! an ancestor (`PR_SET_CHILD_SUBREAPER`). It ends when the command has ended, when this process asks with SIGTERM, or
//! when this process has died (`PR_SET_PDEATHSIG`). Before that it kills until it has no child any more. Its exit code
//! is the command's, or 128 and the signal.

// Between `fork` and `exec` there is no safe interface for any of this.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Puts a supervisor between this process and a command. The command keeps `inherited` open.
pub(crate) fn supervise(command: &mut Command, inherited: Option<RawFd>) {
    let parent = std::process::id();
    // SAFETY: the closure calls what may be called between `fork` and `exec` alone: system calls, and no allocation.
    unsafe {
        command.pre_exec(move || split(parent, inherited));
    }
}

/// Returns in the process that is to become the command, and never in the supervisor.
fn split(parent: u32, inherited: Option<RawFd>) -> io::Result<()> {
    // SAFETY: system calls with values, and with pointers to locals that live longer. This process has one thread.
    unsafe {
        if libc::setsid() < 0 || libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut signals: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGCHLD);
        libc::sigaddset(&raw mut signals, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, &raw mut before);
        // Handlers that a thread of this process had are of no use here: a blocked signal must stay pending.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::signal(libc::SIGHUP, libc::SIG_DFL);
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() as u32 != parent {
            libc::_exit(128 + libc::SIGTERM);
        }
        let command = libc::fork();
        if command < 0 {
            return Err(io::Error::last_os_error());
        }
        if command == 0 {
            if libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(io::Error::last_os_error());
            }
            if let Some(fd) = inherited {
                libc::fcntl(fd, libc::F_SETFD, 0);
            }
            libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            return Ok(());
        }
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        loop {
            let mut status = 0;
            let ended = libc::waitpid(-1, &raw mut status, libc::WNOHANG);
            if ended == command {
                kill_all(command);
                libc::_exit(match libc::WIFSIGNALED(status) {
                    true => 128 + libc::WTERMSIG(status),
                    false => libc::WEXITSTATUS(status),
                });
            }
            if ended > 0 {
                continue;
            }
            if libc::sigwaitinfo(&raw const signals, std::ptr::null_mut()) == libc::SIGTERM {
                kill_all(command);
                libc::_exit(128 + libc::SIGTERM);
            }
        }
    }
}

/// Kills children until there are none. Those of a killed one become children of this process.
fn kill_all(command: libc::pid_t) {
    let mut text = [0u8; 4096];
    loop {
        // SAFETY: system calls with values, and with a buffer that is as long as they are told.
        unsafe {
            let file = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if file < 0 {
                // A kernel without this list: at least what stayed in the command's group.
                libc::kill(-command, libc::SIGKILL);
            } else {
                let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
                libc::close(file);
                let mut child: libc::pid_t = 0;
                for byte in text.iter().take(length.max(0) as usize) {
                    if byte.is_ascii_digit() {
                        child = child.wrapping_mul(10).wrapping_add(libc::pid_t::from(byte - b'0'));
                    } else if child > 0 {
                        libc::kill(child, libc::SIGKILL);
                        child = 0;
                    }
                }
            }
            if libc::waitpid(-1, std::ptr::null_mut(), 0) < 0 {
                return;
            }
        }
    }
}
