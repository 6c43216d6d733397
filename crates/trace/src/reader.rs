//! A trace file as a stream of requests, whatever its format.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use crate::TraceError;
use crate::format::BlkparseEvent;
use crate::format::binary::BinaryRecords;
use crate::format::text::{LineParser, TextRecords};
use crate::format::{self, Format, Record, Records, SECTOR_BYTES, TimeUnit};
use crate::input::{Input, printable};
use crate::lines::Lines;
use crate::noted::Note;
use crate::request::{Op, Request};
use crate::skipped::{SkipReason, Skipped};

/// Every range must end at or below this byte (2^63).
pub const END_BYTES_MAX: u64 = 1 << 63;
/// A read or write must not be larger (1 GiB). A trim may: whole drives are discarded at once.
pub const SIZE_BYTES_MAX: u64 = 1 << 30;

/// No sector may be larger (1 MiB).
pub const SECTOR_BYTES_MAX: u32 = 1 << 20;

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
    /// Bytes of a sector, a power of two up to [`SECTOR_BYTES_MAX`]; the format's own when absent. An error
    /// for formats whose addresses and sizes are in bytes.
    pub sector_bytes: Option<u32>,
}

impl OpenOptions {
    /// The sector to count in, where the format's own is of `own` bytes.
    fn sector(&self, own: u64) -> u64 {
        self.sector_bytes.map_or(own, u64::from)
    }

    fn check(&self, format: Format) -> Result<(), TraceError> {
        match self.sector_bytes {
            None => Ok(()),
            Some(bytes) if !bytes.is_power_of_two() || bytes > SECTOR_BYTES_MAX => Err(TraceError::Option(format!(
                "a sector of {bytes} bytes cannot be; a power of two up to {SECTOR_BYTES_MAX} would be right"
            ))),
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
    /// Opens a trace, plain or compressed with gzip or zstd.
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
        options.check(format)?;
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
    let sector_bytes = options.sector(SECTOR_BYTES);
    let text = Text { stream, file: Arc::clone(&file), format };
    Ok(match format {
        Format::Csv => text.records(format::csv::Csv::new(micros)),
        Format::DiskSim => text.records(FiveColumns::disksim(time, &sample, sector_bytes)),
        Format::FlashSim => text.records(format::flashsim::parser(time, sector_bytes)),
        Format::Replayer => text.records(format::replayer::parser(time)),
        Format::Msr => text.records(format::msr::Msr::new(time)),
        Format::Spc => text.records(format::spc::Spc { time: seconds, sector_bytes }),
        Format::DiskMon => text.records(format::diskmon::DiskMon { time: seconds, sector_bytes }),
        Format::Blkparse => {
            let event = options.blkparse_event.unwrap_or_else(|| format::blkparse::event_of(&sample));
            text.records(format::blkparse::Blkparse::new(seconds, event, sector_bytes))
        }
        Format::Ftrace => {
            let kind = format::ftrace::Kind::of(&sample, options.blkparse_event);
            text.records(format::ftrace::Ftrace::new(seconds, kind, sector_bytes))
        }
        Format::Spdk => text.records(format::spdk::Spdk::new(micros, sector_bytes)),
        Format::BioSnoop => text.records(format::biosnoop::BioSnoop::new(seconds, sector_bytes)),
        Format::Etw => text.records(format::etw::Etw::new(micros)),
        Format::Midas => {
            let block_bytes = options.sector(format::midas::BLOCK_BYTES);
            text.records(format::midas::Midas { time: seconds, block_bytes })
        }
        Format::VscsiCsv => {
            let radix = format::vscsi_csv::radix_of(&sample);
            text.records(format::vscsi_csv::VscsiCsv { time: micros, sector_bytes, radix })
        }
        Format::OracleGeneral => {
            let block_bytes = options.sector(format::oracle_general::BLOCK_BYTES);
            let parser = format::oracle_general::OracleGeneral { time: seconds, block_bytes };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
        Format::FioV2 => text.records(format::fio::Fio::new(2, micros)),
        Format::FioV3 => text.records(format::fio::Fio::new(3, micros)),
        Format::BioTracer => text.records(format::biotracer::BioTracer { time: seconds, sector_bytes }),
        Format::Fiu => text.records(format::fiu::Fiu { time: nanos, sector_bytes }),
        Format::WiscSee => text.records(format::wiscsee::WiscSee { time: seconds }),
        Format::Alibaba => text.records(format::alibaba::Alibaba { time: micros }),
        Format::Tencent => text.records(format::tencent::Tencent { time: seconds, sector_bytes }),
        Format::Systor => text.records(format::systor::Systor::new(seconds)),
        Format::HpSrt => return format::hp_srt::open(text.stream, file, options.sector(format::hp_srt::SECTOR_BYTES)),
        Format::Blktrace => {
            let layout = format::blktrace::looks_like(&sample).unwrap_or(format::blktrace::USUAL);
            let event = options.blkparse_event.unwrap_or_else(|| format::blktrace::event_of(&sample, layout));
            let parser = format::blktrace::Blktrace::new(layout, event, sector_bytes);
            if layout.wide {
                Box::new(BinaryRecords::<_, { format::blktrace::V8_BYTES }>::new(text.stream, parser, file, 0))
            } else {
                Box::new(BinaryRecords::<_, { format::blktrace::V7_BYTES }>::new(text.stream, parser, file, 0))
            }
        }
        Format::VscsiV1 => {
            let parser = format::vscsi::VscsiV1 { time: micros, sector_bytes };
            Box::new(BinaryRecords::new(text.stream, parser, file, 0))
        }
        Format::VscsiV2 => {
            let parser = format::vscsi::VscsiV2 { time: micros, sector_bytes };
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
