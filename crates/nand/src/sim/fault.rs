//! Faults: the remains of an operation that was in flight at a power cut. Each fault has a name.

/// What became of a program that the power cut met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProgramFault {
    /// Not a cell was touched.
    NotStarted,
    /// The page is written in full; only the completion was not returned.
    Unacknowledged,
    /// The page, data and spare, reads as uncorrectable.
    TornSeen,
    /// The spare area is whole and the chip's ECC is content, yet the data are a prefix or noise: only our CRC can show
    /// it.
    TornUnseen,
    /// The data are whole; the spare area is not as it was written.
    TornSpare,
    /// The page reads as erased, but is not: programming it without an erase leaves an unreadable page.
    LooksErased,
    /// Reads well until the power fails again; never after.
    Unstable,
    /// Reads well once; never after.
    UnstableOnce,
}

impl ProgramFault {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::NotStarted,
        Self::Unacknowledged,
        Self::TornSeen,
        Self::TornUnseen,
        Self::TornSpare,
        Self::LooksErased,
        Self::Unstable,
        Self::UnstableOnce,
    ];

    /// The fault's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotStarted => "not-started",
            Self::Unacknowledged => "unacknowledged",
            Self::TornSeen => "torn-seen",
            Self::TornUnseen => "torn-unseen",
            Self::TornSpare => "torn-spare",
            Self::LooksErased => "looks-erased",
            Self::Unstable => "unstable",
            Self::UnstableOnce => "unstable-once",
        }
    }
}

/// What became of an erase that the power cut met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EraseFault {
    /// Not a cell was touched.
    NotStarted,
    /// The block is blank; only the completion was not returned.
    Unacknowledged,
    /// Every page is, by chance, as it was, blank, or uncorrectable.
    PartialMixed,
    /// The first half of the block reads blank, the rest is as it was.
    PartialFront,
    /// The block reads blank, but a program fails until it is erased again.
    UnstableErase,
}

impl EraseFault {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::NotStarted, Self::Unacknowledged, Self::PartialMixed, Self::PartialFront, Self::UnstableErase];

    /// The fault's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotStarted => "not-started",
            Self::Unacknowledged => "unacknowledged",
            Self::PartialMixed => "partial-mixed",
            Self::PartialFront => "partial-front",
            Self::UnstableErase => "unstable-erase",
        }
    }
}
