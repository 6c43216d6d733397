//! The report as one reads it.

use super::outcome::Report;
use crate::model::Policy;
use crate::search::{ALSO_COMPLETE, Failure, LostWrite, count, many};
use crate::size;
use std::fmt::Write as _;

/// Of a lost set, so many writes are shown.
const SHOWN_MAX: usize = 8;
/// Characters of a line of the check.
const LINE_MAX: usize = 200;

impl Report {
    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        // What programs and marks say is not for the terminal to obey.
        of(self).chars().flat_map(shown).collect()
    }
}

/// Control characters are escaped.
fn shown(character: char) -> impl Iterator<Item = char> {
    let is_plain = !character.is_control() || character == '\n';
    is_plain.then_some(character).into_iter().chain(character.escape_default().filter(move |_| !is_plain))
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
        "{} of {}; a cut keeps {policy} {} bytes; seed {}",
        on,
        size::text(report.size_bytes),
        count(report.unit_bytes.into()),
        report.seed
    );
    let _ = writeln!(
        text,
        "recorded: {} of {}, {}, {} flush{}, {}",
        many(recorded.writes, "write"),
        size::text(recorded.bytes),
        many(recorded.trims, "trim"),
        count(recorded.flushes),
        if recorded.flushes == 1 { "" } else { "es" },
        many(recorded.marks, "mark")
    );
    if report.policy == Policy::All && report.filesystem != "none" {
        text +=
            "the page cache is in the state of a mark by `phelsuma mark` or the socket, not of one by the descriptor\n";
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "WARNING: {warning}");
    }
    if let Some(replayed) = &report.replayed {
        let id = &replayed.id;
        let (lost, kept) = (many(replayed.lost.len() as u64, "write"), replayed.kept.len());
        let _ =
            writeln!(text, "state {id}: nothing is wrong; {lost} lost, {} kept that were pending", count(kept as u64));
        for write in replayed.lost.iter().take(SHOWN_MAX) {
            let _ = writeln!(text, "  - {} was lost", write.text());
        }
        text += &kept_of(&replayed.kept);
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
            states => format!(", {}", many(states, "state")),
        };
        let _ = writeln!(text, "\nfailure {}: {}{states}", number + 1, failure.kind.text());
        text += &indented(failure);
    }
    if report.unexplained > 0 {
        let _ = writeln!(text, "\n{} more failed and were counted, not explained", many(report.unexplained, "state"));
    }
    text
}

/// How much was checked.
fn counted(report: &Report) -> String {
    let mut text = String::new();
    let allowed = match (report.is_complete && report.is_done, report.allowed_log10) {
        (true, _) => format!("{} allowed", many(report.states, "state")),
        (false, log) if log < 15.0 => format!("up to {} subsets allowed", count(10f64.powf(log).round() as u64)),
        (false, log) => format!("up to 10^{log:.0} subsets allowed"),
    };
    let _ = writeln!(
        text,
        "{}, {allowed}; checked {}, met {} equal ones, {} a minute",
        many(report.cut_points, "cut point"),
        many(report.states, "state"),
        count(report.equal_states),
        count((report.states as f64 * 60.0 / report.seconds.max(0.001)) as u64)
    );
    if report.left_out_states > 0 {
        let states = many(report.left_out_states, "state");
        let _ = writeln!(text, "left out {states} with a torn superblock, which {} does not mount", report.filesystem);
    }
    if report.is_stopped {
        text += "stopped by a signal: this is what was checked until then\n";
    } else if report.is_done {
        text += match report.is_complete {
            true => "all of them were checked\n",
            false => "all planned states were checked: more --subsets or --samples would plan more\n",
        };
    } else {
        text += "the budget is used up: more --states or --minutes would check more\n";
    }
    text
}

/// What was pending and kept.
fn kept_of(kept: &[LostWrite]) -> String {
    let mut text: String =
        kept.iter().take(SHOWN_MAX).map(|write| format!("  - {} was pending, and kept\n", write.text())).collect();
    if kept.len() > SHOWN_MAX {
        let _ = writeln!(text, "  - and {} more; --json has all", kept.len() - SHOWN_MAX);
    }
    text
}

/// The beginning of a long line.
fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_string(),
    }
}

fn indented(failure: &Failure) -> String {
    let mut text = String::new();
    let mark = failure.mark.as_ref().map_or("before any mark".to_string(), |mark| format!("after mark `{mark}`"));
    let _ = writeln!(
        text,
        "  power cut after event {}, {mark}; {} lost",
        failure.cut,
        many(failure.lost.len() as u64, "write")
    );
    for line in failure.explanation.iter().take(SHOWN_MAX) {
        let _ = writeln!(text, "  - {line}");
    }
    if failure.explanation.len() > SHOWN_MAX {
        let _ = writeln!(text, "  - and {} more", failure.explanation.len() - SHOWN_MAX);
    }
    text += &kept_of(&failure.kept);
    if !failure.output.is_empty() {
        let lines: Vec<&str> = failure.output.lines().collect();
        for line in &lines[lines.len().saturating_sub(4)..] {
            let _ = writeln!(text, "  | {}", cut(line));
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
