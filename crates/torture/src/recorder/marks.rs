//! Marks: what a program has acknowledged, as lines on a pipe or on a socket.
//!
//! A line on the pipe is recorded before any request that the program makes after it, as the drive takes what is in the
//! pipe before it records a request. A line on the socket is answered with `ok` when it is recorded.
//! A line that is too long, or not UTF-8, is no mark: the socket says so, and the pipe ends the run. What a client did
//! not complete is none either.

use super::at_mark::AtMark;
use super::drive::{Drive, MARK_BYTES_MAX};
use crate::error::{Outcome, TortureError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often one looks whether the workload has ended.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// A client that says nothing for so long is let go.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// The ends of the pipe: what the workload writes to, what is polled, and what the drive reads.
pub(crate) struct Pipe {
    write: OwnedFd,
    polled: File,
}

impl Pipe {
    /// A pipe, and its end for the drive.
    pub(crate) fn new() -> Outcome<(Self, File)> {
        let cannot = |error: std::io::Error| TortureError::about("a pipe for marks", error);
        let flags = rustix::pipe::PipeFlags::CLOEXEC | rustix::pipe::PipeFlags::NONBLOCK;
        let (read, write) = rustix::pipe::pipe_with(flags).map_err(|error| cannot(error.into()))?;
        // Who writes blocks.
        rustix::fs::fcntl_setfl(&write, rustix::fs::OFlags::empty()).map_err(|error| cannot(error.into()))?;
        let read = File::from(read);
        let polled = read.try_clone().map_err(cannot)?;
        Ok((Self { write, polled }, read))
    }
}

/// Threads that take marks while the workload runs.
pub(crate) struct Marks {
    write: OwnedFd,
    socket: PathBuf,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    at_mark: Arc<Mutex<AtMark>>,
}

impl Marks {
    /// Takes them from now on.
    pub(crate) fn new(drive: &Arc<Drive>, pipe: Pipe, socket: &Path) -> Outcome<Self> {
        let cannot = |error: std::io::Error| TortureError::about(&socket.display().to_string(), error);
        let listener = UnixListener::bind(socket).map_err(cannot)?;
        let anyone = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        std::fs::set_permissions(socket, anyone).map_err(cannot)?;
        let over = Arc::new(AtomicBool::new(false));
        let at_mark = Arc::new(Mutex::new(AtMark::Nothing));
        let of_pipe = {
            let (drive, over, at_mark) = (Arc::clone(drive), Arc::clone(&over), Arc::clone(&at_mark));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    if is_ready(&pipe.polled) {
                        drive.drain();
                        locked(&at_mark).after_pipe();
                    }
                }
            })
        };
        let of_socket = {
            let (drive, over, at_mark) = (Arc::clone(drive), Arc::clone(&over), Arc::clone(&at_mark));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    if is_ready(&listener)
                        && let Ok((client, _)) = listener.accept()
                    {
                        let (drive, at_mark) = (Arc::clone(&drive), Arc::clone(&at_mark));
                        // It ends when its client goes; nothing waits for it.
                        std::thread::spawn(move || serve(&drive, &at_mark, client));
                    }
                }
            })
        };
        let threads = vec![of_pipe, of_socket];
        Ok(Self { write: pipe.write, socket: socket.to_path_buf(), over, threads, at_mark })
    }

    /// What marks do to the page cache from now on. It waits for what is being done.
    pub(crate) fn set(&self, at_mark: AtMark) {
        *locked(&self.at_mark) = at_mark;
    }

    /// The end of the pipe that a workload writes to.
    pub(crate) fn write(&self) -> BorrowedFd<'_> {
        self.write.as_fd()
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn is_ready(on: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(on, PollFlags::IN)];
    poll(&mut polled, Some(&LOOK)).is_ok() && polled[0].revents().contains(PollFlags::IN)
}

fn locked(at_mark: &Mutex<AtMark>) -> MutexGuard<'_, AtMark> {
    at_mark.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(drive: &Drive, at_mark: &Mutex<AtMark>, client: UnixStream) {
    let Ok(mut answers) = client.try_clone() else { return };
    if client.set_read_timeout(Some(SILENCE_MAX)).is_err() {
        return;
    }
    let mut lines = BufReader::new(client);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut lines).take(MARK_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line) {
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            if line.len() > MARK_BYTES_MAX {
                let _ = answers.write_all(format!("a mark has at most {MARK_BYTES_MAX} bytes\n").as_bytes());
            }
            return;
        }
        let refused = match str::from_utf8(&line) {
            Err(_) => Some("a mark is UTF-8\n".to_string()),
            Ok(_) => {
                let synced = locked(at_mark).before_socket();
                synced.err().map(|error| format!("the file system cannot be synced: {error}\n"))
            }
        };
        if let Some(refused) = refused {
            let _ = answers.write_all(refused.as_bytes());
            return;
        }
        if !drive.mark(&line) || answers.write_all(b"ok\n").is_err() {
            return;
        }
        line.clear();
    }
}
