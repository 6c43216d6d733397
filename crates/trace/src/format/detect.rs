//! Guessing a format from the first 64 KiB of content, never from the file's name.
//!
//! 1. Beginnings that only one format has: blktrace's magic, HP SRT's, the header lines of our own CSV (after
//!    comments), fio and SYSTOR '17. And names of events that only one has: xperf's and ftrace's.
//! 2. VSCSI by the version field of its first records, oracleGeneral by next accesses that are right.
//! 3. A heading that names what a request needs and is none of a format's: what a file says of itself is stronger than
//!    the shape of its lines. One that names a time, an address or a size twice is an error.
//! 4. Text formats without a header: the one of which most lines have the shape, at least as many as have not. (After a
//!    record, a wrong shape is an error anyway.) Ties go to the format that [`CANDIDATES`] lists first.
//! 5. The same in other dialects (separators, quotes, up to two more columns), where no format fits as it stands.
//! 6. Five blank-separated columns of numbers are DiskSim, FlashSim or a replayer cut; their files say how to
//!    distinguish them. `--format` overrules everything here.

use super::columns::suggest::{self, Fit};
use super::columns::{foreign, keyed, separator_of, settle, split};
use super::dialect::Lenient;
use super::event::BlkparseEvent;
use super::line_parser::LineParser;
use super::{Format, Item, SECTOR_BYTES, TimeUnit};
use super::{
    biosnoop, blkparse, blktrace, csv, etw, fio, flashsim, ftrace, hp_srt, oracle_general, replayer, spdk, systor,
    vscsi,
};
use crate::TraceError;
use crate::error::excerpt;
use crate::input::Input;
use crate::number::{Flaw, is_heading};

/// The text formats that are known by the shape of their lines.
const CANDIDATES: &[Format] = &[
    Format::DiskSim,
    Format::Msr,
    Format::Spc,
    Format::DiskMon,
    Format::Blkparse,
    Format::BioTracer,
    Format::Midas,
    Format::VscsiCsv,
    Format::Fiu,
    Format::BioSnoop,
    Format::WiscSee,
    Format::Alibaba,
    Format::Tencent,
];

/// The format of an opened trace.
pub(crate) fn detect(input: &Input) -> Result<Format, TraceError> {
    let text = input.whole_lines();
    let certain = by_beginning(&input.sample, text)
        .or_else(|| by_records(&input.sample, input.sample_is_all))
        .or_else(|| by_heading(text, is_foreign));
    if certain.is_none()
        && let Some(what) = settle::doubled_heading(text, is_foreign)
    {
        return Err(TraceError::file(&input.file, what));
    }
    certain
        .or_else(|| by_lines(text, Reading::Strict))
        .or_else(|| by_lines(text, Reading::Lenient))
        .or_else(|| by_heading(text, |_| true))
        .ok_or_else(|| unknown(input, text))
}

fn by_beginning(sample: &[u8], text: &[u8]) -> Option<Format> {
    if blktrace::looks_like(sample).is_some() {
        return Some(Format::Blktrace);
    }
    if sample.starts_with(hp_srt::MAGIC) {
        return Some(Format::HpSrt);
    }
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty())?;
    match fio::version_of(first) {
        Some(2) => return Some(Format::FioV2),
        Some(_) => return Some(Format::FioV3),
        None => {}
    }
    let is_preface = |line: &[u8]| line.is_empty() || line.starts_with(b"#") || line.starts_with(b"sep=");
    let heading = std::iter::once(first).chain(lines).find(|line| !is_preface(line))?;
    if is_heading(heading, systor::HEADER) {
        return Some(Format::Systor);
    }
    if etw::looks_like(text) {
        return Some(Format::Etw);
    }
    if spdk::looks_like(text) {
        return Some(Format::Spdk);
    }
    if ftrace::looks_like(text) {
        return Some(Format::Ftrace);
    }
    csv::is_header(heading).then_some(Format::Csv)
}

/// A heading which names what a request needs.
fn by_heading(text: &[u8], counts: fn(&[u8]) -> bool) -> Option<Format> {
    let (heading, _) = settle::heading_of(text, None)?;
    counts(heading).then_some(Format::Columns)
}

/// Headings of formats, whose files may have them or not.
const HEADINGS: &[&str] = &[
    "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    "ASU,LBA,Size,Opcode,Timestamp",
    "version,time,op,size,lbn",
    "device_id,opcode,offset,length,timestamp",
    "Timestamp,Offset,Size,IOType,VolumeID",
];

/// Whether a file has a heading of a format's own.
pub(crate) fn has_heading(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).is_some_and(|line| !is_foreign(line))
}

/// Whether a heading is none that a format has, also with a column less or a few more.
fn is_foreign(heading: &[u8]) -> bool {
    let columns: Vec<&[u8]> = split(heading, separator_of(heading));
    !HEADINGS.iter().any(|known| {
        let known: Vec<&str> = known.split(',').collect();
        columns.len() + 1 >= known.len()
            && columns.iter().zip(&known).all(|(column, known)| column.eq_ignore_ascii_case(known.as_bytes()))
    })
}

fn by_records(sample: &[u8], is_all: bool) -> Option<Format> {
    // Text has no zero in its first record's version and command fields; nothing else to rule out.
    if vscsi::looks_like_v2(sample) {
        Some(Format::VscsiV2)
    } else if vscsi::looks_like_v1(sample) {
        Some(Format::VscsiV1)
    } else if oracle_general::looks_like(sample, is_all) {
        Some(Format::OracleGeneral)
    } else {
        None
    }
}

/// How the lines of a file are held against a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// In the format's own dialect.
    Strict,
    /// In any.
    Lenient,
}

fn by_lines(text: &[u8], reading: Reading) -> Option<Format> {
    let mut best: Option<(u64, Format)> = None;
    // Four numbers between whatever separators are any trace's.
    let candidates = CANDIDATES.iter().filter(|format| reading == Reading::Strict || **format != Format::Midas);
    for &format in candidates {
        let (mut strict, mut lenient) = (parser_of(format)?, Lenient::guessing(parser_of(format)?));
        let (mut matching, mut others) = (0, 0);
        for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.is_empty() {
                continue;
            }
            let item = match reading {
                Reading::Strict => strict.parse(line),
                Reading::Lenient => lenient.parse(line, matching == 0),
            };
            match item {
                Ok(Item::Record(_)) | Err(Flaw::Value(_)) => matching += 1,
                Ok(Item::Skip(reason)) => matching += u64::from(reason.has_record_shape()),
                Ok(Item::Header) => {}
                Err(Flaw::Shape(_)) => others += 1,
            }
        }
        if matching > 0 && matching >= others && best.is_none_or(|(most, _)| matching > most) {
            best = Some((matching, format));
        }
    }
    let (_, format) = best?;
    Some(match format {
        Format::DiskSim if replayer::looks_like(text) => Format::Replayer,
        Format::DiskSim if flashsim::looks_like(text) => Format::FlashSim,
        other => other,
    })
}

/// A parser good enough to distinguish shapes; units do not matter for that.
fn parser_of(format: Format) -> Option<Box<dyn LineParser>> {
    let (time, sector_bytes) = (TimeUnit::Ns, SECTOR_BYTES);
    Some(match format {
        Format::DiskSim => Box::new(replayer::parser(time)),
        Format::Msr => Box::new(super::msr::Msr::new(time)),
        Format::Spc => Box::new(super::spc::Spc { time, sector_bytes }),
        Format::DiskMon => Box::new(super::diskmon::DiskMon { time, sector_bytes }),
        Format::Blkparse => Box::new(blkparse::Blkparse::new(time, BlkparseEvent::Issued, sector_bytes)),
        Format::BioSnoop => Box::new(biosnoop::BioSnoop::new(time, sector_bytes)),
        Format::Midas => Box::new(super::midas::Midas { time, block_bytes: sector_bytes, guessing: true }),
        Format::VscsiCsv => Box::new(super::vscsi_csv::VscsiCsv { time, sector_bytes, radix: 16 }),
        Format::BioTracer => Box::new(super::biotracer::BioTracer { time, sector_bytes }),
        Format::Fiu => Box::new(super::fiu::Fiu { time, sector_bytes }),
        Format::WiscSee => Box::new(super::wiscsee::WiscSee { time }),
        Format::Alibaba => Box::new(super::alibaba::Alibaba { time }),
        Format::Tencent => Box::new(super::tencent::Tencent { time, sector_bytes }),
        _ => return None,
    })
}

/// So many lines an error shows.
const LINES_SHOWN: usize = 3;

fn unknown(input: &Input, text: &[u8]) -> TraceError {
    let lines = || text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    if lines().next().is_some_and(biosnoop::is_bpftrace) {
        let what = "bpftrace's biosnoop prints no addresses and no sizes; the output of bcc's biosnoop would be right";
        return TraceError::file(&input.file, what);
    }
    if lines().all(|line| line.starts_with(b"#")) {
        return TraceError::file(&input.file, "has no records: each line is blank or a comment");
    }
    if let Some(what) = keyed::json_of_other_shape(text, &input.file) {
        return TraceError::file(&input.file, what);
    }
    if let Some(what) = foreign::with_filter(text, &input.file) {
        return TraceError::file(&input.file, what);
    }
    let shown: Vec<String> = lines().take(LINES_SHOWN).map(|line| format!("`{}`", excerpt(line))).collect();
    if let Some(what) = suggest::before_options(text) {
        return TraceError::file(&input.file, format!("no known trace format; {what}"));
    }
    let what = match suggest::options(text) {
        Some(Fit { options, caveat }) => format!(
            "no known trace format; it begins {}; {options} may be right: this is a guess by what values look like, so \
             check units and what each column is{caveat}",
            shown.join(", ")
        ),
        None => format!(
            "no known trace format; it begins {}; --format names one of `phelsuma list`, and --columns any columns of \
             text, such as time:us,op,offset,size",
            shown.join(", ")
        ),
    };
    TraceError::file(&input.file, what)
}
