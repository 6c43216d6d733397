//! The bytes of a trace: opened, unpacked as they stream, with a sample of the beginning to guess
//! the format from.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;
use crate::unicode;
use said::at_opening;
use stream::{BUFFER_BYTES, Stream, peek};
use way::Way;

pub(crate) use stream::printable;

mod decompress;
mod layers;
#[cfg(feature = "archives")]
mod lz4;
#[cfg(feature = "archives")]
mod members;
mod said;
mod stream;
#[cfg(feature = "archives")]
mod tar;
mod unread;
mod way;
#[cfg(feature = "archives")]
mod zip;

/// How much of the unpacked beginning is looked at to guess a format, in bytes.
pub(crate) const SAMPLE_BYTES: usize = 64 * 1024;

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
    /// The sample without its last line, which may be cut where the sample ends inside the file.
    pub(crate) fn whole_lines(&self) -> &[u8] {
        match memchr::memrchr(b'\n', &self.sample) {
            Some(end) if !self.sample_is_all => self.sample.get(..end).unwrap_or_default(),
            _ => &self.sample,
        }
    }

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
        let sampled = layers::unpack(stream, way).and_then(|stream| {
            let (head, stream) = peek(stream, unicode::HEAD_BYTES)?;
            peek(unicode::decoded(&head, stream)?, SAMPLE_BYTES)
        });
        let (sample, stream) = sampled.map_err(|error| at_opening(&file, error))?;
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
    // The file of a CPU without requests is empty.
    let is_empty = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0);
    if !found.iter().all(|(_, path)| is_empty(path)) {
        found.retain(|(_, path)| !is_empty(path));
    }
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// What a build without zstd says of it.
#[cfg(not(feature = "zstd"))]
pub(crate) fn without_zstd() -> std::io::Error {
    said::not_built("zstd")
}
