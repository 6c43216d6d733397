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
pub(crate) mod way;
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

/// The files of a trace. Of a recording, those of CPUs without requests, which are empty, are passed over.
pub(crate) fn files_of(paths: &[PathBuf]) -> Vec<PathBuf> {
    let all: Vec<PathBuf> = paths.iter().flat_map(|path| expanded(path)).collect();
    let mut kept = all.clone();
    kept.retain(|path| {
        let recording = recording_of(path);
        let has_content = |other: &PathBuf| recording_of(other) == recording && !is_empty(other);
        recording.is_none() || !is_empty(path) || !all.iter().any(has_content)
    });
    kept
}

fn is_empty(path: &PathBuf) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == 0)
}

/// Whether two paths lead to the same file.
pub(crate) fn are_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other || real(one).is_some_and(|one| real(other) == Some(one))
}

/// The files that a path stands for: `NAME` for all of `NAME.blktrace.CPU`, in order of CPUs, where there is no `NAME`.
fn expanded(path: &Path) -> Vec<PathBuf> {
    if path.exists() {
        return vec![path.to_path_buf()];
    }
    let siblings = blktrace_siblings(path);
    if siblings.is_empty() { vec![path.to_path_buf()] } else { siblings }
}

/// The files that blktrace wrote beside `path` and that are not among `paths`, for a person.
pub(crate) fn left_beside(path: &Path, paths: &[PathBuf]) -> Option<String> {
    let stem = recording_of(path)?;
    let others = blktrace_siblings(&stem).into_iter().filter(|other| !paths.contains(other)).count();
    let stem = stem.display();
    (others > 0)
        .then(|| format!("{others} more files of the same recording lie beside it: {stem} stands for all of them"))
}

/// `NAME` of `NAME.blktrace.CPU`, which may be compressed.
pub(crate) fn recording_of(path: &Path) -> Option<PathBuf> {
    let (stem, cpu) = path.to_str()?.rsplit_once(".blktrace.")?;
    cpu_of(cpu).map(|_| PathBuf::from(stem))
}

/// The CPU of `CPU` or `CPU.gz`.
fn cpu_of(text: &str) -> Option<u32> {
    text.split_once('.').map_or(text, |(cpu, _)| cpu).parse().ok()
}

fn blktrace_siblings(stem: &Path) -> Vec<PathBuf> {
    let Some(name) = stem.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder = stem.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let cpu = cpu_of(entry.file_name().to_str()?.strip_prefix(name)?.strip_prefix(".blktrace.")?)?;
            Some((cpu, stem.with_file_name(entry.file_name())))
        })
        .collect();
    // The file of a CPU without requests is empty.
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
