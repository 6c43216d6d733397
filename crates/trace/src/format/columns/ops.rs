//! Words for what is asked: those that most files have, and what another one may mean.

use crate::error::excerpt;
use crate::format::{rwbs, scsi};
use crate::input::way::quoted;
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

/// Calls of systems, in lower case.
const CALLS: [(&[&str], Op); 2] = [
    (&["readfile", "pread64", "preadv", "preadv2", "blk_co_preadv", "bdrv_co_preadv", "io_read"], Op::Read),
    (&["writefile", "pwrite64", "pwritev", "pwritev2", "blk_co_pwritev", "bdrv_co_pwritev", "io_write"], Op::Write),
];

/// The operation that a word stands for in most files. A code behind `0x` is of SCSI.
pub(crate) fn of(word: &[u8]) -> Option<Op> {
    let word = std::str::from_utf8(word).ok()?;
    if let Some(code) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u8::from_str_radix(code, 16).ok().and_then(|code| scsi::op_of(code.into()));
    }
    let find = |all: &[(&[&str], Op)], word: &str| {
        all.iter().find(|(words, _)| words.iter().any(|known| known.eq_ignore_ascii_case(word))).map(|(_, op)| *op)
    };
    let plain = |word| find(&WORDS, word);
    plain(word).or_else(|| {
        let of_length = || word.strip_suffix(')')?.split_once('(').filter(|(_, length)| is_number(length));
        let numbered = || word.rsplit_once('_').filter(|(_, length)| is_number(length));
        // A letter before a number is a name.
        let scsi = of_length().or_else(numbered).filter(|(name, _)| name.len() > 1).and_then(|(name, _)| plain(name));
        scsi.or_else(|| find(&CALLS, word)).or_else(|| rwbs::word_of(word.as_bytes()))
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parts of words by which they may be known, in lower case.
type Parts = [(&'static [&'static str], Op)];

const PARTS: &Parts = &[
    (&["read", "28h"], Op::Read),
    (&["writ", "2ah"], Op::Write),
    (&["trim", "discard", "unmap", "dealloc"], Op::Trim),
    (&["flush", "sync"], Op::Flush),
];

/// Those of other languages, as in Lesen, lecture, lettura, leitura, Schreiben, écriture, escritura, scrittura.
const OTHER_PARTS: &Parts = &[
    (&["lese", "läse", "lect", "lett", "leit"], Op::Read),
    (&["schreib", "ecri", "écri", "escri", "scritt"], Op::Write),
];

/// What a word may mean, by what is in it; none where that is open.
fn likely(word: &str) -> Option<Op> {
    let word = word.to_lowercase();
    let by = |parts: &Parts| {
        let mut found = parts.iter().filter(|(parts, _)| parts.iter().any(|part| word.contains(part)));
        found.next().filter(|_| found.next().is_none()).map(|(_, op)| *op)
    };
    by(PARTS).or_else(|| by(OTHER_PARTS)).or(match word.as_str() {
        // Decimal codes of SCSI, which are too large for numbers of anybody's own; and those with a letter.
        "40" | "136" | "168" | "88" => Some(Op::Read),
        "42" | "138" | "170" | "2a" | "8a" => Some(Op::Write),
        _ => None,
    })
}

/// The same of a cell.
pub(super) fn likely_of(word: &[u8]) -> Option<Op> {
    of(word).or_else(|| std::str::from_utf8(word).ok().and_then(likely))
}

/// What a word means in a column that says yes to this operation.
fn answer(word: &str, flag: Op) -> Option<Op> {
    let other = if flag == Op::Read { Op::Write } else { Op::Read };
    match word.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "t" | "y" => Some(flag),
        "0" | "false" | "no" | "f" | "n" => Some(other),
        _ => None,
    }
}

/// Whether a word says yes or no.
pub(super) fn is_answer(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| answer(word, Op::Read).is_some())
}

/// `--ops` for words without a meaning; `flag` is what their column says yes to. Where that leaves one open, `guesses`
/// are taken in their order, then OP. None where a word cannot be written in it.
pub(super) fn option(words: &[&[u8]], flag: Option<Op>, guesses: &[Op]) -> Option<String> {
    let mut guesses = guesses.iter().copied();
    let pairs: Option<Vec<String>> = words
        .iter()
        .map(|word| {
            let word = std::str::from_utf8(word).ok()?;
            let writable = !word.contains([',', '|']) && !word.chars().any(char::is_control) && word.trim() == word;
            let means = meaning(word, flag).or_else(|| guesses.next()).map_or("OP", Op::name);
            (writable && !word.is_empty()).then(|| format!("{means}={word}"))
        })
        .collect();
    pairs.map(|pairs| format!("--ops {}", quoted(&pairs.join(","))))
}

fn meaning(word: &str, flag: Option<Op>) -> Option<Op> {
    flag.and_then(|flag| answer(word, flag)).or_else(|| likely(word))
}

/// The error of words without a meaning, with an option that gives them one; `flag` is what their column says yes to.
pub(super) fn without_meaning(words: &[&[u8]], flag: Option<Op>) -> String {
    let shown: Vec<String> = words.iter().map(|word| excerpt(word)).collect();
    let (what, them) = match shown.as_slice() {
        [one] => (format!("the operation {one} has"), "it"),
        several => (format!("the operations {} have", several.join(", ")), "them"),
    };
    let Some(option) = option(words, flag, &[]) else {
        return format!("{what} no meaning; --ops can name no word with a comma or a bar; its words are in UTF-8");
    };
    let is_open = |word: &&[u8]| std::str::from_utf8(word).ok().and_then(|word| meaning(word, flag)).is_none();
    let open = if words.iter().any(is_open) { ", where OP is read, write, trim, flush or skip" } else { "" };
    format!("{what} no meaning yet; --ops would give {them} one: {option}{open}")
}
