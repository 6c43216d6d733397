//! A recorded run in a file: compressed, and checked for damage by its compression's checksum.
//!
//! It has a line that says what it is, a line of JSON, and records. A record is a letter, then numbers of 8 bytes, the
//! least significant first, then data:
//!
//! - `b` and `w`: offset, length and data, of the base and of a write.
//! - `t`: offset and length of a trim.
//! - `m`: length and text of a mark.
//! - `f`: a flush.
//!
//! All that is read is bounded.

use crate::destination;
use crate::error::{Outcome, TortureError};
use crate::filesystem::Format;
use crate::model::{Content, Event, Policy, Run, Shape};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

const FIRST: &str = "phelsuma.torture-run/1\n";
/// One record's data.
const RECORD_BYTES_MAX: u64 = 64 << 20;
const HEAD_BYTES_MAX: u64 = 1 << 16;
/// A drive of the default size may be full before the workload, however small a log is allowed.
const BASE_BYTES_LEAST: u64 = 64 << 20;

/// Bytes that a drive may hold when recording begins, where the log has a limit.
#[must_use]
pub(crate) fn base_limit(log_limit: u64) -> u64 {
    log_limit.max(BASE_BYTES_LEAST)
}

#[derive(Serialize, Deserialize)]
struct Head {
    size: u64,
    unit: u32,
    atomic_write: u32,
    format: Format,
    are_marks_synced: bool,
    end: usize,
    events: usize,
}

/// How a run was made, beside what happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// The file system.
    pub format: Format,
    /// Marks synced the page cache first, as only [`Policy::All`] takes it. Always false without a file system.
    pub are_marks_synced: bool,
}

impl Made {
    /// Under a policy.
    #[must_use]
    pub fn under(policy: Policy, format: &Format) -> Self {
        Self { format: format.clone(), are_marks_synced: policy == Policy::All && format.is_some() }
    }

    /// Whether its states are those of a policy.
    ///
    /// # Errors
    /// They are not.
    pub fn is_for(&self, policy: Policy) -> Outcome {
        match (self.are_marks_synced, policy == Policy::All) {
            (true, false) => Err(TortureError::Input(
                "the marks of this run synced the page cache: it is for --cache-policy all alone".to_string(),
            )),
            (false, true) if self.format.is_some() => Err(TortureError::Input(
                "--cache-policy all takes a run that was recorded with it, whose marks synced the page cache"
                    .to_string(),
            )),
            _ => Ok(()),
        }
    }
}

/// Writes a run. One that is there stays as it is until all is written.
///
/// # Errors
/// The file cannot be written.
pub fn save(path: &Path, run: &Run, made: &Made) -> Outcome {
    let done = destination::replace(path, |file| write(BufWriter::new(file), run, made));
    done.map_err(|error| TortureError::about(&path.display().to_string(), error))
}

/// Writes a run to anywhere.
///
/// # Errors
/// It cannot be written.
pub fn write(to: impl Write, run: &Run, made: &Made) -> io::Result<()> {
    let mut out = GzEncoder::new(to, Compression::fast());
    let Shape { size, unit, atomic_write } = run.shape;
    let Made { format, are_marks_synced } = made.clone();
    let (end, events) = (run.end, run.events.len());
    let head = Head { size, unit, atomic_write, format, are_marks_synced, end, events };
    out.write_all(FIRST.as_bytes())?;
    serde_json::to_writer(&mut out, &head)?;
    out.write_all(b"\n")?;
    let mut record = |letter: u8, numbers: &[u64], data: &[u8]| {
        out.write_all(&[letter])?;
        numbers.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
        out.write_all(data)
    };
    for (offset, chunk) in run.base.chunks() {
        record(b'b', &[offset, chunk.len() as u64], chunk)?;
    }
    for event in &run.events {
        match event {
            Event::Write { offset, data } => record(b'w', &[*offset, data.len() as u64], data)?,
            Event::Trim { offset, length } => record(b't', &[*offset, *length], &[])?,
            Event::Flush => record(b'f', &[], &[])?,
            Event::Mark(text) => record(b'm', &[text.len() as u64], text.as_bytes())?,
        }
    }
    out.finish()?.flush()
}

/// Bytes of the drive of a saved run.
pub(crate) fn size(path: &Path) -> Outcome<u64> {
    let about = |error: io::Error| TortureError::about(&path.display().to_string(), error);
    let file = File::open(path).map_err(about)?;
    let head = head(&mut BufReader::new(GzDecoder::new(BufReader::new(file))));
    head.map(|head| head.size).map_err(|error| is_none(path, error))
}

fn is_none(path: &Path, error: io::Error) -> TortureError {
    TortureError::Input(format!("{} is no run that --save has written: {error}", path.display()))
}

fn wrong(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_string())
}

fn head(input: &mut impl BufRead) -> io::Result<Head> {
    let mut first = vec![0; FIRST.len()];
    input.read_exact(&mut first)?;
    if first != FIRST.as_bytes() {
        return Err(wrong("its first line is another one"));
    }
    let mut head = Vec::new();
    input.take(HEAD_BYTES_MAX).read_until(b'\n', &mut head)?;
    serde_json::from_slice(&head).map_err(|error| wrong(&format!("its head: {error}")))
}

/// Reads a run. Its log has at most so many bytes, and its base as many, or 64 MiB.
///
/// # Errors
/// The file cannot be read, or is none.
pub fn load(path: &Path, log_limit: u64) -> Outcome<(Run, Made)> {
    let file = File::open(path).map_err(|error| TortureError::about(&path.display().to_string(), error))?;
    read(BufReader::new(file), log_limit).map_err(|error| is_none(path, error))
}

/// Reads a run from anywhere.
///
/// # Errors
/// It is none.
pub fn read(from: impl BufRead, log_limit: u64) -> io::Result<(Run, Made)> {
    let mut input = BufReader::new(GzDecoder::new(from));
    let head = head(&mut input)?;
    let shape = Shape { size: head.size, unit: head.unit, atomic_write: head.atomic_write };
    let unit = u64::from(shape.unit);
    if !shape.unit.is_power_of_two()
        || shape.atomic_write > 1 << 20
        || unit < 512
        || shape.atomic_write < shape.unit
        || !shape.atomic_write.is_power_of_two()
    {
        return Err(wrong("its unit"));
    }
    if !shape.size.is_multiple_of(unit) || shape.size / unit > 1 << 31 {
        return Err(wrong("its size"));
    }
    let is_in = |offset: u64, length: u64, step: u64| {
        let ends = offset.checked_add(length).is_some_and(|end| end <= shape.size);
        ends && length > 0 && offset.is_multiple_of(step) && length.is_multiple_of(step)
    };
    // Both count as they did when the run was recorded.
    let (mut base, mut base_end, mut events, mut bytes) = (Content::default(), 0u64, Vec::new(), 0u64);
    loop {
        let mut letter = [0];
        if input.read(&mut letter)? == 0 {
            break;
        }
        let mut number = || {
            let mut bytes = [0; 8];
            input.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
        };
        let (offset, length) = match letter[0] {
            b'b' | b'w' | b't' => (number()?, number()?),
            b'm' => (0, number()?),
            b'f' => (0, 0),
            _ => return Err(wrong("a record of no kind")),
        };
        let mut data = Vec::new();
        if matches!(letter[0], b'b' | b'w' | b'm') {
            let (held, limit) = match letter[0] {
                b'b' => (base.bytes(), base_limit(log_limit)),
                _ => (bytes, log_limit),
            };
            if length > RECORD_BYTES_MAX || held.saturating_add(length) > limit {
                return Err(wrong("more data than --log-limit allows"));
            }
            (&mut input).take(length).read_to_end(&mut data)?;
            if data.len() as u64 != length {
                return Err(wrong("it ends in the middle of a record"));
            }
        }
        let step = if letter[0] == b'b' { 512 } else { unit };
        if matches!(letter[0], b'b' | b'w' | b't') && !is_in(offset, length, step) {
            return Err(wrong("a record outside of the drive"));
        }
        let event = match letter[0] {
            b'b' if offset < base_end => return Err(wrong("its base is not in order")),
            b'b' => {
                base.write(offset, &data);
                base_end = offset + length;
                continue;
            }
            b'w' => Event::Write { offset, data: data.into() },
            b't' => Event::Trim { offset, length },
            b'm' => Event::Mark(String::from_utf8_lossy(&data).into_owned()),
            _ => Event::Flush,
        };
        bytes = bytes.saturating_add(event.log_bytes());
        if bytes > log_limit {
            return Err(wrong("more events than --log-limit allows"));
        }
        events.push(event);
    }
    if events.len() != head.events || head.end > events.len() {
        return Err(wrong("it has not as many events as its head says"));
    }
    let made = Made { format: head.format, are_marks_synced: head.are_marks_synced };
    Ok((Run { shape, base, events, end: head.end }, made))
}
