//! The requests of a drive's clients, as a trace that `phelsuma run --trace` replays.
//!
//! It is our own CSV, which alone holds time, trims and flushes.
//!
//! A thread of its own writes it, behind a bounded queue. Where the disk cannot keep up, requests wait, and none is
//! left out. It goes to the file in pieces that are each complete, compressed for itself, at least every second. So the
//! file can be read as far as it goes if this process is killed. Only if that happens in the middle of a write does the
//! last piece end early. A reader then says so after all the others.

use super::OpenError;
use phelsuma_trace::convert::{WriteOptions, Writer};
use phelsuma_trace::{Compressed, Compression, Format, Op, Request, TraceError};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Requests that may wait to be written.
const QUEUE_MAX: usize = 1 << 16;
/// Bytes of a piece before it is compressed.
const PIECE_BYTES: usize = 128 << 10;
/// How long a request waits to be written at the most.
const PIECE_AGE: Duration = Duration::from_secs(1);

/// A file that is written in complete pieces.
struct Pieces {
    file: File,
    compression: Compression,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A request is written at once, so pieces end with lines.
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let mut whole = Vec::new();
        let mut compressed = Compressed::new(&mut whole, self.compression)?;
        compressed.write_all(&self.piece)?;
        compressed.finish()?;
        self.piece.clear();
        self.file.write_all(&whole)
    }
}

/// A recording in progress.
pub struct Recorder {
    path: PathBuf,
    queue: Option<SyncSender<Request>>,
    writer: Option<JoinHandle<Outcome>>,
    begun: Instant,
}

/// How it went: requests written, and those lost to an error.
#[derive(Default)]
struct Outcome {
    written: u64,
    lost: u64,
    error: Option<TraceError>,
}

impl Recorder {
    /// Begins to record to a file that is not there yet. Errors on the way go to `log` at once.
    ///
    /// # Errors
    /// [`OpenError::Input`]: the file is there, or cannot be created.
    pub fn create(path: &Path, log: impl Fn(&str) + Send + 'static) -> Result<Self, OpenError> {
        let wrong = |error: &dyn std::fmt::Display| OpenError::Input(format!("{}: {error}", path.display()));
        let compression = Compression::of(path).map_err(|error| OpenError::Input(error.to_string()))?;
        let file = File::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => wrong(&"the file exists already; use a new name"),
            _ => wrong(&error),
        })?;
        let pieces = Pieces { file, compression, piece: Vec::with_capacity(PIECE_BYTES + 256) };
        let trace = Writer::new(pieces, Format::Csv, &WriteOptions::default()).map_err(|error| wrong(&error))?;
        let (queue, requests) = sync_channel(QUEUE_MAX);
        let name = path.display().to_string();
        let told = move |error: &TraceError| log(&format!("{name}: the recording is incomplete from now on: {error}"));
        let writer = Builder::new().name("recorder".into()).spawn(move || write(trace, &requests, told));
        let writer = writer.map_err(|error| wrong(&error))?;
        Ok(Self { path: path.into(), queue: Some(queue), writer: Some(writer), begun: Instant::now() })
    }

    /// A request is being done now. Waits where the queue is full.
    pub fn note(&self, op: Op, offset_bytes: u64, size_bytes: u64) {
        if size_bytes == 0 && op != Op::Flush {
            return;
        }
        let time_ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(queue) = &self.queue {
            // The other end lives as long as this one.
            let _ = queue.send(Request { time_ns, device: 0, op, offset_bytes, size_bytes, handle: 0 });
        }
    }

    /// Writes the rest. How many requests the file holds.
    ///
    /// # Errors
    /// Not all of them are in it.
    pub fn finish(mut self) -> Result<u64, String> {
        self.queue = None;
        let outcome = self.writer.take().and_then(|writer| writer.join().ok());
        let path = self.path.display();
        match outcome {
            None => Err(format!("{path}: the recording has failed")),
            Some(Outcome { written, error: None, .. }) => Ok(written),
            Some(Outcome { written, lost, error: Some(error) }) => {
                Err(format!("{path}: of {} requests {lost} are not recorded: {error}", written + lost))
            }
        }
    }
}

fn write(mut trace: Writer<Pieces>, requests: &Receiver<Request>, told: impl Fn(&TraceError)) -> Outcome {
    let mut outcome = Outcome::default();
    let mut flushed = Instant::now();
    // Whether these have reached the file is not known yet.
    let mut in_piece = 0;
    loop {
        let next = requests.recv_timeout(PIECE_AGE.saturating_sub(flushed.elapsed()));
        let mut tried = match &next {
            Ok(_) if outcome.error.is_some() => {
                outcome.lost += 1;
                continue;
            }
            Ok(request) => {
                in_piece += 1;
                trace.write(request)
            }
            Err(_) => Ok(()),
        };
        if outcome.error.is_none() && (next.is_err() || flushed.elapsed() >= PIECE_AGE) && tried.is_ok() {
            tried = trace.flush();
            flushed = Instant::now();
            if tried.is_ok() {
                outcome.written += in_piece;
                in_piece = 0;
            }
        }
        if let Err(error) = tried {
            told(&error);
            outcome.lost += in_piece;
            outcome.error = Some(error);
        }
        match next {
            Err(RecvTimeoutError::Disconnected) => return outcome,
            // Nothing to do any more until there is a request.
            Err(RecvTimeoutError::Timeout) => flushed = Instant::now(),
            Ok(_) => {}
        }
    }
}
