//! A trace file as a stream of requests, whatever its format.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use crate::TraceError;
use crate::format::BlkparseEvent;
use crate::format::binary::BinaryRecords;
use crate::format::text::{LineParser, TextRecords};
use crate::format::{self, Format, Record, Records, TimeUnit};
use crate::input::{Input, printable};
use crate::lines::Lines;
use crate::request::{Op, Request};
use crate::skipped::{SkipReason, Skipped};

/// Every range must end at or below this byte (2^63).
pub const END_BYTES_MAX: u64 = 1 << 63;
/// A read or write must not be larger (1 GiB). A trim may: whole drives are discarded at once.
pub const SIZE_BYTES_MAX: u64 = 1 << 30;

/// What the file does not say, or says wrongly.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The format; guessed from content when absent.
    pub format: Option<Format>,
    /// The unit of the time column; the format's own (or, for `disksim`, a guess) when absent. Ignored
    /// by `hp-srt` and `blktrace`, which fix it.
    pub time_unit: Option<TimeUnit>,
    /// Which blkparse or blktrace event is the request; guessed from content when absent.
    pub blkparse_event: Option<BlkparseEvent>,
}

/// An open trace: an iterator over its requests that ends after the first error.
///
/// A trace without any usable request is an error at its end, and so is one in which absurd records
/// outnumber the usable ones.
pub struct TraceFile {
    file: Arc<str>,
    format: Format,
    records: Box<dyn Records>,
    skipped: Skipped,
    first_time_ns: Option<u64>,
    requests: u64,
    ended: bool,
}

impl std::fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TraceFile { file, format, requests, .. } = self;
        f.debug_struct("TraceFile")
            .field("file", file)
            .field("format", format)
            .field("requests", requests)
            .finish_non_exhaustive()
    }
}

impl TraceFile {
    /// Opens a trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip).
    ///
    /// # Errors
    /// The file cannot be read, is a directory, is empty, or is of no known format.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, TraceError> {
        Self::from_input(Input::open(path.as_ref())?, options)
    }

    fn from_input(input: Input, options: &OpenOptions) -> Result<Self, TraceError> {
        let format = match options.format {
            Some(format) => format,
            None => format::detect::detect(&input)?,
        };
        let file = Arc::clone(&input.file);
        let records = records(input, format, options)?;
        Ok(Self::of_records(file, format, records))
    }

    pub(crate) fn of_records(file: Arc<str>, format: Format, records: Box<dyn Records>) -> Self {
        TraceFile { file, format, records, skipped: Skipped::default(), first_time_ns: None, requests: 0, ended: false }
    }

    /// The file's name, as errors show it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.file
    }

    /// The format, given or guessed.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What was skipped so far.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// How many requests were yielded so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    fn advance(&mut self) -> Result<Option<Request>, TraceError> {
        while let Some(record) = self.records.next_record(&mut self.skipped)? {
            if let Some(reason) = unusable(&record) {
                self.skipped.add(reason);
                continue;
            }
            let first = *self.first_time_ns.get_or_insert(record.time_ns);
            self.requests += 1;
            return Ok(Some(Request {
                time_ns: record.time_ns.saturating_sub(first),
                device: record.device,
                op: record.op,
                offset_bytes: record.offset_bytes,
                size_bytes: record.size_bytes,
            }));
        }
        let absurd = self.skipped.count(SkipReason::Absurd);
        if self.requests == 0 {
            let what = format!("no usable {} request in the file; skipped: {}", self.format, self.skipped);
            return Err(TraceError::file(&self.file, what));
        }
        if absurd > self.requests {
            let what = format!(
                "{absurd} absurd addresses or sizes outnumber {} usable requests; another format than {} may be right",
                self.requests, self.format
            );
            return Err(TraceError::file(&self.file, what));
        }
        Ok(None)
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
    TraceFile::from_input(Input::new(Box::new(stream), printable(name))?, options)
}

/// Why a record is no request, if it is none.
pub(crate) fn unusable(record: &Record) -> Option<SkipReason> {
    if record.op == Op::Flush {
        return None;
    }
    if record.size_bytes == 0 {
        return Some(SkipReason::SizeZero);
    }
    let end = record.offset_bytes.checked_add(record.size_bytes);
    let oversized = record.op != Op::Trim && record.size_bytes > SIZE_BYTES_MAX;
    (oversized || end.is_none_or(|end| end > END_BYTES_MAX)).then_some(SkipReason::Absurd)
}

fn records(input: Input, format: Format, options: &OpenOptions) -> Result<Box<dyn Records>, TraceError> {
    use crate::format::disksim::FiveColumns;
    let Input { file, sample, stream, .. } = input;
    let time = options.time_unit;
    let seconds = time.unwrap_or(TimeUnit::S);
    let micros = time.unwrap_or(TimeUnit::Us);
    let nanos = time.unwrap_or(TimeUnit::Ns);
    let text = Text { stream, file: Arc::clone(&file), format };
    Ok(match format {
        Format::Csv => text.records(format::csv::Csv::new(micros)),
        Format::DiskSim => text.records(FiveColumns::disksim(time, &sample)),
        Format::FlashSim => text.records(format::flashsim::parser(time)),
        Format::Replayer => text.records(format::replayer::parser(time)),
        Format::Msr => text.records(format::msr::Msr::new(time)),
        Format::Spc => text.records(format::spc::Spc { time: seconds }),
        Format::DiskMon => text.records(format::diskmon::DiskMon { time: seconds }),
        Format::Blkparse => {
            let event = options.blkparse_event.unwrap_or_else(|| format::blkparse::event_of(&sample));
            text.records(format::blkparse::Blkparse { time: seconds, event })
        }
        Format::FioV2 => text.records(format::fio::Fio::new(2, micros)),
        Format::FioV3 => text.records(format::fio::Fio::new(3, micros)),
        Format::BioTracer => text.records(format::biotracer::BioTracer { time: seconds }),
        Format::Fiu => text.records(format::fiu::Fiu { time: nanos }),
        Format::WiscSee => text.records(format::wiscsee::WiscSee { time: seconds }),
        Format::Alibaba => text.records(format::alibaba::Alibaba { time: micros }),
        Format::Tencent => text.records(format::tencent::Tencent { time: seconds }),
        Format::Systor => text.records(format::systor::Systor::new(seconds)),
        Format::HpSrt => return format::hp_srt::open(text.stream, file),
        Format::Blktrace => {
            let big_endian = format::blktrace::looks_like(&sample).unwrap_or(false);
            let event = options.blkparse_event.unwrap_or_else(|| format::blktrace::event_of(&sample, big_endian));
            let parser = format::blktrace::Blktrace { big_endian, event };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
        Format::VscsiV1 => {
            let parser = format::vscsi::VscsiV1 { time: micros };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
        Format::VscsiV2 => {
            let parser = format::vscsi::VscsiV2 { time: micros };
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
        Box::new(TextRecords::new(Lines::new(self.stream), parser, self.file, self.format))
    }
}
