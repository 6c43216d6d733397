//! What a reader notes while it reads: what it left out, how the clock went, which devices there were, and signs that
//! speak against a guess.

use std::fmt;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use serde::Serialize;

use crate::TraceError;
use crate::bounds::SIZE_BYTES_MAX;
use crate::format::event::Events;
use crate::record::Record;
use crate::request::Op;
use crate::skipped::{SkipReason, Skipped};

/// So many devices are told apart; more are counted as no further one.
const DEVICES_MAX: usize = 1 << 20;

/// So many devices of a file are held against its requests.
const DEVICES_APART: usize = 1 << 16;

/// So many remarks are kept.
const REMARKS_MAX: usize = 16;

/// So many requests show what sizes a trace has.
const MANY_REQUESTS: u64 = 16;

/// What file systems write in.
const PAGE_BYTES: u64 = 4096;

/// What most drives count in.
const SECTOR_BYTES: u64 = 512;

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
    /// Columns are read, whose units may be doubted by how many addresses and sizes are odd.
    pub(crate) of_columns: bool,
    pub(crate) named: UnitsNamed,
    /// Where spans begin to be counted.
    pub(crate) begin_ns: Option<u64>,
    /// How the clock went before a span was taken: what goes back is before every span, so that none has it.
    whole_clock: Clock,
    /// Devices with and without requests, where a request has several events.
    pub(crate) events: Events,
    /// The files one by one, where they are several or not all of their requests are asked for.
    pub(crate) of_files: Vec<OfFile>,
    /// The file of the latest record.
    pub(crate) file: usize,
    /// Devices, each with the recording that had it first.
    devices: HashMap<u32, usize>,
    last_device: Option<(usize, u32)>,
    /// Devices of several recordings.
    shared_devices: HashSet<u32>,
}

/// What a person says of units, so that it is not doubted.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct UnitsNamed {
    pub(crate) sector: bool,
    pub(crate) time: bool,
}

/// Notes on one file, whichever of its requests are asked for.
#[derive(Debug, Default)]
pub(crate) struct OfFile {
    /// Files of one recording have the same number.
    pub(crate) recording: usize,
    /// When its first record is, which no filter hides.
    pub(crate) begin_ns: Option<u64>,
    pub(crate) clock: Clock,
    pub(crate) signs: Signs,
    /// Its devices, as long as each request is of another one.
    devices: HashSet<u32>,
    /// Two requests are of one device.
    device_came_again: bool,
}

impl OfFile {
    fn take(&mut self, record: &Record) {
        self.clock.take(record.time_ns);
        self.signs.take(record);
        self.signs.take_odd(record);
        if !self.device_came_again && record.op != Op::Flush {
            self.device_came_again = self.devices.len() >= DEVICES_APART || !self.devices.insert(record.device);
        }
    }

    /// How many devices there are, where each request is of another one.
    pub(crate) fn devices_of_one_request(&self) -> u64 {
        if self.device_came_again { 0 } else { self.devices.len() as u64 }
    }
}

impl Noted {
    /// Begins to note on files of these recordings one by one, where they are several.
    pub(crate) fn of_recordings(&mut self, recordings: &[usize]) {
        let files = recordings.iter().filter(|_| recordings.len() > 1);
        self.of_files = files.map(|&recording| OfFile { recording, ..OfFile::default() }).collect();
    }

    /// Begins to note on the one file by itself, of which not all requests are asked for.
    pub(crate) fn of_one_file(&mut self) {
        if self.of_files.is_empty() {
            self.of_files.push(OfFile::default());
        }
    }

    /// Takes a usable record of the latest file.
    pub(crate) fn take_of_file(&mut self, record: &Record) {
        if let Some(of_file) = self.of_files.get_mut(self.file) {
            of_file.take(record);
        }
    }

    /// Takes a usable record of which only a span is asked for.
    pub(crate) fn take_before_span(&mut self, record: &Record) {
        self.whole_clock.take(record.time_ns);
    }

    /// Requests earlier than the one before them: of the whole trace where a span is asked for, which depends on it.
    pub(crate) fn steps_back(&self) -> u64 {
        self.clock.steps_back.max(self.whole_clock.steps_back)
    }

    /// Takes a usable record that is asked for.
    pub(crate) fn take(&mut self, record: &Record) {
        self.take_sorted(record);
        self.signs.take(record);
        if self.of_columns {
            self.signs.take_odd(record);
        }
    }

    /// The same after sorting, where records have no files.
    pub(crate) fn take_sorted(&mut self, record: &Record) {
        if self.last_device != Some((self.file, record.device)) {
            self.last_device = Some((self.file, record.device));
            self.take_device(record.device);
        }
        self.clock.take(record.time_ns);
        self.split += u64::from(record.size_bytes > SIZE_BYTES_MAX && record.op != Op::Trim);
    }

    fn take_device(&mut self, device: u32) {
        let recording = self.of_files.get(self.file).map_or(0, |of_file| of_file.recording);
        match self.devices.get(&device) {
            Some(first) if *first != recording => {
                self.shared_devices.insert(device);
            }
            None if self.devices.len() < DEVICES_MAX => {
                self.devices.insert(device, recording);
            }
            _ => {}
        }
    }

    /// Prepares for taking some of the same records once more, sorted. What went back in time did so before.
    pub(crate) fn begin_sorted(&mut self) {
        self.clock = Clock { steps_back: self.clock.steps_back, ..Clock::default() };
        self.split = 0;
        self.devices.clear();
        self.last_device = None;
    }

    /// How many devices there are.
    pub(crate) fn devices(&self) -> u64 {
        self.devices.len() as u64
    }

    /// How many of them are in several recordings.
    pub(crate) fn shared_devices(&self) -> u64 {
        self.shared_devices.iter().filter(|device| self.devices.contains_key(*device)).count() as u64
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
                steps_back: self.steps_back,
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
    /// Of these, addresses that are no multiples of 4 KiB.
    odd_addresses: u64,
    /// And sizes.
    odd_sizes: u64,
    /// Sizes of which a sector more is a multiple of 4 KiB.
    one_less: u64,
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

    fn take_odd(&mut self, record: &Record) {
        self.odd_addresses += u64::from(!record.offset_bytes.is_multiple_of(PAGE_BYTES));
        self.odd_sizes += u64::from(!record.size_bytes.is_multiple_of(PAGE_BYTES));
        self.one_less += u64::from(record.size_bytes.saturating_add(SECTOR_BYTES).is_multiple_of(PAGE_BYTES));
    }

    /// Whether most addresses are no multiples of 4 KiB.
    pub(crate) fn most_addresses_are_odd(&self) -> bool {
        self.odd_addresses * 2 > self.ranges
    }

    /// Whether most sizes are no multiples of 4 KiB.
    pub(crate) fn most_sizes_are_odd(&self) -> bool {
        self.odd_sizes * 2 > self.ranges
    }

    /// Whether most sizes lack one sector to be multiples of 4 KiB.
    pub(crate) fn most_sizes_are_one_less(&self) -> bool {
        self.one_less * 2 > self.ranges
    }

    /// The same of enough requests to tell what a trace is used to.
    pub(crate) fn most_sizes_are_odd_of_many(&self) -> bool {
        self.ranges >= MANY_REQUESTS && self.most_sizes_are_odd()
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
    /// A request in blocks of a drive, whose size the trace does not have. 512 bytes are taken.
    BlocksAssumed,
    /// An event that the recorder lost, by its own count.
    Lost,
    /// A line with columns after the last one that `--columns` or the heading names.
    ExtraColumns,
    /// A number behind `0x` in a column that has decimal ones as well.
    HexadecimalAmongDecimal,
    /// A whole number with commas between thousands, beside times with decimal commas.
    CommasOfTwoMeanings,
    /// A time such as 1,250 in a file of which nothing shows what commas mean, taken for one with a fraction.
    DecimalCommasAssumed,
    /// The same, taken for one without.
    ThousandsAssumed,
    /// A time of day without a date that is half a day and more before the one before it.
    Midnight,
    /// A number such as 10b in a column that has others without a unit.
    BytesOrHexadecimal,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Note::FlagOverOne => "requests with a flag over 1, odd ones taken for reads, even ones for writes",
            Note::Completion => "requests known by their completions, whose times they have",
            Note::BlocksAssumed => {
                "requests in blocks of which the trace has no size, taken for 512 bytes, where --sector names another"
            }
            Note::Lost => "events that the recorder lost",
            Note::HexadecimalAmongDecimal => {
                "numbers in hexadecimal behind 0x, in a column that has others without it, which are taken for decimal; hex \
                 behind the column's unit in --columns, such as lba:512:hex, takes all of them for hexadecimal"
            }
            Note::CommasOfTwoMeanings => {
                "whole numbers with commas between thousands, beside times whose commas are taken for decimal ones; points \
                 in times, or no commas in whole numbers, would leave no doubt"
            }
            Note::DecimalCommasAssumed => {
                "times whose commas may be decimal ones or group thousands, taken for decimal ones; points in times, or no \
                 commas, would leave no doubt"
            }
            Note::ThousandsAssumed => {
                "times whose commas may be decimal ones or group thousands, taken for the latter; points in times, or no \
                 commas, would leave no doubt"
            }
            Note::Midnight => {
                "times of day that pass midnight, so that those behind it are taken for earlier ones by a day; a date before \
                 each time of day would leave no doubt, such as 1970-01-02T00:00:05"
            }
            Note::BytesOrHexadecimal => {
                "numbers with a b behind them, taken for bytes, in a column that has others without; hex behind the \
                 column's unit in --columns, such as lba:512:hex, takes all of them for hexadecimal"
            }
            Note::ExtraColumns => "records with columns after the last one that is named, which are passed over",
        })
    }
}

/// Those notes that there are any of.
pub(crate) fn some(notes: &[(Note, u64)]) -> Vec<(Note, u64)> {
    notes.iter().copied().filter(|(_, count)| *count > 0).collect()
}

/// How many events a line says were lost; one, if it has no number.
pub(crate) fn lost_in(line: &[u8]) -> u64 {
    let digits = line.split(|byte| !byte.is_ascii_digit()).find(|digits| !digits.is_empty());
    let number = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    number.unwrap_or(1)
}
