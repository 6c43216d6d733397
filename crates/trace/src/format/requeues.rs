//! Requests that Linux issues twice: issued, put back into the queue (requeued), issued again.
//!
//! A request may be put back before it was ever issued, when a driver has no room. So the second issue
//! counts as a repetition only if the first one was seen and has not completed.
//!
//! A request may be put back or complete on another CPU than that which issued it, so in another file of blktrace's. Files
//! are merged before requests are looked at here.
//!
//! A table of fixed size holds the latest issues, one a slot. Where two requests share a slot the older
//! one is forgotten, and its repetition counts as a request.

use crate::TraceError;
use crate::noted::{Note, Noted, Records};
use crate::record::{Record, Stage};
use crate::request::Op;
use crate::skipped::SkipReason;

/// Each request once, and none of what became of it.
pub(crate) struct OnceEach {
    source: Box<dyn Records>,
    requeues: Requeues,
}

impl OnceEach {
    pub(crate) fn new(source: Box<dyn Records>) -> Self {
        OnceEach { source, requeues: Requeues::default() }
    }
}

impl Records for OnceEach {
    fn notes(&self) -> Vec<(Note, u64)> {
        self.source.notes()
    }

    fn next_record(&mut self, noted: &mut Noted) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(record) = self.source.next_record(noted)? else { return Ok(None) };
            let key = (record.device, if record.op == Op::Flush { OF_FLUSH } else { record.offset_bytes });
            let reason = match record.stage {
                Stage::Issued if self.requeues.issued(key) => SkipReason::Requeued,
                Stage::Whole | Stage::Issued => {
                    noted.events.request(record.device);
                    return Ok(Some(record));
                }
                Stage::Other => {
                    noted.events.other(record.device);
                    SkipReason::OtherEvent
                }
                Stage::PutBack => {
                    self.requeues.put_back(key);
                    SkipReason::OtherEvent
                }
                Stage::Completed => {
                    self.requeues.completed(key);
                    if record.op != Op::Flush {
                        noted.events.other(record.device);
                    }
                    SkipReason::OtherEvent
                }
            };
            noted.skip(reason);
        }
    }
}

/// A request's device and first byte.
type Key = (u32, u64);

/// What flushes have for a first byte. Linux issues one flush of a device at a time.
const OF_FLUSH: u64 = u64::MAX;

const SLOT_BITS: u32 = 12;

#[derive(Clone, Copy)]
struct Issued {
    key: Key,
    put_back: bool,
}

/// The latest issues.
#[derive(Default)]
struct Requeues {
    slots: Vec<Option<Issued>>,
}

impl Requeues {
    /// A request is issued. Whether it was issued before, and put back since.
    fn issued(&mut self, key: Key) -> bool {
        if self.slots.is_empty() {
            self.slots.resize(1 << SLOT_BITS, None);
        }
        let Some(slot) = self.slots.get_mut(slot_of(key)) else { return false };
        let again = slot.is_some_and(|issued| issued.key == key && issued.put_back);
        *slot = Some(Issued { key, put_back: false });
        again
    }

    /// A request is put back into the queue.
    fn put_back(&mut self, key: Key) {
        if let Some(Some(issued)) = self.slots.get_mut(slot_of(key))
            && issued.key == key
        {
            issued.put_back = true;
        }
    }

    /// A request has completed.
    fn completed(&mut self, key: Key) {
        if let Some(slot) = self.slots.get_mut(slot_of(key))
            && slot.is_some_and(|issued| issued.key == key)
        {
            *slot = None;
        }
    }
}

fn slot_of((device, byte): Key) -> usize {
    let mixed = (byte ^ u64::from(device) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - SLOT_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (8 << 20, 1000);

    #[test]
    fn an_issue_after_an_issue_and_a_requeue_is_a_repetition() {
        let mut requeues = Requeues::default();
        assert!(!requeues.issued(KEY));
        requeues.put_back(KEY);
        assert!(requeues.issued(KEY));
        requeues.put_back(KEY);
        assert!(requeues.issued(KEY), "a request may be put back more than once");
        assert!(!requeues.issued(KEY), "another request of the same sector");
    }

    #[test]
    fn a_request_put_back_before_its_first_issue_is_no_repetition() {
        let mut requeues = Requeues::default();
        requeues.put_back(KEY);
        assert!(!requeues.issued(KEY));
        requeues.completed(KEY);
        requeues.put_back(KEY);
        assert!(!requeues.issued(KEY));
    }

    #[test]
    fn requests_of_other_sectors_and_devices_are_apart() {
        let mut requeues = Requeues::default();
        assert!(!requeues.issued(KEY));
        requeues.put_back(KEY);
        for sector in 2000..3000 {
            assert!(!requeues.issued((8 << 20, sector)) && !requeues.issued((9 << 20, sector)));
        }
    }
}
