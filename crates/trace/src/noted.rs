//! What a reader notes while it reads: what it left out, how the clock went, which devices there were, and signs that
//! speak against a guess.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashSet;
use serde::Serialize;

use crate::TraceError;
use crate::bounds::SIZE_BYTES_MAX;
use crate::record::Record;
use crate::request::Op;
use crate::skipped::{SkipReason, Skipped};

/// So many devices are told apart; more are counted as no further one.
const DEVICES_MAX: usize = 1 << 20;

/// So many remarks are kept.
const REMARKS_MAX: usize = 16;

/// A stream of records in any format.
pub(crate) trait Records: Send {
    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError>;

    /// What is odd about the records so far.
    fn notes(&self) -> Vec<(Note, u64)> {
        Vec::new()
    }
}

/// Notes on everything that was read so far.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) skipped: Skipped,
    /// Records with more columns than their format has.
    pub(crate) extra_columns: u64,
    /// What a person should see, in the order of reading.
    pub(crate) remarks: Vec<String>,
    /// Usable records, before filters.
    pub(crate) usable: u64,
    /// Requests over the largest that is asked at once.
    pub(crate) split: u64,
    pub(crate) clock: Clock,
    pub(crate) signs: Signs,
    devices: HashSet<u32>,
    last_device: Option<u32>,
}

impl Noted {
    /// Takes a usable record that is asked for.
    pub(crate) fn take(&mut self, record: &Record) {
        if self.last_device != Some(record.device) {
            self.last_device = Some(record.device);
            if self.devices.len() < DEVICES_MAX {
                self.devices.insert(record.device);
            }
        }
        self.clock.take(record.time_ns);
        self.split += u64::from(record.size_bytes > SIZE_BYTES_MAX && record.op != Op::Trim);
        self.signs.take(record);
    }

    /// How many devices there are.
    pub(crate) fn devices(&self) -> u64 {
        self.devices.len() as u64
    }

    /// Keeps a remark, once, if there is room.
    pub(crate) fn remark(&mut self, file: &Arc<str>, what: &str) {
        let remark = format!("{file}: {what}");
        if self.remarks.len() < REMARKS_MAX && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Counts what is left out.
    pub(crate) fn skip(&mut self, reason: SkipReason) {
        self.skipped.add(reason);
    }
}

/// How the recorded clock went, in nanoseconds of the file's own epoch.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) first_ns: Option<u64>,
    pub(crate) earliest_ns: u64,
    pub(crate) latest_ns: u64,
    previous_ns: u64,
    /// Requests earlier than the one before them.
    pub(crate) steps_back: u64,
}

impl Clock {
    pub(crate) fn take(&mut self, time_ns: u64) {
        if self.first_ns.is_none() {
            *self = Clock {
                first_ns: Some(time_ns),
                earliest_ns: time_ns,
                latest_ns: time_ns,
                previous_ns: time_ns,
                steps_back: 0,
            };
            return;
        }
        self.steps_back += u64::from(time_ns < self.previous_ns);
        self.previous_ns = time_ns;
        self.earliest_ns = self.earliest_ns.min(time_ns);
        self.latest_ns = self.latest_ns.max(time_ns);
    }

    /// From the earliest request to the latest.
    pub(crate) fn duration_ns(&self) -> u64 {
        self.latest_ns - self.earliest_ns
    }
}

/// What addresses and sizes have in common, which tells units that were guessed wrong.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Signs {
    /// Every address, bit by bit or.
    addresses: u64,
    /// Every size, bit by bit or.
    sizes: u64,
    /// The largest size in bytes.
    pub(crate) largest: u64,
    /// Requests with a range.
    pub(crate) ranges: u64,
}

impl Signs {
    fn take(&mut self, record: &Record) {
        if record.size_bytes == 0 {
            return;
        }
        self.addresses |= record.offset_bytes;
        self.sizes |= record.size_bytes;
        self.largest = self.largest.max(record.size_bytes);
        self.ranges += 1;
    }

    /// Whether each address and each size is a multiple of `bytes`, a power of two.
    pub(crate) fn all_multiples_of(&self, bytes: u64) -> bool {
        self.ranges > 0 && self.addresses_are_multiples_of(bytes) && self.sizes_are_multiples_of(bytes)
    }

    pub(crate) fn addresses_are_multiples_of(&self, bytes: u64) -> bool {
        self.addresses & (bytes - 1) == 0
    }

    pub(crate) fn sizes_are_multiples_of(&self, bytes: u64) -> bool {
        self.sizes & (bytes - 1) == 0
    }
}

/// How a request was taken where the file could mean something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// A flag over 1 in a format whose flag bit 0 is set for a read: an odd one is taken for a read, an even
    /// one for a write. DiskSim's higher bits qualify; some forks of MQSim mean a trim by 2.
    FlagOverOne,
    /// A request of which the trace has the completion alone. Its time is that of the completion.
    Completion,
    /// A line with columns after the last one that `--columns` or the heading names.
    ExtraColumns,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Note::FlagOverOne => "requests with a flag over 1, odd ones taken for reads, even ones for writes",
            Note::Completion => "requests known by their completions, whose times they have",
            Note::ExtraColumns => "records with columns after the last one that is named, which are passed over",
        })
    }
}

/// The notes of a reader that took so many completions for requests.
pub(crate) fn completions(count: u64) -> Vec<(Note, u64)> {
    if count == 0 { Vec::new() } else { vec![(Note::Completion, count)] }
}
