//! Which requests of a trace are asked for, and which records are requests at all.

use std::ops::Range;

use crate::TraceError;
use crate::bounds::{END_BYTES_MAX, SPLIT_BYTES_MAX};
use crate::noted::{Note, Noted, Records};
use crate::record::Record;
use crate::request::Op;
use crate::skipped::SkipReason;

/// Which requests of a trace are asked for; all of them by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// Devices, as [`Request::device`](crate::Request) names them; none are all.
    pub devices: Vec<u32>,
    /// So many requests from the beginning of the trace, in its own order.
    pub first: Option<u64>,
    /// Nanoseconds since the trace's first request: from the start on, and before the end.
    pub span_ns: Option<Range<u64>>,
    /// Requests whose first byte is among these. Flushes pass.
    pub addresses: Option<Range<u64>>,
    /// Leave trims out.
    pub drop_trims: bool,
}

impl Filters {
    /// Whether a request that comes `since_ns` after the first is asked for.
    fn pass(&self, record: &Record, since_ns: u64) -> bool {
        (self.devices.is_empty() || self.devices.contains(&record.device))
            && self.span_ns.as_ref().is_none_or(|span| span.contains(&since_ns))
            && (record.op == Op::Flush
                || self.addresses.as_ref().is_none_or(|bytes| bytes.contains(&record.offset_bytes)))
            && !(self.drop_trims && record.op == Op::Trim)
    }
}

/// The usable records that are asked for, noted as they come.
pub(crate) struct Filtered {
    source: Box<dyn Records>,
    filters: Option<Filters>,
    passed: u64,
    begin_ns: Option<u64>,
}

impl Filtered {
    pub(crate) fn new(source: Box<dyn Records>, filters: &Filters) -> Self {
        // Most traces are read whole.
        let filters = Some(filters.clone()).filter(|filters| *filters != Filters::default());
        Filtered { source, filters, passed: 0, begin_ns: None }
    }
}

impl Records for Filtered {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.source.notes()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        if let Some(Filters { first: Some(first), .. }) = self.filters
            && self.passed == first
        {
            return Ok(None);
        }
        while let Some(record) = self.source.next_record(noted)? {
            if let Some(reason) = unusable(&record) {
                noted.skip(reason);
                continue;
            }
            noted.usable += 1;
            if let Some(filters) = &self.filters {
                let begin_ns = *self.begin_ns.get_or_insert(record.time_ns);
                if !filters.pass(&record, record.time_ns.saturating_sub(begin_ns)) {
                    noted.skip(SkipReason::Filtered);
                    continue;
                }
                self.passed += 1;
            }
            noted.take(&record);
            return Ok(Some(record));
        }
        Ok(None)
    }
}

/// Why a record is no request, if it is none.
pub(crate) fn unusable(record: &Record) -> Option<SkipReason> {
    if record.op == Op::Flush {
        return None;
    }
    if record.size_bytes == 0 {
        return Some(SkipReason::SizeZero);
    }
    let end = record.offset_bytes.checked_add(record.size_bytes);
    let oversized = record.op != Op::Trim && record.size_bytes > SPLIT_BYTES_MAX;
    (oversized || end.is_none_or(|end| end > END_BYTES_MAX)).then_some(SkipReason::Absurd)
}
