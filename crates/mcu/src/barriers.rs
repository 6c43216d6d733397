//! Barriers: the rules that acknowledged data stand on, and how a test double forgets one.
//!
//! Each is kept at a spot that calls `Config::keeps`. Without `--cfg phelsuma_mutants` the answer is the constant yes, and
//! nothing is left of the call.

/// What a drive must never forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(phelsuma_mutants), allow(dead_code, unreachable_pub))]
pub enum Barrier {
    /// Nothing that a checkpoint names is erased before the next one is on flash.
    HeldUntilCheckpoint,
    /// Trims are in translation pages before a block is freed.
    TrimsWritten,
    /// Entries that are older than a mount looks are in translation pages.
    OldEntriesWritten,
    /// Reports are on flash with the checkpoint that says so.
    ReportsWritten,
    /// A block that is erased is reported: then older reports of it do not count.
    ErasesReported,
    /// What a mount that was cut has written does not count.
    SessionsIgnored,
    /// The last page before a cut is copied.
    LastPageCopied,
    /// Of a last page that is torn there is a newer version.
    TornPageReplaced,
    /// A page that cannot be read leaves a doubt, which is kept over mounts.
    DoubtKept,
    /// A former page that a mount is not sure of is read before it is reported.
    UnsurePagesRead,
}

#[cfg(phelsuma_mutants)]
impl Barrier {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::HeldUntilCheckpoint,
        Self::TrimsWritten,
        Self::OldEntriesWritten,
        Self::ReportsWritten,
        Self::ErasesReported,
        Self::SessionsIgnored,
        Self::LastPageCopied,
        Self::TornPageReplaced,
        Self::DoubtKept,
        Self::UnsurePagesRead,
    ];
}
