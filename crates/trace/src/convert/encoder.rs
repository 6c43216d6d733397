//! The encoder of each format that can be written.

use crate::request::Request;

/// Writes requests in one format.
pub(super) trait Encoder: Send {
    fn header(&mut self, text: &mut String);

    /// Appends the request to `text`, or says why the format cannot express it.
    fn encode(&mut self, request: &Request, text: &mut String) -> Result<(), String>;

    /// Whether it writes placement handles.
    fn has_handles(&self) -> bool {
        false
    }
}

/// A time in thousandths of a unit, without needless zeros: `1500` of a microsecond's nanoseconds is
/// `1.5`.
pub(super) fn thousandths(value: u64, text: &mut String) {
    use std::fmt::Write;
    let (whole, fraction) = (value / 1000, value % 1000);
    // Writing to a string cannot fail.
    let _ = match fraction {
        0 => write!(text, "{whole}"),
        _ => write!(text, "{whole}.{}", format!("{fraction:03}").trim_end_matches('0')),
    };
}
