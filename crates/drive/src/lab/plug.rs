//! The plug of a drive on a bench: at which operation the power fails, and what that leaves.

use super::cut_nand::Change;
use super::path::Fault;
use super::script::Request;
use phelsuma_nand::Kind;

/// Which operation the power fails at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// Any program or erase.
    Any,
    /// The program of a page that the host writes.
    Host,
    /// The program of a page of the host's that a collection or a merge moves.
    Moved,
    /// The program of a page of metadata.
    Metadata,
    /// An erase.
    Erase,
}

impl Moment {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Any, Self::Host, Self::Moved, Self::Metadata, Self::Erase];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Host => "host",
            Self::Moved => "moved",
            Self::Metadata => "metadata",
            Self::Erase => "erase",
        }
    }

    pub(crate) fn is(self, change: &Change, request: &Request) -> bool {
        match change {
            Change::Erase { .. } => matches!(self, Self::Any | Self::Erase),
            Change::Program { spare, .. } => match self {
                Self::Any => true,
                Self::Erase => false,
                Self::Metadata => spare.kind != Kind::User,
                Self::Host | Self::Moved => {
                    let is_written = matches!(*request, Request::Write { first, pages }
                        if (first..first + pages).contains(&spare.key));
                    spare.kind == Kind::User && is_written == (self == Self::Host)
                }
            },
        }
    }
}

/// A power cut that waits for its moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plug {
    /// Which operations it may meet.
    pub moment: Moment,
    /// So many of them pass before it.
    pub skip: u32,
    /// What becomes of the operation. A fault of programs meets programs alone, and one of erases erases.
    pub fault: Fault,
    /// Chooses where a fault leaves a choice.
    pub seed: u64,
}

/// What a power cut met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Met {
    /// Which program or erase it was, counted from 0 since the drive was formatted or mounted.
    pub operation: u32,
    /// The page that was being programmed, or the first page of the block that was being erased.
    pub page: u32,
    /// The page's kind; none of an erase.
    pub kind: Option<Kind>,
    /// The number of the page's content.
    pub key: u32,
}
