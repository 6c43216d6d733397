//! Every mutant, with the experiments that catch it: one for each recovery that keeps the rule by code of its own. And
//! those that no experiment of the laboratory catches.

use super::trap::{Drive, Trap};
use phelsuma_drive::lab::Workload;
use phelsuma_ftl::Barrier;

/// A drive of 256 pages, three quarters full.
const SMALL: Drive = Drive {
    ftl: "page",
    set: &[],
    page_bytes: 512,
    pages_per_block: 4,
    blocks: 64,
    dies: (1, 1),
    cache: 16,
    full: 75,
    seed: 1,
};
/// The same of four dies on two channels.
const DIES: Drive = Drive { pages_per_block: 8, blocks: 128, dies: (2, 2), ..SMALL };
/// Four dies with next to no room.
const CROWDED_DIES: Drive = Drive { blocks: 64, pages_per_block: 4, full: 99, ..DIES };
/// A drive of blocks with 32 pages.
const LARGER: Drive = Drive { pages_per_block: 32, blocks: 128, cache: 64, full: 60, ..SMALL };
/// A drive with room for a µ-Tree, whose bitmap cache is soon full.
const TREE: Drive = Drive { set: &[("validity.bitmap-cache", "3")], pages_per_block: 16, ..SMALL };

/// A cache with room for a few condensed pages of 128 entries, of 400 and more.
const CONDENSING: Drive = Drive { blocks: 150, cache: 300, ..SMALL };

fn soak(ftl: &'static str) -> Trap {
    Trap::Soak { drive: Drive { ftl, ..SMALL }, decay: 0, bad: 0 }
}

/// On this drive instead.
fn soak_on(drive: Drive, ftl: &'static str) -> Trap {
    Trap::Soak { drive: Drive { ftl, ..drive }, decay: 0, bad: 0 }
}

/// Seeds are those with which the finding is soon shortened.
fn decaying(ftl: &'static str, seed: u64) -> Trap {
    Trap::Soak { drive: Drive { ftl, seed, ..SMALL }, decay: 10, bad: 0 }
}

/// A sweep of GeckoFTL.
fn sweep(workload: Workload, writes: u32, points: u32) -> Trap {
    let drive = Drive { ftl: "geckoftl", ..LARGER };
    Trap::Sweep { drive, workload, writes, points, faults: &[], failing: 0 }
}

/// Who is caught by what.
pub(crate) fn traps() -> Vec<(Barrier, Trap)> {
    use Barrier as B;
    let fails = |drive, bad| Trap::Soak { drive, decay: 0, bad };
    // A program fails now and then, and its remains lie there for long.
    let failing = Trap::Sweep {
        drive: Drive { ftl: "geckoftl", pages_per_block: 16, blocks: 256, full: 55, ..LARGER },
        workload: Workload::Mixed,
        writes: 6_000,
        points: 4,
        faults: &[],
        failing: 8,
    };
    // A stream of its own for moved pages: hardly any page that was overwritten in order is, and its block stays open.
    let open_for_long = Trap::Sweep {
        drive: Drive { ftl: "geckoftl", set: &[("placement", "host-gc")], ..LARGER },
        workload: Workload::Slow,
        writes: 400,
        points: 6,
        faults: &[],
        failing: 0,
    };
    // Pages so large that the log is flushed seldom, and a die that runs out of blocks while others have many: there a
    // block is used again soon after it was collected.
    let one_die_short = Trap::Sweep {
        drive: Drive {
            ftl: "ib-ftl",
            page_bytes: 4096,
            pages_per_block: 4,
            blocks: 4096,
            dies: (2, 2),
            cache: 512,
            full: 70,
            ..SMALL
        },
        workload: Workload::Hot,
        writes: 9_000,
        points: 40,
        faults: &["not-started"],
        failing: 0,
    };
    let lost = |points| Trap::Sweep {
        drive: Drive { ftl: "geckoftl", ..LARGER },
        workload: Workload::Trims,
        writes: 150,
        points,
        faults: &["metadata-decays"],
        failing: 0,
    };
    // All is trimmed, the page of trims goes bad, and what comes back stands in every block.
    let without_trims = Trap::Sweep {
        drive: Drive { ftl: "dual-greedy", blocks: 64, seed: 2, ..LARGER },
        workload: Workload::Wiped,
        writes: 300,
        points: 500,
        faults: &["metadata-decays"],
        failing: 0,
    };
    let unreadable_on_dies = Trap::Sweep {
        drive: Drive { ftl: "dftl", dies: (1, 4), cache: 256, full: 50, ..LARGER },
        workload: Workload::Mixed,
        writes: 1,
        points: 150,
        faults: &["metadata-decays"],
        failing: 0,
    };
    let logged = Drive { ftl: "geckoftl", set: &[("mapping.log", "100")], full: 40, ..LARGER };
    let log = |workload, points| Trap::Sweep { drive: logged, workload, writes: 500, points, faults: &[], failing: 0 };
    let in_slices = Trap::Sweep {
        drive: Drive { ftl: "geckoftl", set: &[("collection", "slices")], ..LARGER },
        workload: Workload::Hot,
        writes: 1_000,
        points: 8,
        faults: &[],
        failing: 0,
    };
    // A page is spilled, and leaves the cache, between two slices of the collection of its block.
    let spilled_in_slices = Trap::Sweep {
        drive: Drive {
            set: &[("collection", "slices"), ("mapping.log", "100")],
            pages_per_block: 64,
            blocks: 64,
            cache: 32,
            full: 27,
            ..logged
        },
        workload: Workload::Restarts,
        writes: 1_500,
        points: 1,
        faults: &[],
        failing: 0,
    };
    vec![
        (B::StaleLeavesSlices, in_slices),
        (B::SpillsJudge, spilled_in_slices),
        (B::BlankKept, without_trims),
        (B::SilentLookedUp, decaying("ib-ftl", 1)),
        (B::SilentLookedUp, decaying("geckoftl", 1)),
        (B::LostVersionsLookedFor, lost(200)),
        (B::DamageWritten, lost(200)),
        (B::DamagedGeckoDoubted, lost(1_000)),
        (B::CopiesBeforeErase, soak("page")),
        (B::CopiesBeforeErase, soak("geckoftl")),
        (B::CopiesBeforeErase, soak("lazyftl")),
        (B::CopiesBeforeErase, soak("ib-ftl")),
        (B::TrimsBeforeReuse, soak("page")),
        (B::TrimsAtFlush, soak("page")),
        (B::SuspectsVerified, soak("page")),
        (B::SuspectsVerified, soak("geckoftl")),
        (B::SuspectsVerified, soak("lazyftl")),
        (B::SuspectsVerified, soak("ib-ftl")),
        (B::SuspectsCopied, soak("page")),
        (B::SuspectsCopied, soak("geckoftl")),
        (B::SuspectsCopied, soak("lazyftl")),
        (B::SuspectsCopied, soak("ib-ftl")),
        (B::FallbacksHeld, soak("page")),
        (B::FallbacksHeld, soak("geckoftl")),
        (B::FallbacksHeld, soak("lazyftl")),
        (B::FallbacksHeld, soak_on(Drive { seed: 5, ..CROWDED_DIES }, "ib-ftl")),
        (B::EraseBeforeUse, soak("page")),
        (B::EraseBeforeUse, soak("geckoftl")),
        (B::EraseBeforeUse, soak("lazyftl")),
        (B::EraseBeforeUse, soak("ib-ftl")),
        (B::VersionOrder, soak("page")),
        (B::VersionOrder, soak("lazyftl")),
        (B::VersionOrder, soak("ib-ftl")),
        (B::OldLastPagesVerified, soak("page")),
        (B::SuspectsReadOnce, soak("page")),
        (B::TombstoneVersion, soak("page")),
        (B::NewestTombstones, soak("page")),
        (B::TombstonesAfterRewrites, soak_on(Drive { full: 95, seed: 12, ..CROWDED_DIES }, "page")),
        (B::ErasedWhenSafe, soak_on(CROWDED_DIES, "fifo")),
        (B::ReserveKept, soak("page")),
        (B::EmptiestInEmergency, soak_on(Drive { full: 99, ..SMALL }, "fifo")),
        (B::FailedWrittenAgain, fails(SMALL, 30)),
        (B::RetiredWhenSafe, fails(Drive { seed: 20, ..DIES }, 10)),
        (B::HostDataVerified, decaying("page", 1)),
        (B::MetadataVerified, decaying("dftl", 1)),
        (B::BatterySaves, soak("dftl")),
        (B::BatterySaves, soak("mu-ftl-pvb")),
        (B::DirtyLimitKept, soak("lazyftl")),
        (B::UnreadableNamed, unreadable_on_dies),
        (B::SealIsYoungest, decaying("dftl", 2)),
        (B::DamageNotSealed, decaying("dftl", 5)),
        (B::NewestTranslationPages, decaying("dftl", 2)),
        (B::NewestTranslationPages, soak("geckoftl")),
        (B::MigratedHasNoBeforeImage, soak("lazyftl")),
        (B::VictimClearsUip, sweep(Workload::Reads, 1_000, 8)),
        (B::UipChecked, soak("geckoftl")),
        (B::JudgedBeforeMoved, sweep(Workload::Reads, 1_000, 8)),
        (B::FailuresReported, failing),
        (B::EntriesAfterPages, soak_on(DIES, "lazyftl")),
        (B::CondensedFollowsFlash, soak_on(CONDENSING, "s-ftl")),
        (B::CondensedFollowsFlash, soak_on(CONDENSING, "leaftl")),
        (B::CondensedFollowsFlash, soak_on(CONDENSING, "learnedftl")),
        (B::ErasesReported, soak("geckoftl")),
        (B::ErasesReported, soak("mu-ftl-pvb")),
        (B::ErasesReported, soak("ib-ftl")),
        (B::EraseFlag, soak("geckoftl")),
        (B::EraseOverrulesInMerges, soak("geckoftl")),
        (B::FlagsKept, sweep(Workload::Reads, 1_000, 8)),
        (B::ReportsAfterReplacements, soak_on(DIES, "geckoftl")),
        (B::SynchronizedIsKnown, soak("geckoftl")),
        (B::SynchronizedIsKnown, soak("lazyftl")),
        (B::SynchronizedIsKnown, soak("ib-ftl")),
        (B::SeqBeforeSynchronization, soak("geckoftl")),
        (B::CoveredVersionCompared, soak("geckoftl")),
        (B::UnsureLookedInto, soak("geckoftl")),
        (B::OlderCopiesReported, soak("geckoftl")),
        (B::CheckpointsTaken, soak("geckoftl")),
        (B::ScanFromWritten, soak("geckoftl")),
        (B::DirtyInRuns, soak("geckoftl")),
        (B::OldestOpenListed, open_for_long),
        (B::RunsCoverOnce, sweep(Workload::Restarts, 400, 30)),
        (B::FlushSaysWhatItHeard, soak_on(Drive { pages_per_block: 8, blocks: 128, ..SMALL }, "ib-ftl")),
        (B::LeavingReported, soak("ib-ftl")),
        (B::FreedReported, soak("geckoftl")),
        (B::MetadataReadOnce, soak("geckoftl")),
        (B::MetadataReadOnce, soak("lazyftl")),
        (B::MetadataReadOnce, soak("ib-ftl")),
        (B::RunsJudge, log(Workload::Mixed, 2)),
        (B::FoldedGivesWay, log(Workload::Mixed, 2)),
        (B::MergedReportedAgain, log(Workload::Mixed, 20)),
        (B::FoldedReportedAgain, log(Workload::Mixed, 20)),
        (B::SpilledIsKnown, log(Workload::Trims, 10)),
        (B::DirtyInMark, soak("lazyftl")),
        (B::PagesPointBack, soak("ib-ftl")),
        (B::TrimsPointBack, soak("ib-ftl")),
        (B::YoungFlushed, one_die_short),
        // Its bitmaps are in a tree, which has needs of its own.
        (B::ErasesReported, soak_on(TREE, "mu-ftl")),
        (B::RestBehindKept, soak_on(TREE, "mu-ftl")),
        // A recovery from translation pages alone.
        (B::EntriesBeforeAcknowledged, soak("dftl-page")),
        (B::EntriesBeforeAcknowledged, soak("dftl-req")),
        (B::MovedFlushed, soak("dftl-timeout")),
        (B::SuspectsVerified, soak("dftl-req")),
        (B::SuspectsCopied, soak("dftl-req")),
        (B::FallbacksHeld, soak("dftl-req")),
        (B::CopiesBeforeErase, soak("dftl-page")),
        (B::EntriesAfterPages, soak_on(DIES, "dftl-req")),
        // Log-block FTLs keep many rules of others by code of their own, and these besides.
        (B::SuspectsVerified, soak("bast")),
        (B::SuspectsCopied, soak("bast")),
        (B::SuspectsReadOnce, soak("fast")),
        (B::FallbacksHeld, soak("fast")),
        (B::OldLastPagesVerified, soak("fast")),
        (B::EraseBeforeUse, soak("bast")),
        (B::TrimsAtFlush, soak("bast")),
        (B::TrimsBeforeReuse, soak("fast")),
        (B::NewestTranslationPages, soak("bast")),
        (B::MapAfterData, soak_on(DIES, "bast")),
        // The old block is seldom the next one to be taken.
        (B::OldBlocksAfterMap, soak_on(CROWDED_DIES, "block")),
        (B::MergeVersionCompared, soak("fast")),
        (B::OrphansErased, soak("bast")),
        (B::PartialMergesOfNewest, soak("fast")),
        // SUPERBLOCK has a map and a recovery of its own.
        (B::SuspectsVerified, soak("superblock")),
        (B::SuspectsCopied, soak("superblock")),
        (B::SuspectsReadOnce, soak("superblock")),
        (B::OldLastPagesVerified, soak("superblock")),
        (B::EraseBeforeUse, soak("superblock")),
        (B::NewestTranslationPages, soak("superblock")),
        (B::MapAfterData, soak_on(DIES, "superblock")),
    ]
}

/// Caught by a test that `make mutants` runs as well: what goes wrong takes more than the laboratory has workloads for.
pub(crate) const ELSEWHERE: &[(Barrier, &str)] = &[
    (Barrier::RequestFlushedBeforeReuse, "crates/ftl/tests/it/integrity.rs"),
    (Barrier::StaleEntriesGivenUp, "crates/ftl/tests/it/integrity.rs"),
    (Barrier::LostWrittenThrough, "crates/ftl/tests/it/unreadable.rs"),
    (Barrier::HeldUntilFlush, "crates/ftl/tests/it/recovery_corners.rs"),
    (Barrier::EraseClearsBuffer, "crates/ftl/tests/it/corners.rs"),
    (Barrier::MetadataBounded, "crates/ftl/tests/it/corners.rs"),
    (Barrier::LogCleaningBounded, "crates/ftl/tests/it/corners.rs"),
    (Barrier::HeldLogBlocksScanned, "crates/ftl/tests/it/merges.rs"),
    (Barrier::OneLogPlace, "crates/ftl/tests/it/last.rs"),
    (Barrier::SnapshotClosesBlocks, "crates/ftl/tests/it/last_snapshot.rs"),
    (Barrier::LastBlockForMap, "crates/ftl/tests/it/wear.rs"),
    (Barrier::MergesReportOnce, "crates/ftl/tests/it/mapping_log.rs"),
    (Barrier::LostPagesMadeAgain, "crates/ftl/tests/it/mapping_log.rs"),
    (Barrier::OpenBounded, "crates/ftl/tests/it/open_blocks.rs"),
    (Barrier::RepeatsDropped, "crates/ftl/src/page_mapped/validity/page_validity_log/needs.rs"),
    (Barrier::LoggedBeforeOpened, "crates/ftl/tests/it/block_log.rs"),
    (Barrier::NewestLogPageFound, "crates/ftl/tests/it/block_log.rs"),
    (Barrier::OldestLogBlockFirst, "crates/ftl/tests/it/block_log.rs"),
    (Barrier::TornParityAgain, "crates/ftl/tests/it/mapping_log.rs"),
    (Barrier::OutdatedLogWrittenAnew, "crates/drive/tests/it/crash_compositions.rs"),
    (Barrier::CutEraseDoubted, "crates/drive/tests/it/defects.rs"),
    (Barrier::OlderVersionsChecked, "crates/drive/tests/it/defects.rs"),
];

/// Noticed by no experiment so far, and why that may be.
pub(crate) const UNNOTICED: &[(Barrier, &str)] = &[
    (
        Barrier::TrimsBeforeJudged,
        "two lives of a long soak noticed it (192 blocks of 64 pages, `mapping.log=1`, 16 entries of cache); no experiment is as long",
    ),
    (
        Barrier::TrimmedAfterSpill,
        "a page that is reported too early is named by no entry, and the trim that a cut undoes is seldom of such a page",
    ),
    (
        Barrier::MarkAfterReports,
        "sweeps noticed it until pages of trims were reported as long as they are those pages, and have not since",
    ),
    (Barrier::ReplacedRunsHeld, "a block that is let go too early is the last one to be opened"),
    (
        Barrier::FoldsBeforeMerges,
        "a fold and the page of a merge that leaves out its entries are seldom in flight together",
    ),
    (
        Barrier::LeftOutStaysFolded,
        "a sweep of 40 cuts of a workload of 24,000 operations notices it, which takes too long for every run",
    ),
    (
        Barrier::PartFilledCopied,
        "recovery reads the last page of every block in full each time, and what may have been in flight is copied anyway",
    ),
    (
        Barrier::CopiesLabelled,
        "what an interrupted recovery has not copied is the last page of a part-filled block, and copied as such",
    ),
    (
        Barrier::TrimsOutliveSuspects,
        "a test noticed it until recoveries had the next one scan the log blocks that they hold, and has not since",
    ),
    (
        Barrier::ClocksSkip,
        "no fault of the simulated chips makes a page readable again that was not when it was looked for",
    ),
    (
        Barrier::WindowKept,
        "last pages of blocks are read in full wherever they stand in program order, and copied where the block has room",
    ),
    (
        Barrier::MovedVerified,
        "soaks with decay find nothing without it since recoveries look for entries that name what is gone",
    ),
    (Barrier::OwnerChecked, "a second line: no table named another's page in any experiment"),
    (Barrier::BatteryFindsRoom, "the reserve is rarely so far used up that nothing more can be collected"),
    (Barrier::BeforeImageIsOfThePage, "the moment of the synchronization tells nearly all that the logical page would"),
    (Barrier::CleanedUntilKept, "what cleaning keeps stands on the very next page of the log, in nearly every case"),
];
