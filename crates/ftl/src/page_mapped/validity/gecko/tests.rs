//! Logarithmic Gecko alone: the paper's worked examples (figures 4 and 5), and a model.

use super::LogarithmicGecko;
use crate::barriers::Barriers;
use crate::gecko_part::{GeckoMerge, GeckoPages};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::runs::{Combined, Pace, Run, RunPage, SortedRuns, Tuning, read_page};
use crate::page_mapped::validity::{Answer, Validity, ValidityScan};
use crate::{Config, Preset};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Geometry, Kind, Page, Purpose, SimNand, SpareRead, Time, Timing};

const MULTI_WAY: (GeckoMerge, GeckoPages) = (GeckoMerge::MultiWay, GeckoPages::Listed);
const TWO_WAY: (GeckoMerge, GeckoPages) = (GeckoMerge::TwoWay, GeckoPages::Listed);

/// A Gecko beside an FTL, to which the flash belongs.
struct Alone {
    nand: SimNand,
    ftl: PageMapped,
    gecko: LogarithmicGecko,
}

impl Alone {
    fn new(geometry: Geometry, partitions: u32, runs: (GeckoMerge, GeckoPages)) -> Self {
        let mut nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
        let mut composition = Preset::named("geckoftl").unwrap().composition;
        composition.set("gecko.partitions", "1").unwrap();
        let composition = composition.page_mapped().unwrap();
        let config = Config::new("geckoftl", composition, geometry.pages() as u32 / 4, 1);
        let (ftl, _) = PageMapped::format(&mut nand, &config, Time::ZERO).unwrap();
        let tuning = Tuning::new(&geometry, (2, partitions), runs).unwrap();
        Self { nand, ftl, gecko: LogarithmicGecko::new(&geometry, tuning, Barriers::default()) }
    }

    fn geometry(&self) -> Geometry {
        *self.ftl.blocks.geometry()
    }

    fn with<R>(&mut self, act: impl FnOnce(&mut LogarithmicGecko, &mut MetaIo<'_, SimNand>) -> R) -> R {
        let PageMapped { blocks, durability, streams, merge_pages, .. } = &mut self.ftl;
        let lent = (blocks, durability);
        let io = MetaIo::new(&mut self.nand, lent, streams.validity, Purpose::Validity, Time::ZERO);
        act(&mut self.gecko, &mut io.with_merge_pages(merge_pages))
    }

    fn stale(&mut self, block: u32, index: u32) {
        let page = self.geometry().page(Block(block), index);
        self.with(|gecko, io| gecko.invalidate(io, page)).unwrap();
    }

    fn erased(&mut self, block: u32) {
        self.with(|gecko, io| gecko.erased(io, Block(block))).unwrap();
    }

    /// The pages that a query finds to be stale.
    fn stale_in(&mut self, block: u32) -> Vec<u16> {
        let mut live = Vec::new();
        let answer = self.with(|gecko, io| gecko.live_in(io, Block(block), &mut live));
        assert!(answer == Answer::NotKnownStale, "a page of a run was lost");
        let all = 0..self.geometry().pages_per_block() as u16;
        all.filter(|index| live.binary_search(index).is_err()).collect()
    }

    /// The blocks of a run's pages, page by page.
    fn keys(&mut self, run: usize) -> Vec<Vec<u32>> {
        self.with(|gecko, io| {
            let (run, layout) = (&gecko.sorted.runs[run], gecko.sorted.tuning.layout);
            let of_page = |place| {
                let mut bytes = vec![0; io.geometry().page_bytes() as usize];
                assert!(read_page(io, (Kind::Gecko, layout), run, place, &mut bytes));
                let page = RunPage::new(&layout, &bytes);
                (0..page.entries()).map(|index| page.key(index)).collect()
            };
            (0..run.directory.len()).map(of_page).collect()
        })
    }
}

/// Three entries a page, each a block's whole bitmap, as in the figures.
fn three_a_page() -> Alone {
    let alone = Alone::new(Geometry::new(512, 1024, 128, 1, 1).unwrap(), 1, MULTI_WAY);
    assert_eq!(alone.gecko.buffer_entries(), 3);
    alone
}

/// Entries that are read from flash may be in any order, behind checksums that fit.
#[test]
fn entries_of_a_run_that_do_not_ascend_are_passed_by() {
    let mut gecko = three_a_page();
    [10, 40, 60].into_iter().for_each(|block| gecko.stale(block, 1));
    gecko.with(|gecko, io| {
        // The key of a page that is the first one of its run, and the last.
        let only = 1 << 31;
        let older = gecko.sorted.runs[0].clone();
        let newer = &mut gecko.sorted.runs[0];
        let mut bytes = io.read(newer.directory[0].page, Kind::Gecko, only).unwrap().to_vec();
        for (at, key) in [40u32, 10, 40].into_iter().enumerate() {
            bytes[48 + 4 * at..][..4].copy_from_slice(&key.to_le_bytes());
        }
        let version = io.next_version();
        newer.directory[0].page = io.append(Kind::Gecko, only, version, &bytes).unwrap();
        gecko.sorted.runs.push(older);
        let (mut keys, SortedRuns { merging, runs, .. }) = (Vec::new(), &mut gecko.sorted);
        let (_, lost) = merging.visit(io, runs, &mut Combined, |key, _, _| keys.push(key));
        assert_eq!((keys, lost), (vec![10, 40, 60], true));
    });
}

#[test]
fn figure_4_the_buffer_is_merged_with_the_run_at_level_0() {
    let (q, x) = (40, 60);
    let mut gecko = three_a_page();
    // The run: before Q, Q and X.
    gecko.stale(q, 1);
    gecko.stale(x, 1);
    gecko.stale(10, 7);
    assert_eq!(gecko.keys(0), [[10, q, x]]);
    assert_eq!(gecko.gecko.sorted.runs[0].header.level, 0);
    // The buffer: X was erased, and Q has another stale page.
    gecko.erased(x);
    gecko.stale(x, 5);
    gecko.stale(q, 2);
    gecko.stale(80, 3);
    assert_eq!(gecko.keys(0), [vec![10, q, x], vec![80]]);
    assert_eq!(
        (gecko.gecko.sorted.runs.len(), gecko.gecko.sorted.runs[0].header.level),
        (1, 1),
        "two pages are of level 1"
    );
    assert_eq!(gecko.stale_in(x), [5], "the older entry is discarded");
    assert_eq!(gecko.stale_in(q), [1, 2], "the entries are merged");
}

#[test]
fn figure_5_a_query_for_key_40_ends_at_an_erase_flag() {
    let mut gecko = three_a_page();
    // Level 2, four pages; key 40 among them.
    for block in [40, 1, 2, 3, 4, 5, 6, 7, 8, 50, 51, 52] {
        gecko.stale(block, 9);
    }
    // Level 1, two pages: 40 was erased.
    [20, 21, 22].iter().for_each(|block| gecko.stale(*block, 1));
    gecko.erased(40);
    gecko.stale(40, 3);
    gecko.stale(60, 1);
    gecko.stale(61, 1);
    // Level 0, and the buffer.
    [40, 70, 71].iter().for_each(|block| gecko.stale(*block, 2));
    gecko.stale(40, 1);
    let levels: Vec<u8> = gecko.gecko.sorted.runs.iter().map(|run| run.header.level).collect();
    assert_eq!(levels, [0, 1, 2]);
    let reads = gecko.gecko.tally.query_reads;
    assert_eq!(gecko.stale_in(40), [1, 2, 3]);
    assert_eq!(gecko.gecko.tally.query_reads - reads, 2, "the run of level 2 is not read");
}

/// Flushes, first and last, and the pages of the run that covers them.
type Covered = Vec<((u64, u64), Vec<Page>)>;

impl Alone {
    /// What a recovery now would find: the pages of each run, newest first, and the flushes that it covers.
    fn found(&mut self) -> Covered {
        let (is_damaged, covered, _) = self.found_with(None);
        assert!(!is_damaged, "flushes are missing");
        covered
    }

    /// The same where a page has gone bad that was programmed before this, and whether flushes may be missing.
    fn found_with(&mut self, gone_bad: Option<u64>) -> (bool, Covered, Vec<(u32, u16)>) {
        let (geometry, tuning) = (self.geometry(), self.gecko.sorted.tuning);
        self.with(|_, io| {
            let mut scan = ValidityScan::default();
            for block in 0..geometry.blocks() {
                for index in 0..geometry.pages_per_block() {
                    let page = geometry.page(Block(block), index);
                    match io.read_spare(page) {
                        SpareRead::Written(spare) if spare.kind == Kind::Gecko => scan.note(page, &spare),
                        SpareRead::Written(_) => {}
                        _ => break,
                    }
                }
            }
            let mut recovered = LogarithmicGecko::new(&geometry, tuning, Barriers::default());
            scan.gone_bad = gone_bad;
            recovered.restore(io, &scan);
            let covered = recovered.covered();
            (recovered.sorted.damaged, covered, recovered.stale_in_runs(io))
        })
    }
}

impl LogarithmicGecko {
    pub(in crate::page_mapped) fn sorted(&self) -> &SortedRuns {
        &self.sorted
    }

    /// How many pages of each block are stale in its runs, as step 5 of GeckoRec counts them. It has found those pages one by one
    /// as well.
    fn stale_in_runs(&mut self, io: &mut MetaIo<'_, SimNand>) -> Vec<(u32, u16)> {
        let (geometry, mut counts, mut pages) = (*io.geometry(), Vec::new(), Vec::new());
        self.stale_pages(io, |_| false, |page| pages.push(page));
        pages.sort_unstable();
        let known = self.block_states(io, |_| false, &pages, |block, state| counts.push((block.0, state.stale)));
        assert!(known.into_iter().all(|is_known| is_known), "a page is stale in one count alone");
        let of = |block: u32| pages.iter().filter(|page| geometry.block_of(**page) == Block(block)).count();
        counts.retain(|(_, stale)| *stale > 0);
        assert!(counts.iter().all(|(block, stale)| of(*block) == usize::from(*stale)));
        counts
    }

    fn covered(&self) -> Covered {
        let pages = |run: &Run| run.directory.iter().map(|entry| entry.page).collect();
        self.sorted.runs.iter().map(|run| (run.header.flushes, pages(run))).collect()
    }
}

#[test]
fn a_page_that_has_gone_bad_behind_the_newest_run_may_have_been_a_run() {
    let mut gecko = three_a_page();
    (0..30).for_each(|block| gecko.stale(block, 1));
    assert!(!gecko.found_with(Some(1)).0, "a page from before the runs is none of them");
    assert!(gecko.found_with(Some(u64::MAX)).0);
}

/// Whenever runs change a recovery would find these, whatever the order in which merges began and ended.
#[test]
fn a_recovery_finds_the_runs_whichever_merge_ended_last() {
    let dense = (GeckoMerge::MultiWay, GeckoPages::Dense);
    for ((merge, pages), entries_a_slice) in [(TWO_WAY, 1), (TWO_WAY, 11), (MULTI_WAY, 11), (dense, 11)] {
        let mut gecko = Alone::new(Geometry::new(512, 32, 256, 1, 1).unwrap(), 32, (merge, pages));
        gecko.gecko.sorted.slices.pace = Pace { entries_a_slice, slices_a_flush: 1 };
        let (mut before, mut behind) = (Vec::new(), 0);
        for step in 0..12_000u32 {
            // All pages, one after another, in an order of no pattern.
            let page = step.wrapping_mul(2_654_435_761) >> 19;
            gecko.stale(page / 32, page % 32);
            let now = gecko.gecko.covered();
            if now != before {
                behind += usize::from(gecko.gecko.sorted.runs.iter().any(|run| run.header.behind));
                assert_eq!(gecko.found(), now, "{merge:?}, step {step}");
                before = now;
            }
        }
        assert!(merge == GeckoMerge::MultiWay || behind > 0, "no merge was begun behind newer runs");
    }
}

/// Every query while merges are at all their places comes to what a table in RAM says.
#[test]
fn queries_are_those_of_a_table_while_merges_are_under_way() {
    let dense = [GeckoMerge::MultiWay, GeckoMerge::TwoWay].map(|merge| (merge, GeckoPages::Dense));
    for (merge, pages) in [MULTI_WAY, TWO_WAY].into_iter().chain(dense) {
        let blocks = 1024;
        let geometry = Geometry::new(512, 32, u64::from(blocks), 1, 1).unwrap();
        let mut gecko = Alone::new(geometry, 16, (merge, pages));
        // Slower than usual: long merges are under way while shorter ones come.
        gecko.gecko.sorted.slices.pace = Pace { entries_a_slice: 30, slices_a_flush: 1 };
        let mut table: Vec<BTreeSet<u16>> = vec![BTreeSet::new(); blocks as usize];
        let mut random = 1u64;
        let mut below = |n: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as u32 % n
        };
        let (mut under_way, mut most_pages) = (0, 0);
        for step in 0..30_000 {
            // Some blocks are erased again and again, and there is a time when many are.
            let block = if below(4) == 0 { below(16) } else { below(blocks) };
            if below(if step % 24_000 < 4_000 { 2 } else { 20 }) == 0 {
                gecko.erased(block);
                table[block as usize].clear();
            } else {
                let index = below(32);
                gecko.stale(block, index);
                table[block as usize].insert(index as u16);
            }
            if step % 16 == 0 {
                let block = if below(2) == 0 { block } else { below(blocks) };
                let expected: Vec<u16> = table[block as usize].iter().copied().collect();
                assert_eq!(gecko.stale_in(block), expected, "{merge:?}, step {step}, block {block}");
            }
            under_way = under_way.max(gecko.gecko.sorted.slices.under_way().len());
            most_pages = most_pages.max(gecko.gecko.metadata_pages().len() as u64);
        }
        // Dense runs are shorter.
        let (least, shorter) = if pages == GeckoPages::Dense { (1, 8) } else { (2, 2) };
        assert!(under_way >= least, "{merge:?}: {under_way} merges are under way at a time");
        let bound = gecko.gecko.sorted.tuning.live_pages();
        assert!(most_pages <= bound, "{merge:?}: {most_pages} pages, and {bound} at the most");
        let longest = u64::from(gecko.gecko.sorted.tuning.longest_run());
        assert!(most_pages * shorter >= longest, "{merge:?}: runs are short: {most_pages} pages");
        let entries = gecko.gecko.sorted.tuning.layout.entries();
        let is_dense = |keys: Vec<u32>| keys.len() > entries;
        let any_dense = (0..gecko.gecko.sorted.runs.len()).any(|run| gecko.keys(run).into_iter().any(is_dense));
        assert_eq!(any_dense, pages == GeckoPages::Dense);
        let pages: BTreeSet<Page> = gecko.gecko.metadata_pages().into_iter().collect();
        assert_eq!(pages.len(), gecko.gecko.metadata_pages().len(), "a page is in two places");
    }
}

/// A block of 32 pages in twelve parts: the last part has no page. Dense pages have an entry for it.
#[test]
fn a_mount_counts_what_dense_pages_say() {
    let geometry = Geometry::new(512, 32, 256, 1, 1).unwrap();
    let mut of_pages = [GeckoPages::Listed, GeckoPages::Dense].map(|pages| {
        let mut gecko = Alone::new(geometry, 12, (GeckoMerge::MultiWay, pages));
        // Every page but the first ten of each block, and some of them in a part that is written last.
        for page in (0..32 * 200).filter(|page| page % 32 >= 10).chain((0..200).map(|block| block * 32 + block % 10)) {
            gecko.stale(page / 32, page % 32);
        }
        let layout = gecko.gecko.sorted.tuning.layout;
        let most = (0..gecko.gecko.sorted.runs.len()).flat_map(|run| gecko.keys(run)).map(|keys| keys.len()).max();
        assert_eq!(most > Some(layout.entries()), pages == GeckoPages::Dense, "{most:?} entries on a page");
        let (is_damaged, covered, counts) = gecko.found_with(None);
        assert!(!is_damaged);
        // Where pages become dense each output has a second buffer.
        let pages_of_outputs = if pages == GeckoPages::Dense { 4 } else { 2 };
        assert_eq!(gecko.gecko.sorted.outputs_bytes(), pages_of_outputs * 512);
        (covered.iter().map(|(_, pages)| pages.len()).sum::<usize>(), counts)
    });
    let [(listed, by_lists), (dense, by_dense)] = &mut of_pages;
    assert!(*dense * 3 < *listed * 2, "{dense} dense pages, and {listed} lists");
    assert!(by_lists.len() > 190 && by_lists == by_dense);
}
