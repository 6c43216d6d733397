//! Guessing a format from the first 64 KiB of content, never from the file's name.
//!
//! 1. Beginnings that only one format has: blktrace's magic, HP SRT's, the header lines of our own CSV
//!    (after comments), fio and SYSTOR '17.
//! 2. VSCSI by the version field of its first records.
//! 3. Text formats without a header: the one of which most lines have the shape, at least as many as
//!    have not (after a record, a wrong shape is an error anyway). Ties go to the format that
//!    [`CANDIDATES`] lists first.
//! 4. Five blank-separated columns of numbers are DiskSim, FlashSim or a replayer cut; their files say
//!    how they are told apart. `--format` overrules everything here.

use super::event::BlkparseEvent;
use super::text::LineParser;
use super::{Format, Item, TimeUnit};
use super::{blkparse, blktrace, csv, fio, flashsim, hp_srt, replayer, systor, vscsi};
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
    Format::Fiu,
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
        .or_else(|| by_records(&input.sample))
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
    let mut uncommented =
        std::iter::once(first).chain(lines).filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    (uncommented.next() == Some(csv::HEADER.as_bytes())).then_some(Format::Csv)
}

fn by_records(sample: &[u8]) -> Option<Format> {
    // Text has no zero in its first record's version and command fields; nothing else to rule out.
    if vscsi::looks_like_v2(sample) {
        Some(Format::VscsiV2)
    } else if vscsi::looks_like_v1(sample) {
        Some(Format::VscsiV1)
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
    let time = TimeUnit::Ns;
    Some(match format {
        Format::DiskSim => Box::new(replayer::parser(Some(time))),
        Format::Msr => Box::new(super::msr::Msr::new(Some(time))),
        Format::Spc => Box::new(super::spc::Spc { time }),
        Format::DiskMon => Box::new(super::diskmon::DiskMon { time }),
        Format::Blkparse => Box::new(blkparse::Blkparse::new(time, BlkparseEvent::Issued)),
        Format::BioTracer => Box::new(super::biotracer::BioTracer { time }),
        Format::Fiu => Box::new(super::fiu::Fiu { time }),
        Format::WiscSee => Box::new(super::wiscsee::WiscSee { time }),
        Format::Alibaba => Box::new(super::alibaba::Alibaba { time }),
        Format::Tencent => Box::new(super::tencent::Tencent { time }),
        _ => return None,
    })
}

fn unknown(input: &Input, text: &[u8]) -> TraceError {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let what = format!(
        "no known trace format (it begins `{}`); one of {} would be right, or name it with --format",
        excerpt(first),
        super::names()
    );
    TraceError::file(&input.file, what)
}
