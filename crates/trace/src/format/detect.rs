//! Guessing a format from the first 64 KiB of content, never from the file's name.
//!
//! 1. Beginnings that only one format has: blktrace's magic, HP SRT's, the header lines of our own CSV
//!    (after comments), fio and SYSTOR '17. And names of events that only one has: xperf's and ftrace's.
//! 2. VSCSI by the version field of its first records, oracleGeneral by next accesses that are right.
//! 3. Text formats without a header: the one of which most lines have the shape, at least as many as
//!    have not (after a record, a wrong shape is an error anyway). Ties go to the format that
//!    [`CANDIDATES`] lists first.
//! 4. Five blank-separated columns of numbers are DiskSim, FlashSim or a replayer cut; their files say
//!    how they are told apart. `--format` overrules everything here.

use super::event::BlkparseEvent;
use super::text::LineParser;
use super::{Format, Item, SECTOR_BYTES, TimeUnit};
use super::{
    biosnoop, blkparse, blktrace, csv, etw, fio, flashsim, ftrace, hp_srt, oracle_general, replayer, spdk, systor,
    vscsi,
};
use crate::TraceError;
use crate::error::excerpt;
use crate::input::Input;
use crate::number::Flaw;

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
    // The last line of a sample that ends inside the file may be cut.
    let mut text = input.sample.as_slice();
    if !input.sample_is_all
        && let Some(end) = memchr::memrchr(b'\n', text)
    {
        text = text.get(..end).unwrap_or_default();
    }
    by_beginning(&input.sample, text)
        .or_else(|| by_records(&input.sample, input.sample_is_all))
        .or_else(|| by_lines(text))
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
    if first == systor::HEADER {
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
    let mut uncommented =
        std::iter::once(first).chain(lines).filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    (uncommented.next() == Some(csv::HEADER.as_bytes())).then_some(Format::Csv)
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

fn by_lines(text: &[u8]) -> Option<Format> {
    let mut best: Option<(u64, Format)> = None;
    for &format in CANDIDATES {
        let mut parser = parser_of(format)?;
        let (mut matching, mut others) = (0, 0);
        for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.is_empty() {
                continue;
            }
            match parser.parse(line) {
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

/// A parser good enough to tell shapes; units do not matter for that.
fn parser_of(format: Format) -> Option<Box<dyn LineParser>> {
    let (time, sector_bytes) = (TimeUnit::Ns, SECTOR_BYTES);
    Some(match format {
        Format::DiskSim => Box::new(replayer::parser(Some(time))),
        Format::Msr => Box::new(super::msr::Msr::new(Some(time))),
        Format::Spc => Box::new(super::spc::Spc { time, sector_bytes }),
        Format::DiskMon => Box::new(super::diskmon::DiskMon { time, sector_bytes }),
        Format::Blkparse => Box::new(blkparse::Blkparse::new(time, BlkparseEvent::Issued, sector_bytes)),
        Format::BioSnoop => Box::new(biosnoop::BioSnoop::new(time, sector_bytes)),
        Format::Midas => Box::new(super::midas::Midas { time, block_bytes: sector_bytes }),
        Format::VscsiCsv => Box::new(super::vscsi_csv::VscsiCsv { time, sector_bytes, radix: 16 }),
        Format::BioTracer => Box::new(super::biotracer::BioTracer { time, sector_bytes }),
        Format::Fiu => Box::new(super::fiu::Fiu { time, sector_bytes }),
        Format::WiscSee => Box::new(super::wiscsee::WiscSee { time }),
        Format::Alibaba => Box::new(super::alibaba::Alibaba { time }),
        Format::Tencent => Box::new(super::tencent::Tencent { time, sector_bytes }),
        _ => return None,
    })
}

fn unknown(input: &Input, text: &[u8]) -> TraceError {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    if biosnoop::is_bpftrace(first) {
        let what = "bpftrace's biosnoop prints no addresses and no sizes; the output of bcc's biosnoop would be right";
        return TraceError::file(&input.file, what);
    }
    let what = format!(
        "no known trace format (it begins `{}`); one of {} would be right, or name it with --format",
        excerpt(first),
        super::names()
    );
    TraceError::file(&input.file, what)
}
