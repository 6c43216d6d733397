//! The phase of a drive: being mounted, serving its host, or read-only.

use phelsuma_nand::Purpose;
use phelsuma_nand::state::Preserve;

/// The phase of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) enum Phase {
    /// A recovery is at work: its writes are labelled so.
    Mounting,
    /// The host is served.
    Serving,
    /// The host is served, but nothing is written until the drive is mounted anew: a recovery had no block for what
    /// must be on flash before anything else is.
    ReadOnly,
}

impl Phase {
    pub(crate) fn is_mounting(self) -> bool {
        self == Self::Mounting
    }

    pub(crate) fn is_read_only(self) -> bool {
        self == Self::ReadOnly
    }

    /// A recovery has come to its end: the phase that follows.
    #[must_use]
    pub(crate) fn mounted(self) -> Self {
        match self {
            Self::Mounting | Self::Serving => Self::Serving,
            Self::ReadOnly => Self::ReadOnly,
        }
    }

    /// Why something is done that is `of_host` while the host is served.
    pub(crate) fn purpose(self, of_host: Purpose) -> Purpose {
        if self.is_mounting() { Purpose::Recovery } else { of_host }
    }
}
