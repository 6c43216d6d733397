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
use crate::bounds::{SECTOR_BYTES_MAX, SIZE_BYTES_MAX};
use crate::filter::{Filtered, Filters, InSpan};
use crate::format::BlkparseEvent;
use crate::format::binary::BinaryRecords;
use crate::format::columns::ColumnSpec;
use crate::format::columns::parser::AnyColumns;
use crate::format::columns::settle::{self, Settled};
use crate::format::dialect::Lenient;
use crate::format::line_parser::LineParser;
use crate::format::names::Names;
use crate::format::requeues::OnceEach;
use crate::format::text::TextRecords;
use crate::format::{self, Format, SECTOR_BYTES, TimeUnit};
use crate::input::{Input, printable};
use crate::lines::Lines;
use crate::merge::Merged;
use crate::noted::{Note, Noted, Records, UnitsNamed};
use crate::record::Record;
use crate::report::{FileRead, InputReport};
use crate::request::{Op, Request};
use crate::skipped::{SkipReason, Skipped};
use crate::sort::Sorted;
use crate::{doubts, input};

/// So many files are merged at the most.
const FILES_MAX: usize = 512;

/// What the file does not say, or says wrongly; and what of it is asked for.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The format; guessed from content when absent.
    pub format: Option<Format>,
    /// The unit of the time column; the format's own (or, for `disksim`, a guess) when absent. An error for `hp-srt` and
    /// `blktrace`, whose records are in fixed ones.
    pub time_unit: Option<TimeUnit>,
    /// Which event of blkparse, blktrace or ftrace is the request; guessed from the content of each recording when absent.
    pub blkparse_event: Option<BlkparseEvent>,
    /// Bytes of a sector, a power of two up to [`SECTOR_BYTES_MAX`]; the format's own when absent. An error
    /// for formats whose addresses and sizes are in bytes.
    pub sector_bytes: Option<u32>,
    /// What each column is, of format `columns`; the file's heading says so when absent, or where it names none.
    pub columns: Option<ColumnSpec>,
    /// Put requests into the order of their times, in bounded memory and temporary files.
    pub sort: bool,
    /// Which requests are asked for.
    pub filters: Filters,
    /// A warning is an error at the end of the trace.
    pub strict: bool,
}

impl OpenOptions {
    /// The sector to count in, where the format's own is of `own` bytes.
    fn sector(&self, own: u64) -> u64 {
        self.sector_bytes.map_or(own, u64::from)
    }

    fn check(&self, format: Format) -> Result<(), TraceError> {
        if self.blkparse_event.is_some() && !format.has_events() {
            return Err(TraceError::Option(format!(
                "{format} has one event a request; blkparse, blktrace and ftrace have several to choose from"
            )));
        }
        if self.time_unit.is_some() && format.fixes_time_unit() {
            return Err(TraceError::Option(format!("{format} has times in a fixed unit, so another one cannot be")));
        }
        match self.sector_bytes {
            None => Ok(()),
            Some(bytes) if !bytes.is_power_of_two() || bytes > SECTOR_BYTES_MAX => Err(TraceError::Option(format!(
                "a sector of {bytes} bytes cannot be; a power of two up to {SECTOR_BYTES_MAX} would be right"
            ))),
            Some(_) if format == Format::Columns => Err(TraceError::Option(
                "--columns states the units of addresses and sizes, such as lba:4096 or size:4KiB, so --sector says nothing"
                    .to_owned(),
            )),
            Some(_) if !format.has_sectors() => Err(TraceError::Option(format!(
                "{format} has addresses and sizes in bytes, so a size of a sector says nothing"
            ))),
            Some(_) => Ok(()),
        }
    }
}

/// An open trace: an iterator over its requests that ends after the first error.
///
/// A trace without any usable request is an error at its end, and so is one in which absurd records
/// outnumber the usable ones.
pub struct TraceFile {
    name: Arc<str>,
    files: Vec<FileRead>,
    records: Box<dyn Records>,
    noted: Noted,
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
        Ok(Self::of_records(name, files, records, noted, options))
    }

    pub(crate) fn of_records(
        name: Arc<str>,
        files: Vec<FileRead>,
        records: Box<dyn Records>,
        mut noted: Noted,
        options: &OpenOptions,
    ) -> Self {
        noted.named = UnitsNamed { sector: options.sector_bytes.is_some(), time: options.time_unit.is_some() };
        let filters = &options.filters;
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
            back_in_time: noted.clock.steps_back,
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
        let Record { time_ns, device, op, offset_bytes, mut size_bytes, .. } = record;
        if size_bytes > SIZE_BYTES_MAX && op != Op::Trim {
            let rest = size_bytes - SIZE_BYTES_MAX;
            self.rest = Some(Record { offset_bytes: offset_bytes + SIZE_BYTES_MAX, size_bytes: rest, ..record });
            size_bytes = SIZE_BYTES_MAX;
        }
        Request { time_ns, device, op, offset_bytes, size_bytes }
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

/// Which recording a file is part of.
#[derive(Debug, PartialEq, Eq)]
enum Recording {
    /// That of `NAME.blktrace.CPU`.
    Named(PathBuf),
    /// The one of blktrace whose files have other names. It writes one file for each CPU.
    OfCpus,
    /// Its own.
    Alone(usize),
}

/// Devices that are known by name, numbered over all files.
#[derive(Default)]
struct Numbering {
    devices: Names,
    hosts: Names,
}

/// A file whose records can be read.
struct OpenedFile {
    read: FileRead,
    records: Box<dyn Records>,
}

/// A file whose format is settled.
struct Detected {
    input: Input,
    format: Format,
    named: Option<Format>,
}

impl Detected {
    fn new(input: Input, options: &OpenOptions) -> Result<Self, TraceError> {
        let named = options.format.or(options.columns.as_ref().map(|_| Format::Columns));
        let format = match named {
            Some(format) => format,
            None => format::detect::detect(&input)?,
        };
        options.check(format)?;
        Ok(Detected { input, format, named })
    }

    /// The event that stands for a request, where the format has several and the file's beginning has one.
    fn event(&self) -> Option<BlkparseEvent> {
        let sample = &self.input.sample;
        match self.format {
            Format::Blkparse => format::blkparse::event_of(sample),
            Format::Blktrace => format::blktrace::event_of(sample, format::blktrace::layout_of(sample)),
            Format::Ftrace => Some(format::ftrace::Kind::of(sample, None).event),
            _ => None,
        }
    }

    /// Its records, where this event stands for a request.
    fn opened(
        self,
        event: Option<BlkparseEvent>,
        numbering: &Numbering,
        options: &OpenOptions,
        noted: &mut Noted,
    ) -> Result<OpenedFile, TraceError> {
        let Detected { input, format, named } = self;
        let columns = match format {
            Format::Columns => Some(settle::of(options.columns.as_ref(), input.whole_lines(), &input.file)?),
            _ => None,
        };
        if let Some(settled) = &columns {
            settled.remarks.iter().for_each(|remark| noted.remark(&input.file, remark));
            settled.agrees_with(options.time_unit, options.columns.as_ref(), &input.file)?;
        }
        let is_disksim = format == Format::DiskSim;
        let guess = is_disksim.then(|| format::disksim::time_unit_of(&input.sample));
        let marked = if is_disksim { format::disksim::marked_unit(&input.sample) } else { None };
        let named_unit = options.time_unit.or(marked);
        let stated = columns.as_ref().and_then(Settled::time_unit).unwrap_or(format.time_unit());
        let times_guessed = guess.is_some() || columns.as_ref().is_some_and(|settled| settled.time_guessed);
        let is_guess = named.is_none() && marked.is_none() && !format::detect::has_heading(input.whole_lines());
        let read = FileRead {
            file: input.file.to_string(),
            format,
            format_guessed: named.is_none() && marked.is_none(),
            time_unit: named_unit.or(guess).unwrap_or(stated),
            time_unit_guessed: named_unit.is_none() && times_guessed,
            assumed: if is_guess { format.assumed(options.sector_bytes) } else { None },
            columns: columns.as_ref().and_then(Settled::read),
        };
        let records = records(input, &read, columns, event, numbering, options)?;
        Ok(OpenedFile { read, records })
    }
}

fn records(
    input: Input,
    read: &FileRead,
    columns: Option<Settled>,
    event: Option<BlkparseEvent>,
    numbering: &Numbering,
    options: &OpenOptions,
) -> Result<Box<dyn Records>, TraceError> {
    use crate::format::disksim::FiveColumns;
    let Input { file, sample, stream, .. } = input;
    let FileRead { format, time_unit: time, .. } = *read;
    let sector_bytes = options.sector(SECTOR_BYTES);
    let devices = || numbering.devices.clone();
    // A format that is named needs no header.
    let needs_header = read.format_guessed;
    let text = Text { stream, file: Arc::clone(&file), format };
    Ok(match format {
        Format::Csv => text.records(format::csv::Csv::new(time, needs_header)),
        Format::Columns => {
            let settled = columns.ok_or_else(|| TraceError::file(&file, "no columns are named"))?;
            text.lenient(Lenient::settled(AnyColumns::new(settled, time).numbered(devices())))
        }
        Format::DiskSim => text.records(FiveColumns::disksim(time, read.time_unit_guessed, sector_bytes)),
        Format::FlashSim => text.records(format::flashsim::parser(time, sector_bytes)),
        Format::Replayer => text.records(format::replayer::parser(time)),
        Format::Msr => text.records(format::msr::Msr::new(time).numbered(numbering.hosts.clone())),
        Format::Spc => text.records(format::spc::Spc { time, sector_bytes }),
        Format::DiskMon => text.records(format::diskmon::DiskMon { time, sector_bytes }),
        Format::Blkparse => {
            text.records(format::blkparse::Blkparse::new(time, event.unwrap_or(BlkparseEvent::Queued), sector_bytes))
        }
        Format::Ftrace => {
            let kind = format::ftrace::Kind::of(&sample, event);
            let ftrace = format::ftrace::Ftrace::new(time, kind, sector_bytes);
            text.records(ftrace.numbered(devices(), options.sector_bytes.is_none()))
        }
        Format::Spdk => text.records(format::spdk::Spdk::new(time, sector_bytes).numbered(devices())),
        Format::BioSnoop => text.records(format::biosnoop::BioSnoop::new(time, sector_bytes).numbered(devices())),
        Format::Etw => text.records(format::etw::Etw::new(time)),
        Format::Midas => {
            let block_bytes = options.sector(format::midas::BLOCK_BYTES);
            text.records(format::midas::Midas { time, block_bytes, guessing: false })
        }
        Format::VscsiCsv => {
            let radix = format::vscsi_csv::radix_of(&sample);
            text.records(format::vscsi_csv::VscsiCsv { time, sector_bytes, radix })
        }
        Format::OracleGeneral => {
            let block_bytes = options.sector(format::oracle_general::BLOCK_BYTES);
            let parser = format::oracle_general::OracleGeneral { time, block_bytes };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
        Format::FioV2 => text.records(format::fio::Fio::new(2, time).numbered(devices())),
        Format::FioV3 => text.records(format::fio::Fio::new(3, time).numbered(devices())),
        Format::BioTracer => text.records(format::biotracer::BioTracer { time, sector_bytes }),
        Format::Fiu => text.records(format::fiu::Fiu { time, sector_bytes }),
        Format::WiscSee => text.records(format::wiscsee::WiscSee { time }),
        Format::Alibaba => text.records(format::alibaba::Alibaba { time }),
        Format::Tencent => text.records(format::tencent::Tencent { time, sector_bytes }),
        Format::Systor => text.records(format::systor::Systor::new(time, needs_header)),
        Format::HpSrt => return format::hp_srt::open(text.stream, file, options.sector(format::hp_srt::SECTOR_BYTES)),
        Format::Blktrace => {
            let layout = format::blktrace::layout_of(&sample);
            let event = event.unwrap_or(BlkparseEvent::Queued);
            let parser = format::blktrace::Blktrace::new(layout, event, sector_bytes);
            if layout.wide {
                Box::new(BinaryRecords::<_, { format::blktrace::V8_BYTES }>::new(text.stream, parser, file, 0))
            } else {
                Box::new(BinaryRecords::<_, { format::blktrace::V7_BYTES }>::new(text.stream, parser, file, 0))
            }
        }
        Format::VscsiV1 => {
            let parser = format::vscsi::VscsiV1 { time, sector_bytes };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
        Format::VscsiV2 => {
            let parser = format::vscsi::VscsiV2 { time, sector_bytes };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
    })
}

struct Text {
    stream: Box<dyn BufRead + Send>,
    file: Arc<str>,
    format: Format,
}

impl Text {
    fn records(self, parser: impl LineParser + 'static) -> Box<dyn Records> {
        self.lenient(Lenient::new(parser))
    }

    fn lenient(self, parser: Lenient<impl LineParser + 'static>) -> Box<dyn Records> {
        Box::new(TextRecords::new(Lines::new(self.stream), parser, self.file, self.format))
    }
}
