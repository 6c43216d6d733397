//! Records that a reader left out, counted by reason. Real traces are dirty; a reader says how dirty.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Why a line or record of a trace is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A line that looks like no record, before the first record (a heading, leftovers of an archive).
    JunkBeforeFirst,
    /// A line that looks like no record, behind the last record (a number of rows, the end of a table).
    JunkAfterLast,
    /// An empty line.
    BlankLine,
    /// A comment.
    Comment,
    /// A read, write or trim of nothing.
    SizeZero,
    /// A range that ends past 2^63 bytes, or a read or write over 1 TiB. No drive was ever asked this:
    /// the recorder wrote garbage. The records around it are sound, so it is left out rather than
    /// fatal; if such records outnumber the usable ones the reader refuses the file at its end.
    Absurd,
    /// Another event of the same request (queued, completed, …).
    OtherEvent,
    /// A request issued once more after it was put back into the queue (requeued).
    Requeued,
    /// A request of which the trace lacks the range, such as an NVMe trim whose ranges are in its data.
    RangeUnknown,
    /// A hint to write dirty pages out (`sync_file_range`), which makes nothing durable.
    WriteOutHint,
    /// A line of the recorder's own, such as blkparse's summary.
    RecorderLine,
    /// Padding or a header that an archiver left between the records.
    ArchiveLeftover,
    /// A command that is neither read, write, trim nor flush.
    OtherCommand,
    /// An operation column that is blank, which the format uses for "unknown".
    BlankOperation,
    /// A file being added, opened or closed.
    FileAction,
    /// Names of columns.
    Heading,
    /// A request that a filter leaves out.
    Filtered,
}

impl SkipReason {
    /// Whether the thing skipped has the shape of the format's records, so that it speaks for the
    /// format when the format is being guessed.
    pub(crate) fn has_record_shape(self) -> bool {
        !matches!(
            self,
            SkipReason::JunkBeforeFirst
                | SkipReason::JunkAfterLast
                | SkipReason::BlankLine
                | SkipReason::Comment
                | SkipReason::RecorderLine
                | SkipReason::ArchiveLeftover
                | SkipReason::Heading
        )
    }

    /// Whether the file may have meant a request, so that leaving it out needs a warning.
    pub(crate) fn needs_warning(self) -> bool {
        matches!(
            self,
            SkipReason::JunkBeforeFirst
                | SkipReason::JunkAfterLast
                | SkipReason::SizeZero
                | SkipReason::Absurd
                | SkipReason::OtherCommand
                | SkipReason::BlankOperation
                | SkipReason::RangeUnknown
        )
    }

    fn text(self) -> &'static str {
        match self {
            SkipReason::JunkBeforeFirst => "lines before the first record",
            SkipReason::JunkAfterLast => "lines after the last record",
            SkipReason::BlankLine => "blank lines",
            SkipReason::Comment => "comments",
            SkipReason::SizeZero => "requests of size zero",
            SkipReason::Absurd => "absurd addresses or sizes",
            SkipReason::OtherEvent => "other events of a request",
            SkipReason::Requeued => "requests issued again after a requeue",
            SkipReason::RangeUnknown => "requests without their range",
            SkipReason::WriteOutHint => "hints to write out (sync_file_range)",
            SkipReason::RecorderLine => "lines of the recorder's own",
            SkipReason::ArchiveLeftover => "leftovers of an archive",
            SkipReason::OtherCommand => "other commands",
            SkipReason::BlankOperation => "records without an operation",
            SkipReason::FileAction => "file actions",
            SkipReason::Heading => "headings",
            SkipReason::Filtered => "requests that a filter leaves out",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// How many lines or records were skipped, by reason. Prints as `blank lines: 3, comments: 2`, or
/// `nothing`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Skipped {
    counts: BTreeMap<SkipReason, u64>,
}

impl Skipped {
    pub(crate) fn add(&mut self, reason: SkipReason) {
        *self.counts.entry(reason).or_insert(0) += 1;
    }

    /// How many were skipped for one reason.
    #[must_use]
    pub fn count(&self, reason: SkipReason) -> u64 {
        self.counts.get(&reason).copied().unwrap_or(0)
    }

    /// How many were skipped in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Every reason that occurred, with its count.
    pub fn iter(&self) -> impl Iterator<Item = (SkipReason, u64)> + '_ {
        self.counts.iter().map(|(&reason, &count)| (reason, count))
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.counts.is_empty() {
            return f.write_str("nothing");
        }
        for (index, (reason, count)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{reason}: {count}")?;
        }
        Ok(())
    }
}
