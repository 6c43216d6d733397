//! What [`Ftl::check`](crate::Ftl::check) finds.

use alloc::string::String;
use core::fmt;

/// What does not fit what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disagreement {
    /// A page is mapped whose spare area cannot be read.
    MappedUnreadable,
    /// A page is mapped whose spare area says that it is of another logical page, or of none.
    MappedAnother,
    /// A page is mapped that is blank.
    MappedErased,
    /// Pages are mapped, or not identified as stale, and validity takes them for stale.
    MappedNotValid,
    /// Validity takes pages for live that are not mapped.
    ValidNotMapped,
    /// The same of pages that are bad, or whose newer versions are: those may have been the only record.
    ValidNotMappedBad,
    /// A block has another number of live pages than is counted.
    LiveCount,
    /// Anything else: two owners, blocks in two uses, live pages in a free block, numbers that the drive does not have.
    Structure,
}

/// A disagreement between an FTL's structures, or between them and the flash. Displays as its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The subject.
    pub about: Disagreement,
    /// Which pages and blocks, in words.
    pub line: String,
}

impl Finding {
    pub(crate) fn new(about: Disagreement, line: String) -> Self {
        Self { about, line }
    }

    /// Whether it comes of pages that cannot be read, alone.
    pub fn is_of_unreadable_pages(&self) -> bool {
        matches!(self.about, Disagreement::MappedUnreadable | Disagreement::ValidNotMappedBad)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Of structures that nothing excuses.
impl From<String> for Finding {
    fn from(line: String) -> Self {
        Self::new(Disagreement::Structure, line)
    }
}
