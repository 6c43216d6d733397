//! A file's way from its bytes to its records: its format is settled, then one of them reads it.

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;

use crate::TraceError;
use crate::format::BlkparseEvent;
use crate::format::binary::BinaryRecords;
use crate::format::columns::parser::AnyColumns;
use crate::format::columns::settle;
use crate::format::columns::settled::Settled;
use crate::format::dialect::Lenient;
use crate::format::line_parser::LineParser;
use crate::format::names::Names;
use crate::format::text::TextRecords;
use crate::format::{self, Format, SECTOR_BYTES};
use crate::input::Input;
use crate::lines::Lines;
use crate::noted::{Noted, Records};
use crate::options::OpenOptions;
use crate::report::FileRead;

/// Which recording a file is part of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recording {
    /// That of `NAME.blktrace.CPU`.
    Named(PathBuf),
    /// The one of blktrace whose files have other names. It writes one file for each CPU.
    OfCpus,
    /// Its own.
    Alone(usize),
}

/// Devices that are known by name, numbered over all files.
#[derive(Default)]
pub(crate) struct Numbering {
    devices: Names,
    hosts: Names,
}

/// A file whose records can be read.
pub(crate) struct OpenedFile {
    pub(crate) read: FileRead,
    /// Its requests have placement handles.
    pub(crate) has_handles: bool,
    pub(crate) records: Box<dyn Records>,
}

/// A file whose format is settled.
pub(crate) struct Detected {
    input: Input,
    pub(crate) format: Format,
    named: Option<Format>,
}

impl Detected {
    pub(crate) fn new(input: Input, options: &OpenOptions) -> Result<Self, TraceError> {
        let named = options.format.or(options.columns.as_ref().map(|_| Format::Columns));
        let format = match named {
            Some(format) => format,
            None => format::detect::detect(&input)?,
        };
        options.check(format)?;
        Ok(Detected { input, format, named })
    }

    /// The event that stands for a request, where the format has several and the file's beginning has one.
    pub(crate) fn event(&self) -> Option<BlkparseEvent> {
        let sample = &self.input.sample;
        match self.format {
            Format::Blkparse => format::blkparse::event_of(sample),
            Format::Blktrace => format::blktrace::event_of(sample, format::blktrace::layout_of(sample)),
            Format::Ftrace => Some(format::ftrace::Kind::of(sample, None).event),
            _ => None,
        }
    }

    /// Its records, where this event stands for a request.
    pub(crate) fn opened(
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
            let of_times = settled.remarks_of_times.iter().filter(|_| options.time_unit.is_none());
            settled.remarks.iter().chain(of_times).for_each(|remark| noted.remark(&input.file, remark));
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
        let has_handles = format == Format::Csv && format::csv::has_handles(input.whole_lines());
        let records = records(input, &read, columns, event, numbering, options)?;
        Ok(OpenedFile { read, has_handles, records })
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
