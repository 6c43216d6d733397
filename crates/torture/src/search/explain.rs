//! What a failing state has lost, whose it was, and which flush did not come.

use super::located::Located;
use super::names::Names;
use crate::config::Config;
use crate::model::{Atoms, Event, Policy, Run, State};
use crate::view::FailureKind;
use serde::Serialize;
use std::ops::Deref;

/// What a state has lost and kept, whatever came of its check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// The state; `--replay` takes it.
    pub id: String,
    /// Events before the cut.
    pub cut: u32,
    /// The last mark that was passed.
    pub mark: Option<String>,
    /// What was lost. Nothing: what is missing had not reached the drive.
    pub lost: Vec<LostWrite>,
    /// What was pending and kept whole; only for a state that is replayed.
    pub kept: Vec<LostWrite>,
    /// Why the check may fail, a sentence a line.
    pub explanation: Vec<String>,
    /// An image of the state.
    pub image: Option<String>,
}

/// One kind of failure, with the smallest state that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// In what way it fails.
    pub kind: FailureKind,
    /// States with this explanation; the first one is the one described. `--replay` takes them.
    pub ids: Vec<String>,
    /// How many states failed so.
    pub states: u64,
    /// The one described.
    #[serde(flatten)]
    pub state: Described,
    /// The last lines of what the check said.
    pub output: String,
}

impl Failure {
    /// Of one state.
    pub(crate) fn new(kind: FailureKind, state: Described, output: String) -> Self {
        Self { kind, ids: vec![state.id.clone()], states: 1, state, output }
    }
}

impl Deref for Failure {
    type Target = Described;

    fn deref(&self) -> &Described {
        &self.state
    }
}

/// A request that was pending: what was lost of it, if anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostWrite {
    /// Its event.
    pub event: u32,
    /// `write` or `trim`.
    pub what: &'static str,
    /// Where on the drive, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// Of these, how many were lost.
    pub lost: u64,
    /// The lost bytes: where in the request they begin and end.
    pub ranges: Vec<(u64, u64)>,
    /// The file that its first bytes belong to, or what else is there. Where some were lost: the first lost ones.
    pub place: Option<String>,
    /// Where in that file, in bytes.
    pub file_offset: Option<u64>,
    /// The bytes of that place: where in the request they begin and end.
    pub place_range: (u64, u64),
    /// What the other bytes of the request, or the other lost ones, belong to.
    pub other_places: Vec<String>,
}

/// Describes a state, and gives what makes two failures the same.
pub(crate) fn of_state(run: &Run, config: &Config, state: &State, names: &Names) -> (Described, String) {
    let lost: Vec<LostWrite> =
        state.lost.iter().filter_map(|(number, atoms)| request(run, *number, atoms, names)).collect();
    let mark = run.marks(state.cut).last().map(str::to_string);
    let explanation = match lost.is_empty() {
        true => nothing_lost(run, config, state, names),
        false => lost.iter().map(|write| of_write(run, config.policy, state.cut, write)).collect(),
    };
    let mut places: Vec<&str> = lost.iter().map(|write| write.place.as_deref().unwrap_or("")).collect();
    places.sort_unstable();
    places.dedup();
    let signature = format!("{}/{}", lost.is_empty(), places.join("/"));
    let described = Described {
        id: state.id(run, config.policy),
        cut: state.cut,
        mark,
        lost,
        kept: Vec::new(),
        explanation,
        image: None,
    };
    (described, signature)
}

/// Requests that were pending at a state and kept whole.
pub(crate) fn kept(run: &Run, policy: Policy, state: &State, names: &Names) -> Vec<LostWrite> {
    let pending = run.requests(policy.durable(run, state.cut), state.cut);
    let kept = pending.filter(|number| !state.lost.contains_key(number));
    kept.filter_map(|number| request(run, number, &Atoms::default(), names)).collect()
}

fn request(run: &Run, number: u32, lost: &Atoms, names: &Names) -> Option<LostWrite> {
    let event = run.event(number)?;
    let (offset, length) = event.range()?;
    let atom_bytes = length / u64::from(run.atoms(number).max(1));
    let ranges: Vec<(u64, u64)> =
        lost.ranges().map(|a| (u64::from(a.start) * atom_bytes, u64::from(a.end) * atom_bytes)).collect();
    let Located { place, file_offset, place_range, other_places } = Located::new(names, offset, length, &ranges);
    Some(LostWrite {
        event: number,
        what: event.what(),
        offset,
        length,
        lost: u64::from(lost.count()) * atom_bytes,
        ranges,
        place,
        file_offset,
        place_range,
        other_places,
    })
}

/// A number of things: `1 write`, `2 writes`.
pub(crate) fn many(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Groups of three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many ranges of a torn request are named.
const RANGES_MAX: usize = 3;

fn is_mark(event: &Event) -> bool {
    matches!(event, Event::Mark(_))
}

fn named_mark(run: &Run, number: u32) -> String {
    match run.event(number) {
        Some(Event::Mark(text)) => format!("mark `{text}`"),
        _ => "the end".to_string(),
    }
}

impl LostWrite {
    /// What it is, where, and what of it was lost.
    pub(crate) fn text(&self) -> String {
        let located = Located {
            place: self.place.clone(),
            file_offset: self.file_offset,
            place_range: self.place_range,
            other_places: self.other_places.clone(),
        };
        let (begin, end) = self.place_range;
        let is_within = self.ranges.iter().all(|(from, until)| begin <= *from && *until <= end);
        let ranges: Vec<String> = self
            .ranges
            .iter()
            .take(RANGES_MAX)
            .map(|(from, until)| located.range(self.offset, *from, *until))
            .collect();
        let part = match self.lost {
            lost if lost == self.length || lost == 0 => String::new(),
            lost if self.ranges.len() > RANGES_MAX || !is_within => {
                format!(", of which {} bytes were lost", count(lost))
            }
            _ => format!(", of which {} were lost", ranges.join(" and ")),
        };
        let whole = match self.place_range == (0, self.length) {
            true => String::new(),
            false => format!(" of {} bytes", count(self.length)),
        };
        format!("{} {}{whole} ({}{part})", self.what, self.event, located.text(self.offset))
    }
}

fn of_write(run: &Run, policy: Policy, cut: u32, write: &LostWrite) -> String {
    let what = write.text();
    if policy == Policy::Lies {
        return format!("{what} was lost: this drive ignores flushes");
    }
    let flush = run.next(write.event, |event| *event == Event::Flush);
    // A mark after the cut was not passed, and promises nothing here.
    let mark = run.next(write.event, is_mark).filter(|mark| *mark <= cut);
    match (mark, flush) {
        (Some(mark), Some(flush)) => {
            let last = (mark..flush).rfind(|number| run.event(*number).is_some_and(is_mark)).unwrap_or(mark);
            let (until, after) = (named_mark(run, mark), named_mark(run, last));
            format!("no flush came between {what} and {until}; the next flush is event {flush}, after {after}")
        }
        (Some(mark), None) => format!("no flush came between {what} and {}, nor later", named_mark(run, mark)),
        (None, Some(flush)) if policy == Policy::Prefix => format!("{what} was pending until flush {flush}"),
        (None, Some(flush)) => format!("{what} was pending until flush {flush}: its order is not guarded by a flush"),
        (None, None) => format!("no flush came after {what}"),
    }
}

fn nothing_lost(run: &Run, config: &Config, state: &State, names: &Names) -> Vec<String> {
    if run.requests(0, state.cut).next().is_none() && run.marks(state.cut).next().is_none() {
        return vec!["nothing had reached the drive: the check fails on it as it was before the workload".to_string()];
    }
    let mut said = vec!["all that reached the drive was kept".to_string()];
    let marks: Vec<u32> = (1..=state.cut).filter(|number| run.event(*number).is_some_and(is_mark)).collect();
    let Some(last) = marks.last().copied() else {
        said.push("no mark was passed: what is wrong is the order in which requests reached the drive".to_string());
        return said;
    };
    let before = marks.len().checked_sub(2).and_then(|at| marks.get(at)).copied();
    let between = before.unwrap_or(0) + 1..last;
    let has = |is_it: &dyn Fn(&Event) -> bool| between.clone().any(|number| run.event(number).is_some_and(is_it));
    let from = before.map_or("the beginning".to_string(), |number| named_mark(run, number));
    let until = named_mark(run, last);
    let was = match config.format.is_some() {
        true => "what it promises was in the page cache, or nowhere",
        false => "what it promises had not reached the drive",
    };
    if !has(&Event::is_request) {
        said.push(format!("no request reached the drive between {from} and {until}: {was}"));
    } else if config.policy == Policy::Lies {
        said.push("this drive ignores flushes".to_string());
    } else if has(&|event| *event == Event::Flush) {
        said.push(format!("a flush came between {from} and {until}: it may not have been of all that it promises"));
    } else if config.format.is_some() {
        said.push(format!("no flush came between {from} and {until}: {was}"));
    }
    match run.requests(state.cut, run.end as u32).next() {
        None => said.push("no request reached the drive after it".to_string()),
        Some(next) => {
            let (offset, length) = run.event(next).and_then(Event::range).unwrap_or((0, 0));
            let pieces = names.of(offset, length);
            let place = match pieces.iter().find(|piece| piece.file_offset.is_some()).or(pieces.first()) {
                Some(piece) if piece.file_offset.is_some() => format!(" ({})", piece.name),
                Some(piece) => format!(", of the file system itself ({})", piece.name),
                None => String::new(),
            };
            said.push(format!("the next request that reached the drive is event {next}{place}"));
        }
    }
    said
}
