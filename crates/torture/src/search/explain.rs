//! What a failing state has lost, whose it was, and which flush did not come.

use super::names::{Names, Place};
use crate::model::{Event, Policy, Run, State};
use crate::view::FailureKind;
use serde::Serialize;

/// One kind of failure, with the smallest state that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// In what way it fails.
    pub kind: FailureKind,
    /// States with this explanation; the first one is the one described. `--replay` takes them.
    pub ids: Vec<String>,
    /// How many states failed so.
    pub states: u64,
    /// Events before the cut.
    pub cut: u32,
    /// The last mark that was passed.
    pub mark: Option<String>,
    /// What was lost. Nothing: what is missing had not reached the drive.
    pub lost: Vec<LostWrite>,
    /// Why, a sentence a line.
    pub explanation: Vec<String>,
    /// The last lines of what the check said.
    pub output: String,
    /// An image of the state.
    pub image: Option<String>,
}

/// A request that was lost, or in part.
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
    /// The file that it belongs to, or what else is there.
    pub place: Option<String>,
    /// Where in that file, in bytes.
    pub file_offset: Option<u64>,
}

/// Describes a state, and gives what makes two failures the same.
pub(crate) fn of_state(run: &Run, policy: Policy, state: &State, names: &Names) -> (Failure, String) {
    let mut lost = Vec::new();
    for (number, atoms) in &state.lost {
        let Some((event, (offset, length))) = run.event(*number).and_then(|e| Some((e, e.range()?))) else { continue };
        let share = u64::from(atoms.count()) * length / u64::from(run.atoms(*number).max(1));
        let named = names.of(*number);
        lost.push(LostWrite {
            event: *number,
            what: event.what(),
            offset,
            length,
            lost: share,
            place: named.map(Place::text),
            file_offset: named.and_then(|place| place.file_offset),
        });
    }
    let mark = run.marks(state.cut).last().map(str::to_string);
    let explanation = match lost.is_empty() {
        true => nothing_lost(run, policy, state, names),
        false => lost.iter().map(|write| of_write(run, policy, write)).chain(came_later(run, state)).collect(),
    };
    let mut places: Vec<&str> = lost.iter().map(|write| write.place.as_deref().unwrap_or("")).collect();
    places.sort_unstable();
    places.dedup();
    let signature = format!("{}/{}", lost.is_empty(), places.join("/"));
    let failure = Failure {
        kind: FailureKind::Check,
        ids: vec![state.id(run, policy)],
        states: 1,
        cut: state.cut,
        mark,
        lost,
        explanation,
        output: String::new(),
        image: None,
    };
    (failure, signature)
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

fn is_mark(event: &Event) -> bool {
    matches!(event, Event::Mark(_))
}

fn named_mark(run: &Run, number: Option<u32>) -> String {
    match number.and_then(|number| run.event(number)) {
        Some(Event::Mark(text)) => format!("mark `{text}`"),
        _ => "the end".to_string(),
    }
}

fn of_write(run: &Run, policy: Policy, write: &LostWrite) -> String {
    let (from, to) = match (&write.place, write.file_offset) {
        (Some(_), Some(at)) => (at, at + write.length),
        _ => (write.offset, write.offset + write.length),
    };
    let place = match (&write.place, write.file_offset) {
        (Some(place), Some(_)) => format!("{place}, bytes"),
        (Some(place), None) => format!("{place}, at bytes"),
        (None, _) => "bytes".to_string(),
    };
    let part = match write.lost == write.length {
        true => String::new(),
        false => format!(", of which {} bytes were lost", count(write.lost)),
    };
    let what =
        format!("{} {} ({place} {} to {}{part})", write.what, write.event, count(from), count(to.saturating_sub(1)));
    let mark = run.next(write.event, is_mark);
    let flush = run.next(write.event, |event| *event == Event::Flush);
    let until = named_mark(run, mark);
    if policy == Policy::Lies {
        return format!("{what} was lost: this drive ignores flushes");
    }
    match (mark, flush) {
        (Some(mark), Some(flush)) if flush < mark => {
            format!(
                "{what} was pending until flush {flush}, which comes before {until}: its order is not guarded by a \
                 flush"
            )
        }
        (Some(mark), Some(flush)) => {
            let last = (mark..flush).rfind(|number| run.event(*number).is_some_and(is_mark));
            let after = named_mark(run, last);
            format!("no flush came between {what} and {until}; the next flush is event {flush}, after {after}")
        }
        (Some(_), None) => format!("no flush came between {what} and {until}, nor later"),
        (None, Some(flush)) => format!("{what} was pending until flush {flush}: its order is not guarded by a flush"),
        (None, None) => format!("no flush came after {what}"),
    }
}

/// Where all that was lost came after the last mark: the mark acknowledged what was not on the drive, or it was
/// overwritten.
fn came_later(run: &Run, state: &State) -> Option<String> {
    let last = (1..=state.cut).rfind(|number| run.event(*number).is_some_and(is_mark))?;
    let is_later = state.lost.keys().all(|number| *number > last);
    let mark = named_mark(run, Some(last));
    is_later.then(|| {
        format!(
            "all of it came after {mark}: what that acknowledges was on the drive too late, or did not survive this"
        )
    })
}

fn nothing_lost(run: &Run, policy: Policy, state: &State, names: &Names) -> Vec<String> {
    let mut said = vec!["all that reached the drive was kept".to_string()];
    let marks: Vec<u32> = (1..=state.cut).filter(|number| run.event(*number).is_some_and(is_mark)).collect();
    let Some(last) = marks.last().copied() else {
        said.push("no mark was passed: what is wrong is the order in which requests reached the drive".to_string());
        return said;
    };
    let before = marks.len().checked_sub(2).and_then(|at| marks.get(at)).copied();
    let between = before.unwrap_or(0) + 1..last;
    let has = |is_it: &dyn Fn(&Event) -> bool| between.clone().any(|number| run.event(number).is_some_and(is_it));
    let from = match before {
        Some(number) => named_mark(run, Some(number)),
        None => "the beginning".to_string(),
    };
    let until = named_mark(run, Some(last));
    if !has(&Event::is_request) {
        said.push(format!(
            "no request reached the drive between {from} and {until}: what the mark acknowledges was in the page \
             cache, or nowhere"
        ));
    } else if !has(&|event| *event == Event::Flush) {
        said.push(format!(
            "no flush came between {from} and {until}: what the mark acknowledges was in the page cache, or nowhere"
        ));
    } else if policy == Policy::Lies {
        said.push("flushes came, and this drive ignores them".to_string());
    } else {
        said.push(format!("a flush came between {from} and {until}: it was not of all that the mark acknowledges"));
    }
    if let Some(next) = run.requests(state.cut, run.end as u32).next() {
        let place = names.of(next).map_or(String::new(), |place| format!(" ({})", place.text()));
        said.push(format!("the next request that reached the drive is event {next}{place}"));
    } else {
        said.push("no request reached the drive after it".to_string());
    }
    said
}
