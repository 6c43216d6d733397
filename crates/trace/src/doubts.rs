//! Signs that speak against how a trace was read: a guess that the figures contradict, requests left out, a clock that
//! goes back. Each says what it doubts, and which option would settle it.

use crate::format::Format;
use crate::noted::{Note, Noted};
use crate::report::FileRead;
use crate::skipped::SkipReason;

/// A trace that lasts longer than this, in nanoseconds, in a unit that was guessed, is doubted: 30 days.
const LONG_NS: u64 = 30 * 86_400 * 1_000_000_000;

/// So many requests show what all have in common.
const TELLING_REQUESTS: u64 = 3;

/// What a person should look at, a sentence each.
pub(crate) fn warnings(files: &[FileRead], noted: &Noted, notes: &[(Note, u64)], sorted: bool) -> Vec<String> {
    let mut warnings = noted.remarks.clone();
    warnings.extend(left_out(noted));
    warnings.extend(notes.iter().map(|(note, count)| format!("{note}: {count}")));
    warnings.extend(files.iter().filter_map(|file| file.format.caveat()).map(str::to_owned));
    warnings.dedup();
    if let [file] = files {
        warnings.extend(sizes(file, noted));
        warnings.extend(times(file, noted));
    }
    if noted.clock.steps_back > 0 && !sorted {
        let what = format!("requests earlier than the one before them: {}; --sort orders them", noted.clock.steps_back);
        warnings.push(what);
    }
    warnings
}

fn left_out(noted: &Noted) -> Vec<String> {
    let mut warnings = Vec::new();
    let reasons = noted.skipped.iter().filter(|(reason, _)| reason.needs_warning());
    // A line before the first record has a remark of its own.
    for (reason, count) in reasons.filter(|(reason, _)| *reason != SkipReason::JunkBeforeFirst) {
        warnings.push(format!("left out: {count} {reason}"));
    }
    if noted.split > 0 {
        warnings.push(format!("split: {} requests over 1 GiB, into pieces of 1 GiB", noted.split));
    }
    if noted.extra_columns > 0 {
        warnings
            .push(format!("columns after the format's last one are passed over in {} records", noted.extra_columns));
    }
    warnings
}

/// Whether addresses and sizes may be in other units than they were read in.
fn sizes(file: &FileRead, noted: &Noted) -> Option<String> {
    let signs = &noted.signs;
    if signs.ranges >= TELLING_REQUESTS && signs.largest < 512 {
        return Some("each request is smaller than a sector of 512 B: are addresses and sizes in bytes?".to_owned());
    }
    if signs.ranges < TELLING_REQUESTS || !file.format_guessed {
        return None;
    }
    match file.format {
        // 512 sectors are 256 KiB, which no trace asks for alone.
        Format::DiskSim if signs.all_multiples_of(512 * 512) => Some(
            "each address and each size is a multiple of 512, so they may be bytes and not sectors: --format replayer"
                .to_owned(),
        ),
        Format::DiskSim if signs.largest == 512 && signs.ranges >= 16 => Some(
            "each size is one sector of 512 B, so sizes and addresses may be pages of 4 KiB: --sector 4KiB".to_owned(),
        ),
        _ => None,
    }
}

/// Whether times may be in another unit than they were read in.
fn times(file: &FileRead, noted: &Noted) -> Option<String> {
    let duration_ns = noted.clock.duration_ns();
    let guessed = file.time_unit_guessed || (file.format_guessed && file.format.has_units_to_choose());
    if !guessed || duration_ns < LONG_NS {
        return None;
    }
    Some(format!(
        "with times in {} the trace lasts {} days, which is long: --time-unit names another unit",
        file.time_unit,
        duration_ns / 86_400 / 1_000_000_000
    ))
}
