//! What the names in a heading stand for. A unit follows the name: `size_bytes`, `Time (us)`, `lba_4k`, `offsetKiB`.

use super::{Clock, Column, Unit, unit_bytes};
use crate::format::{SECTOR_BYTES, TimeUnit};
use crate::number::unquoted;

/// Times of something else than the request's begin.
const LATER: &[&str] = &[
    "response",
    "responsetime",
    "latency",
    "lat",
    "elapsed",
    "duration",
    "completion",
    "complete",
    "completed",
    "finish",
    "finished",
    "end",
    "wait",
    "delay",
    "delta",
    "interval",
];
const TIMES: &[&str] = &["time", "timestamp", "ts", "t"];
const OPS: &[&str] = &[
    "op",
    "ops",
    "opcode",
    "operation",
    "optype",
    "type",
    "iotype",
    "rw",
    "rwbs",
    "action",
    "command",
    "cmd",
    "direction",
    "dir",
];
const SIZES: &[&str] = &["size", "length", "len", "count", "nbytes", "nsectors", "nblocks", "npages", "nlb"];
const ADDRESSES: &[&str] = &["offset", "address", "addr", "start", "lba", "lbn", "lsn", "slba"];
/// Plurals that are sizes where nothing else is named.
const SIZES_BY_UNIT: &[&str] = &["sectors", "blocks", "pages", "bytes", "kb", "kib"];
const ADDRESSES_BY_UNIT: &[&str] = &["sector", "block", "page"];
const DEVICES: &[&str] =
    &["device", "deviceid", "dev", "disk", "disknumber", "diskid", "drive", "lun", "volume", "volumeid", "vol", "asu"];
/// When a request begins, where a unit of times follows.
const BEGINS: &[&str] = &["start", "begin", "issue", "submit", "arrival"];
/// Words behind a name that change nothing.
const NEUTRAL: &[&str] = &[
    "id", "no", "nr", "num", "number", "stamp", "start", "begin", "issue", "submit", "arrival", "in", "of", "since",
    "utc", "unix", "epoch", "req", "request", "io", "i", "o", "the", "value", "unit", "units", "logical", "rel",
    "relative", "abs", "absolute",
];

/// What a name stands for.
pub(super) struct Named {
    pub(super) column: Column,
    /// A word where a unit belongs, which is none.
    pub(super) unknown: Option<String>,
}

pub(super) fn named(name: &[u8]) -> Named {
    let words = words_of(name);
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let time_unit = || words.iter().find_map(|word| time_unit(word));
    let unknown = |nouns: &[&[&str]], is_unit: fn(&str) -> bool| {
        let is_noun = |word: &String| nouns.iter().any(|nouns| nouns.contains(&word.as_str()));
        let behind = words.iter().rposition(is_noun).map_or(0, |at| at + 1);
        words.iter().skip(behind).find(|word| !NEUTRAL.contains(&word.as_str()) && !is_unit(word)).cloned()
    };
    let is_time_unit = |word: &str| self::time_unit(word).is_some();
    let is_unit = |word: &str| size_unit(word).is_some();
    let begins = || has(BEGINS) && time_unit().is_some();
    let other = |column| Named { column, unknown: None };
    if has(LATER) {
        other(Column::Other)
    } else if has(TIMES) || begins() {
        Named { column: Column::Time(time_unit().map(Clock::Unit)), unknown: unknown(&[TIMES, BEGINS], is_time_unit) }
    } else if has(OPS) {
        other(Column::Op)
    } else if has(SIZES) || (has(SIZES_BY_UNIT) && !has(ADDRESSES)) {
        Named { column: Column::Size(unit_of(&words, 1)), unknown: unknown(&[SIZES], is_unit) }
    } else if has(ADDRESSES) || has(ADDRESSES_BY_UNIT) {
        let absent = if has(&["lba", "lbn", "lsn", "slba"]) { SECTOR_BYTES } else { 1 };
        Named { column: Column::Address(unit_of(&words, absent)), unknown: unknown(&[ADDRESSES], is_unit) }
    } else if has(DEVICES) {
        other(Column::Device { names: false })
    } else {
        other(Column::Other)
    }
}

/// The unit that the words name, the most definite first; else `absent`, as a guess.
fn unit_of(words: &[String], absent: u64) -> Unit {
    let in_bytes = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) || word.ends_with("bytes");
    let is_sized =
        |word: &str| in_bytes(word) || matches!(word, "byte" | "b" | "k" | "kb" | "kib" | "m" | "mb" | "mib");
    let by = |is: &dyn Fn(&str) -> bool| words.iter().filter(|word| is(word)).find_map(|word| size_unit(word));
    let named = by(&is_sized).or_else(|| by(&|word| word.contains("sector") || word.contains("page")));
    // Blocks may be of any size.
    let bytes = named.or_else(|| by(&|_| true)).unwrap_or(absent);
    Unit { bytes, guessed: named.is_none() }
}

/// Bytes of a unit in a heading.
fn size_unit(word: &str) -> Option<u64> {
    match word {
        "nbytes" => Some(1),
        "block" | "blocks" | "nblocks" | "nlb" | "nsectors" => Some(SECTOR_BYTES),
        "npages" => Some(4096),
        _ => unit_bytes(word),
    }
}

fn time_unit(word: &str) -> Option<TimeUnit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => TimeUnit::S,
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => TimeUnit::Ms,
        "us" | "usec" | "usecs" | "micros" | "microsecond" | "microseconds" | "\u{b5}s" | "\u{3bc}s" | "\u{fffd}s" => {
            TimeUnit::Us
        }
        "100ns" | "filetime" => TimeUnit::HundredNs,
        "ns" | "nsec" | "nsecs" | "nanos" | "nanosecond" | "nanoseconds" => TimeUnit::Ns,
        "ps" | "psec" | "psecs" | "picosecond" | "picoseconds" => TimeUnit::Ps,
        _ => return None,
    })
}

/// The words of a name, in lower case: `ByteOffset`, `byte_offset` and `byte offset` are two words, `timeus` as well.
fn words_of(name: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(unquoted(name));
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let characters: Vec<char> = text.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        let near = |at: Option<usize>, is: fn(&char) -> bool| at.and_then(|at| characters.get(at)).is_some_and(is);
        let lower: fn(&char) -> bool = |character| character.is_lowercase();
        let begins = character.is_uppercase() && near(at.checked_sub(1), lower) && near(at.checked_add(1), lower);
        if begins || !(character.is_alphanumeric() || character == '\u{fffd}') {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() || character == '\u{fffd}' {
            word.extend(character.to_lowercase());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words.into_iter().flat_map(|word| apart(&word)).collect()
}

/// A name and the unit that follows it without anything between.
fn apart(word: &str) -> Vec<String> {
    let known = [LATER, TIMES, OPS, SIZES, ADDRESSES, SIZES_BY_UNIT, DEVICES].iter().any(|words| words.contains(&word));
    if !known {
        for noun in ["timestamp", "time", "offset", "size", "length", "lba"] {
            if let Some(unit) = word.strip_prefix(noun)
                && (if noun.starts_with("time") { time_unit(unit).is_some() } else { size_unit(unit).is_some() })
            {
                return vec![noun.to_owned(), unit.to_owned()];
            }
        }
    }
    vec![word.to_owned()]
}
