//! The trace formats: their names, one file each, and how one is guessed from content.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

pub(crate) use crate::noted::Records;
pub(crate) use crate::record::{Item, Record};
pub use event::BlkparseEvent;

use crate::TraceError;
use crate::number::Tick;

pub(crate) mod binary;
pub(crate) mod detect;
pub(crate) mod dialect;
pub(crate) mod event;
pub(crate) mod line_parser;
pub(crate) mod names;
pub(crate) mod requeues;
pub(crate) mod rwbs;
pub(crate) mod scsi;
pub(crate) mod text;

pub(crate) mod alibaba;
pub(crate) mod biosnoop;
pub(crate) mod biotracer;
pub(crate) mod blkparse;
pub(crate) mod blktrace;
pub mod columns;
pub(crate) mod csv;
pub(crate) mod diskmon;
pub(crate) mod disksim;
pub(crate) mod etw;
pub(crate) mod fio;
pub(crate) mod fiu;
pub(crate) mod flashsim;
pub(crate) mod ftrace;
pub(crate) mod hp_srt;
pub(crate) mod midas;
pub(crate) mod msr;
pub(crate) mod oracle_general;
pub(crate) mod replayer;
pub(crate) mod spc;
pub(crate) mod spdk;
pub(crate) mod systor;
pub(crate) mod tencent;
pub(crate) mod vscsi;
pub(crate) mod vscsi_csv;
pub(crate) mod wiscsee;

/// The sector of most formats, in bytes.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The unit of a time column that a format leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    S,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Microseconds.
    #[serde(rename = "us")]
    Us,
    /// Units of 100 ns, in which Windows counts file times.
    #[serde(rename = "100ns")]
    HundredNs,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Picoseconds.
    #[serde(rename = "ps")]
    Ps,
}

impl TimeUnit {
    /// Every unit, the longest first.
    pub const ALL: [TimeUnit; 6] =
        [TimeUnit::S, TimeUnit::Ms, TimeUnit::Us, TimeUnit::HundredNs, TimeUnit::Ns, TimeUnit::Ps];

    /// The name by which `--time-unit` knows it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::S => "s",
            TimeUnit::Ms => "ms",
            TimeUnit::Us => "us",
            TimeUnit::HundredNs => "100ns",
            TimeUnit::Ns => "ns",
            TimeUnit::Ps => "ps",
        }
    }

    /// What one unit is in a time column.
    pub(crate) fn tick(self) -> Tick {
        match self {
            TimeUnit::S => Tick::of_ns(1_000_000_000),
            TimeUnit::Ms => Tick::of_ns(1_000_000),
            TimeUnit::Us => Tick::of_ns(1_000),
            TimeUnit::HundredNs => Tick::of_ns(100),
            TimeUnit::Ns => Tick::of_ns(1),
            TimeUnit::Ps => Tick::PS,
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TimeUnit {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        if text == "filetime" {
            return Ok(TimeUnit::HundredNs);
        }
        TimeUnit::ALL.into_iter().find(|unit| unit.name() == text).ok_or_else(|| {
            TraceError::Option(format!(
                "time unit `{}` is unknown; s, ms, us, 100ns (filetime), ns or ps would be right",
                text.escape_debug()
            ))
        })
    }
}

macro_rules! formats {
    ($($variant:ident, $name:literal, $record:literal, $about:literal;)*) => {
        /// A trace format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[non_exhaustive]
        pub enum Format {
            $(#[doc = $about] #[serde(rename = $name)] $variant,)*
        }

        impl Format {
            /// Every format, in the order in which they are listed.
            #[must_use]
            pub fn all() -> &'static [Format] {
                &[$(Format::$variant,)*]
            }

            /// Its name for `--format`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Format::$variant => $name,)* }
            }

            /// One line with its description and its units.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self { $(Format::$variant => $about,)* }
            }

            /// What one record looks like.
            #[must_use]
            pub fn record(self) -> &'static str {
                match self { $(Format::$variant => $record,)* }
            }
        }
    };
}

formats! {
    Csv, "csv", "time_us,device,op,offset_bytes,size_bytes",
        "Phelsuma's own CSV with that header: microseconds, bytes, op read|write|trim|flush";
    Columns, "columns", "as --columns, or the file's heading, has it",
        "Any columns, named by --columns or by a heading such as time_us,op,lba,size_bytes";
    DiskSim, "disksim", "time device lba size flag",
        "DiskSim, SSDsim and MQSim ASCII: 512-byte sectors, flag bit 0 set = read, time ms if fractional, else ns";
    FlashSim, "flashsim", "time device lba size flag",
        "FlashSim `_4k` ASCII: lba in 512-byte sectors, size in units of 4 KiB, ms, usually tabs";
    Replayer, "replayer", "time disk offset size type",
        "Cuts for trace replayers: ms, bytes, type 1 = read";
    Msr, "msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        "MSR Cambridge CSV: Windows file time (100 ns), bytes";
    Spc, "spc", "ASU,LBA,size,R|W,time",
        "SPC (UMass): 512-byte sectors, size in bytes, s";
    DiskMon, "diskmon", "seq time duration disk Read|Write sector length",
        "Sysinternals DiskMon log: s, 512-byte sectors";
    Blkparse, "blkparse", "maj,min cpu seq time pid action RWBS sector + sectors [process]",
        "blkparse's default text: s, 512-byte sectors; issued (D), else queued (Q), else completed (C) events";
    Blktrace, "blktrace", "48-byte or 64-byte records",
        "blktrace binary, either byte order: ns, 512-byte sectors; issued, else queued, else completed events";
    VscsiV1, "vscsi1", "32-byte records",
        "VSCSI version 1 binary (CloudPhysics): us, 512-byte sectors, size in bytes";
    VscsiV2, "vscsi2", "40-byte records",
        "VSCSI version 2 binary: us, 512-byte sectors, size in bytes";
    VscsiCsv, "vscsi-csv", "version,time,op,size,lbn",
        "VSCSI as CSV (libCacheSim's sample): us, SCSI operation, bytes, 512-byte sectors";
    Ftrace, "ftrace", "task-pid [cpu] flags s: block_rq_issue: maj,min RWBS bytes () sector + sectors",
        "Linux trace events (ftrace, trace-cmd, perf): block_rq_*, block_bio_*, nvme_setup_cmd: s, 512-byte sectors";
    Spdk, "spdk", "core: us owner BDEV_IO_START id: N type: N offset: N len: N",
        "spdk_trace's block events: us, blocks of 512 bytes unless said otherwise";
    BioSnoop, "biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)",
        "bcc's biosnoop: s, 512-byte sectors, size in bytes; times of completions";
    Etw, "etw", "DiskRead, TimeStamp, …, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, …",
        "xperf's CSV of Windows disk events, Microsoft's production traces: us, bytes; times of completions";
    FioV2, "fio2", "file read|write|trim|sync|datasync|wait offset length",
        "fio iolog version 2: bytes, us in `wait` lines";
    FioV3, "fio3", "time file read|write|trim|sync|datasync offset length",
        "fio iolog version 3: us, bytes";
    BioTracer, "biotracer", "lba sectors bytes type generated processed submitted finished",
        "BIOtracer (Nexus 5): 512-byte sectors, type bit 0 set = write, s";
    HpSrt, "hp-srt", "56-byte records after a text header",
        "HP SRT 1.3 binary: s and us, 256-byte sectors, size in bytes";
    Fiu, "fiu", "ns pid process lba size R|W major minor md5",
        "FIU (SyLab): ns, 512-byte sectors";
    WiscSee, "wiscsee", "pid D|C read|write|discard offset size time delta sync",
        "WiscSee event list: bytes, s; issued (D) events";
    Midas, "midas", "time type lba size",
        "MiDAS: s, type 0 read, 1 write, 3 trim, addresses in blocks of 4 KiB, size in bytes";
    OracleGeneral, "oracle-general", "24-byte records",
        "libCacheSim's oracleGeneral binary: s, objects taken for blocks of 4 KiB, size in bytes, reads alone";
    Alibaba, "alibaba", "device,R|W,offset,length,time",
        "Alibaba block traces: bytes, us";
    Tencent, "tencent", "time,offset,size,0|1,volume",
        "Tencent CBS traces: s, 512-byte sectors, 0 = read";
    Systor, "systor17", "Timestamp,Response,IOType,LUN,Offset,Size",
        "SYSTOR '17 (LUN) CSV with that header: s, bytes, IOType R|W or blank";
}

impl Format {
    /// The unit of its times; of `disksim`, the one that whole numbers are in.
    pub(crate) fn time_unit(self) -> TimeUnit {
        match self {
            Format::FlashSim | Format::Replayer => TimeUnit::Ms,
            Format::Csv
            | Format::VscsiV1
            | Format::VscsiV2
            | Format::VscsiCsv
            | Format::Spdk
            | Format::Etw
            | Format::FioV2
            | Format::FioV3
            | Format::Alibaba => TimeUnit::Us,
            Format::Msr => TimeUnit::HundredNs,
            Format::DiskSim | Format::Fiu | Format::Blktrace => TimeUnit::Ns,
            _ => TimeUnit::S,
        }
    }

    /// Whether nothing in a file says that it is of the format but for numbers in the right places.
    pub(crate) fn is_bare(self) -> bool {
        matches!(
            self,
            Format::DiskSim
                | Format::FlashSim
                | Format::Replayer
                | Format::Midas
                | Format::Tencent
                | Format::Spc
                | Format::Msr
                | Format::Alibaba
                | Format::VscsiCsv
        )
    }

    /// What a guess of this format by the shape of its lines takes for granted; none where lines say more.
    pub(crate) fn assumed(self, sector_bytes: Option<u32>) -> Option<String> {
        let sector = u64::from(sector_bytes.unwrap_or(512));
        let (ops, units) = match self {
            Format::DiskSim => ("odd flags are reads", format!("addresses and sizes in units of {sector} B")),
            Format::FlashSim => {
                ("odd flags are reads", format!("addresses in units of {sector} B, sizes in units of 4096 B"))
            }
            Format::Replayer => ("odd types are reads", "addresses and sizes in bytes".to_owned()),
            Format::Midas => {
                let block = sector_bytes.map_or(midas::BLOCK_BYTES, u64::from);
                ("type 0 is a read", format!("addresses in units of {block} B, sizes in bytes"))
            }
            Format::Tencent => ("0 is a read", format!("addresses and sizes in units of {sector} B")),
            _ => return None,
        };
        Some(format!("{ops}, {units}"))
    }

    /// Whether records state the unit, so that an option has nothing to change.
    pub(crate) fn fixes_time_unit(self) -> bool {
        matches!(self, Format::HpSrt | Format::Blktrace)
    }

    /// What a trace of this format does not say though a reader of its figures would expect it to.
    #[must_use]
    pub fn caveat(self) -> Option<&'static str> {
        match self {
            Format::OracleGeneral => Some(
                "the format has no operations and no addresses: every request is taken for a read, \
                 the number of an object for that of a block",
            ),
            Format::BioSnoop => Some(
                "times are those of completions; T of the tool in Python is R for trims and flushes, too, \
                 so that they count as reads",
            ),
            Format::Spdk => Some(
                "devices are channels, of which a block device may have one for each thread; \
                 the size of a block is not in the trace",
            ),
            Format::Etw => Some("times are those of completions"),
            _ => None,
        }
    }

    /// Whether it has several events of a request, of which one stands for it.
    pub(crate) fn has_events(self) -> bool {
        matches!(self, Format::Blkparse | Format::Blktrace | Format::Ftrace)
    }

    /// Whether addresses or sizes are in sectors, whose size an option may say.
    #[must_use]
    pub fn has_sectors(self) -> bool {
        match self {
            Format::Csv
            | Format::Columns
            | Format::Replayer
            | Format::Msr
            | Format::FioV2
            | Format::FioV3
            | Format::WiscSee
            | Format::Alibaba
            | Format::Etw
            | Format::Systor => false,
            Format::DiskSim
            | Format::FlashSim
            | Format::Spc
            | Format::DiskMon
            | Format::Blkparse
            | Format::Blktrace
            | Format::VscsiV1
            | Format::VscsiV2
            | Format::BioTracer
            | Format::HpSrt
            | Format::VscsiCsv
            | Format::Ftrace
            | Format::Spdk
            | Format::BioSnoop
            | Format::Midas
            | Format::OracleGeneral
            | Format::Fiu
            | Format::Tencent => true,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let found = Format::all().iter().copied().find(|format| format.name() == text);
        found.ok_or_else(|| {
            TraceError::Option(format!(
                "trace format `{}` is unknown; one of {} would be right",
                text.escape_debug(),
                names()
            ))
        })
    }
}

/// All names, for an error message.
pub(crate) fn names() -> String {
    Format::all().iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}
