//! Words for what is asked: those that most files have, and what another one may mean.

use crate::error::excerpt;
use crate::format::scsi;
use crate::request::Op;

/// The words that most files have, in lower case.
const WORDS: [(&[&str], Op); 4] = [
    (&["r", "rd", "read", "reads", "rs", "ra", "rsm", "irp_read", "irp_mj_read", "pread", "readv"], Op::Read),
    (
        &[
            "w",
            "wr",
            "wt",
            "write",
            "writes",
            "ws",
            "wfs",
            "wsm",
            "irp_write",
            "irp_mj_write",
            "pwrite",
            "writev",
            "wf",
            "wm",
            "wsf",
        ],
        Op::Write,
    ),
    (&["t", "trim", "d", "discard", "ds", "unmap", "deallocate"], Op::Trim),
    (&["f", "flush", "fs", "ff", "fn", "sync", "fsync", "fdatasync", "irp_mj_flush_buffers"], Op::Flush),
];

/// The operation that a word stands for in most files. A code behind `0x` is of SCSI.
pub(crate) fn of(word: &[u8]) -> Option<Op> {
    let word = std::str::from_utf8(word).ok()?;
    if let Some(code) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u8::from_str_radix(code, 16).ok().and_then(|code| scsi::op_of(code.into()));
    }
    WORDS.iter().find(|(words, _)| words.iter().any(|known| known.eq_ignore_ascii_case(word))).map(|(_, op)| *op)
}

/// What a word may mean, by what is in it; none where that is open.
fn likely(word: &str) -> Option<Op> {
    let word = word.to_ascii_lowercase();
    let parts: [(&[&str], Op); 4] = [
        (&["read", "28h"], Op::Read),
        (&["writ", "2ah"], Op::Write),
        (&["trim", "discard", "unmap", "dealloc"], Op::Trim),
        (&["flush", "sync"], Op::Flush),
    ];
    let mut found = parts.iter().filter(|(parts, _)| parts.iter().any(|part| word.contains(part)));
    match (found.next(), found.next()) {
        (Some((_, op)), None) => Some(*op),
        // Decimal codes of SCSI, which are too large for numbers of anybody's own; and those with a letter.
        _ if matches!(word.as_str(), "40" | "136" | "168" | "88") => Some(Op::Read),
        _ if matches!(word.as_str(), "42" | "138" | "170" | "2a" | "8a") => Some(Op::Write),
        _ => None,
    }
}

/// The error of words without a meaning, with an option that gives them one.
pub(crate) fn without_meaning(words: &[&[u8]]) -> String {
    let shown: Vec<String> = words.iter().map(|word| excerpt(word)).collect();
    let means = |word: &String| likely(word).map_or("OP", Op::name);
    let pairs: Vec<String> = shown.iter().map(|word| format!("{}={word}", means(word))).collect();
    let (what, them) = match shown.as_slice() {
        [one] => (format!("the operation {one} has"), "it"),
        several => (format!("the operations {} have", several.join(", ")), "them"),
    };
    let open = if shown.iter().all(|word| likely(word).is_some()) {
        ""
    } else {
        ", where OP is read, write, trim, flush or skip"
    };
    format!("{what} no meaning yet; --ops would give {them} one: --ops {}{open}", pairs.join(","))
}
