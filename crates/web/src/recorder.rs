//! The flash operations of a step, in order.

use phelsuma_nand::{Action, Event, Observer, Page, Purpose, Spare};

/// Operations that are kept of a step; a recovery of the largest drive has fewer.
const EVENTS_MAX: usize = 1 << 19;

/// No key.
const NONE: u32 = u32::MAX;

/// An operation as the page gets it: five numbers.
#[derive(Clone, Copy)]
struct Operation {
    action: u8,
    purpose: u8,
    kind: u8,
    /// The page, or the block of an erase.
    place: u32,
    key: u32,
    begin_ns: u64,
    done_ns: u64,
}

/// Listens while it is told to.
#[derive(Default)]
pub(crate) struct Recorder {
    operations: Vec<Operation>,
    left_out: u64,
}

impl Recorder {
    /// How many were left out because there were too many.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(crate) fn len(&self) -> usize {
        self.operations.len()
    }

    /// Five numbers of 32 bits for each operation: what it is (action, purpose, kind, a byte each), where, of which key,
    /// and when it began and ended, in tenths of microseconds from the first one on.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let from = self.operations.iter().map(|operation| operation.begin_ns).min().unwrap_or(0);
        let tenths = |ns: u64| u32::try_from((ns - from) / 100).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(self.operations.len() * 20);
        for operation in &self.operations {
            let Operation { action, purpose, kind, place, key, begin_ns, done_ns } = *operation;
            let what = u32::from_le_bytes([action, purpose, kind, 0]);
            for number in [what, place, key, tenths(begin_ns), tenths(done_ns)] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
        }
        bytes
    }
}

impl Observer for Recorder {
    fn observe(&mut self, event: &Event) {
        if self.operations.len() == EVENTS_MAX {
            self.left_out += 1;
            return;
        }
        let (action, place) = match event.action {
            Action::Read(page) => (0, page.0),
            Action::ReadSpare(page) => (1, page.0),
            Action::Program(page) => (2, page.0),
            Action::Erase(block) => (3, block.0),
        };
        let (purpose, begin_ns, done_ns) = (event.purpose as u8, event.start.0, event.done.0);
        self.operations.push(Operation { action, purpose, kind: 0, place, key: NONE, begin_ns, done_ns });
    }

    fn programmed(&mut self, _page: Page, spare: &Spare, _purpose: Purpose) {
        if let Some(last) = self.operations.last_mut() {
            (last.kind, last.key) = (spare.kind as u8, spare.key);
        }
    }
}
