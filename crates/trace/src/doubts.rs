//! Signs that speak against how a trace was read: a guess that the figures contradict, requests left out, a clock that
//! goes back. Each says what it doubts, and which option would settle it.

use crate::format::Format;
use crate::noted::{Note, Noted};
use crate::report::{ColumnsRead, FileRead};
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
    if let Some(columns) = &file.columns {
        return columns_in_other_units(columns, noted);
    }
    // Our own CSV states bytes, of which nobody writes as few as sectors are.
    let small = if file.format == Format::Csv { 64 } else { 512 };
    if signs.ranges >= TELLING_REQUESTS && signs.largest < small {
        let what =
            "each request is smaller than a sector of 512 B: are addresses and sizes in bytes? --columns names units";
        return Some(what.to_owned());
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

/// Whether values speak against the units of columns.
fn columns_in_other_units(columns: &ColumnsRead, noted: &Noted) -> Option<String> {
    let signs = &noted.signs;
    let ColumnsRead { columns: spec, address_unit_bytes, address_unit_guessed, size_unit_bytes, size_unit_guessed } =
        columns;
    let doubt = |what: &str| Some(format!("{what}: --columns {spec} with other units settles it"));
    if signs.ranges == 0 {
        None
    } else if *size_unit_guessed && *size_unit_bytes == 1 && !signs.sizes_are_multiples_of(512) {
        doubt("sizes are taken for bytes, as the heading names no unit, and are no multiples of 512")
    } else if *address_unit_guessed && *address_unit_bytes == 1 && !signs.addresses_are_multiples_of(512) {
        doubt("addresses are taken for bytes, as the heading names no unit, and are no multiples of 512")
    } else if signs.ranges < TELLING_REQUESTS {
        None
    } else if *address_unit_guessed && *address_unit_bytes == 512 && signs.addresses_are_multiples_of(512 * 512) {
        doubt("addresses are taken for sectors, as the heading names no unit, and are multiples of 512")
    } else if signs.largest < 512 {
        doubt("each request is smaller than a sector of 512 B")
    } else {
        None
    }
}

/// Whether times may be in another unit than they were read in.
fn times(file: &FileRead, noted: &Noted) -> Option<String> {
    let duration_ns = noted.clock.duration_ns();
    let guessed = file.time_unit_guessed || (file.format_guessed && file.format.has_units_to_choose());
    if file.columns.is_some() && guessed && noted.usable >= TELLING_REQUESTS && duration_ns / 100 < noted.usable {
        let unit = file.time_unit;
        return (duration_ns > 0).then(|| {
            format!("with times in {unit} over 10,000,000 requests a second arrive: --time-unit names another unit")
        });
    }
    if !guessed || duration_ns < LONG_NS {
        return None;
    }
    Some(format!(
        "with times in {} the trace lasts {} days, which is long: --time-unit names another unit",
        file.time_unit,
        duration_ns / 86_400 / 1_000_000_000
    ))
}
