//! The bytes of a trace: opened, decompressed as they stream, with a sample of the beginning to guess
//! the format from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;
use crate::unicode;

/// How much of the decompressed beginning is looked at to guess a format, in bytes.
pub(crate) const SAMPLE_BYTES: usize = 64 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// An opened trace before anything is known about its format.
pub(crate) struct Input {
    pub(crate) file: Arc<str>,
    /// The first [`SAMPLE_BYTES`] (fewer if the file is shorter), which `stream` yields again.
    pub(crate) sample: Vec<u8>,
    /// The sample is the whole file.
    pub(crate) sample_is_all: bool,
    pub(crate) stream: Box<dyn BufRead + Send>,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let file: Arc<str> = printable(&path.to_string_lossy());
        let failed = |source| TraceError::io(&file, "cannot be opened", source);
        let opened = File::open(path).map_err(failed)?;
        if opened.metadata().map_err(failed)?.is_dir() {
            return Err(TraceError::file(&file, "is a directory, a trace is a single file"));
        }
        Input::new(Box::new(BufReader::with_capacity(BUFFER_BYTES, opened)), file)
    }

    pub(crate) fn new(raw: Box<dyn BufRead + Send>, file: Arc<str>) -> Result<Self, TraceError> {
        let unreadable = |source| TraceError::io(&file, "cannot be read", source);
        let (magic, raw) = peek(raw, 4);
        let raw = raw.map_err(unreadable)?;
        let stream: Box<dyn BufRead + Send> = if magic.starts_with(&[0x1f, 0x8b]) {
            let decoder = flate2::bufread::MultiGzDecoder::new(raw);
            Box::new(BufReader::with_capacity(BUFFER_BYTES, Named { decoder, kind: "gzip" }))
        } else if is_zstd(&magic) {
            unzstd(raw).map_err(unreadable)?
        } else {
            raw
        };
        // What is damaged within the first bytes is damaged within the sample, which says so.
        let stream = match peek(stream, unicode::HEAD_BYTES) {
            (head, Ok(stream)) => unicode::decoded(&head, stream).map_err(unreadable)?,
            (head, Err(error)) => Box::new(Cursor::new(head).chain(Failing(Some(error)))),
        };
        let (sample, stream) = peek(stream, SAMPLE_BYTES);
        let stream = match stream {
            Ok(stream) => stream,
            // What precedes the damage may still be read; the error comes in its place.
            Err(error) if !sample.is_empty() => Box::new(Cursor::new(sample.clone()).chain(Failing(Some(error)))),
            Err(error) => return Err(unreadable(error)),
        };
        if sample.is_empty() {
            return Err(TraceError::file(&file, "is empty, a trace has at least one request"));
        }
        let sample_is_all = sample.len() < SAMPLE_BYTES;
        Ok(Input { file, sample, sample_is_all, stream })
    }
}

/// The files that a path stands for: `NAME` for all of `NAME.blktrace.CPU`, in order of CPUs, where there is no `NAME`.
pub(crate) fn expanded(path: &Path) -> Vec<PathBuf> {
    if path.exists() {
        return vec![path.to_path_buf()];
    }
    let siblings = blktrace_siblings(path);
    if siblings.is_empty() { vec![path.to_path_buf()] } else { siblings }
}

/// The files that blktrace wrote beside `path` and that are not among `paths`, for a person.
pub(crate) fn left_beside(path: &Path, paths: &[PathBuf]) -> Option<String> {
    let (stem, cpu) = path.to_str()?.rsplit_once(".blktrace.")?;
    cpu.parse::<u32>().ok()?;
    let others = blktrace_siblings(Path::new(stem)).into_iter().filter(|other| !paths.contains(other)).count();
    (others > 0)
        .then(|| format!("{others} more files of the same recording lie beside it: {stem} stands for all of them"))
}

fn blktrace_siblings(stem: &Path) -> Vec<PathBuf> {
    let Some(name) = stem.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder = stem.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let cpu = entry.file_name().to_str()?.strip_prefix(name)?.strip_prefix(".blktrace.")?.parse().ok()?;
            Some((cpu, stem.with_file_name(entry.file_name())))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// A name without control characters, so that an error stays one line.
pub(crate) fn printable(name: &str) -> Arc<str> {
    name.chars().map(|char| if char.is_control() { '?' } else { char }).collect::<String>().into()
}

/// A zstd frame, or one of the skippable frames that parallel compressors put in front.
fn is_zstd(magic: &[u8]) -> bool {
    magic == [0x28, 0xb5, 0x2f, 0xfd] || matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

#[cfg(feature = "zstd")]
fn unzstd(raw: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, Named { decoder, kind: "zstd" })))
}

#[cfg(not(feature = "zstd"))]
fn unzstd(_: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    Err(without_zstd())
}

/// The error of a build without zstd.
#[cfg(not(feature = "zstd"))]
pub(crate) fn without_zstd() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "zstd is not part of this build")
}

type Peeked = (Vec<u8>, io::Result<Box<dyn BufRead + Send>>);

/// Reads up to `count` bytes and puts them back in front of the stream.
fn peek(mut stream: Box<dyn BufRead + Send>, count: usize) -> Peeked {
    let mut head = Vec::with_capacity(count);
    match stream.by_ref().take(count as u64).read_to_end(&mut head) {
        Ok(_) => (head.clone(), Ok(Box::new(Cursor::new(head).chain(stream)))),
        Err(error) => (head, Err(error)),
    }
}

/// A decompressor whose errors say their meaning for the file.
struct Named<D> {
    decoder: D,
    kind: &'static str,
}

impl<D: Read> Read for Named<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let state = if error.kind() == io::ErrorKind::UnexpectedEof { "is cut short" } else { "is damaged" };
            io::Error::new(error.kind(), format!("the {} stream {state} ({error})", self.kind))
        })
    }
}

/// Yields one error, then the end.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

impl BufRead for Failing {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.take().map_or(Ok(&[]), Err)
    }

    fn consume(&mut self, _: usize) {}
}
