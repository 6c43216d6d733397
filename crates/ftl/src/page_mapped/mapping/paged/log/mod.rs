//! The mapping log: entries wait on flash, in sorted runs, until their translation page is rewritten for many of them.
//!
//! Without it a dirty entry waits in the cache, at some eight bytes of RAM, and its translation page is rewritten for the
//! few that wait with it. In a run an entry takes a few bits of RAM: its share of a directory and of a filter.
//!
//! ```text
//!  cache: dirty entries --spill--> run, run, run --fold--> translation pages
//!                                   \__merges__/            a hand goes round
//! ```
//!
//! - A *spill* writes all dirty entries as a run. They are clean then.
//! - Runs are merged as those of Logarithmic Gecko are ([`SortedRuns`]). The newest entry of a logical page counts.
//! - A *fold* rewrites one translation page with what the runs have of it. Folds go round the table, some after each
//!   spill, so that no more than a share of the table waits.
//!
//! **Runs and translation pages together are one table**, and a fold or a merge does not change what it says. So a power
//! cut may undo either, and a recovery need not find out which were done.
//!
//! **What is stale is reported when the record of it goes**: an entry that a newer one overrules in a merge, and what a
//! translation page or an older run named at a fold. Until then the entry that overrules it identifies it: a victim's
//! pages are looked up in the runs. A page is reported only if its spare area still shows that page. Its block may have
//! been collected, and written anew.
//!
//! **A report is in Gecko's buffer first.** So a merge, or a fold, counts as done for a recovery only if a later flush of
//! Gecko covers it. Until that flush no block of pages that it replaced is erased.

mod changes;
mod fold;
mod lookup;
mod needs;
mod restore;
mod shape;
mod spill;

pub(super) use lookup::InLog;
pub(super) use restore::RestoredLog;
pub(super) use shape::LogShape;

use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::mapping::paged::part_of;
use crate::page_mapped::mapping::{Place, place_of};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Buffer, MergeBuffers, Rule, Run, RunHeader, RunMerge, SortMerge, SortedRuns};
use crate::{Counter, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{CLOCK_MAX, Geometry, Kind, Nand, Page, SpareRead};

/// Bits of a run's filter for each entry: two of a hundred looks for a key that is not there find it.
const FILTER_BITS: u32 = 10;

/// An entry that gave way: the page that it named is stale, unless the block was written anew since.
#[derive(Clone, Copy, Debug, Preserve)]
pub(crate) struct Overruled {
    pub(crate) key: u32,
    pub(crate) page: Page,
    /// The page was programmed then, or before.
    pub(crate) until: u64,
}

impl Overruled {
    /// An entry of a run that gives way to a newer one, if it named a page that this does not name.
    #[inline]
    fn of(key: u32, word: u32, newer: u32, until: u64) -> Option<Self> {
        match place_of(word) {
            Place::At(page) if word != newer => Some(Self { key, page, until }),
            _ => None,
        }
    }
}

/// The newest entry of a key counts, if its translation page was not folded since.
#[derive(Clone, Debug, Preserve)]
struct Newest {
    /// Folds so far: the next one is of the translation page with this number, modulo those that there are.
    folds: u64,
    parts: u32,
    entries_per_page: u32,
    overruled: Vec<Overruled>,
    /// Entries that gave way.
    gone: u64,
    /// Entries that are there again: those of merges that were given up.
    back: u64,
    barriers: Barriers,
}

impl Newest {
    /// The number of the last fold of a translation page.
    #[inline]
    fn folded_last(&self, part: u32) -> Option<u64> {
        let rounds = self.folds.checked_sub(u64::from(part) + 1)? / u64::from(self.parts);
        Some(u64::from(part) + rounds * u64::from(self.parts))
    }
}

impl Rule for Newest {
    /// A run of a spill may be needed when a merge with it does not count.
    fn flushes_join(&self) -> bool {
        false
    }

    #[inline]
    fn counts(&self, key: u32, run: &RunHeader) -> bool {
        self.folded_last(part_of(key, self.entries_per_page)).is_none_or(|last| last < run.marks[0])
            || !self.barriers.keeps(Barrier::FoldedGivesWay)
    }

    #[inline]
    fn overruled(&mut self, key: u32, (word, run): (u32, &RunHeader), newer: u32, _by: Option<&RunHeader>) {
        self.gone += 1;
        self.overruled.extend(Overruled::of(key, word, newer, run.frozen));
    }

    fn given_up(&mut self, overruled: u64) {
        self.back += overruled;
    }

    /// What the merge leaves out was folded by now.
    fn marks_of_merge(&self, _newest: [u64; 2]) -> [u64; 2] {
        [self.folds, 0]
    }

    fn has_parity(&self) -> bool {
        true
    }

    fn filter_bits(&self) -> Option<u32> {
        Some(FILTER_BITS)
    }

    fn sealed(&self, header: &mut RunHeader, seq: u64) {
        header.marks[1] = Sealed { at: seq, folds: self.folds - header.marks[0] }.encode();
    }
}

/// The same at a fold, which reads the inputs of merges that are under way: they have reported some of what gives way.
struct Folding<'a> {
    newest: &'a mut Newest,
    merges: &'a [RunMerge],
}

impl Rule for Folding<'_> {
    #[inline]
    fn counts(&self, key: u32, run: &RunHeader) -> bool {
        self.newest.counts(key, run)
    }

    #[inline]
    fn overruled(&mut self, key: u32, older: (u32, &RunHeader), newer: u32, by: Option<&RunHeader>) {
        let has_reported = self.merges.iter().any(|merge| merge.has_overruled(key, older.1, by));
        if !has_reported || !self.newest.barriers.keeps(Barrier::MergesReportOnce) {
            self.newest.overruled(key, older, newer, by);
        }
    }
}

/// When a page of a run was programmed, which is its second mark.
#[derive(Clone, Copy, Debug)]
struct Sealed {
    /// In program order.
    at: u64,
    /// Folds since the run was begun: what these folded may be left out.
    folds: u64,
}

impl Sealed {
    /// Moments have 48 bits.
    fn encode(self) -> u64 {
        debug_assert!(self.folds < 1 << 16 && self.at <= CLOCK_MAX, "a merge of a run took 65,536 folds");
        self.at | self.folds.min(u64::from(u16::MAX)) << 48
    }

    fn decode(mark: u64) -> Self {
        Self { at: mark & CLOCK_MAX, folds: mark >> 48 }
    }
}

/// The log.
#[derive(Clone, Preserve)]
pub(super) struct MappingLog {
    sorted: SortedRuns,
    /// The entries being spilled.
    buffer: Buffer,
    rule: Newest,
    /// So many dirty entries are spilled.
    spill_at: u32,
    /// With so many dirty entries a spill is due, or a slice of a merge.
    due_at: u32,
    /// When the last spill gathered its entries, in program order.
    frozen: u64,
    /// From where on a recovery has to scan once everything is reported that the last spill brought.
    mark: Option<ScanFrom>,
    /// Entries that were not folded yet.
    waiting: u64,
    /// How many may be.
    limit: u64,
    /// Pages that trims have made stale which are in the cache alone: they are reported when the trims are on flash.
    trimmed: Vec<Overruled>,
    /// Whether trims are in the cache alone.
    has_trims: bool,
    /// A victim's logical pages that no run is known to have.
    asked: Vec<u32>,
    /// A victim's logical pages, and the newest entry that runs have of each.
    judged: Vec<(u32, Option<u32>)>,
    /// Whether each page that an overruled entry names is unreported. A recovery may report some twice, and so may a
    /// victim that is given up.
    is_sure: bool,
    tally: Tally,
}

#[derive(Clone, Copy, Default, Debug, Preserve)]
struct Tally {
    spills: u64,
    spilled: u64,
    folds: u64,
    folded: u64,
    looks: u64,
    look_reads: u64,
}

impl MappingLog {
    /// An empty log.
    pub(super) fn new(geometry: &Geometry, shape: LogShape, barriers: Barriers) -> Self {
        let tuning = shape.tuning(geometry);
        let spill_at = shape.spill_at(&tuning);
        Self {
            sorted: SortedRuns::new(geometry, tuning, Kind::MappingLog, barriers),
            buffer: Buffer::new(tuning.layout, barriers),
            rule: Newest {
                folds: 0,
                parts: shape.parts,
                entries_per_page: shape.entries_per_page,
                overruled: Vec::new(),
                gone: 0,
                back: 0,
                barriers,
            },
            spill_at,
            due_at: spill_at,
            frozen: 0,
            mark: None,
            waiting: 0,
            limit: shape.limit(),
            trimmed: Vec::new(),
            has_trims: false,
            asked: Vec::new(),
            judged: Vec::new(),
            is_sure: true,
            tally: Tally::default(),
        }
    }

    /// Adds the pages that entries which gave way named, as far as they are those pages still.
    fn report<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, before: &mut Vec<Page>) {
        one_a_page(&mut self.rule.overruled);
        io.warm(self.rule.overruled.iter().map(|overruled| overruled.page));
        for overruled in self.rule.overruled.drain(..) {
            if is_unreported(io, &overruled) {
                before.push(overruled.page);
            }
        }
    }

    /// Some pages that overruled entries name are reported.
    pub(super) fn be_unsure(&mut self) {
        self.is_sure = false;
    }

    pub(super) fn has_trims(&self) -> bool {
        self.has_trims
    }

    /// Most updates that no run has.
    pub(super) fn updates_in_doubt(&self, marks: u32) -> u64 {
        u64::from(self.spill_at) * (u64::from(marks) + 2)
    }

    /// User pages programmed until then are in runs, or overruled.
    pub(super) fn frozen(&self) -> u64 {
        self.frozen
    }

    pub(super) fn pages(&self) -> Vec<Page> {
        self.sorted.pages()
    }

    pub(super) fn ram(&self, ledger: &mut RamLedger) {
        let sorted = &self.sorted;
        let under_way = sorted.slices.under_way();
        let directories =
            || sorted.runs.iter().map(|run| &run.directory).chain(under_way.iter().map(RunMerge::directory));
        let entries: usize = directories().map(Vec::len).sum();
        let room: usize = directories().map(Vec::capacity).sum();
        let filters: u64 = sorted.runs.iter().filter_map(|run| run.filter.as_ref()).map(|filter| filter.bytes()).sum();
        let page_bytes = sorted.page.capacity() as u64;
        let parity = sorted.runs.iter().map(|run| &run.parity).chain(under_way.iter().map(RunMerge::parity));
        let parity: usize = parity.map(Vec::capacity).sum();
        ledger.structure("mapping.log_directories", entries as u64 * 8 + parity as u64 * 4);
        ledger.structure("mapping.log_filters", filters);
        ledger.structure("mapping.log_buffer", self.buffer.bytes());
        let merges: u64 = under_way.iter().map(RunMerge::bytes).sum();
        ledger.structure("mapping.log_merge_buffers", sorted.merging.bytes() + sorted.outputs_bytes() + merges);
        ledger
            .index("index.log_directories_room", ((room - entries) * 8 + sorted.runs.len() * size_of::<Run>()) as u64);
        let lists = self.trimmed.capacity() * size_of::<Overruled>()
            + self.asked.capacity() * 4
            + self.judged.capacity() * size_of::<(u32, Option<u32>)>()
            + self.rule.overruled.capacity() * size_of::<Overruled>();
        ledger.index("buffer.log_lists", page_bytes + lists as u64);
    }

    pub(super) fn counters(&self, out: &mut Vec<Counter>) {
        out.extend([
            Counter::sum("log_spills", self.tally.spills),
            Counter::sum("log_entries_spilled", self.tally.spilled),
            Counter::sum("log_folds", self.tally.folds),
            Counter::sum("log_entries_folded", self.tally.folded),
            Counter::sum("log_merges", self.sorted.merges),
            Counter::sum("log_looks", self.tally.looks),
            Counter::sum("log_look_reads", self.tally.look_reads),
            Counter::level("log_runs", self.sorted.runs.len() as u64),
            Counter::level("log_pages", self.sorted.runs.iter().map(|run| run.directory.len() as u64).sum()),
            Counter::level("log_entries_waiting", self.waiting),
        ]);
    }
}

/// A look at entries, which stay: `overruled` is shown those that others overrule.
struct Look<'a, F> {
    /// What says which entries count; all do without.
    newest: Option<&'a Newest>,
    /// Those under way have reported what they have overruled.
    merges: &'a [RunMerge],
    overruled: F,
}

impl<F: FnMut(Overruled)> Rule for Look<'_, F> {
    #[inline]
    fn counts(&self, key: u32, run: &RunHeader) -> bool {
        self.newest.is_none_or(|newest| newest.counts(key, run))
    }

    #[inline]
    fn overruled(&mut self, key: u32, (word, run): (u32, &RunHeader), newer: u32, by: Option<&RunHeader>) {
        if !self.merges.iter().any(|merge| merge.has_overruled(key, run, by)) {
            Overruled::of(key, word, newer, run.frozen).into_iter().for_each(&mut self.overruled);
        }
    }
}

/// Where a look at the runs has come to that goes on with higher logical pages, while nothing else reads them.
pub(crate) type LookedUpTo = Option<SortMerge>;

/// Shows the entries of `runs` for these logical pages, in their order: those that overrule others. Whether some could
/// not be read.
fn look<N: Nand>(
    (merging, runs): (&mut MergeBuffers, &[Run]),
    io: &mut MetaIo<'_, N>,
    (keys, to): (Range<u32>, &mut LookedUpTo),
    rule: &mut impl Rule,
    mut entry: impl FnMut(u32, u32),
) -> bool {
    let sort = to.get_or_insert_with(|| merging.begin_at(io, runs, keys.start));
    while let Some((key, word)) = merging.take(io, runs, (sort, keys.end), rule) {
        if let Some(word) = word.filter(|_| key >= keys.start) {
            entry(key, word);
        }
    }
    sort.lost
}

/// Keeps one of those that name the same page, the last: a page is reported once.
fn one_a_page(overruled: &mut Vec<Overruled>) {
    overruled.sort_unstable_by_key(|overruled| (overruled.page, core::cmp::Reverse(overruled.until)));
    overruled.dedup_by_key(|overruled| overruled.page);
}

/// Whether the page that an entry named which gave way is that page still, and counts as live.
fn is_unreported<N: Nand>(io: &mut MetaIo<'_, N>, overruled: &Overruled) -> bool {
    let Overruled { key, page, until } = *overruled;
    if !io.is_in_use(page) {
        return false;
    }
    if !io.keeps(Barrier::BeforeImageIsOfThePage) {
        return true;
    }
    match io.read_spare(page) {
        SpareRead::Written(spare) => spare.kind == Kind::User && spare.key == key && spare.seq <= until,
        _ => false,
    }
}
