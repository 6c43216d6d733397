//! Writing traces: from any reader to a few formats that others can read.
//!
//! Only what a format can express is written. A request that it cannot express (a trim in DiskSim ASCII, an odd byte in
//! sectors) is an error. On request it is left out and counted instead. So is a placement handle, of which only the own
//! CSV has a column. Nothing is rounded. The exception is time, where each format has a resolution; see each file.

use std::io::Write;

use serde::Serialize;

use encoder::Encoder;

use crate::TraceError;
use crate::format::{Format, TimeUnit};
use crate::reader::TraceFile;
use crate::request::Request;

mod csv;
mod disksim;
mod encoder;
mod fio;
mod msr;

/// The formats that can be written.
pub const WRITABLE: &[Format] = &[Format::Csv, Format::DiskSim, Format::FioV3, Format::Msr];

/// How to write.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteOptions {
    /// DiskSim ASCII only, all others have a unit of their own: the unit of the time column. Nanoseconds (SSDsim,
    /// MQSim) when absent; milliseconds are written with six decimals.
    pub time_unit: Option<TimeUnit>,
    /// Leave out requests and placement handles that the format cannot express, instead of stopping.
    pub drop_unwritable: bool,
    /// Own CSV only: its header has a column of placement handles from the beginning. Otherwise that column begins, under
    /// a header of its own, where a request has a handle.
    pub handles: bool,
    /// The time of the trace that is written as 0, in nanoseconds; that of its first request when absent. Where requests
    /// are earlier than the first, [`TraceFile::earliest_ns`] of a trace read to its end is right.
    pub begin_ns: Option<u64>,
}

impl WriteOptions {
    /// Refuses what this format has no choice of: a unit for times that always have the same.
    ///
    /// # Errors
    /// [`TraceError::Option`].
    pub fn check(&self, format: Format) -> Result<(), TraceError> {
        let times = match format {
            Format::DiskSim => return Ok(()),
            Format::Csv => "microseconds, with up to three decimals",
            Format::FioV3 => "whole microseconds",
            Format::Msr => "tenths of a microsecond",
            // Whether it can be written is said elsewhere.
            _ => return Ok(()),
        };
        match self.time_unit {
            Some(_) => Err(TraceError::Option(format!(
                "times in {format} are always {times}; disksim alone has units to choose from"
            ))),
            None => Ok(()),
        }
    }
}

/// The counts of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Requests written.
    pub requests: u64,
    /// Requests left out because the format cannot express them.
    pub dropped: u64,
    /// Requests written without their placement handle, which the format cannot express.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_handles: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A trace being written.
pub struct Writer<W: Write> {
    out: W,
    encoder: Box<dyn Encoder>,
    drop_unwritable: bool,
    text: String,
    written: Written,
}

impl<W: Write> Writer<W> {
    /// Begins a trace. `out` should be buffered.
    ///
    /// # Errors
    /// The format is none of [`WRITABLE`], `options` cannot be with it, or the output cannot be written.
    pub fn new(out: W, format: Format, options: &WriteOptions) -> Result<Self, TraceError> {
        options.check(format)?;
        let encoder: Box<dyn Encoder> = match format {
            Format::Csv => Box::new(csv::Csv::new(options.handles)),
            Format::DiskSim => Box::new(disksim::DiskSim::new(options.time_unit.unwrap_or(TimeUnit::Ns))),
            Format::FioV3 => Box::new(fio::Fio::default()),
            Format::Msr => Box::new(msr::Msr),
            other => {
                let names = WRITABLE.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
                let what = format!("{other} cannot be written; one of {names} would be right");
                return Err(TraceError::Option(what));
            }
        };
        let drop_unwritable = options.drop_unwritable;
        let mut writer = Writer { out, encoder, drop_unwritable, text: String::new(), written: Written::default() };
        writer.encoder.header(&mut writer.text);
        writer.put()?;
        Ok(writer)
    }

    /// Writes one request.
    ///
    /// # Errors
    /// The format cannot express it (and it is not to be dropped), or the output cannot be written.
    pub fn write(&mut self, request: &Request) -> Result<(), TraceError> {
        self.text.clear();
        let without_handle = request.handle != 0 && !self.encoder.has_handles();
        let encoded = match without_handle && !self.drop_unwritable {
            true => Err("the format has no placement handles; csv would be right".to_owned()),
            false => self.encoder.encode(request, &mut self.text),
        };
        match encoded {
            Ok(()) => {
                self.written.requests += 1;
                self.written.dropped_handles += u64::from(without_handle);
                self.put()
            }
            Err(_) if self.drop_unwritable => {
                self.written.dropped += 1;
                Ok(())
            }
            Err(what) => Err(TraceError::Unwritable { request: self.written.requests + 1, what }),
        }
    }

    /// Passes everything that was written on to the output, and flushes it.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.out.flush().map_err(TraceError::Write)
    }

    /// Flushes the output and returns its counts.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<Written, TraceError> {
        self.out.flush().map_err(TraceError::Write)?;
        Ok(self.written)
    }

    fn put(&mut self) -> Result<(), TraceError> {
        self.out.write_all(self.text.as_bytes()).map_err(TraceError::Write)
    }
}

/// Writes a whole trace in another format, its times since `begin_ns`.
///
/// # Errors
/// The trace cannot be read to its end, a request cannot be expressed or is earlier than `begin_ns`
/// ([`TraceError::BeforeBegin`]), or the output cannot be written.
pub fn convert(
    trace: &mut TraceFile,
    out: impl Write,
    format: Format,
    options: &WriteOptions,
) -> Result<Written, TraceError> {
    let handles = options.handles || trace.has_handles();
    let mut writer = Writer::new(out, format, &WriteOptions { handles, ..*options })?;
    let mut begin_ns = options.begin_ns;
    let mut read = 0;
    for request in trace {
        let request = request?;
        let begin_ns = *begin_ns.get_or_insert(request.time_ns);
        let Some(time_ns) = request.time_ns.checked_sub(begin_ns) else {
            return Err(TraceError::BeforeBegin { request: read + 1, by_ns: begin_ns - request.time_ns });
        };
        writer.write(&Request { time_ns, ..request })?;
        read += 1;
    }
    let written = writer.finish()?;
    assert_eq!(read, written.requests + written.dropped, "a request was lost in converting");
    Ok(written)
}
