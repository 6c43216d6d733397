//! The report as one reads it.

use super::outcome::Report;
use crate::model::Policy;
use crate::search::{ALSO_COMPLETE, Failure, count};
use std::fmt::Write as _;

/// Of a lost set, so many writes are shown.
const SHOWN_MAX: usize = 8;

impl Report {
    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        of(self)
    }
}

/// All of it.
fn of(report: &Report) -> String {
    let mut text = String::new();
    let recorded = &report.recorded;
    let on = if report.filesystem == "none" { "a raw drive".to_string() } else { report.filesystem.to_string() };
    let policy = match report.policy {
        Policy::Subset => "any subset of pending writes, torn at",
        Policy::Prefix => "pending writes in order, the last one torn at",
        Policy::Protected => "every write, at any moment, in units of",
        Policy::All => "every write, as of each mark, in units of",
        Policy::Lies => "any subset of all writes (flushes ignored), torn at",
    };
    let _ = writeln!(
        text,
        "{} of {} MiB; a cut keeps {policy} {} bytes; seed {}",
        on,
        report.size_bytes >> 20,
        count(report.unit_bytes.into()),
        report.seed
    );
    let _ = writeln!(
        text,
        "recorded: {} writes of {} KiB, {} trims, {} flushes, {} marks",
        count(recorded.writes),
        count(recorded.bytes >> 10),
        count(recorded.trims),
        count(recorded.flushes),
        count(recorded.marks)
    );
    for warning in &report.warnings {
        let _ = writeln!(text, "WARNING: {warning}");
    }
    if let Some(replayed) = &report.replayed {
        let id = replayed.ids.first().map_or("", String::as_str);
        let _ = writeln!(text, "state {id}: nothing is wrong; {} writes lost", replayed.lost.len());
        for write in replayed.lost.iter().take(SHOWN_MAX) {
            let place = write.place.as_ref().map_or(String::new(), |place| format!(", {place}"));
            let (event, offset) = (write.event, count(write.offset));
            let lost = format!("{} of {} bytes at {offset}{place}", count(write.lost), count(write.length));
            let _ = writeln!(text, "  - {} {event}: {lost}", write.what);
        }
        if let Some(image) = &replayed.image {
            let _ = writeln!(text, "  image: {image}");
        }
        return text;
    }
    if report.fails_complete {
        let _ = writeln!(text, "{ALSO_COMPLETE}");
    } else if report.seconds > 0.0 {
        text += &counted(report);
    }
    if report.states == 0 {
        text += "no state was checked\n";
        return text;
    }
    if !report.has_failed() {
        text += "no state failed\n";
        return text;
    }
    let kinds: Vec<String> =
        report.failed.iter().map(|(kind, states)| format!("{}: {}", kind.text(), count(*states))).collect();
    let _ = writeln!(text, "FAILED states: {}", kinds.join("; "));
    for (number, failure) in report.failures.iter().enumerate() {
        let states = match failure.states {
            1 => String::new(),
            states => format!(", {} states", count(states)),
        };
        let _ = writeln!(text, "\nfailure {}: {}{states}", number + 1, failure.kind.text());
        text += &indented(failure);
    }
    if report.unexplained > 0 {
        let _ = writeln!(text, "\n{} more failing states were counted, not explained", count(report.unexplained));
    }
    text
}

/// How much was checked.
fn counted(report: &Report) -> String {
    let mut text = String::new();
    let allowed = match (report.is_complete && report.is_done, report.allowed_log10) {
        (true, _) => format!("{} states allowed", count(report.states)),
        (false, log) if log < 15.0 => format!("up to {} subsets allowed", count(10f64.powf(log).round() as u64)),
        (false, log) => format!("up to 10^{log:.0} subsets allowed"),
    };
    let _ = writeln!(
        text,
        "{} cut points, {allowed}; checked {} states, met {} equal ones, {} a minute",
        count(report.cut_points),
        count(report.states),
        count(report.equal_states),
        count((report.states as f64 * 60.0 / report.seconds.max(0.001)) as u64)
    );
    if report.is_stopped {
        text += "stopped by a signal: this is what was checked until then\n";
    } else if !report.is_done {
        text += "the budget is used up: more --states or --minutes would check more\n";
    }
    text
}

fn indented(failure: &Failure) -> String {
    let mut text = String::new();
    let mark = failure.mark.as_ref().map_or("before any mark".to_string(), |mark| format!("after mark `{mark}`"));
    let _ = writeln!(text, "  power cut after event {}, {mark}; {} writes lost", failure.cut, failure.lost.len());
    for line in failure.explanation.iter().take(SHOWN_MAX) {
        let _ = writeln!(text, "  - {line}");
    }
    if failure.explanation.len() > SHOWN_MAX {
        let _ = writeln!(text, "  - and {} more", failure.explanation.len() - SHOWN_MAX);
    }
    if !failure.output.is_empty() {
        let lines: Vec<&str> = failure.output.lines().collect();
        for line in &lines[lines.len().saturating_sub(4)..] {
            let _ = writeln!(text, "  | {line}");
        }
    }
    if let Some(id) = failure.ids.first() {
        let _ = writeln!(text, "  --replay {id}");
    }
    if let Some(image) = &failure.image {
        let _ = writeln!(text, "  image: {image}");
    }
    text
}
