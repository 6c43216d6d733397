//! Which requests of a trace are asked for and where they are moved to, and which records are requests at all.

use std::ops::Range;

use crate::TraceError;
use crate::bounds::{END_BYTES_MAX, SPLIT_BYTES_MAX};
use crate::format::event::Events;
use crate::noted::{Note, Noted, Records};
use crate::record::Record;
use crate::request::Op;
use crate::skipped::SkipReason;

/// Which requests of a trace are asked for, and where they are moved to; all of them where they are by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// Devices, as [`Request::device`](crate::Request) names them; none are all.
    pub devices: Vec<u32>,
    /// So many requests from the beginning of the trace, in its own order.
    pub first: Option<u64>,
    /// Nanoseconds since the trace's first request: from the start on, and before the end. Of a trace that is sorted,
    /// since its earliest request; [`Filters::first`] are then those of the span.
    pub span_ns: Option<Range<u64>>,
    /// Requests whose first byte is among these. Flushes pass.
    pub addresses: Option<Range<u64>>,
    /// Leave trims out.
    pub drop_trims: bool,
    /// So many bytes further up than the trace has them: a partition that begins at sector 63 is aligned by one sector.
    /// [`Filters::addresses`] are the trace's own.
    pub shift_bytes: u64,
}

impl Filters {
    /// Where a record is moved to. What is then beyond every drive is no request.
    fn moved(&self, record: &Record) -> Record {
        let up = if record.op == Op::Flush { 0 } else { self.shift_bytes };
        Record { offset_bytes: record.offset_bytes.saturating_add(up), ..*record }
    }

    /// Whether a request is asked for, where spans are counted from `begin_ns`. Earlier ones are before every span.
    fn pass(&self, record: &Record, begin_ns: u64) -> bool {
        (self.devices.is_empty() || self.devices.contains(&record.device))
            && self.span_ns.as_ref().is_none_or(|span| in_span(span, record, begin_ns))
            && (record.op == Op::Flush
                || self.addresses.as_ref().is_none_or(|bytes| bytes.contains(&record.offset_bytes)))
            && !(self.drop_trims && record.op == Op::Trim)
    }
}

fn in_span(span: &Range<u64>, record: &Record, begin_ns: u64) -> bool {
    record.time_ns.checked_sub(begin_ns).is_some_and(|since_ns| span.contains(&since_ns))
}

/// The usable records that are asked for, noted as they come.
pub(crate) struct Filtered {
    source: Box<dyn Records>,
    filters: Option<Filters>,
    passed: u64,
    /// Spans begin at the earliest record, so they are looked at later.
    before_span: bool,
}

impl Filtered {
    pub(crate) fn new(source: Box<dyn Records>, filters: &Filters) -> Self {
        // Most traces are read whole.
        let filters = Some(filters.clone()).filter(|filters| *filters != Filters::default());
        Filtered { source, filters, passed: 0, before_span: false }
    }

    /// Those that are asked for whenever they come; [`InSpan`] has the rest of the filters.
    pub(crate) fn at_any_time(source: Box<dyn Records>, filters: &Filters) -> Self {
        let filters = Some(Filters { span_ns: None, first: None, ..filters.clone() });
        Filtered { source, filters, passed: 0, before_span: true }
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
            // Requests of other devices may follow.
            noted.events = Events::default();
            return Ok(None);
        }
        while let Some(record) = self.source.next_record(noted)? {
            let moved = self.filters.as_ref().map_or(record, |filters| filters.moved(&record));
            if let Some(reason) = unusable(&record).or_else(|| unusable(&moved)) {
                noted.skip(reason);
                continue;
            }
            noted.usable += 1;
            noted.take_of_file(&record);
            if let Some(filters) = &self.filters {
                if filters.span_ns.is_some() {
                    noted.take_before_span(&record);
                }
                let begin_ns = noted.begin_ns.get_or_insert(record.time_ns);
                if self.before_span {
                    *begin_ns = record.time_ns.min(*begin_ns);
                }
                if !filters.pass(&record, *begin_ns) {
                    noted.skip(SkipReason::Filtered);
                    continue;
                }
                self.passed += 1;
            }
            noted.take(&moved);
            return Ok(Some(moved));
        }
        Ok(None)
    }
}

/// Sorted records of a span that begins at the earliest of the trace.
pub(crate) struct InSpan {
    sorted: Box<dyn Records>,
    span_ns: Range<u64>,
    first: Option<u64>,
    passed: u64,
    begun: bool,
}

impl InSpan {
    pub(crate) fn new(sorted: Box<dyn Records>, span_ns: Range<u64>, first: Option<u64>) -> Self {
        InSpan { sorted, span_ns, first, passed: 0, begun: false }
    }
}

impl Records for InSpan {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.sorted.notes()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        while self.first != Some(self.passed)
            && let Some(record) = self.sorted.next_record(noted)?
        {
            if !self.begun {
                self.begun = true;
                noted.begin_sorted();
            }
            if in_span(&self.span_ns, &record, noted.begin_ns.unwrap_or_default()) {
                self.passed += 1;
                noted.take_sorted(&record);
                return Ok(Some(record));
            }
            noted.skip(SkipReason::Filtered);
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
