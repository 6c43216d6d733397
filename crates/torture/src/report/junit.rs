//! JUnit XML: a test case for the whole, and one for each kind of failure.

use super::outcome::Report;
use crate::search::many;
use crate::view::FailureKind;
use std::fmt::Write as _;

impl Report {
    /// As JUnit XML.
    #[must_use]
    pub fn junit(&self, name: &str) -> String {
        of(self, name)
    }
}

/// JUnit XML of a run that has no report: one test case, with the error.
#[must_use]
pub fn junit_of_error(name: &str, error: &str) -> String {
    let (name, error) = (escaped(name), escaped(error));
    let counts = "tests=\"1\" failures=\"0\" errors=\"1\"";
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"{name}\" {counts}>\n    \
         <testcase classname=\"phelsuma.torture\" name=\"{name}: every state\">\n      \
         <error message=\"{error}\"/>\n    </testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

/// The XML.
fn of(report: &Report, name: &str) -> String {
    let cases = FailureKind::ALL.len() + 1;
    let failed = report.failed.len() + usize::from(report.has_failed());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escaped(name);
    let seconds = report.seconds;
    let errors = u8::from(report.error().is_some());
    let counts = format!("tests=\"{cases}\" failures=\"{failed}\" errors=\"{errors}\" time=\"{seconds:.3}\"");
    let _ = writeln!(xml, "<testsuites {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"{name}\" {counts}>");
    let _ = writeln!(
        xml,
        "    <testcase classname=\"phelsuma.torture\" name=\"{name}: every state\" time=\"{seconds:.3}\">"
    );
    if report.has_failed() {
        let states: u64 = report.failed.values().sum();
        let message = format!("{states} of {} failed", many(report.states, "state"));
        let _ = writeln!(xml, "      <failure message=\"{message}\">{}</failure>", escaped(&report.text()));
    }
    if let Some(error) = report.error() {
        let _ = writeln!(xml, "      <error message=\"{}\"/>", escaped(&error));
    }
    xml += "    </testcase>\n";
    for kind in FailureKind::ALL {
        let _ = writeln!(xml, "    <testcase classname=\"phelsuma.torture\" name=\"{name}: {}\">", kind.text());
        if let Some(states) = report.failed.get(&kind) {
            let found: Vec<String> = report
                .failures
                .iter()
                .filter(|failure| failure.kind == kind)
                .map(|f| format!("{}\n{}", f.ids.first().map_or("", String::as_str), f.explanation.join("\n")))
                .collect();
            let (message, found) = (many(*states, "state"), escaped(&found.join("\n\n")));
            let _ = writeln!(xml, "      <failure message=\"{message}\">{found}</failure>");
        }
        xml += "    </testcase>\n";
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

/// What XML takes: no control characters, and none of its own.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(character),
            control if control.is_control() || control == '\u{fffe}' || control == '\u{ffff}' => escaped.push('?'),
            other => escaped.push(other),
        }
    }
    escaped
}
