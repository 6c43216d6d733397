//! One file over http: fetched by curl, in pieces if need be, held against its hash, packed, counted.
//!
//! curl has the proxies, certificates and protocols of the machine. What it has fetched so far is in a file of its own, and
//! the next call goes on from there.

use crate::errors::{Failure, Outcome};
use phelsuma_options::ListedTrace;
use phelsuma_trace::{Compressed, Compression, OpenOptions, TraceFile};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What curl says if a server cannot go on where an earlier call stopped, or has nothing behind it.
const CANNOT_RESUME: [i32; 3] = [22, 33, 36];

/// Where the pieces of a trace are.
pub(super) struct Place {
    /// The trace, when it is complete.
    pub(super) file: PathBuf,
    /// Where one that was fetched by other means is put.
    pub(super) by_hand: PathBuf,
    /// What is there of it.
    part: PathBuf,
}

impl Place {
    /// In this folder.
    pub(super) fn new(folder: &Path, trace: &ListedTrace) -> Self {
        let of_url = trace.url.rsplit('/').next().and_then(|name| name.split(['?', '#']).next()).unwrap_or("");
        // Where both have one name, the file itself would be taken for what is to be packed.
        let by_hand = if of_url.is_empty() || of_url == trace.file { "by-hand" } else { of_url };
        Self {
            file: folder.join(&trace.file),
            by_hand: folder.join(format!("{}.{by_hand}", trace.name.replace('/', "_"))),
            part: folder.join(format!(".{}.part", trace.file)),
        }
    }
}

/// What was done.
pub(super) struct Fetched {
    /// SHA-256 of what was fetched, in hexadecimal digits.
    pub(super) sha256: String,
    /// Requests that a reader finds in it.
    pub(super) requests: u64,
}

/// Fetches a trace, unless it is there by hand, and puts it in its place.
///
/// # Errors
/// It cannot be fetched, has another hash, or cannot be read or written. What was fetched in part is left to go on from.
pub(super) fn fetch(trace: &ListedTrace, place: &Place) -> Outcome<Fetched> {
    if place.by_hand.is_file() {
        let sha256 = hash(&place.by_hand)?;
        check_hash(trace, &sha256, &place.by_hand.display().to_string())?;
        return keep(trace, &place.by_hand, place, sha256);
    }
    let resumed = fs::metadata(&place.part).is_ok_and(|meta| meta.len() > 0);
    download(trace, place)?;
    let mut sha256 = hash(&place.part)?;
    if resumed && check_hash(trace, &sha256, &trace.url).is_err() {
        // The first piece may be of a file that has changed since.
        remove(&place.part)?;
        download(trace, place)?;
        sha256 = hash(&place.part)?;
    }
    if let Err(error) = check_hash(trace, &sha256, &trace.url) {
        remove(&place.part)?;
        return Err(error);
    }
    let fetched = keep(trace, &place.part, place, sha256)?;
    if place.part.exists() {
        remove(&place.part)?;
    }
    Ok(fetched)
}

/// Has curl fetch what is missing of the part.
fn download(trace: &ListedTrace, place: &Place) -> Outcome {
    let there = fs::metadata(&place.part).map_or(0, |meta| meta.len());
    if trace.bytes.is_some_and(|bytes| there >= bytes) {
        return Ok(());
    }
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--retry", "3", "--connect-timeout", "30", "--speed-time", "60"]);
    // Neither a list nor a server that forwards leads to files of this machine.
    curl.args(["--proto", "=http,https", "--continue-at", "-"]);
    if let Some(bytes) = trace.bytes {
        curl.args(["--max-filesize", &bytes.to_string()]);
    }
    curl.args(if io::stderr().is_terminal() { &["--progress-bar"][..] } else { &["--silent", "--show-error"] });
    curl.arg("--output").arg(&place.part).arg("--url").arg(&trace.url);
    curl.stdin(Stdio::null()).stdout(Stdio::null());
    if !io::stderr().is_terminal() {
        curl.stderr(Stdio::piped());
    }
    let ran = curl.spawn().and_then(std::process::Child::wait_with_output).map_err(|error| {
        Failure::Failed(format!("curl cannot be run ({error}), and traces are fetched by it{}", by_hand(trace, place)))
    })?;
    match ran.status.code() {
        Some(0) => Ok(()),
        Some(code) if CANNOT_RESUME.contains(&code) && there > 0 => {
            remove(&place.part)?;
            download(trace, place)
        }
        _ => {
            let said = String::from_utf8_lossy(&ran.stderr);
            let why =
                said.lines().last().filter(|line| !line.is_empty()).map_or(String::new(), |line| format!(": {line}"));
            let way = by_hand(trace, place);
            Err(Failure::Failed(format!("{}: cannot be fetched from {}{why}{way}", trace.name, trace.url)))
        }
    }
}

/// The other way to get it.
fn by_hand(trace: &ListedTrace, place: &Place) -> String {
    let hash = trace.sha256.as_ref().map_or(String::new(), |hash| format!(" (SHA-256 {hash})"));
    format!("; fetched by other means{hash} it goes to {}, and then this command again", place.by_hand.display())
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

fn check_hash(trace: &ListedTrace, sha256: &str, place: &str) -> Outcome {
    match &trace.sha256 {
        Some(expected) if !expected.eq_ignore_ascii_case(sha256) => Err(Failure::Failed(format!(
            "{}: what is at {place} is not what the list has: its SHA-256 is {sha256} and not {expected}",
            trace.name
        ))),
        _ => Ok(()),
    }
}

/// Packs what was fetched as the file's name asks, counts its requests, and gives it its name.
fn keep(trace: &ListedTrace, from: &Path, place: &Place, sha256: String) -> Outcome<Fetched> {
    let packed = place.file.with_file_name(format!(".{}.packed", trace.file));
    let compression = Compression::of(&place.file)?;
    // What a server packed is kept as it is.
    let as_it_is = compression == Compression::None || Path::new(&trace.url).extension() == place.file.extension();
    let pack = || -> io::Result<()> {
        let mut read = BufReader::new(File::open(from)?);
        let out = BufWriter::new(File::create(&packed)?);
        let mut out = Compressed::new(out, if as_it_is { Compression::None } else { compression })?;
        io::copy(&mut read, &mut out)?;
        out.finish()
    };
    let kept = pack().map_err(|error| wrong(&packed, &error)).and_then(|()| {
        let requests = count(&packed)?;
        fs::rename(&packed, &place.file).map_err(|error| wrong(&place.file, &error))?;
        Ok(Fetched { sha256, requests })
    });
    if kept.is_err() {
        // What is incomplete goes; where that fails too, its name says what it is.
        let _ = fs::remove_file(&packed);
    }
    kept
}

/// How many requests are in a trace.
fn count(path: &Path) -> Outcome<u64> {
    let mut trace = TraceFile::open(path, &OpenOptions::default())?;
    trace.try_for_each(|request| request.map(drop))?;
    Ok(trace.report().requests)
}

fn remove(path: &Path) -> Outcome {
    fs::remove_file(path).map_err(|error| wrong(path, &error))
}

fn wrong(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}
