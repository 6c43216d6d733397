//! Runs one of the user's commands, to its end and with all that it started.

use crate::error::{Outcome, TortureError};
use crate::sys::strays;
use crate::sys::supervisor::supervise;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often one looks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Of its output, what is kept.
const TAIL_BYTES: usize = 4096;
const TAIL_LINES: usize = 10;

/// The descriptor of what a command inherits: of one digit, as shells take it.
pub(crate) const INHERITED: u32 = 3;

/// A command. It runs in the directory of this process.
pub(crate) struct Job<'a> {
    /// As a shell takes it.
    pub(crate) command: &'a str,
    /// What it finds in its environment.
    pub(crate) environment: &'a [(&'static str, OsString)],
    /// It may take so long.
    pub(crate) timeout: Option<Duration>,
    /// Is its descriptor [`INHERITED`].
    pub(crate) inherited: Option<BorrowedFd<'a>>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With an exit code; 128 and the signal for one that was killed.
    Code(i32),
    /// It took too long, and was killed.
    TimedOut,
    /// It was to stop, and was killed.
    Stopped,
}

impl Ended {
    /// As the end of a sentence.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Code(code @ 129..=192) => format!("ended by signal {}", code - 128),
            Self::Code(code) => format!("ended with exit code {code}"),
            Self::TimedOut => "took too long".to_string(),
            Self::Stopped => "was stopped".to_string(),
        }
    }
}

impl Job<'_> {
    /// Runs it. The text is the last lines of its output.
    pub(crate) fn run(&self, stop: &AtomicBool) -> Outcome<(Ended, String)> {
        let cannot = |error: std::io::Error| TortureError::about("/bin/sh cannot be started", error);
        let (pipe, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| cannot(error.into()))?;
        rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK).map_err(|error| cannot(error.into()))?;
        let mut output = Output { pipe: Some(pipe), bytes: Vec::new() };
        let mut command = Command::new("/bin/sh");
        // On the line of the command: its shell counts lines from 1.
        let inherits = self.inherited.map(|fd| format!("exec {INHERITED}>/proc/self/fd/{}; ", fd.as_raw_fd()));
        let text = inherits.unwrap_or_default() + self.command;
        command.args(["-c", text.as_str()]).stdin(Stdio::null());
        command.stdout(write.try_clone().map_err(cannot)?).stderr(write);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        supervise(&mut command, self.inherited.map(|fd| fd.as_raw_fd()));
        let mut child = command.spawn().map_err(cannot)?;
        // It has the ends of the pipe that are written to.
        drop(command);
        let pid = Pid::from_child(&child);
        let ended = wait(pid, self.timeout, stop, &mut output).map_err(cannot)?;
        if ended != Ended::Code(0) {
            // The supervisor kills the rest and ends.
            let _ = kill_process(pid, Signal::TERM);
        }
        let status = child.wait().map_err(cannot)?;
        let code = status.code().unwrap_or_else(|| {
            // The command has killed its supervisor, but what it started has the folder of this job alone.
            if let Some((name, value)) = self.environment.iter().find(|(name, _)| *name == "PHELSUMA_SCRATCH") {
                strays::kill(name, value);
            }
            128 + status.signal().unwrap_or(0)
        });
        Ok((if ended == Ended::Code(0) { Ended::Code(code) } else { ended }, output.tail()))
    }
}

/// Waits for the supervisor: a code of 0 says that it has ended with one.
fn wait(pid: Pid, timeout: Option<Duration>, stop: &AtomicBool, output: &mut Output) -> std::io::Result<Ended> {
    let began = Instant::now();
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let left = timeout.map_or(LOOK, |timeout| timeout.saturating_sub(began.elapsed()).min(LOOK));
        let left = Timespec { tv_sec: 0, tv_nsec: left.as_nanos() as _ };
        let mut polled = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::new(output.pipe.as_ref().unwrap_or(&process), PollFlags::IN),
        ];
        let count = poll(&mut polled, Some(&left));
        let has_ended = count.is_ok() && !polled[0].revents().is_empty();
        output.take();
        match () {
            () if has_ended => return Ok(Ended::Code(0)),
            () if stop.load(Ordering::Relaxed) => return Ok(Ended::Stopped),
            () if timeout.is_some_and(|timeout| began.elapsed() >= timeout) => return Ok(Ended::TimedOut),
            () => {}
        }
    }
}

/// An error, and what the command said, in one line.
pub(crate) fn with_output(text: String, output: &str) -> String {
    if output.is_empty() { text } else { format!("{text}: {}", output.replace('\n', "; ")) }
}

/// The end of what a command says: all else is let go.
struct Output {
    /// It does not block. None when nobody writes any more.
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Output {
    /// Takes what is there, of at most one buffer. False: nothing is.
    fn take(&mut self) -> bool {
        let mut buffer = [0; 1 << 16];
        let Some(pipe) = &self.pipe else { return false };
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => self.bytes.extend_from_slice(&buffer[..length]),
            Err(_) => return false,
        }
        self.bytes.drain(..self.bytes.len().saturating_sub(TAIL_BYTES));
        true
    }

    /// The last lines.
    fn tail(mut self) -> String {
        while self.take() {}
        tail(&self.bytes)
    }
}

fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
