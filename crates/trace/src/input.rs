//! The bytes of a trace: opened, unpacked as they stream, with a sample of the beginning to guess
//! the format from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use crate::TraceError;
use said::at_opening;
use way::Way;

mod decompress;
mod layers;
#[cfg(feature = "archives")]
mod lz4;
#[cfg(feature = "archives")]
mod members;
mod said;
#[cfg(feature = "archives")]
mod tar;
mod unread;
mod way;
#[cfg(feature = "archives")]
mod zip;

/// How much of the unpacked beginning is looked at to guess a format, in bytes.
pub(crate) const SAMPLE_BYTES: usize = 64 * 1024;

const BUFFER_BYTES: usize = 128 * 1024;

/// Bytes that come one after the other.
type Stream = Box<dyn BufRead + Send>;

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
        let metadata = opened.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(TraceError::file(&file, "is a directory, a trace is a single file"));
        }
        let way = Way::from(Some(&file));
        #[cfg(feature = "archives")]
        let opened = {
            let mut opened = opened;
            let unreadable = |error| at_opening(&file, error);
            if metadata.is_file() && zip::begins(&mut opened).map_err(unreadable)? {
                let (stream, way) = zip::member(opened, &way).map_err(unreadable)?;
                return Input::unpacked(stream, way, file);
            }
            opened
        };
        Input::unpacked(Box::new(BufReader::with_capacity(BUFFER_BYTES, opened)), way, file)
    }

    pub(crate) fn new(raw: Box<dyn BufRead + Send>, file: Arc<str>) -> Result<Self, TraceError> {
        Input::unpacked(raw, Way::from(None), file)
    }

    /// From a stream, to which `way` leads.
    fn unpacked(stream: Stream, way: Way, file: Arc<str>) -> Result<Self, TraceError> {
        let sampled = layers::unpack(stream, way).and_then(|stream| peek(stream, SAMPLE_BYTES));
        let (sample, stream) = sampled.map_err(|error| at_opening(&file, error))?;
        if sample.is_empty() {
            return Err(TraceError::file(&file, "is empty, a trace has at least one request"));
        }
        let sample_is_all = sample.len() < SAMPLE_BYTES;
        Ok(Input { file, sample, sample_is_all, stream })
    }
}

/// A name without control characters, so that an error stays one line.
pub(crate) fn printable(name: &str) -> Arc<str> {
    name.chars().map(|char| if char.is_control() { '?' } else { char }).collect::<String>().into()
}

/// What a build without zstd says of it.
#[cfg(not(feature = "zstd"))]
pub(crate) fn without_zstd() -> io::Error {
    said::not_built("zstd")
}

/// Reads up to `count` bytes and puts them back in front of the stream. What precedes an error may still be read; the
/// error comes in its place.
fn peek(mut stream: Stream, count: usize) -> io::Result<(Vec<u8>, Stream)> {
    let mut head = Vec::with_capacity(count);
    match stream.by_ref().take(count as u64).read_to_end(&mut head) {
        Ok(_) => Ok((head.clone(), Box::new(Cursor::new(head).chain(stream)))),
        Err(error) if head.is_empty() => Err(error),
        Err(error) => Ok((head.clone(), Box::new(Cursor::new(head).chain(Failing(Some(error)))))),
    }
}

/// Reads so many bytes, or fewer where the stream ends.
#[cfg(feature = "archives")]
fn read_up_to(stream: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.by_ref().take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
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
