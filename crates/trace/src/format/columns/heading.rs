//! What the names in a heading stand for. A unit follows the name: `size_bytes`, `Time (us)`, `lba_4k`, `offsetKiB`.

use super::nouns::{
    ADDRESSES, ADDRESSES_BY_UNIT, BEGINS, COUNTERS, DEVICES, HOLDERS, LATER, LIKELY_DEVICES, LIKELY_TIMES, NEUTRAL,
    OF_DEVICES, OPS, PARTS, SHARERS, SIZES, SIZES_BY_UNIT, TIMES,
};
use super::units::{is_width, time_unit, unit_bytes_of_name};
use super::{Clock, Column, Unit};
use crate::format::{SECTOR_BYTES, TimeUnit};
use crate::number::unquoted;
use crate::request::Op;

/// What a name stands for.
pub(super) struct Named {
    pub(super) column: Column,
    /// A word where a unit belongs, which is none.
    pub(super) unknown: Option<String>,
    /// The name is none of ours, so that its column may be anything.
    pub(super) open: bool,
    hint: Hint,
}

/// What a name may stand for beside others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    None,
    /// A time of unknown meaning, by the unit that ends the name.
    TimeByUnit,
    /// A time where no other column is one.
    LikelyTime,
    /// A device where no other column is one, or beside one.
    LikelyDevice,
    /// A time that is not the request's begin, with its unit.
    LaterTime,
    /// `start` alone: an address, or the time of one where something else is the address.
    Start,
    /// `end` and the like without a unit of times.
    End,
    /// The size of a block, where another size counts these.
    BlockSize,
}

/// What the names of a heading stand for together.
pub(super) fn named_all<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<Named> {
    let mut all: Vec<Named> = names.map(named).collect();
    let is_time = |named: &Named| matches!(named.column, Column::Time(_));
    let is_address = |named: &Named| matches!(named.column, Column::Address(_)) && named.hint != Hint::Start;
    let is_sure = |named: &Named| is_time(named) && !matches!(named.hint, Hint::TimeByUnit | Hint::LikelyTime);
    let mut has_time = all.iter().any(is_sure);
    if all.iter().any(is_address) && !has_time {
        for named in all.iter_mut().filter(|named| named.hint == Hint::Start) {
            (named.column, has_time) = (Column::Time(None), true);
        }
    }
    for named in all.iter_mut().filter(|named| named.hint == Hint::LikelyTime) {
        named.column = if has_time { Column::Other } else { named.column };
        has_time = true;
    }
    // Beside the request's begin, other times are passed over.
    for named in all.iter_mut().filter(|named| has_time && named.hint == Hint::TimeByUnit) {
        named.column = Column::Other;
    }
    // What sizes count is none of them.
    let is_size = |named: &Named| matches!(named.column, Column::Size(_));
    if all.iter().any(|named| is_size(named) && named.hint != Hint::BlockSize) {
        let blocks = all.iter_mut().filter(|named| named.hint == Hint::BlockSize);
        blocks.for_each(|named| (named.column, named.unknown) = (Column::Other, None));
    }
    // Days are of times of day, which have no unit.
    let time = all.iter().find(|named| is_time(named)).map(|named| named.column);
    for (at, day) in all.iter_mut().filter(|named| named.column == Column::Day).enumerate() {
        day.column = match (at, time) {
            (0, None) => Column::Time(None),
            (0, Some(Column::Time(None))) => Column::Day,
            _ => Column::Other,
        };
    }
    // Of devices within devices the first is the one, unless values say otherwise.
    let is_device = |named: &Named| matches!(named.column, Column::Device { .. });
    let sure = all.iter().position(|named| is_device(named) && named.hint != Hint::LikelyDevice);
    let device = sure.or_else(|| all.iter().position(is_device));
    let others = all.iter_mut().enumerate().filter(|(at, named)| Some(*at) != device && is_device(named));
    others.for_each(|(_, named)| named.column = Column::Other);
    all
}

/// Whether a name is that of a device, also beside others.
pub(super) fn is_device(name: &[u8]) -> bool {
    matches!(named(name).column, Column::Device { .. })
}

/// Whether a name is that of a device and of nothing that has several.
pub(super) fn is_sure_device(name: &[u8]) -> bool {
    let named = named(name);
    matches!(named.column, Column::Device { .. }) && named.hint != Hint::LikelyDevice
}

/// Whether a name is that of what holds devices, each with a name of its own in it.
pub(super) fn holds_devices(name: &[u8]) -> bool {
    is_of(&words_of(name), HOLDERS)
}

/// Whether a name is that of what has devices of its own, or shares them.
pub(super) fn may_share_devices(name: &[u8]) -> bool {
    is_of(&words_of(name), SHARERS)
}

/// Whether one of these is in a name, and nothing else that says anything.
fn is_of(words: &[String], nouns: &[&str]) -> bool {
    let is_noun = |word: &str| nouns.contains(&word);
    words.iter().any(|word| is_noun(word))
        && words.iter().all(|word| is_noun(word) || NEUTRAL.contains(&word.as_str()) || word == "name")
}

/// Whether a name is that of the request's begin, also beside others.
pub(super) fn is_time(name: &[u8]) -> bool {
    let named = named(name);
    matches!(named.column, Column::Time(_)) && named.hint == Hint::None
}

/// Whether a name is none of ours.
pub(super) fn is_open(name: &[u8]) -> bool {
    named(name).open
}

/// Whether a name is that of operations.
pub(super) fn is_op(name: &[u8]) -> bool {
    named(name).column == Column::Op
}

/// The first name of a time, where no column is taken for one; and where that column is.
pub(super) fn time_passed_over(all: &[Named]) -> Option<usize> {
    let has_time = all.iter().any(|named| matches!(named.column, Column::Time(_)));
    all.iter().position(|named| !has_time && named.hint == Hint::LaterTime)
}

/// Where a heading has the address of a request's end instead of its size.
pub(super) fn end_without_size(all: &[Named]) -> Option<usize> {
    let has = |is: fn(&Column) -> bool| all.iter().any(|named| is(&named.column));
    let sizes = has(|column| matches!(column, Column::Size(_)));
    let end = || all.iter().position(|named| named.hint == Hint::End);
    if sizes || !has(|column| matches!(column, Column::Address(_))) { None } else { end() }
}

fn named(name: &[u8]) -> Named {
    let words = words_of(name);
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let time_unit = || words.iter().find_map(|word| time_unit(word));
    let unknown = |nouns: &[&[&str]], is_unit: fn(&str) -> bool| {
        let is_noun = |word: &String| nouns.iter().any(|nouns| nouns.contains(&word.as_str()));
        let behind = words.iter().rposition(is_noun).map_or(0, |at| at + 1);
        let is_known =
            |word: &str| NEUTRAL.contains(&word) || HEXADECIMAL.contains(&word) || is_width(word) || is_unit(word);
        words.iter().skip(behind).find(|word| !is_known(word)).cloned()
    };
    let is_time_unit = |word: &str| super::units::time_unit(word).is_some();
    let is_unit = |word: &str| size_unit(word).is_some();
    let begins = || has(BEGINS) && time_unit().is_some();
    // What was done of a request is a size, too.
    let is_part_done = || has(&["done", "completed", "finished"]) && has(SIZES) && time_unit().is_none();
    let ends_in_unit = words.len() > 1 && words.last().is_some_and(|word| is_time_unit(word));
    let other = |column| Named { column, unknown: None, open: false, hint: Hint::None };
    let is_end = || has(&["end", "stop"]) || (has(&["last"]) && has(ADDRESSES));
    let ends = || is_end() && time_unit().is_none() && !has(TIMES) && !has(SIZES);
    if ends() {
        Named { hint: Hint::End, ..other(Column::Other) }
    } else if has(LATER) && !is_part_done() {
        let hint = if ends_in_unit { Hint::LaterTime } else { Hint::None };
        Named { hint, ..other(Column::Other) }
    } else if has(TIMES) || begins() {
        let column = Column::Time(time_unit().map(Clock::Unit));
        Named { unknown: unknown(&[TIMES, BEGINS], is_time_unit), ..other(column) }
    } else if has(OPS) || is_flag(&words) || words == ["read", "write"] || has(&["readwrite"]) {
        other(Column::Op)
    } else if has(SIZES) || counts_units(&words) || (has(SIZES_BY_UNIT) && !has(ADDRESSES)) {
        let less_one = is_zero_based(&words);
        let column = Column::Size(Unit { less_one, ..unit_of(&words, 1) });
        let hint = if is_block_size(&words) { Hint::BlockSize } else { Hint::None };
        let unknown = unknown(&[SIZES], is_unit).filter(|_| !less_one && !counts_units(&words));
        Named { unknown, hint, ..other(column) }
    } else if names_device_last(&words) {
        other(Column::Device { names: false })
    } else if has(ADDRESSES) || has(ADDRESSES_BY_UNIT) {
        let absent = if has(&["lba", "lbn", "lsn", "slba"]) { SECTOR_BYTES } else { 1 };
        let column = Column::Address(unit_of(&words, absent));
        let hint = if words == ["start"] { Hint::Start } else { Hint::None };
        Named { unknown: unknown(&[ADDRESSES], is_unit), hint, ..other(column) }
    } else if has(DEVICES) {
        other(Column::Device { names: false })
    } else if words == ["date"] || words == ["day"] || words == ["date", "utc"] {
        other(Column::Day)
    } else if has(LIKELY_TIMES) && words.iter().all(|word| is_likely_time(word)) {
        Named { hint: Hint::LikelyTime, ..other(Column::Time(time_unit().map(Clock::Unit))) }
    } else if is_of(&words, LIKELY_DEVICES) {
        Named { hint: Hint::LikelyDevice, ..other(Column::Device { names: false }) }
    } else if ends_in_unit {
        Named { hint: Hint::TimeByUnit, ..other(Column::Time(time_unit().map(Clock::Unit))) }
    } else {
        Named { open: true, ..other(Column::Other) }
    }
}

/// Whether a name counts units of sizes.
fn counts_units(words: &[String]) -> bool {
    let is_unit = |word: &str| {
        ADDRESSES_BY_UNIT.contains(&word) || SIZES_BY_UNIT.contains(&word) || matches!(word, "lba" | "lbas")
    };
    let counter = words.iter().position(|word| COUNTERS.contains(&word.as_str()));
    let unit = words.iter().rposition(|word| is_unit(word));
    counter.zip(unit).is_some_and(|(counter, unit)| counter < unit)
}

/// Whether a name of blocks is that of a device, as `block_device` is. What is of a device is another thing: the block
/// of `disk_block`.
fn names_device_last(words: &[String]) -> bool {
    let is_neutral = |word: &str| NEUTRAL.contains(&word) || word == "name";
    let last = words.iter().rfind(|word| !is_neutral(word));
    words.iter().any(|word| ADDRESSES_BY_UNIT.contains(&word.as_str()))
        && last.is_some_and(|last| OF_DEVICES.contains(&last.as_str()))
}

/// Whether a size is one more than its value, as NVMe counts blocks.
fn is_zero_based(words: &[String]) -> bool {
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    has(&["based"]) && has(&["0", "0s", "zero", "zeros", "zeroes"])
}

/// A word that says that numbers are hexadecimal.
const HEXADECIMAL: &[&str] = &["hex", "hexadecimal", "0x"];

/// Whether a name is that of the size of a block.
fn is_block_size(words: &[String]) -> bool {
    match words {
        [one] => one == "blocksize" || one == "sectorsize",
        [.., block, size] => {
            let is_block = matches!(block.as_str(), "block" | "blk" | "sector" | "page" | "lba");
            is_block && matches!(size.as_str(), "size" | "bytes")
        }
        [] => false,
    }
}

/// The same of a name.
pub(super) fn sizes_blocks(name: &[u8]) -> bool {
    is_block_size(&words_of(name))
}

/// Whether a word of a likely time changes nothing of that.
fn is_likely_time(word: &str) -> bool {
    LIKELY_TIMES.contains(&word) || NEUTRAL.contains(&word) || time_unit(word).is_some() || word == "date"
}

/// Whether a name asks whether the request is of one kind: `is_read`, `isWrite`, `write_flag`.
fn is_flag(words: &[String]) -> bool {
    let is_kind = |word: &String| matches!(word.as_str(), "read" | "write");
    match words {
        [is, kind] if is == "is" => is_kind(kind),
        [kind, flag] if matches!(flag.as_str(), "flag" | "bit") => is_kind(kind),
        [one] => matches!(one.as_str(), "isread" | "iswrite"),
        _ => false,
    }
}

/// Whether one of these is in a name.
pub(super) fn has_word(name: &[u8], any: &[&str]) -> bool {
    words_of(name).iter().any(|word| any.contains(&word.as_str()))
}

/// The unit of times that a name has.
pub(super) fn time_unit_of(name: &[u8]) -> Option<TimeUnit> {
    words_of(name).iter().find_map(|word| time_unit(word))
}

/// What a column of yes and no says yes to; none of any other.
pub(super) fn flagged(name: &[u8]) -> Option<Op> {
    let words = words_of(name);
    let says = |kind: &str| words.iter().any(|word| word.ends_with(kind));
    match is_flag(&words) {
        true if says("read") => Some(Op::Read),
        true => Some(Op::Write),
        false => None,
    }
}

/// The same where values are a yes or a no, as those of `read` may be.
pub(super) fn flagged_by_values(name: &[u8]) -> Option<Op> {
    flagged(name).or_else(|| match words_of(name).as_slice() {
        [one] if one == "read" => Some(Op::Read),
        [one] if one == "write" => Some(Op::Write),
        _ => None,
    })
}

/// How little a name says that it is the request's own: that of a file less than a plain one.
pub(super) fn rank(name: &[u8]) -> (bool, bool) {
    let words = words_of(name);
    let is_plain = |word: &str| {
        let nouns = [TIMES, SIZES, ADDRESSES, SIZES_BY_UNIT, ADDRESSES_BY_UNIT, BEGINS, NEUTRAL];
        nouns.iter().any(|nouns| nouns.contains(&word)) || time_unit(word).is_some() || size_unit(word).is_some()
    };
    (words.iter().any(|word| word == "file"), !words.iter().all(|word| is_plain(word)))
}

/// The unit of a name that may be that of a part of a second, as `nsec` and `tv_usec` are.
pub(super) fn part_of_second(name: &[u8]) -> Option<TimeUnit> {
    let words = words_of(name);
    let is_part =
        |word: &String| time_unit(word).is_some() || TIMES.contains(&word.as_str()) || PARTS.contains(&word.as_str());
    let unit = words.iter().filter_map(|word| time_unit(word)).find(|unit| *unit != TimeUnit::S);
    unit.filter(|_| words.iter().all(is_part))
}

/// Whether a name says that its numbers are hexadecimal.
pub(super) fn is_hexadecimal(name: &[u8]) -> bool {
    has_word(name, HEXADECIMAL)
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
    let hex = words.iter().any(|word| HEXADECIMAL.contains(&word.as_str()));
    Unit { bytes, guessed: named.is_none(), less_one: false, hex }
}

/// Bytes of a unit in a heading.
fn size_unit(word: &str) -> Option<u64> {
    match word {
        "nbytes" => Some(1),
        "block" | "blocks" | "nblocks" | "nlb" | "nsectors" => Some(SECTOR_BYTES),
        "npages" => Some(4096),
        _ => unit_bytes_of_name(word),
    }
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
        let letter: fn(&char) -> bool = |character| character.is_alphabetic();
        // The B of KiB begins nothing.
        let begins = character.is_uppercase() && near(at.checked_sub(1), lower) && near(at.checked_add(1), letter);
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
            let is_time = noun.starts_with("time");
            // Whatever a number behind a name means, it is none of the name.
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_apart = |unit: &str| if is_time { time_unit(unit).is_some() } else { size_unit(unit).is_some() };
            if let Some(unit) = word.strip_prefix(noun)
                && (is_apart(unit) || is_width(unit) || (is_number(unit) && !is_time))
            {
                return vec![noun.to_owned(), unit.to_owned()];
            }
        }
    }
    vec![word.to_owned()]
}
