//! Standard output: written at once, and quiet when its reader has gone.

use crate::errors::{Failure, Outcome};
use serde::Serialize;
use std::io::{self, Write};

/// Prints text as it is.
pub(crate) fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Prints a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value);
    print(&(text.map_err(|error| Failure::Failed(format!("the result cannot be written as JSON: {error}")))? + "\n"))
}

/// A remark on stderr, beside what goes to standard output for another program; where stderr is closed, none.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "phelsuma: {text}");
}

/// A value with the name of its schema in front.
#[derive(Serialize)]
pub(crate) struct WithSchema<T> {
    /// `phelsuma.WHAT/VERSION`.
    pub(crate) schema: &'static str,
    /// The value.
    #[serde(flatten)]
    pub(crate) value: T,
}
