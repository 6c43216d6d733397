//! What was acknowledged with no flush between: a mark followed, and the write was still pending.

use crate::config::{Budget, Config};
use crate::error::Outcome;
use crate::filesystem::Format;
use crate::model::{Cursor, Depth, Event, Policy, Run};
use crate::search::{Located, Names, count, many};
use crate::sys::folders::Scratch;
use crate::sys::is_root;
use crate::sys::mounts::separate;
use crate::view::View;
use serde::Serialize;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Bounds the list that is printed.
const SHOWN_MAX: usize = 200;

/// All such writes of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unsynced {
    /// `phelsuma.torture-unsynced/1`.
    pub schema: &'static str,
    /// Marks of the run.
    pub marks: u64,
    /// Flushes of the run.
    pub flushes: u64,
    /// Marks with no request and no flush since the mark before: what they acknowledge had not reached the drive.
    pub empty_marks: Vec<String>,
    /// The writes.
    pub writes: Vec<UnsyncedWrite>,
}

/// A write that was pending at a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsyncedWrite {
    /// Its event.
    pub event: u32,
    /// Where on the drive, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub length: u64,
    /// The file, or what else is there.
    pub place: Option<String>,
    /// Where in the file, in bytes; none where no file is known.
    pub file_offset: Option<u64>,
    /// The bytes of that place: where in the write they begin and end.
    pub place_range: (u64, u64),
    /// What the other bytes of the write belong to.
    pub other_places: Vec<String>,
    /// The first mark that came before its flush.
    pub mark: String,
    /// Marks that came before its flush.
    pub marks: u64,
    /// The flush.
    pub flush: Option<u32>,
}

pub(crate) fn of_run(run: &Run, format: &Format, scratch: &Scratch) -> Outcome<Unsynced> {
    let mut found = Unsynced {
        schema: "phelsuma.torture-unsynced/1",
        marks: run.marks(run.end as u32).count() as u64,
        flushes: run.events.iter().take(run.end).filter(|event| **event == Event::Flush).count() as u64,
        empty_marks: Vec::new(),
        writes: Vec::new(),
    };
    // Requests that no flush has covered yet, and how many marks came before each.
    let mut pending: Vec<(u32, usize)> = Vec::new();
    let mut marks: Vec<&str> = Vec::new();
    let mut is_empty = true;
    for (number, event) in (1..).zip(run.events.iter().take(run.end)) {
        match event {
            Event::Mark(text) => {
                if is_empty {
                    found.empty_marks.push(text.clone());
                }
                marks.push(text);
            }
            Event::Flush => found.writes.extend(acknowledged(run, &mut pending, &marks, Some(number))),
            Event::Write { .. } | Event::Trim { .. } => pending.push((number, marks.len())),
        }
        is_empty = matches!(event, Event::Mark(_));
    }
    found.writes.extend(acknowledged(run, &mut pending, &marks, None));
    if format.is_some()
        && is_root()
        && let Ok(_namespace) = separate()
    {
        name(run, format, scratch, &mut found)?;
    }
    Ok(found)
}

/// Of the pending requests, which a flush covers now, those that a mark has followed.
fn acknowledged(run: &Run, pending: &mut Vec<(u32, usize)>, marks: &[&str], flush: Option<u32>) -> Vec<UnsyncedWrite> {
    let of = |(event, before): (u32, usize)| {
        let (mark, (offset, length)) = (marks.get(before)?, run.event(event).and_then(Event::range)?);
        Some(UnsyncedWrite {
            event,
            offset,
            length,
            place: None,
            file_offset: None,
            place_range: (0, length),
            other_places: Vec::new(),
            mark: (*mark).to_string(),
            marks: (marks.len() - before) as u64,
            flush,
        })
    };
    pending.drain(..).filter_map(of).collect()
}

/// Names files by the drive as it was at the end.
fn name(run: &Run, format: &Format, scratch: &Scratch, found: &mut Unsynced) -> Outcome {
    let config = Config {
        shape: run.shape,
        format: format.clone(),
        setup: None,
        workload: None,
        recover: None,
        check: String::new(),
        policy: Policy::Subset,
        write_back: 0,
        depth: Depth { subsets: 0, samples: 0, seed: 0 },
        budget: Budget::default(),
        jobs: 1,
        timeout: Duration::ZERO,
        log_limit: 0,
        keep_failing: None,
    };
    let view = View::new(&config, scratch, "names")?;
    let mut cursor = Cursor::new(run, Policy::Subset);
    let numbers = found.writes.iter().map(|write| write.event);
    let names = Names::new(&view, &mut cursor, run, run.end as u32, numbers, &AtomicBool::new(false))?;
    for write in &mut found.writes {
        let Located { place, file_offset, place_range, other_places } =
            Located::new(&names, write.offset, write.length, &[]);
        (write.place, write.file_offset) = (place, file_offset);
        (write.place_range, write.other_places) = (place_range, other_places);
    }
    Ok(())
}

impl Unsynced {
    /// As lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}, {} flush{}; {} pending when a mark followed\n",
            many(self.marks, "mark"),
            count(self.flushes),
            if self.flushes == 1 { "" } else { "es" },
            many(self.writes.len() as u64, "write")
        );
        for write in self.writes.iter().take(SHOWN_MAX) {
            let located = Located {
                place: write.place.clone(),
                file_offset: write.file_offset,
                place_range: write.place_range,
                other_places: write.other_places.clone(),
            };
            let drive = if write.place.is_none() { "drive " } else { "" };
            let place = format!("{drive}{}", located.text(write.offset));
            let flush = write
                .flush
                .map_or("no flush came later".to_string(), |flush| format!("the next flush is event {flush}"));
            let more = if write.marks > 1 {
                format!(" and {} after it", many(write.marks - 1, "mark"))
            } else {
                String::new()
            };
            text += &format!("  event {}: {place}: mark `{}`{more} followed; {flush}\n", write.event, write.mark);
        }
        if self.writes.len() > SHOWN_MAX {
            text += &format!("  and {} more; --json has all\n", count((self.writes.len() - SHOWN_MAX) as u64));
        }
        if !self.empty_marks.is_empty() {
            text += &format!(
                "{} with no request and no flush since the mark before, the first of them `{}`\n",
                many(self.empty_marks.len() as u64, "mark"),
                self.empty_marks[0]
            );
        }
        text
    }
}
