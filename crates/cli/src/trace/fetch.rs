//! A trace of the list: fetched, held against what the list says of it, packed, and given its name.
//!
//! What does not fit is not kept. What was fetched in part is gone on from if the list has a hash, which tells a file that
//! has changed meanwhile.

use super::curl::{Stop, again, download};
use super::place::Place;
use crate::errors::{Failure, Outcome};
use phelsuma_options::{FormatArgs, ListedTrace, count};
use phelsuma_trace::{Compressed, Compression, TraceError, TraceFile};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;
use std::sync::Arc;

/// A trace that is there already is read to its end if its file has no more bytes.
const LOOKED_THROUGH_BYTES: u64 = 64 << 20;

/// What was done.
pub(super) struct Fetched {
    /// SHA-256 of what was fetched, in hexadecimal digits.
    pub(super) sha256: String,
    /// Requests that a reader finds in it.
    pub(super) requests: u64,
    /// Whether it was there by hand.
    pub(super) by_hand: bool,
}

/// Fetches a trace, unless it is there by hand, and puts it in its place.
///
/// # Errors
/// Somebody else does so; it cannot be fetched, read or written; or it is not what the list says.
pub(super) fn fetch(trace: &ListedTrace, place: &Place, stop: &Stop) -> Outcome<Fetched> {
    let lock = place.lock(trace)?;
    let by_hand = place.by_hand.is_file();
    let fetched = if by_hand { keep_by_hand(trace, place) } else { fetch_part(trace, place, &lock, stop) };
    // Without a hash it would not be known of which version the part is.
    if fetched.is_ok() || trace.sha256.is_none() || place.part_bytes() == 0 {
        fs::remove_file(&place.part).map_err(|error| place.unwritable(&error))?;
    }
    fetched
}

fn keep_by_hand(trace: &ListedTrace, place: &Place) -> Outcome<Fetched> {
    let shown = place.by_hand.display().to_string();
    let sha256 = check_bytes(trace, &place.by_hand, &shown)?;
    pack(trace, &place.by_hand, place)?;
    let requests = name_it(trace, place, &shown)?;
    Ok(Fetched { sha256, requests, by_hand: true })
}

fn fetch_part(trace: &ListedTrace, place: &Place, lock: &File, stop: &Stop) -> Outcome<Fetched> {
    let unwritable = |error: io::Error| place.unwritable(&error);
    if trace.sha256.is_none() {
        lock.set_len(0).map_err(unwritable)?;
    }
    let resumed = place.part_bytes() > 0;
    download(trace, place, lock, stop)?;
    let mut checked = check_bytes(trace, &place.part, &trace.url);
    if resumed && checked.is_err() {
        // The first piece may be of a file that has changed since.
        again(trace, place, lock, stop)?;
        checked = check_bytes(trace, &place.part, &trace.url);
    }
    let requests = match &checked {
        Ok(_) => {
            pack(trace, &place.part, place)?;
            name_it(trace, place, &trace.url)
        }
        Err(_) => Ok(0),
    };
    if checked.is_err() || requests.is_err() {
        // What was refused once is not gone on from.
        lock.set_len(0).map_err(unwritable)?;
    }
    Ok(Fetched { sha256: checked?, requests: requests?, by_hand: false })
}

/// Holds bytes against their number and hash on the list; the hash.
fn check_bytes(trace: &ListedTrace, path: &Path, shown: &str) -> Outcome<String> {
    let name = &trace.name;
    let differs = |what: &str| Err(Failure::Failed(format!("{name}: {shown} is not what the list has: {what}")));
    let bytes = fs::metadata(path).map_err(|error| wrong(path, &error))?.len();
    let sha256 = hash(path)?;
    if let Some(expected) = &trace.sha256
        && !expected.eq_ignore_ascii_case(&sha256)
    {
        return differs(&format!("its SHA-256 is {sha256} and not {expected}"));
    }
    match trace.bytes {
        Some(expected) if expected != bytes => {
            differs(&format!("it has {} bytes and not {}", count(bytes), count(expected)))
        }
        _ => Ok(sha256),
    }
}

/// The SHA-256 of a file, in hexadecimal digits.
fn hash(path: &Path) -> Outcome<String> {
    let read = || {
        let mut hasher = Sha256::new();
        let mut file = File::open(path)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hasher.finalize()),
                n => hasher.update(buffer.get(..n).unwrap_or(&[])),
            }
        }
    };
    let digest = read().map_err(|error| wrong(path, &error))?;
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Packs what was fetched as the file's name asks.
fn pack(trace: &ListedTrace, from: &Path, place: &Place) -> Outcome {
    let compression = trace.packing()?;
    let pack = || -> io::Result<()> {
        let mut read = BufReader::new(File::open(from)?);
        if fs::symlink_metadata(&place.packed).is_ok() {
            fs::remove_file(&place.packed)?;
        }
        let mut out = Compressed::new(BufWriter::new(File::create_new(&place.packed)?), compression)?;
        io::copy(&mut read, &mut out)?;
        out.finish()
    };
    pack().map_err(|error| {
        // What is incomplete goes; where that fails too, its name says what it is.
        let _ = fs::remove_file(&place.packed);
        place.unwritable(&error)
    })
}

/// Gives what is packed its name, if its requests are those of the list; how many there are.
fn name_it(trace: &ListedTrace, place: &Place, shown: &str) -> Outcome<u64> {
    let name = &trace.name;
    let counted = requests(trace, &place.packed, shown).map_err(|error| Failure::Failed(format!("{name}: {error}")));
    let kept = counted.and_then(|requests| match trace.requests {
        Some(expected) if expected != requests => Err(Failure::Failed(format!(
            "{name}: {shown} has {} requests where the list has {}, and is not kept; if the list is wrong, one with \
             another number or without one would be right",
            count(requests),
            count(expected)
        ))),
        _ => fs::rename(&place.packed, &place.file).map(|()| requests).map_err(|error| place.unwritable(&error)),
    });
    if kept.is_err() {
        let _ = fs::remove_file(&place.packed);
    }
    kept
}

/// Holds a trace that is there against what the list says; its requests, if it was read to its end.
///
/// # Errors
/// It is another one.
pub(super) fn look_at(trace: &ListedTrace, place: &Place) -> Outcome<Option<u64>> {
    let (name, shown) = (&trace.name, place.file.display().to_string());
    let look = || -> Outcome<Option<u64>> {
        let bytes = fs::metadata(&place.file).map_err(|error| wrong(&place.file, &error))?.len();
        let of_trace = |error: TraceError| Failure::Failed(format!("{name}: {error}"));
        if bytes > LOOKED_THROUGH_BYTES {
            let options = FormatArgs::of_listed(&trace.options)?;
            return TraceFile::open(&place.file, &options).map(|_| None).map_err(of_trace);
        }
        if trace.packing()? == Compression::None {
            check_bytes(trace, &place.file, &shown)?;
        }
        let requests = requests(trace, &place.file, &shown).map_err(of_trace)?;
        match trace.requests {
            Some(expected) if expected != requests => Err(Failure::Failed(format!(
                "{name}: {shown} has {} requests where the list has {}",
                count(requests),
                count(expected)
            ))),
            _ => Ok(Some(requests)),
        }
    };
    look().map_err(|failure| match failure {
        Failure::Failed(text) => {
            Failure::Failed(format!("{text}; without this file, `phelsuma trace get {name}` fetches it anew"))
        }
        other => other,
    })
}

/// How many requests are in a trace; `shown` stands for it in errors.
fn requests(trace: &ListedTrace, path: &Path, shown: &str) -> Result<u64, TraceError> {
    let options = FormatArgs::of_listed(&trace.options).map_err(|failure| match failure {
        phelsuma_options::Failure::Input(text) | phelsuma_options::Failure::Failed(text) => TraceError::Option(text),
    })?;
    let count = || {
        let mut file = TraceFile::open(path, &options)?;
        file.try_for_each(|request| request.map(drop))?;
        Ok(file.report().requests)
    };
    count().map_err(|error| called(error, shown.into()))
}

/// The same of a file with this name.
fn called(error: TraceError, file: Arc<str>) -> TraceError {
    match error {
        TraceError::Io { what, source, .. } => TraceError::Io { file, what, source },
        TraceError::File { what, .. } => TraceError::File { file, what },
        TraceError::Line { line, what, .. } => TraceError::Line { file, line, what },
        TraceError::Record { record, byte, what, .. } => TraceError::Record { file, record, byte, what },
        other => other,
    }
}

fn wrong(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
