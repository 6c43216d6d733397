//! The µ-Tree by itself, compared with a `BTreeMap`: its answers, its costs, and the cuts that it survives.

use super::common::Plug;
use phelsuma_ftl::mu_tree::{FlashMap, FlashMapCaches, FlashMapError, Layout, MuTree, PageStore, PlainTree, TreeError};
use phelsuma_nand::sim::SimConfig;
use phelsuma_nand::{Block, Geometry, SimNand, Timing};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

/// Pages in memory, each with its bytes while it counts. Nothing is written twice, and nothing stale is read.
struct Memory {
    pages: Vec<Option<Vec<u8>>>,
    programs: u64,
    reads: u64,
    /// So many may be programmed still.
    left: u64,
}

impl Memory {
    fn new() -> Self {
        Self { pages: Vec::new(), programs: 0, reads: 0, left: u64::MAX }
    }

    fn live(&self) -> Vec<u32> {
        (0..self.pages.len() as u32).filter(|at| self.pages[*at as usize].is_some()).collect()
    }
}

impl PageStore for Memory {
    type Error = ();

    fn read(&mut self, at: u32, out: &mut [u8]) -> bool {
        self.reads += 1;
        let bytes = self.pages[at as usize].as_ref().expect("a stale page is read");
        out.copy_from_slice(bytes);
        true
    }

    fn append(&mut self, _: u32, bytes: &[u8], _: bool) -> Result<u32, ()> {
        self.left = self.left.checked_sub(1).ok_or(())?;
        self.programs += 1;
        self.pages.push(Some(bytes.to_vec()));
        Ok(self.pages.len() as u32 - 1)
    }

    fn release(&mut self, at: u32) {
        assert!(self.pages[at as usize].take().is_some(), "page {at} is stale twice");
    }
}

fn tree(page_bytes: usize, reads: usize, writes: usize) -> MuTree {
    MuTree::new(page_bytes, reads, writes).unwrap()
}

/// Everything that there is to say about a tree: its entries, its nodes, and that the live pages are those it reaches.
fn check(tree: &mut MuTree, store: &mut Memory, model: &BTreeMap<u32, u64>) {
    let walk = tree.walk(store, u64::MAX).unwrap();
    assert_eq!((walk.entries, walk.fault), (model.len() as u64, None));
    let (mut reached, mut entries, mut next) = (walk.pages, Vec::new(), Some(0));
    while let Some(from) = next {
        let found = tree.ceiling(store, from).unwrap();
        entries.extend(found);
        next = found.and_then(|(key, _)| key.checked_add(1));
    }
    assert!(entries.iter().copied().eq(model.iter().map(|(key, record)| (*key, *record))));
    reached.sort_unstable();
    assert_eq!(reached, store.live());
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u32, u64),
    Remove(u32),
    Look(u32),
    Flush,
    Relocate(usize),
    /// So many programs go well, and then none for one step.
    Full(u64, u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few keys: the same ones again and again, and trees that shrink.
    let key = prop_oneof![0..400u32, Just(u32::MAX), any::<u32>().prop_map(|key| key % 400 * 9_999_991)];
    let step = prop_oneof![
        6 => (key.clone(), any::<u64>()).prop_map(|(key, record)| Step::Insert(key, record)),
        5 => key.clone().prop_map(Step::Remove),
        3 => key.clone().prop_map(Step::Look),
        1 => Just(Step::Flush),
        1 => any::<usize>().prop_map(Step::Relocate),
        1 => (0..4u64, key).prop_map(|(left, key)| Step::Full(left, key)),
    ];
    proptest::collection::vec(step, 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var("PHELSUMA_THOROUGH").is_ok() { 5000 } else { 300 }))]

    #[test]
    fn a_tree_is_an_ordered_map(
        steps in steps(), bytes in 10..65usize, wide: bool, reads in 0..6usize, writes in 0..5usize,
    ) {
        let layout = if wide { Layout::wide(bytes.max(11) * 8) } else { Layout::new(bytes * 8) }.unwrap();
        let of_record = (1 << layout.record_bits()) - 1;
        let (mut store, mut tree, mut model) = (Memory::new(), MuTree::on(layout, reads, writes), BTreeMap::new());
        for step in steps {
            let programs = store.programs;
            let before = tree.counts();
            match step {
                Step::Insert(key, record) => match tree.insert(&mut store, key, record & of_record) {
                    Ok(old) => assert_eq!(old, model.insert(key, record & of_record)),
                    Err(error) => {
                        assert_eq!(error, TreeError::TooMany);
                        assert!(model.len() as u64 >= tree.layout().capacity(), "{} entries", model.len());
                    }
                },
                Step::Remove(key) => assert_eq!(tree.remove(&mut store, key).unwrap(), model.remove(&key)),
                Step::Look(key) => {
                    let pair = |(key, record): (&u32, &u64)| (*key, *record);
                    assert_eq!(tree.get(&mut store, key).unwrap(), model.get(&key).copied());
                    assert_eq!(tree.floor(&mut store, key).unwrap(), model.range(..=key).next_back().map(pair));
                    assert_eq!(tree.ceiling(&mut store, key).unwrap(), model.range(key..).next().map(pair));
                    let keys = key..key.saturating_add(programs as u32 % 7 * 60);
                    let mut found = Vec::new();
                    tree.for_each(&mut store, keys.clone(), |entry| found.push(entry)).unwrap();
                    assert!(found.into_iter().eq(model.range(keys).map(pair)));
                }
                Step::Flush => {
                    tree.flush(&mut store).unwrap();
                    assert_eq!(tree.waiting(), 0);
                }
                Step::Relocate(nth) => {
                    if let Some(at) = store.live().get(nth % store.live().len().max(1)).copied() {
                        assert!(tree.relocate(&mut store, at).unwrap());
                        assert!(!store.live().contains(&at), "page {at} would be erased");
                    }
                }
                Step::Full(left, key) => {
                    store.left = left;
                    // Whether it is done or not: with a write cache what could not be flushed is in RAM.
                    match tree.insert(&mut store, key, 7) {
                        Ok(_) => { model.insert(key, 7); }
                        Err(TreeError::Store(())) if writes > 0 => { model.insert(key, 7); }
                        Err(_) => {}
                    }
                    store.left = u64::MAX;
                    // Or what comes next finds a flush that was not finished.
                    if left != 1 {
                        tree.flush(&mut store).unwrap();
                    }
                    continue;
                }
            }
            let after = tree.counts();
            let (updates, splits) = (after.updates - before.updates, after.splits - before.splits);
            if writes == 0 && after.updates > before.updates {
                assert_eq!(store.programs - programs, updates + splits);
            }
        }
        check(&mut tree, &mut store, &model);
        tree.flush(&mut store).unwrap();
        check(&mut tree, &mut store, &model);
    }
}

/// A tree, the flash beneath it, and a plain map that has the same.
type Built = (MuTree, Memory, BTreeMap<u32, u64>);

/// A million keys: in order, or by chance.
fn million(writes: usize, by_chance: bool) -> Built {
    let (mut store, mut tree, mut model) = (Memory::new(), tree(4096, 16, writes), BTreeMap::new());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for n in 0..1_000_000 {
        let key = if by_chance { rng.next_u32() } else { n * 3 };
        tree.insert(&mut store, key, n.into()).unwrap();
        model.insert(key, n.into());
    }
    (tree, store, model)
}

/// By chance, without a write cache.
static MILLION: LazyLock<Mutex<Built>> = LazyLock::new(|| Mutex::new(million(0, true)));

#[test]
fn without_a_write_cache_a_million_keys_take_a_program_each_and_one_for_each_split() {
    let (tree, store, model) = &mut *MILLION.lock().unwrap();
    let counts = tree.counts();
    assert_eq!(counts.programs, counts.updates + counts.splits);
    assert_eq!(store.programs, counts.programs);
    assert_eq!(counts.updates, 1_000_000);
    assert_eq!(tree.height(), 3);
    check(tree, store, model);
}

#[test]
fn with_a_write_cache_a_million_keys_take_fewer_programs_than_updates() {
    for (by_chance, share) in [(false, 0.005), (true, 1.0)] {
        let (mut tree, mut store, model) = million(16, by_chance);
        tree.flush(&mut store).unwrap();
        let counts = tree.counts();
        assert!(counts.programs as f64 <= counts.updates as f64 * share, "{counts:?}");
        check(&mut tree, &mut store, &model);
    }
}

#[test]
fn a_lookup_reads_no_more_pages_than_the_tree_is_high() {
    let (built, store, model) = &mut *MILLION.lock().unwrap();
    // Nothing is cached but the page that is looked at.
    let mut tree = tree(4096, 1, 0).open(store, built.root().unwrap()).unwrap();
    for (key, record) in model.iter().step_by(997) {
        let before = store.reads;
        assert_eq!(tree.get(store, *key).unwrap(), Some(*record));
        assert!(store.reads - before <= tree.height() as u64);
    }
}

#[test]
fn a_plain_tree_programs_a_page_for_each_of_its_levels() {
    let (mut store, mut plain) = (Memory::new(), PlainTree::new(4096));
    let mut micro = tree(4096, 16, 0);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for n in 0..200_000 {
        let key = rng.next_u32();
        plain.insert(&mut store, key, n).unwrap();
        micro.insert(&mut store, key, n.into()).unwrap();
        assert_eq!(plain.get(&mut store, key).unwrap(), Some(n));
    }
    assert_eq!((plain.height(), micro.height()), (3, 3));
    let (programs, splits) = (plain.programs(), plain.splits());
    plain.insert(&mut store, 7, 7).unwrap();
    assert_eq!(plain.programs() - programs, 3 + plain.splits() - splits);
    // Half of them when it was lower.
    assert!(programs as f64 > 2.0 * micro.counts().programs as f64, "{programs} and {:?}", micro.counts());
}

/// Found by the soak: a collection looks at stale pages. The read cache then held them in place of the pages written
/// there next.
#[test]
fn a_page_that_was_looked_at_when_it_was_stale_is_not_taken_for_the_next_one_there() {
    /// Two pages, written over in turn as if they had been erased.
    struct TwoBlocks([Vec<u8>; 2], usize);
    impl PageStore for TwoBlocks {
        type Error = ();
        fn read(&mut self, at: u32, out: &mut [u8]) -> bool {
            out.copy_from_slice(&self.0[at as usize]);
            true
        }
        fn append(&mut self, _: u32, bytes: &[u8], _: bool) -> Result<u32, ()> {
            self.1 += 1;
            self.0[self.1 % 2] = bytes.to_vec();
            Ok((self.1 % 2) as u32)
        }
        fn release(&mut self, _: u32) {}
    }
    let mut store = TwoBlocks([vec![0; 512], vec![0; 512]], 0);
    let mut tree = tree(512, 4, 0);
    tree.insert(&mut store, 1, 1).unwrap();
    for record in 2..9 {
        let stale = tree.root().unwrap();
        tree.insert(&mut store, 1, record).unwrap();
        assert!(!tree.relocate(&mut store, stale).unwrap(), "its leaf is elsewhere");
        assert_eq!(tree.get(&mut store, 1).unwrap(), Some(record));
    }
}

#[test]
fn pages_that_are_none_of_a_tree_are_errors() {
    struct Garbage(Vec<u8>);
    impl PageStore for Garbage {
        type Error = ();
        fn read(&mut self, _: u32, out: &mut [u8]) -> bool {
            out.copy_from_slice(&self.0);
            true
        }
        fn append(&mut self, _: u32, _: &[u8], _: bool) -> Result<u32, ()> {
            Err(())
        }
        fn release(&mut self, _: u32) {}
    }
    for byte in 0..=255 {
        let found = tree(512, 1, 0).open(&mut Garbage(vec![byte; 512]), 3);
        assert_eq!(found.err(), Some(TreeError::Unreadable(3)));
    }
}

const BLOCKS: u32 = 24;

fn flash(seed: u64) -> (Plug, Vec<Block>) {
    let geometry = Geometry::new(512, 8, BLOCKS.into(), 1, 1).unwrap();
    let sim = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
    (Plug::new(sim, seed), (0..BLOCKS).map(Block).collect())
}

/// All entries of a map.
fn entries<N: phelsuma_nand::Nand>(map: &mut FlashMap, nand: &mut N) -> BTreeMap<u32, u32> {
    let (mut found, mut next) = (BTreeMap::new(), Some(0));
    while let Some(from) = next {
        let entry = map.next(nand, from).unwrap();
        found.extend(entry);
        next = entry.and_then(|(key, _)| key.checked_add(1));
    }
    found
}

/// A map that is written, and whose power fails at any operation, also of its opening, again and again.
fn storm(seed: u64, caches: FlashMapCaches, cuts: u32) {
    let (mut nand, blocks) = flash(seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut map = FlashMap::format(&mut nand, &blocks, caches).unwrap();
    // The durable records, and those that may be by now.
    let (mut durable, mut states) = (BTreeMap::new(), Vec::new());
    for cut in 0..cuts {
        nand.arm(u64::from(rng.next_u32() % 60));
        let mut now: BTreeMap<u32, u32> = states.last().unwrap_or(&durable).clone();
        loop {
            let key = rng.next_u32() % 150;
            let done = match rng.next_u32() % 8 {
                0 | 1 => {
                    now.remove(&key);
                    map.remove(&mut nand, key).map(drop)
                }
                2 if caches.write_pages > 0 => map.flush(&mut nand).inspect(|()| {
                    durable = now.clone();
                    states.clear();
                }),
                _ => {
                    let record = rng.next_u32();
                    now.insert(key, record);
                    map.insert(&mut nand, key, record).map(drop)
                }
            };
            states.push(now.clone());
            if nand.cut_at().is_some() {
                break;
            }
            done.unwrap();
            if caches.write_pages == 0 {
                durable = now.clone();
                states.clear();
            }
        }
        nand.restore();
        // Its opening may be cut as well.
        for _ in 0..rng.next_u32() % 4 {
            nand.arm(u64::from(rng.next_u32() % 3));
            let _ = FlashMap::open(&mut nand, &blocks, caches);
            if nand.cut_at().is_some() {
                nand.restore();
            }
            nand.disarm();
        }
        map = FlashMap::open(&mut nand, &blocks, caches).unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        let found = entries(&mut map, &mut nand);
        assert!(found == durable || states.contains(&found), "cut {cut} of seed {seed} lost something");
        (durable, states) = (found, Vec::new());
    }
}

#[test]
fn a_map_survives_a_storm_of_power_cuts() {
    let long = std::env::var("PHELSUMA_THOROUGH").is_ok();
    for seed in 0..if long { 400 } else { 40 } {
        storm(seed, FlashMapCaches { read_pages: 3, write_pages: 0 }, 40);
        storm(seed, FlashMapCaches { read_pages: 3, write_pages: 4 }, 40);
    }
}

#[test]
fn every_operation_of_a_map_can_be_cut() {
    for write_pages in [0, 3] {
        let caches = FlashMapCaches { read_pages: 2, write_pages };
        for cut in 0.. {
            let (mut nand, blocks) = flash(cut);
            let mut map = FlashMap::format(&mut nand, &blocks, caches).unwrap();
            nand.arm(cut);
            let (mut durable, mut states) = (BTreeMap::new(), Vec::new());
            let mut now = BTreeMap::new();
            for n in 0..400u32 {
                let key = n * 37 % 91;
                now.insert(key, n);
                states.push(now.clone());
                if map.insert(&mut nand, key, n).is_err() {
                    break;
                }
                if write_pages == 0 || n % 10 == 9 && map.flush(&mut nand).is_ok() {
                    durable = now.clone();
                    states.clear();
                }
            }
            if nand.cut_at().is_none() {
                break;
            }
            nand.restore();
            let mut map = FlashMap::open(&mut nand, &blocks, caches).unwrap();
            let found = entries(&mut map, &mut nand);
            assert!(found == durable || states.contains(&found), "operation {cut}");
            // It can be written on, and opened again.
            for key in 0..200 {
                map.insert(&mut nand, key, key).unwrap();
            }
            map.flush(&mut nand).unwrap();
            let mut again = FlashMap::open(&mut nand, &blocks, caches).unwrap();
            assert_eq!(again.get(&mut nand, 199).unwrap(), Some(199));
        }
    }
}

#[test]
fn a_map_whose_blocks_go_bad_keeps_what_it_holds() {
    let (mut nand, blocks) = flash(1);
    let caches = FlashMapCaches { read_pages: 2, write_pages: 0 };
    let mut map = FlashMap::format(&mut nand, &blocks, caches).unwrap();
    let mut model = BTreeMap::new();
    for n in 0..3000u32 {
        if n % 400 == 399 {
            nand.sim().break_at_program(Block(n / 400 * 2));
        }
        map.insert(&mut nand, n * 31 % 120, n).unwrap();
        model.insert(n * 31 % 120, n);
    }
    assert_eq!(entries(&mut map, &mut nand), model);
    let mut map = FlashMap::open(&mut nand, &blocks, caches).unwrap();
    assert_eq!(entries(&mut map, &mut nand), model);
}

#[test]
fn a_map_of_more_than_fits_says_so() {
    let (mut nand, blocks) = flash(1);
    let mut map = FlashMap::format(&mut nand, &blocks, FlashMapCaches { read_pages: 2, write_pages: 0 }).unwrap();
    let full = (0..100_000).find_map(|key| map.insert(&mut nand, key, key).err());
    assert_eq!(full, Some(FlashMapError::Full));
    assert_eq!(map.get(&mut nand, 5).unwrap(), Some(5));
}
