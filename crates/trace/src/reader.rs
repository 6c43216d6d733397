//! A trace as a stream of requests, whatever its format and of however many files.
//!
//! ```text
//! file → records of its format ┐
//! file → records of its format ┴→ merged by time → usable and asked for → sorted by time → split
//! ```

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;
use crate::bounds::SIZE_BYTES_MAX;
use crate::filter::{Filtered, Filters, InSpan};
use crate::format::requeues::OnceEach;
use crate::format::{BlkparseEvent, Format};
use crate::input::{Input, printable};
use crate::merge::Merged;
use crate::noted::{Note, Noted, Records, UnitsNamed};
use crate::opening::{Detected, Numbering, OpenedFile, Recording};
use crate::options::OpenOptions;
use crate::record::Record;
use crate::report::{FileRead, InputReport};
use crate::request::{Op, Request};
use crate::skipped::{SkipReason, Skipped};
use crate::sort::Sorted;
use crate::{doubts, input};

/// So many files are merged at the most.
const FILES_MAX: usize = 512;

/// An open trace: an iterator over its requests that ends after the first error.
///
/// A trace without any usable request is an error at its end, and so is one in which absurd records
/// outnumber the usable ones.
pub struct TraceFile {
    name: Arc<str>,
    files: Vec<FileRead>,
    records: Box<dyn Records>,
    noted: Noted,
    /// Requests of some file have placement handles.
    has_handles: bool,
    /// What is left of a request that comes out in pieces.
    rest: Option<Record>,
    sorted: bool,
    strict: bool,
    requests: u64,
    ended: bool,
}

impl std::fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TraceFile { name, files, requests, .. } = self;
        f.debug_struct("TraceFile")
            .field("name", name)
            .field("files", files)
            .field("requests", requests)
            .finish_non_exhaustive()
    }
}

impl TraceFile {
    /// Opens a trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip). `NAME` stands for all of
    /// `NAME.blktrace.0`, `NAME.blktrace.1`, … where there is no file of that name.
    ///
    /// # Errors
    /// The file cannot be read, is a directory, is empty, or is of no known format.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, TraceError> {
        Self::open_all(&[path.as_ref().to_path_buf()], options)
    }

    /// Opens several files as one trace, merged by time. Devices of the same number are the same device.
    ///
    /// # Errors
    /// As [`TraceFile::open`] of each; none or over 512 files.
    pub fn open_all(paths: &[PathBuf], options: &OpenOptions) -> Result<Self, TraceError> {
        let paths = input::files_of(paths);
        if paths.len() > FILES_MAX {
            let what = format!("{} files are over {FILES_MAX}, which are merged at once", paths.len());
            return Err(TraceError::Option(what));
        }
        let mut noted = Noted::default();
        let mut detected: Vec<Detected> = Vec::with_capacity(paths.len());
        let mut recordings: Vec<Recording> = Vec::with_capacity(paths.len());
        for (at, path) in paths.iter().enumerate() {
            let input = Input::open(path)?;
            if let Some(remark) = input::left_beside(path, &paths) {
                noted.remark(&input.file, &remark);
            }
            if paths.iter().take(at).any(|other| input::are_same(other, path)) {
                noted.remark(&input.file, "the file is named twice, so that each of its requests comes twice");
            }
            let file = Detected::new(input, options)?;
            recordings.push(match input::recording_of(path) {
                Some(name) => Recording::Named(name),
                None if file.format == Format::Blktrace => Recording::OfCpus,
                None => Recording::Alone(at),
            });
            detected.push(file);
        }
        // One CPU may issue what another completes: what stands for a request is the same in a whole recording.
        let events: Vec<Option<BlkparseEvent>> = detected.iter().map(Detected::event).collect();
        let event_of = |recording: &Recording| {
            recordings
                .iter()
                .zip(&events)
                .filter(|(other, _)| *other == recording)
                .filter_map(|(_, event)| *event)
                .min()
        };
        let numbering = Numbering::default();
        let opened = detected.into_iter().zip(&recordings).map(|(file, recording)| {
            file.opened(options.blkparse_event.or_else(|| event_of(recording)), &numbering, options, &mut noted)
        });
        let opened = opened.collect::<Result<_, _>>()?;
        let numbers = recordings.iter().map(|recording| recordings.iter().position(|first| first == recording));
        let numbers: Vec<usize> = numbers.map(Option::unwrap_or_default).collect();
        noted.of_recordings(&numbers);
        Self::of_files(opened, noted, options)
    }

    fn of_files(opened: Vec<OpenedFile>, noted: Noted, options: &OpenOptions) -> Result<Self, TraceError> {
        let more = opened.len().saturating_sub(1);
        let has_handles = opened.iter().any(|file| file.has_handles);
        let Some(first) = opened.first() else {
            return Err(TraceError::Option("no file is named, at least one would be right".to_owned()));
        };
        let name: Arc<str> = match more {
            0 => first.read.file.as_str().into(),
            _ => format!("{} and {more} more", first.read.file).into(),
        };
        let (files, mut streams): (Vec<FileRead>, Vec<Box<dyn Records>>) =
            opened.into_iter().map(|file| (file.read, file.records)).unzip();
        let records = match streams.pop() {
            Some(one) if streams.is_empty() => one,
            last => {
                streams.extend(last);
                Box::new(Merged::new(streams))
            }
        };
        // A request may be issued in one file and put back in another.
        let from_linux = files.iter().any(|file| file.format.has_events());
        let records = if from_linux { Box::new(OnceEach::new(records)) } else { records };
        Ok(Self::of_records(name, files, records, noted, options).with_handles(has_handles))
    }

    pub(crate) fn of_records(
        name: Arc<str>,
        files: Vec<FileRead>,
        records: Box<dyn Records>,
        mut noted: Noted,
        options: &OpenOptions,
    ) -> Self {
        noted.of_columns = files.iter().any(|file| file.columns.is_some());
        noted.named = UnitsNamed { sector: options.sector_bytes.is_some(), time: options.time_unit.is_some() };
        let filters = &options.filters;
        if files.len() == 1 && *filters != Filters::default() {
            noted.of_one_file();
        }
        let sorted = |filtered| Box::new(Sorted::new(Box::new(filtered), Arc::clone(&name)));
        let records: Box<dyn Records> = match &filters.span_ns {
            Some(span_ns) if options.sort => {
                let sorted = sorted(Filtered::at_any_time(records, filters));
                Box::new(InSpan::new(sorted, span_ns.clone(), filters.first))
            }
            _ if options.sort => sorted(Filtered::new(records, filters)),
            _ => Box::new(Filtered::new(records, filters)),
        };
        TraceFile {
            name,
            files,
            records,
            noted,
            has_handles: false,
            rest: None,
            sorted: options.sort,
            strict: options.strict,
            requests: 0,
            ended: false,
        }
    }

    /// The file's name, as errors show it; of several, the first one's and how many more there are.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format, given or guessed; of several files, the first one's.
    #[must_use]
    pub fn format(&self) -> Format {
        // There is always a file.
        self.files.first().map_or(Format::Csv, |file| file.format)
    }

    /// Whether requests have placement handles, as far as the files' beginnings show. Files that were joined may have
    /// some further down.
    #[must_use]
    pub fn has_handles(&self) -> bool {
        self.has_handles
    }

    /// With placement handles, or without.
    pub(crate) fn with_handles(self, has_handles: bool) -> Self {
        TraceFile { has_handles, ..self }
    }

    /// The skipped records so far.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.noted.skipped
    }

    /// What is odd about what was read so far, and how often.
    #[must_use]
    pub fn notes(&self) -> Vec<(Note, u64)> {
        self.records.notes()
    }

    /// How many requests were yielded so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The earliest time so far, in nanoseconds of the file's own epoch; of the whole trace once it has ended.
    #[must_use]
    pub fn earliest_ns(&self) -> u64 {
        self.noted.clock.earliest_ns
    }

    /// What was read so far; of the whole trace once it has ended.
    #[must_use]
    pub fn report(&self) -> InputReport {
        let noted = &self.noted;
        let of_shape = noted.skipped.iter().filter(|(reason, _)| reason.has_record_shape());
        // What a filter leaves out is usable.
        let left_out = of_shape.filter(|(reason, _)| *reason != SkipReason::Filtered).map(|(_, count)| count);
        InputReport {
            files: self.files.clone(),
            records: noted.usable + left_out.sum::<u64>(),
            requests: self.requests,
            left_out: noted.skipped.clone(),
            split: noted.split,
            back_in_time: noted.steps_back(),
            sorted: self.sorted,
            devices: noted.devices(),
            shared_devices: noted.shared_devices(),
            duration_ns: noted.clock.duration_ns(),
            warnings: doubts::warnings(&self.files, noted, &self.notes(), self.sorted),
        }
    }

    fn advance(&mut self) -> Result<Option<Request>, TraceError> {
        let next = match self.rest.take() {
            Some(rest) => Some(rest),
            None => self.records.next_record(&mut self.noted)?,
        };
        match next {
            Some(record) => {
                self.requests += 1;
                Ok(Some(self.piece(record)))
            }
            None => self.ended_well().map(|()| None),
        }
    }

    /// As much of a record as is asked at once; the rest waits.
    fn piece(&mut self, record: Record) -> Request {
        let Record { time_ns, device, op, offset_bytes, mut size_bytes, handle, .. } = record;
        if size_bytes > SIZE_BYTES_MAX && op != Op::Trim {
            let rest = size_bytes - SIZE_BYTES_MAX;
            self.rest = Some(Record { offset_bytes: offset_bytes + SIZE_BYTES_MAX, size_bytes: rest, ..record });
            size_bytes = SIZE_BYTES_MAX;
        }
        Request { time_ns, device, op, offset_bytes, size_bytes, handle }
    }

    /// Whether what was read up to the end is a trace.
    fn ended_well(&self) -> Result<(), TraceError> {
        let (usable, format) = (self.noted.usable, self.format());
        let absurd = self.noted.skipped.count(SkipReason::Absurd);
        if usable == 0 {
            let what = format!("no usable {format} request in the file; skipped: {}", self.noted.skipped);
            return Err(TraceError::file(&self.name, what));
        }
        if self.requests == 0 {
            let what = format!("the filters leave out each of {usable} requests, wider ones would be right");
            return Err(TraceError::file(&self.name, what));
        }
        if absurd > usable {
            let what = format!(
                "{absurd} absurd addresses or sizes outnumber {usable} usable requests; another format than {format} \
                 may be right"
            );
            return Err(TraceError::file(&self.name, what));
        }
        if self.strict
            && let Some(warning) = self.report().warnings.into_iter().next()
        {
            return Err(TraceError::file(&self.name, format!("--strict takes no warning: {warning}")));
        }
        Ok(())
    }
}

impl Iterator for TraceFile {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Reads a trace from any stream; `name` stands for it in errors.
///
/// # Errors
/// As [`TraceFile::open`].
pub fn reader_from(
    stream: impl BufRead + Send + 'static,
    name: &str,
    options: &OpenOptions,
) -> Result<TraceFile, TraceError> {
    let detected = Detected::new(Input::new(Box::new(stream), printable(name))?, options)?;
    let event = options.blkparse_event.or_else(|| detected.event());
    let mut noted = Noted::default();
    let opened = detected.opened(event, &Numbering::default(), options, &mut noted)?;
    TraceFile::of_files(vec![opened], noted, options)
}
