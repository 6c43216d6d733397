//! The events of blkparse and blktrace.

/// Which event of blkparse or blktrace stands for the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlkparseEvent {
    /// D: the request goes to the drive.
    Issued,
    /// Q: the request enters the queue.
    Queued,
}

impl BlkparseEvent {
    pub(crate) fn letter(self) -> &'static str {
        match self {
            BlkparseEvent::Issued => "D",
            BlkparseEvent::Queued => "Q",
        }
    }
}
