//! Barriers: the rules that an FTL's data stand on, and how a test double forgets one.
//!
//! Every one of them is kept at a spot that calls [`Barriers::keeps`]. In any build without `--cfg phelsuma_mutants`
//! the answer is the constant yes, and nothing is left of the call. `make test` sets it.

use phelsuma_nand::state::Preserve;

#[cfg(all(phelsuma_mutants, not(debug_assertions)))]
compile_error!("FTLs that forget a barrier are for tests alone: phelsuma_mutants is no part of a release");

/// The barriers that an FTL keeps: all of them, unless it is a test double.
#[derive(Clone, Copy, Debug, Default, Preserve)]
pub(crate) struct Barriers {
    #[cfg(phelsuma_mutants)]
    pub(crate) forgets: Option<Barrier>,
}

impl Barriers {
    /// Whether `barrier` is kept: all but test doubles keep it.
    #[cfg(phelsuma_mutants)]
    pub(crate) fn keeps(self, barrier: Barrier) -> bool {
        self.forgets != Some(barrier)
    }

    /// Every FTL keeps every barrier outside the proof of the laboratory.
    #[cfg(not(phelsuma_mutants))]
    #[inline(always)]
    pub(crate) fn keeps(self, _barrier: Barrier) -> bool {
        true
    }
}

/// The enum, and what its documentation says as text: so each rule is written down once.
macro_rules! barriers {
    ($($(#[doc = $rule:literal])+ $name:ident,)+) => {
        /// What an FTL must never forget: each is a rule that its data stand on, or that keeps a drive writable.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Preserve)]
        #[cfg_attr(not(phelsuma_mutants), allow(dead_code, unreachable_pub))]
        pub enum Barrier {
            $($(#[doc = $rule])+ $name,)+
        }

        #[cfg(phelsuma_mutants)]
        impl Barrier {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The rule, in a line.
            pub fn rule(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($rule,)+).trim_ascii(),)+
                }
            }
        }
    };
}

barriers! {
    // Rules for a mapping table in RAM when the power fails.
    /// A victim is erased only after its live pages are on flash elsewhere.
    CopiesBeforeErase,
    /// Pending trims are on flash before a block that held the trimmed pages can be reused.
    TrimsBeforeReuse,
    /// A flush writes the pending trims.
    TrimsAtFlush,
    /// Recovery reads suspect pages in full, and believes their CRC.
    SuspectsVerified,
    /// Recovery copies the suspect pages that it believes.
    SuspectsCopied,
    /// Blocks that a suspect has made stale are kept until the suspect is copied.
    FallbacksHeld,
    /// A block is erased right before its first program, whatever it looks like.
    EraseBeforeUse,
    /// Version decides between copies of a page.
    VersionOrder,
    /// The last page of every block is read in full, however old it is.
    OldLastPagesVerified,
    /// What read well once is copied from that reading.
    SuspectsReadOnce,
    /// The last page of a part-filled block is copied even if it is old.
    PartFilledCopied,
    /// A copy that a recovery makes is labelled as that.
    CopiesLabelled,
    /// Both clocks skip ahead at a recovery.
    ClocksSkip,
    /// A tombstone does not speak of pages younger than it.
    TombstoneVersion,
    /// Of a region's tombstone pages the newest counts.
    NewestTombstones,
    /// A tombstone page is not written before everything so far is on flash.
    TombstonesAfterRewrites,
    /// While tombstone pages are on flash, free blocks are blank that a drive could be written with if it lost them.
    BlankKept,

    // Rules for the pool, collection and bad blocks.
    /// A block is not erased before what replaced its pages is on flash, though no request waits for that.
    ErasedWhenSafe,
    /// No program starts before all but the last few are done.
    WindowKept,
    /// There is a reserve of free blocks, and collection fills it up.
    ReserveKept,
    /// When next to nothing is free the victim is the emptiest block, whatever the policy.
    EmptiestInEmergency,
    /// Data of a failed program are written again elsewhere.
    FailedWrittenAgain,
    /// A block that failed is marked bad only when its data are on flash elsewhere.
    RetiredWhenSafe,

    // Checks of data that are read.
    /// A host's read believes the CRC of the data.
    HostDataVerified,
    /// A host's read looks whose page it is.
    OwnerChecked,
    /// A read of metadata believes the CRC.
    MetadataVerified,
    /// Collection does not copy data that have gone bad, where the table can say that they are lost.
    MovedVerified,
    /// What collection cannot read any more is written into its translation page before the block is erased.
    LostWrittenThrough,

    // Rules for a recovery from translation pages alone.
    /// PAGE and REQ acknowledge a write when its entries are in translation pages.
    EntriesBeforeAcknowledged,
    /// Entries of pages that a collection has moved are in translation pages before its victim is released.
    MovedFlushed,
    /// Entries of a request in progress are in translation pages before a victim is released.
    RequestFlushedBeforeReuse,
    /// A page in a block that was begun after the translation page that names it is not believed.
    StaleEntriesGivenUp,

    // Rules for a battery's contract.
    /// A battery saves the entries that are not in translation pages.
    BatterySaves,
    /// No more entries are dirty than the battery is made for, or a recovery scans for.
    DirtyLimitKept,
    /// The blocks that the battery may need are not used for anything else.
    BatteryFindsRoom,
    /// With a battery, a translation page that could not be read is written anew, and names the one in whose place it is.
    UnreadableNamed,
    /// A seal is believed only if nothing is younger: that of a battery, or of a snapshot.
    SealIsYoungest,
    /// A damaged structure is not sealed.
    DamageNotSealed,
    /// Of the copies of a translation page the newest counts.
    NewestTranslationPages,

    // What lazily identified pages stand on, also without any power cut.
    /// A migrated page that is not cached has no unidentified before-image (against GeckoFTL section 4: "treated like
    /// application writes").
    MigratedHasNoBeforeImage,
    /// A before-image found in a victim is unidentified no longer (GeckoFTL section 4.1 is silent).
    VictimClearsUip,
    /// A synchronization reports the before-images of marked entries (UIP) alone.
    UipChecked,
    /// A page that becomes stale between two slices of its block's collection is not moved.
    StaleLeavesSlices,
    /// No block of the users' is open for long, where a recovery looks for pages in all that were begun since.
    OpenBounded,
    /// What a merge has reported that is under way, a fold does not report again.
    MergesReportOnce,
    /// What a spill brings counts as well for the pages of a victim that were looked up before.
    SpillsJudge,
    /// With a mapping log, no page of a victim is reported stale by a trim that is not on flash.
    TrimsBeforeJudged,
    /// All pages of a victim are judged before the first is moved (GeckoFTL section 4.1 is silent).
    JudgedBeforeMoved,
    /// A page of which nothing can be read is not taken for torn where a translation page names it (GeckoFTL appendix C
    /// is silent).
    SilentLookedUp,
    /// Where a translation page does not say any more which one it was, no older version answers in its place (no paper
    /// takes notice).
    LostVersionsLookedFor,
    /// A bad page among stale translation pages may have been the newest version of one, though an erase may have been
    /// cut there (no paper takes notice).
    CutEraseDoubted,
    /// Where an older version of a translation page answers, its entries are checked for pages that are others by now
    /// (no paper takes notice).
    OlderVersionsChecked,
    /// That a translation page could not be read is known for good (no paper takes notice).
    DamageWritten,
    /// Pages that a failed program left behind are reported as stale.
    FailuresReported,
    /// A translation page is not written before the pages that it names are on flash.
    EntriesAfterPages,
    /// What RAM keeps of a translation page in fewer bytes is made anew when that is written.
    CondensedFollowsFlash,

    // What Logarithmic Gecko stands on.
    /// An erase is reported to the store that keeps stale pages on flash.
    ErasesReported,
    /// An erase makes void what runs say of the block: the erase flag (GeckoFTL section 3).
    EraseFlag,
    /// An erase clears the buffer's entries of the block (GeckoFTL algorithm 2 is silent).
    EraseClearsBuffer,
    /// In a merge an erase flag makes void what older runs say.
    EraseOverrulesInMerges,
    /// Erase flags stay while there are older runs.
    FlagsKept,
    /// Where a page of a run cannot be read, what runs say is stale or free is not believed any more: erase flags went
    /// with it (no paper takes notice).
    DamagedGeckoDoubted,
    /// A flush is not written before the successors of the pages that it reports are on flash.
    ReportsAfterReplacements,
    /// Metadata that takes too much space is collected (against GeckoFTL section 4.2): a page that stays live keeps its
    /// block, and each power cut leaves a part-filled one.
    MetadataBounded,

    // What GeckoRec stands on.
    /// A page that was written before its translation page was synchronized is in it, or overruled. (GeckoFTL section
    /// 4.3 takes every page that a recovery finds for a dirty entry.)
    SynchronizedIsKnown,
    /// A page that a translation page names is stale only if it was written before that page was synchronized.
    /// (GeckoFTL appendix C.2.2 and C.3.2 look at the logical page alone.)
    SeqBeforeSynchronization,
    /// The newest version of a translation page is compared with the one that the last flush covered. (GeckoFTL footnote
    /// 8 has no more than one version between two flushes, and compares the last two.)
    CoveredVersionCompared,
    /// The page that a translation page names is the before-image only if it still is the same logical page.
    BeforeImageIsOfThePage,
    /// Whether a before-image was reported is looked into for every entry that a recovery has found.
    UnsureLookedInto,
    /// Older copies of a logical page that a recovery meets are reported (against GeckoFTL appendix C.2, which rebuilds
    /// the buffer from synchronizations alone).
    OlderCopiesReported,
    /// Entries that were not updated for long are synchronized (GeckoFTL section 4.3), however often they are read.
    CheckpointsTaken,
    /// From where on to scan is read from flash (GeckoFTL section 4.3 counts 2 C pages back).
    ScanFromWritten,
    /// From where on to scan is written for all entries that are dirty.
    DirtyInRuns,
    /// A block that is open for long is scanned as well (GeckoFTL appendix C, step 1, goes by first pages).
    OldestOpenListed,
    /// Blocks of stale pages are not erased before Gecko's buffer is flushed (GeckoFTL appendix C.2.2).
    HeldUntilFlush,
    /// Of Gecko's runs on flash those count that cover each flush once (GeckoFTL appendix C.1 takes the newest of each
    /// level).
    RunsCoverOnce,
    /// A flush says which reports it covers (GeckoFTL appendix C.2.1 goes by when the run was made). Pages that a
    /// synchronization made stale may not have been reported yet.
    FlushSaysWhatItHeard,
    /// Pages that have left a victim are reported before the victim is empty.
    LeavingReported,
    /// A block in which nothing is live is reported before it is erased.
    FreedReported,
    /// Suspect metadata pages that read well are not read again.
    MetadataReadOnce,
    /// A block is not opened before a page of the block log that reserves it is on flash.
    LoggedBeforeOpened,
    /// A block log is not believed if a page may have been there that is newer than all that can be read.
    NewestLogPageFound,
    /// A block log that is given up is marked bad from its oldest block on.
    OldestLogBlockFirst,
    /// A block log is written anew if a first page shows something else than its slice says and the block was not opened
    /// since.
    OutdatedLogWrittenAnew,

    // What a mapping log stands on.
    /// A page of a victim is stale where an entry in a run names another page of its logical page.
    RunsJudge,
    /// A parity page that a cut has torn is written again at the next mount.
    TornParityAgain,
    /// An entry of a run counts until its translation page is folded, and not longer.
    FoldedGivesWay,
    /// A page that only the cache named is reported when its trim is on flash.
    TrimmedAfterSpill,
    /// A recovery scans from the last spill on only if everything was reported that the spill brought.
    MarkAfterReports,
    /// A page of a run that cannot be read is made again from its group's parity (GeckoFTL's paper has no pages that go bad).
    LostPagesMadeAgain,
    /// A recovery reports again what merges have reported that no flush of Gecko covers.
    MergedReportedAgain,
    /// A recovery reports again what folds have reported that no flush of Gecko covers.
    FoldedReportedAgain,
    /// Blocks of replaced runs are held until a flush after everything was reported that replaced them.
    ReplacedRunsHeld,
    /// A merge leaves out what was folded only when the translation page is on flash.
    FoldsBeforeMerges,
    /// What a merge has left out as folded stays folded after a recovery.
    LeftOutStaysFolded,
    /// User pages that were programmed before the last spill are known by the runs, whatever their translation page says.
    SpilledIsKnown,

    // What recoveries that synchronize, and page validity logs, stand on.
    /// A translation page says from where on a recovery must scan for all entries that are dirty, its own included.
    DirtyInMark,
    /// Where a page validity log is to survive power cuts, each user page names the one that it made stale. (GeckoFTL
    /// section 5.3 does not mention entries that were not on flash.)
    PagesPointBack,
    /// The entries of trimmed pages name the pages that were, for the same reason.
    TrimsPointBack,
    /// A block with back pointers that are not in the log yet is not erased before the log is flushed.
    YoungFlushed,
    /// Cleaning a page validity log keeps pace with the insertions. (This is against GeckoFTL appendix E, which cleans
    /// until the log is short.)
    LogCleaningBounded,
    /// A page of the log that was cleaned counts until its entries that were kept are on flash.
    CleanedUntilKept,
    /// Entries of a page validity log that repeat a newer one are dropped where the log is too long. (GeckoFTL appendix
    /// E counts on there being none.)
    RepeatsDropped,

    // What extents in a µ-Tree stand on.
    /// The rest of an extent behind a part that is written over stays in the tree (µ-FTL section 4.2.3).
    RestBehindKept,

    // What log-block FTLs stand on.
    /// A map page is not written before the data block that it names is on flash (LAST++ section 2.2: a single atomic
    /// write).
    MapAfterData,
    /// No old block is given back before the map page that replaces it is written.
    OldBlocksAfterMap,
    /// A page of a log block counts only if it is younger than its logical block's merge (no paper has a merge
    /// version).
    MergeVersionCompared,
    /// A trim that was flushed stays one until the page that was written after it is certain: a recovery may write the
    /// table of trims while that page may still turn bad.
    TrimsOutliveSuspects,
    /// A map page that a recovery writes has the next one scan the log blocks that it holds as well: they count again
    /// if suspect pages turn bad.
    HeldLogBlocksScanned,
    /// A destination of a merge that no map page names is erased.
    OrphansErased,
    /// A log block becomes a data block only if its pages are the newest (against LAST++ section 4.3, which looks at
    /// the sequential log block alone).
    PartialMergesOfNewest,
    /// A page is in random log blocks or in sequential ones, never in both tables (LAST++ section 4.8 looks into one
    /// after the other).
    OneLogPlace,
    /// The last free block is the map's: trims and merges give blocks back only when a map page says so.
    LastBlockForMap,
    /// When a snapshot is written, no block is open any more. A later write begins a block, and shows there that it is
    /// younger.
    SnapshotClosesBlocks,
}

#[cfg(phelsuma_mutants)]
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

    /// Those of GeckoRec's that show when cuts follow each other, or in the long run.
    pub const OF_GECKO_REC_IN_THE_LONG_RUN: &'static [Self] = &[
        Self::SeqBeforeSynchronization,
        Self::CoveredVersionCompared,
        Self::CheckpointsTaken,
        Self::ScanFromWritten,
        Self::OldestOpenListed,
        Self::HeldUntilFlush,
        Self::RunsCoverOnce,
        Self::FlushSaysWhatItHeard,
    ];

    /// Those that a page validity log stands on besides when cuts follow each other. (That trims point back shows in
    /// the laboratory's soak, on drives of next to no room.)
    pub const OF_POINTING_BACK: &'static [Self] = &[Self::PagesPointBack, Self::FlushSaysWhatItHeard];

    /// Those that a demand-paged mapping with lazily identified pages stands on without any power cut.
    pub const OF_LAZINESS: &'static [Self] = &[
        Self::MigratedHasNoBeforeImage,
        Self::VictimClearsUip,
        Self::JudgedBeforeMoved,
        Self::EraseClearsBuffer,
        Self::FailuresReported,
    ];
}
