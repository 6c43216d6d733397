//! What was read of a trace, for the person who has to believe the figures that come of it.

use serde::Serialize;

use crate::format::{Format, TimeUnit};
use crate::skipped::Skipped;

/// One file of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// Its name, as errors show it.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// The format was guessed from content.
    pub format_guessed: bool,
    /// The unit of its times.
    pub time_unit: TimeUnit,
    /// The unit was guessed from content, as the format leaves it open.
    pub time_unit_guessed: bool,
    /// What the guess takes for granted, where nothing but the shape of lines speaks for the format.
    pub assumed: Option<String>,
    /// How its columns were read, of format `columns`.
    pub columns: Option<ColumnsRead>,
}

/// How columns were read that `--columns` or a heading names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnsRead {
    /// They, as `--columns` takes them.
    pub columns: String,
    /// The unit of addresses, in bytes.
    pub address_unit_bytes: u64,
    /// The heading does not say it.
    pub address_unit_guessed: bool,
    /// The unit of sizes, in bytes.
    pub size_unit_bytes: u64,
    /// The heading does not say it.
    pub size_unit_guessed: bool,
}

/// What was read of a trace, and what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputReport {
    /// The files, in the order in which they were named.
    pub files: Vec<FileRead>,
    /// Lines or records of the format's shape: usable ones, and those left out.
    pub records: u64,
    /// Requests that came out. A request over 1 GiB comes out as several.
    pub requests: u64,
    /// What was left out, by reason.
    pub left_out: Skipped,
    /// Requests over 1 GiB, each of which came out as several.
    pub split: u64,
    /// Requests earlier than the one before them, in the order of the files. Those outside a span count as well.
    pub back_in_time: u64,
    /// Requests were put into the order of their times.
    pub sorted: bool,
    /// Devices; 2^20 at the most are told apart.
    pub devices: u64,
    /// Devices of equal number in files that are not one recording, each of which is taken for one device.
    pub shared_devices: u64,
    /// From the earliest request to the latest, in nanoseconds.
    pub duration_ns: u64,
    /// What a person should look at, one sentence each. Empty where nothing is in doubt.
    pub warnings: Vec<String>,
}
