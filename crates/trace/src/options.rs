//! What is said of a trace before it is read.

use crate::TraceError;
use crate::bounds::SECTOR_BYTES_MAX;
use crate::filter::Filters;
use crate::format::columns::ColumnSpec;
use crate::format::{BlkparseEvent, Format, TimeUnit};

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
    pub(crate) fn sector(&self, own: u64) -> u64 {
        self.sector_bytes.map_or(own, u64::from)
    }

    pub(crate) fn check(&self, format: Format) -> Result<(), TraceError> {
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
