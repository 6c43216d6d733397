//! Barriers: the rules that an FTL's data stand on, and how a test double forgets one.

/// The barriers that an FTL keeps: all of them, unless it is a test double.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barriers {
    #[cfg(feature = "mutants")]
    pub(crate) forgets: Option<Barrier>,
}

impl Barriers {
    /// Whether this is a test double that forgets `barrier`.
    #[cfg(feature = "mutants")]
    pub(crate) fn forget(self, barrier: Barrier) -> bool {
        self.forgets == Some(barrier)
    }

    /// No FTL forgets a barrier outside the proof of the laboratory.
    #[cfg(not(feature = "mutants"))]
    #[inline(always)]
    pub(crate) fn forget(self, _barrier: Barrier) -> bool {
        false
    }
}

/// What an FTL must never forget: each is a rule that its data stand on. The first of them only when the power is cut;
/// those of lazily identified pages also without; and the last is what keeps a drive writable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "mutants"), allow(dead_code, unreachable_pub))]
pub enum Barrier {
    /// A victim is erased only after its live pages are on flash elsewhere.
    CopiesBeforeErase,
    /// Pending trims are on flash before a block that held the trimmed pages can be reused.
    TrimsBeforeReuse,
    /// A flush writes the pending trims.
    TrimsAtFlush,
    /// Recovery reads pages that may have been in flight in full, and believes their CRC.
    SuspectsVerified,
    /// Recovery copies what it believes of them.
    SuspectsCopied,
    /// Blocks that a suspect has made stale are kept until the suspect is copied.
    FallbacksHeld,
    /// A block is erased right before its first program, whatever it looks like.
    EraseBeforeUse,
    /// Version decides between copies of a page.
    VersionOrder,
    /// A battery saves the entries that translation pages do not know of.
    BatterySaves,
    /// A migrated page that is not cached has no unidentified before-image (against GeckoFTL section 4: "treated like
    /// application writes").
    MigratedHasNoBeforeImage,
    /// A before-image found in a victim is unidentified no longer (GeckoFTL section 4.1 is silent).
    VictimClearsUip,
    /// All pages of a victim are judged before the first is moved (GeckoFTL section 4.1 is silent).
    JudgedBeforeMoved,
    /// An erase clears what the buffer holds of the block (GeckoFTL algorithm 2 is silent).
    EraseClearsBuffer,
    /// A page of which nothing can be read is not taken for torn where a translation page names it (GeckoFTL appendix C
    /// is silent).
    SilentLookedUp,
    /// What a failed program left behind is reported as stale.
    FailuresReported,
    /// Metadata that takes too much space is collected (against GeckoFTL section 4.2): a page that stays live keeps its
    /// block, and each power cut leaves a part-filled one.
    MetadataBounded,
    /// A page that was written before its translation page was synchronized is known to it (GeckoFTL section 4.3 takes
    /// every page that a recovery finds for a dirty entry).
    SynchronizedIsKnown,
    /// What a translation page names is stale only if it was written before that page was synchronized (GeckoFTL
    /// appendix C.2.2 and C.3.2 look at the logical page alone).
    SeqBeforeSynchronization,
    /// Older copies of a logical page that a recovery meets are reported (against GeckoFTL appendix C.2, which rebuilds
    /// the buffer from synchronizations alone).
    OlderCopiesReported,
    /// Entries that were not updated for long are synchronized (GeckoFTL section 4.3), however often they are read.
    CheckpointsTaken,
    /// From where on to scan is read from flash (GeckoFTL section 4.3 counts 2 C pages back).
    ScanFromWritten,
    /// A block that is open for long is scanned as well (GeckoFTL appendix C, step 1, goes by first pages).
    OldestOpenListed,
    /// Blocks of stale pages are not erased before Gecko's buffer is flushed (GeckoFTL appendix C.2.2).
    HeldUntilFlush,
    /// Of Gecko's runs on flash those count that cover each flush once (GeckoFTL appendix C.1 takes the newest of each
    /// level).
    RunsCoverOnce,
    /// A flush says what it has heard of (GeckoFTL appendix C.2.1 goes by when the run was made): what a synchronization
    /// made stale may not have been reported yet.
    FlushSaysWhatItHeard,
    /// A translation page says from where on a recovery must scan for all entries that are dirty, its own included.
    DirtyInMark,
    /// Where a page validity log is to survive power cuts, each user page names the one that it made stale (GeckoFTL
    /// section 5.3 says nothing of entries that were not on flash).
    PagesPointBack,
    /// The entries of trimmed pages name the pages that were, for the same reason.
    TrimsPointBack,
    /// What collection cannot read any more is written into its translation page before the block is erased.
    LostWrittenThrough,
    /// Cleaning a page validity log keeps pace with what is inserted (against GeckoFTL appendix E, which cleans until the
    /// log is short).
    LogCleaningBounded,
    /// Entries of a page validity log that say what a newer one says are dropped where the log is too long (GeckoFTL
    /// appendix E counts on there being none).
    RepeatsDropped,
}

#[cfg(feature = "mutants")]
impl Barrier {
    /// Those that a mapping table in RAM stands on when the power fails.
    pub const OF_SCANNING: &'static [Self] = &[
        Self::CopiesBeforeErase,
        Self::TrimsBeforeReuse,
        Self::TrimsAtFlush,
        Self::SuspectsVerified,
        Self::SuspectsCopied,
        Self::FallbacksHeld,
        Self::EraseBeforeUse,
        Self::VersionOrder,
    ];

    /// Those that GeckoRec stands on.
    pub const OF_GECKO_REC: &'static [Self] = &[
        Self::CopiesBeforeErase,
        Self::SuspectsVerified,
        Self::SuspectsCopied,
        Self::EraseBeforeUse,
        Self::SynchronizedIsKnown,
        Self::OlderCopiesReported,
    ];

    /// More of them, which show when cuts follow each other, or in the long run.
    pub const OF_GECKO_REC_IN_THE_LONG_RUN: &'static [Self] = &[
        Self::SeqBeforeSynchronization,
        Self::CheckpointsTaken,
        Self::ScanFromWritten,
        Self::OldestOpenListed,
        Self::HeldUntilFlush,
        Self::RunsCoverOnce,
        Self::FlushSaysWhatItHeard,
    ];

    /// Those that a recovery which synchronizes everything stands on.
    pub const OF_SYNCHRONIZING: &'static [Self] = &[
        Self::CopiesBeforeErase,
        Self::SuspectsVerified,
        Self::SuspectsCopied,
        Self::FallbacksHeld,
        Self::EraseBeforeUse,
        Self::VersionOrder,
        Self::DirtyInMark,
        Self::SynchronizedIsKnown,
    ];

    /// Those that a page validity log stands on besides when the power fails.
    pub const OF_POINTING_BACK: &'static [Self] =
        &[Self::PagesPointBack, Self::TrimsPointBack, Self::FlushSaysWhatItHeard];

    /// Those that a demand-paged mapping with lazily identified pages stands on without any power cut.
    pub const OF_LAZINESS: &'static [Self] = &[
        Self::MigratedHasNoBeforeImage,
        Self::VictimClearsUip,
        Self::JudgedBeforeMoved,
        Self::EraseClearsBuffer,
        Self::FailuresReported,
    ];
}
