//! Signs that speak against how a trace was read: a guess that the figures contradict, requests left out, a clock that
//! goes back. Each says what it doubts, and which option would settle it.

use crate::format::Format;
use crate::format::columns::{ColumnSpec, units::since_1970};
use crate::noted::{Clock, Note, Noted, OfFile, Signs};
use crate::report::{ColumnsRead, FileRead};
use crate::skipped::SkipReason;

/// A trace that lasts longer than this, in nanoseconds, in a unit that was guessed, is doubted: 30 days.
const LONG_NS: u64 = 30 * DAY_NS;

/// So many requests show what all have in common.
const TELLING_REQUESTS: u64 = 3;

/// More requests a second than any drive takes, on average.
const FAST_PER_SECOND: u64 = 10_000_000;

/// So many requests make an average.
const AVERAGED_REQUESTS: u64 = 100;

/// Two files of which one begins so long after the other has ended, in nanoseconds, are of two epochs: a year.
const APART_NS: u64 = 365 * 86_400 * 1_000_000_000;

/// Seconds since 1970, from 2001 to 2103, where they are taken for units of 100 ns.
const UNIX_SECONDS_AS_FILE_TIMES_NS: std::ops::Range<u64> = 100_000_000_000..420_000_000_000;

/// A mean time between requests, in nanoseconds, that is long where the unit is a guess: 10 s.
const LONG_GAP_NS: u64 = 10_000_000_000;

/// So many requests have a mean time between them.
const SPACED_REQUESTS: u64 = 16;

/// So many devices may each have one request.
const DEVICES_FEW: u64 = 16;

const DAY_NS: u64 = 86_400 * 1_000_000_000;

/// What a person should look at, a sentence each.
pub(crate) fn warnings(files: &[FileRead], noted: &Noted, notes: &[(Note, u64)], sorted: bool) -> Vec<String> {
    let mut warnings = noted.remarks.clone();
    warnings.extend(left_out(files, noted));
    warnings.extend(notes.iter().map(|(note, count)| format!("{note}: {count}")));
    for caveat in files.iter().filter_map(|file| file.format.caveat()) {
        if !warnings.iter().any(|warning| warning == caveat) {
            warnings.push(caveat.to_owned());
        }
    }
    if let (0, [file]) = (noted.of_files.len(), files) {
        warnings.extend(of_file(file, &noted.clock, &noted.signs, noted));
    }
    for (file, of) in files.iter().zip(&noted.of_files) {
        let doubts = of_file(file, &of.clock, &of.signs, noted);
        let doubts = doubts.into_iter().chain(devices_of_one_request(of.devices_of_one_request()));
        let name = if files.len() > 1 { format!("{}: ", file.file) } else { String::new() };
        warnings.extend(doubts.map(|doubt| name.clone() + &doubt));
    }
    warnings.extend(epochs(files, &noted.of_files));
    if let (devices @ 1.., events) = noted.events.without_requests() {
        warnings.push(format!(
            "devices with other events and without a request: {devices}, events of these: {events}; --event takes another"
        ));
    }
    if noted.of_files.is_empty() && noted.devices() >= noted.signs.ranges {
        warnings.extend(devices_of_one_request(noted.devices()));
    }
    let steps_back = noted.steps_back();
    // Order does not settle what passes midnight.
    let midnights = notes.iter().filter(|(note, _)| *note == Note::Midnight).map(|(_, count)| count).sum();
    if steps_back > midnights && !sorted {
        warnings.push(format!("requests earlier than the one before them: {steps_back}; --sort orders them"));
    }
    warnings
}

/// What speaks against how a file was read.
fn of_file(file: &FileRead, clock: &Clock, signs: &Signs, noted: &Noted) -> Vec<String> {
    let times = if noted.named.time { None } else { times(file, clock, signs) };
    sizes(file, signs, noted).into_iter().chain(times).collect()
}

/// That each of so many devices has one request.
fn devices_of_one_request(devices: u64) -> Option<String> {
    (devices > DEVICES_FEW).then(|| {
        format!(
            "there are as many devices as requests, {devices}: is the column of devices another one? --columns passes it \
             over as `-`"
        )
    })
}

/// Whether times of several files are counted from different beginnings.
fn epochs(files: &[FileRead], of_files: &[OfFile]) -> Option<String> {
    // The beginning of a file is known of, also where reading stops before.
    let span = |of: &OfFile| {
        let read = of.clock.first_ns.map(|_| (of.clock.earliest_ns, of.clock.latest_ns));
        read.or_else(|| of.begin_ns.map(|begin_ns| (begin_ns, begin_ns)))
    };
    let spans = files.iter().zip(of_files).filter_map(|(file, of)| Some((file, span(of)?)));
    let mut spans: Vec<(&FileRead, (u64, u64))> = spans.collect();
    spans.sort_by_key(|(_, (earliest_ns, _))| *earliest_ns);
    let mut last: Option<(&FileRead, u64)> = None;
    for (file, (earliest_ns, latest_ns)) in spans {
        if let Some((before, until_ns)) = last
            && earliest_ns.saturating_sub(until_ns) > APART_NS
        {
            let days = (earliest_ns - until_ns) / DAY_NS;
            return Some(format!(
                "{} begins {days} days after what was read of {} ends: their times have different beginnings",
                file.file, before.file
            ));
        }
        if last.is_none_or(|(_, until_ns)| latest_ns > until_ns) {
            last = Some((file, latest_ns));
        }
    }
    None
}

fn left_out(files: &[FileRead], noted: &Noted) -> Vec<String> {
    let mut warnings = Vec::new();
    let reasons = noted.skipped.iter().filter(|(reason, _)| reason.needs_warning());
    // A line before the first record or behind the last has a remark of its own.
    let is_junk = |reason: SkipReason| matches!(reason, SkipReason::JunkBeforeFirst | SkipReason::JunkAfterLast);
    for (reason, count) in reasons.filter(|(reason, _)| !is_junk(*reason)) {
        warnings.push(format!("left out: {count} {reason}"));
    }
    let others = noted.skipped.count(SkipReason::OtherCommand) + noted.skipped.count(SkipReason::BlankOperation);
    if let Some(file) = files.iter().find(|file| file.format_guessed)
        && others > noted.usable
    {
        warnings.push(format!(
            "most records are left out, so the guess of {} may be wrong: --format names another, --columns any columns",
            file.format
        ));
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
fn sizes(file: &FileRead, signs: &Signs, noted: &Noted) -> Option<String> {
    if let Some(columns) = &file.columns {
        return one_less(columns, signs, noted.skipped.count(SkipReason::SizeZero))
            .or_else(|| columns_in_other_units(columns, signs));
    }
    // Our own CSV states bytes, of which nobody writes as few as sectors are.
    let small = if file.format == Format::Csv { 64 } else { 512 };
    if signs.ranges >= TELLING_REQUESTS && signs.largest < small {
        let what =
            "each request is smaller than a sector of 512 B: are addresses and sizes in bytes? --columns names units";
        return Some(what.to_owned());
    }
    if signs.ranges < TELLING_REQUESTS || !file.format_guessed || noted.named.sector {
        return None;
    }
    match file.format {
        Format::Spc if signs.ranges >= SPACED_REQUESTS && signs.addresses_are_multiples_of(4096 * 512) => Some(
            "each address is a multiple of 4096, so they may be bytes and not sectors: \
             --columns device,offset,size,op,time"
                .to_owned(),
        ),
        // 512 sectors are 256 KiB, which few traces ask for alone.
        Format::DiskSim if signs.all_multiples_of(512 * 512) => Some(
            "each address and each size is a multiple of 512, so they may be bytes and not sectors: --format replayer"
                .to_owned(),
        ),
        // 4096 sectors are 2 MiB.
        Format::Tencent if signs.all_multiples_of(4096 * 512) => Some(
            "each address and each size is a multiple of 4096, so they may be bytes and not sectors: \
             --columns time:s,offset,size,op,device --ops read=0,write=1"
                .to_owned(),
        ),
        Format::DiskSim if signs.largest == 512 && signs.ranges >= 16 => Some(
            "each size is one sector of 512 B, so sizes and addresses may be pages of 4 KiB: --sector 4KiB".to_owned(),
        ),
        // As sectors, these are 256 KiB to 2 MiB. As bytes, few traces ask for so little alone.
        Format::Replayer if signs.largest <= 4096 && !signs.sizes_are_multiples_of(4096) => Some(
            "each size is 4 KiB or less and not each is 4 KiB, so they may be sectors and not bytes: --format disksim"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Whether sizes may be counted from zero: most lack a sector, or many are zero.
fn one_less(columns: &ColumnsRead, signs: &Signs, zeros: u64) -> Option<String> {
    let guessed = columns.size_unit_guessed && columns.size_unit_bytes == 512;
    let many_zeros = zeros >= TELLING_REQUESTS && zeros * 8 > signs.ranges;
    let telling = signs.ranges >= TELLING_REQUESTS && (signs.most_sizes_are_one_less() || many_zeros);
    if !(guessed && telling) {
        return None;
    }
    let spec = columns.columns.parse::<ColumnSpec>().ok()?.with_sizes_one_less();
    Some(format!(
        "sizes may be one less than they are, as NVMe counts blocks: --columns {spec} adds one, and any unit may follow a \
         colon, as in size-1:4096"
    ))
}

/// Whether values speak against the units of columns. What is suggested is another reading.
fn columns_in_other_units(columns: &ColumnsRead, signs: &Signs) -> Option<String> {
    let ColumnsRead { columns: spec, address_unit_bytes, address_unit_guessed, size_unit_bytes, size_unit_guessed } =
        columns;
    let spec: ColumnSpec = spec.parse().ok()?;
    let doubt = |what: &str, address: Option<u64>, size: Option<u64>| {
        let unit = address.or(size).unwrap_or(1);
        let other = spec.clone().in_units(address, size);
        let unit = if unit == 1 { "bytes".to_owned() } else { format!("units of {unit} B") };
        let any = "any unit may follow a colon, as in lba:4096 and size:512";
        Some(format!("{what}: --columns {other} takes {unit}, and {any}"))
    };
    let guessed_as = |guessed: bool, unit: u64, bytes: u64| guessed && unit == bytes;
    let sizes = |bytes: u64| guessed_as(*size_unit_guessed, *size_unit_bytes, bytes);
    let addresses = |bytes: u64| guessed_as(*address_unit_guessed, *address_unit_bytes, bytes);
    // Sizes that are all even numbers of file-system blocks may be sectors; 1, 2 and 4 are blocks of 4 KiB.
    let small_unit = |multiples_of_8: bool| if multiples_of_8 { 512 } else { 4096 };
    if signs.ranges == 0 {
        None
    } else if sizes(1) && !signs.sizes_are_multiples_of(512) {
        let unit = small_unit(signs.sizes_are_multiples_of(8));
        doubt("sizes are taken for bytes, as the heading names no unit, and are no multiples of 512", None, Some(unit))
    } else if addresses(1) && !signs.addresses_are_multiples_of(512) {
        let unit = small_unit(signs.addresses_are_multiples_of(8));
        let what = "addresses are taken for bytes, as the heading names no unit, and are no multiples of 512";
        doubt(what, Some(unit), None)
    } else if signs.ranges < TELLING_REQUESTS {
        None
    } else if sizes(1) && *address_unit_bytes == 512 && signs.largest <= 4096 && signs.most_sizes_are_odd_of_many() {
        let what = "sizes are taken for bytes, as the heading names no unit, and are 4 KiB or less, most of them less, \
                    beside addresses in sectors";
        doubt(what, None, Some(512))
    } else if addresses(512) && signs.addresses_are_multiples_of(512 * 512) {
        let what = "addresses are taken for sectors, as the heading names no unit, and are multiples of 512";
        doubt(what, Some(1), None)
    } else if sizes(512) && signs.most_sizes_are_odd() {
        let address = (addresses(512) && signs.most_addresses_are_odd()).then_some(4096);
        let what =
            "sizes are taken for sectors of 512 B, as the heading names no unit, and most are no multiples of 4 KiB";
        doubt(what, address, Some(4096))
    } else if addresses(512) && signs.most_addresses_are_odd() && signs.sizes_are_multiples_of(4096) {
        let what = "addresses are taken for sectors of 512 B, as the heading names no unit, and most are no multiples of \
                    4 KiB where each size is one";
        doubt(what, Some(4096), None)
    } else if signs.largest < 512 {
        doubt("each request is smaller than a sector of 512 B", None, Some(512))
    } else {
        None
    }
}

/// Whether times may be in another unit than they were read in.
fn times(file: &FileRead, clock: &Clock, signs: &Signs) -> Option<String> {
    let duration_ns = clock.duration_ns();
    let bare = file.format_guessed && file.format.is_bare();
    if !(file.time_unit_guessed || bare) || duration_ns == 0 {
        return None;
    }
    let other = if file.format == Format::Midas { ", --columns other columns" } else { "" };
    let times = format!("with times in {}", file.time_unit);
    let per_second = u128::from(signs.ranges) * 1_000_000_000 / u128::from(duration_ns);
    if signs.ranges > AVERAGED_REQUESTS && per_second > u128::from(FAST_PER_SECOND) {
        return Some(format!(
            "{times} there are {per_second} requests a second, which is many: --time-unit names another unit{other}"
        ));
    }
    if file.format == Format::Msr && UNIX_SECONDS_AS_FILE_TIMES_NS.contains(&clock.earliest_ns) {
        return Some(format!("{times} the trace begins in 1601, so they may be seconds since 1970: --time-unit s"));
    }
    let gap_ns = duration_ns / signs.ranges.max(1);
    if file.format == Format::Columns && signs.ranges >= SPACED_REQUESTS && gap_ns > LONG_GAP_NS {
        let gap = gap_ns / 1_000_000_000;
        return Some(format!(
            "{times} there are {gap} s between requests on average, which is long: --time-unit names another unit"
        ));
    }
    let tick_ns = file.time_unit.tick().ns;
    if bare
        && let Some(unit) = since_1970(clock.earliest_ns / tick_ns).filter(|unit| *unit != file.time_unit)
        && duration_ns < clock.earliest_ns / 4
    {
        return Some(format!("{times} the trace begins soon after 1970, so they may be in {unit}: --time-unit {unit}"));
    }
    // Collections of these last as long as they do.
    let long = duration_ns > LONG_NS && !matches!(file.format, Format::Msr | Format::Alibaba);
    long.then(|| {
        let days = duration_ns / DAY_NS;
        format!("{times} the trace lasts {days} days, which is long: --time-unit names another unit{other}")
    })
}
