//! Columns of devices that no known name tells: by their values, read or said. One device's addresses are not mixed with
//! another's without a word.

use std::collections::BTreeSet;

use super::passed::{all_rows, cells_of};
use super::seen::look;
use super::settled::Settled;
use super::{Column, ColumnSpec, date, heading, within};
use crate::error::excerpt;

/// So many devices may be in the beginning of a file.
const DEVICES_MAX: usize = 1024;

/// More of them come three times each on average, as names of something else rarely do.
const DEVICES_FEW: usize = 256;

/// So many are shown.
const SHOWN: usize = 3;

/// Names of columns whose values come again and that are no devices.
const NO_DEVICES: &[&str] = &[
    "pid",
    "tid",
    "ppid",
    "process",
    "proc",
    "comm",
    "program",
    "app",
    "application",
    "task",
    "thread",
    "threads",
    "user",
    "uid",
    "gid",
    "cpu",
    "core",
    "numa",
    "socket",
    "queue",
    "qid",
    "hwq",
    "sq",
    "cq",
    "sqid",
    "cqid",
    "cid",
    "qpair",
    "hctx",
    "tag",
    "seq",
    "idx",
    "index",
    "row",
    "line",
    "depth",
    "qd",
    "inflight",
    "prio",
    "priority",
    "ioprio",
    "nice",
    "flag",
    "flags",
    "attr",
    "attributes",
    "sync",
    "async",
    "fua",
    "meta",
    "metadata",
    "hint",
    "hit",
    "miss",
    "cache",
    "cached",
    "status",
    "state",
    "error",
    "err",
    "errno",
    "result",
    "ret",
    "retval",
    "rc",
    "ok",
    "success",
    "md5",
    "sha1",
    "sha256",
    "hash",
    "crc",
    "checksum",
    "fingerprint",
    "entropy",
    "ratio",
    "stream",
    "class",
    "level",
    "weight",
    "ttl",
    "gc",
    "hot",
    "temp",
    "temperature",
    "random",
    "sequential",
    "pattern",
    "retry",
    "retries",
    "phase",
    "stage",
    "event",
    "events",
    "ev",
    "comment",
    "note",
    "notes",
    "label",
    "caller",
    "stack",
    "function",
    "func",
    "day",
    "hour",
    "minute",
    "sec",
    "second",
    "usec",
    "nsec",
    "msec",
    "year",
    "month",
    "qos",
    "iops",
    "bw",
    "mbps",
    "throughput",
    "util",
    "merge",
    "merged",
    "merges",
    "irp",
    "run",
    "iteration",
    "round",
    "version",
    "align",
    "aligned",
    "segments",
    "nsegs",
    "ctx",
    "mode",
    "sc",
    "sct",
];

/// Words for devices and what has some, which numbers may follow: `sda1`, `nvme0n1`, `disk3`.
const PREFIXES: &[&str] = &[
    "nvme",
    "dm",
    "md",
    "loop",
    "mmcblk",
    "zd",
    "rbd",
    "nbd",
    "zram",
    "disk",
    "drive",
    "physicaldrive",
    "harddisk",
    "lun",
    "vol",
    "volume",
    "dev",
    "bdev",
    "ssd",
    "hdd",
    "osd",
    "part",
    "partition",
    "vm",
    "vdisk",
    "vdev",
    "lv",
    "raid",
    "array",
];

/// Takes a column for devices that no other one is, where each of its values is the name of a drive.
pub(super) fn by_names(settled: &mut Settled, text: &[u8]) {
    if settled.spec.columns.iter().any(|column| matches!(column, Column::Device { .. })) {
        return;
    }
    let rows = all_rows(settled, text);
    let are_drives = |at: &usize| {
        is_open(settled, *at)
            && !rows.is_empty()
            && rows.iter().all(|row| row.get(*at).is_some_and(|cell| is_drive(cell)))
    };
    if let Some(at) = (0..settled.names.len()).find(are_drives) {
        settled.spec.columns.get_mut(at).into_iter().for_each(|column| *column = Column::Device { names: true });
    }
}

/// Columns that are passed over though they look like devices, or like what has devices of its own.
pub(super) fn remarks(settled: &Settled, text: &[u8]) -> Vec<String> {
    let Settled { spec, names, .. } = settled;
    let rows = all_rows(settled, text);
    let taken: Vec<usize> =
        (0..spec.columns.len()).filter(|at| matches!(spec.columns.get(*at), Some(Column::Device { .. }))).collect();
    // A drive is told from others by itself.
    if taken.len() > 1 || taken.iter().any(|at| names.get(*at).is_some_and(|name| heading::is_sure_device(name))) {
        return Vec::new();
    }
    let with = |at: usize| taken.iter().copied().chain([at]).collect::<Vec<_>>();
    let devices = within::apart(&rows, &taken);
    let separator = spec.separator.unwrap_or(b',');
    let is_passed_over = |at: &usize| {
        is_open(settled, *at)
            && look_like_devices(&cells_of(&rows, *at).collect::<Vec<_>>(), separator, rows.len())
            && within::apart(&rows, &with(*at)) > devices
    };
    let found = (0..names.len()).filter(is_passed_over);
    let apart = if taken.is_empty() {
        ", all of which are taken for one"
    } else {
        ", which that of devices does not tell apart"
    };
    found.map(|at| remark(apart, spec, names.get(at).map_or(&[], Vec::as_slice), at, &rows)).collect()
}

fn remark(apart: &str, spec: &ColumnSpec, name: &[u8], at: usize, rows: &[Vec<&[u8]>]) -> String {
    let with_device = within::with_devices(spec, &[at]);
    let different: BTreeSet<&[u8]> = cells_of(rows, at).collect();
    let shown: Vec<String> = different.iter().take(SHOWN).map(|value| format!("`{}`", excerpt(value))).collect();
    let more = if different.len() > SHOWN { ", …" } else { "" };
    format!(
        "column `{}` looks like devices ({}{more}){apart}: --columns {with_device} tells them apart, and `-` there \
         passes them over",
        excerpt(name),
        shown.join(", ")
    )
}

/// Whether a column is passed over under a name that says nothing.
fn is_open(settled: &Settled, at: usize) -> bool {
    settled.spec.columns.get(at) == Some(&Column::Other)
        && settled.names.get(at).is_some_and(|name| heading::is_open(name) && !heading::has_word(name, NO_DEVICES))
}

/// Whether there are a few values, names or whole numbers, which come again.
fn look_like_devices(cells: &[&[u8]], separator: u8, rows: usize) -> bool {
    let seen = look(cells.iter().copied(), separator);
    let different = cells.iter().collect::<BTreeSet<_>>().len();
    let most = if different > DEVICES_FEW { rows / 3 } else { rows * 2 / 3 };
    let is_other = seen.dates > 0 || seen.clocks > 0 || seen.fractions > 0 || seen.with_units > 0;
    // A date has a day and a year, or a time of day.
    let is_dated = |cell: &&[u8]| date::unread(cell).is_some() && (cell.contains(&b':') || numbers_in(cell) > 1);
    // What goes up step by step counts something.
    let is_counter = seen.numbers == rows && seen.ascending && seen.different.len() > 2;
    // Numbers of 64 bits that a mark or digits show as hexadecimal are places in memory.
    let is_place = seen.largest > f64::from(u32::MAX)
        && (seen.hexadecimal || cells.iter().any(|cell| cell.starts_with(b"0x") || cell.starts_with(b"0X")));
    // One name or another is that of an operation as well.
    let is_ops = seen.ops * 2 > rows && seen.numbers == 0;
    cells.len() == rows
        && !(is_other || is_counter || is_ops || is_place || cells.iter().any(is_dated))
        && (2..=DEVICES_MAX.min(most)).contains(&different)
}

/// How many numbers a text has in it.
fn numbers_in(text: &[u8]) -> usize {
    text.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty()).count()
}

/// Whether a value is the name of a drive: `sda1`, `/dev/nvme0n1`, `C:`, `8:16`.
fn is_drive(cell: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(cell) else { return false };
    let text = text.to_ascii_lowercase();
    let name = text.strip_prefix("/dev/").or_else(|| text.strip_prefix(r"\\.\")).unwrap_or(&text);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let letters = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());
    let numbered = |prefix: &&str| {
        let rest = name.strip_prefix(*prefix).map(|rest| rest.trim_start_matches(['-', '_', ' ', '#']));
        rest.is_some_and(|rest| rest.split(['n', 'p']).all(digits))
    };
    let scsi = || {
        let rest = ["xvd", "sd", "hd", "vd"].iter().find_map(|prefix| name.strip_prefix(prefix));
        rest.map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_digit()))
            .is_some_and(|rest| rest.len() < 3 && letters(rest))
    };
    let windows = || matches!(name.as_bytes(), [letter, b':'] if letter.is_ascii_lowercase());
    let kernel = || name.split_once(':').is_some_and(|(major, minor)| digits(major) && digits(minor));
    PREFIXES.iter().any(numbered) || scsi() || windows() || kernel()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_known_by_their_names() {
        for name in [
            "sda",
            "sdaa1",
            "vdb",
            "xvda",
            "/dev/sdb3",
            "nvme0n1",
            "Nvme1n1p2",
            "dm-3",
            "md127",
            "mmcblk0p1",
            "C:",
            "8:16",
            "disk_4",
            r"\\.\PhysicalDrive0",
            "Volume 2",
            "lun#7",
        ] {
            assert!(is_drive(name.as_bytes()), "{name}");
        }
        for other in ["sda_reader", "disk", "sync", "hdparm", "1:", "W", "7", "", "video", "ssdsim", "dev-a"] {
            assert!(!is_drive(other.as_bytes()), "{other}");
        }
    }
}
