//! Text that is no table of requests, and the command that makes one of it: SQL, Process Monitor, strace, kernel logs.

use super::{date, ops};
use crate::error::excerpt;
use crate::input::way::{Step, Way};

/// The kinds of text: what each is called, what its lines have, and a filter that makes columns of them.
const KINDS: &[Kind] = &[
    Kind {
        name: "SQL",
        is: |line| starts(line, b"INSERT INTO ") && has(line, b"VALUES"),
        filter: r"sed -nE '/^ *(INSERT|\()/{s/^.*VALUES *//;s/\), *\(/\n/g;s/^ *\(//;s/\)[,;]? *$//;/./p}'",
    },
    Kind {
        name: "the CSV of Process Monitor",
        is: |line| has(line, b"\"Offset: ") && has(line, b"Length: "),
        filter: r#"sed -nE 's/^"([^"]*)".*"(ReadFile|WriteFile)".*Offset: ([0-9,]+), Length: ([0-9,]+).*/\1;\2;\3;\4/;T;s/,//g;p'"#,
    },
    Kind {
        name: "strace",
        is: |line| (has(line, b"pread64(") || has(line, b"pwrite64(")) && has(line, b") = "),
        filter: r"sed -nE 's/^(\[pid +[0-9]+\] +|[0-9]+ +)?([0-9.:]+) +(pread64|pwrite64)\(([0-9]+).*, ([0-9]+), ([0-9]+)\) += [0-9]+.*/\2 \4 \3 \6 \5/p'",
    },
    Kind {
        name: "the kernel's log of SCSI commands",
        is: |line| has(line, b"CDB: ") && (has(line, b"(10) ") || has(line, b"(16) ")),
        filter: r"perl -ne 'if (/\[ *([\d.]+)\].*\[(\w+)\].*CDB: (Read|Write)\((10|16)\) ([ \da-f]+)/) { @c = split / /, $5; ($a, $n) = $4 == 10 ? (2, 7) : (2, 10); print join(q( ), $1, $2, $3, q(0x).join(q(), @c[$a..$a+($4==10?3:7)]), q(0x).join(q(), @c[$n..$n+($4==10?1:3)])), qq(\n) }'",
    },
];

struct Kind {
    name: &'static str,
    is: fn(&[u8]) -> bool,
    filter: &'static str,
}

/// So many lines are looked at.
const LINES: usize = 64;

/// Marks that may be between an operation and what is joined to it.
const MARKS: &[u8] = b"@:(),;|=>";

/// What to do with lines whose first word has the operation within it, as qemu's log has.
pub(super) fn op_within(rows: &[&Vec<&[u8]>]) -> Option<String> {
    let is_op = |word: &[u8]| word.len() > 2 && ops::of(word).is_some();
    let first = rows.first()?.first()?;
    let parts = |cell: &[u8]| cell.split(|byte| MARKS.contains(byte)).any(is_op);
    let has = rows.iter().filter(|row| row.first().is_some_and(|cell| parts(cell))).count();
    if has * 2 <= rows.len() || date::is_clock(first) || date::looks_like(first) {
        return None;
    }
    let marks = first.iter().filter(|byte| MARKS.contains(byte));
    let sed: Vec<String> = marks.map(|mark| format!("s/[{}]/ /", char::from(*mark))).collect();
    Some(format!(
        "operations are within the first word (`{}`); `sed '{}'` sets them apart, and the lines it makes have a guess of \
         their own",
        excerpt(first),
        sed.join(";")
    ))
}

/// What to do with such text.
pub(crate) fn with_filter(text: &[u8], file: &str) -> Option<String> {
    let lines = || text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).take(LINES);
    let Kind { name, filter, .. } = KINDS.iter().find(|kind| lines().any(kind.is))?;
    let commands = Way::from(Some(file)).then(Step::Filter(filter)).commands();
    Some(format!("{name} is no table of requests; {commands} makes columns of it, of which the next error has a guess"))
}

fn starts(line: &[u8], with: &[u8]) -> bool {
    line.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with))
}

fn has(line: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(line, what).is_some()
}
