//! What a drive is asked, and what a program has acknowledged.

/// One event of a run. Events have numbers, from 1 on, in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Whole units that were written.
    Write {
        /// Where, in bytes.
        offset: u64,
        /// What.
        data: Box<[u8]>,
    },
    /// Whole units that are zeros from now on. Pending like a write.
    Trim {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// All requests before it are durable.
    Flush,
    /// The program has acknowledged to its user what it did before.
    Mark(String),
}

impl Event {
    /// Offset and length in bytes of a request that changes the drive.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            Self::Write { offset, data } => Some((*offset, data.len() as u64)),
            Self::Trim { offset, length } => Some((*offset, *length)),
            Self::Flush | Self::Mark(_) => None,
        }
    }

    /// Bytes that it takes in a log.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        let data = match self {
            Self::Write { data, .. } => data.len(),
            Self::Mark(text) => text.len(),
            Self::Trim { .. } | Self::Flush => 0,
        };
        (data + size_of::<Self>()) as u64
    }

    /// Whether it changes the drive.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.range().is_some()
    }

    /// Its bytes within a range of the drive; none are zeros.
    #[must_use]
    pub fn bytes(&self, offset: u64, length: usize) -> Option<&[u8]> {
        match self {
            Self::Write { offset: begin, data } => {
                let at = usize::try_from(offset.checked_sub(*begin)?).ok()?;
                data.get(at..at.checked_add(length)?)
            }
            _ => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match self {
            Self::Write { .. } => "write",
            Self::Trim { .. } => "trim",
            Self::Flush => "flush",
            Self::Mark(_) => "mark",
        }
    }
}
