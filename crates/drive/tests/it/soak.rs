//! Lives of random requests, cuts, decay and blocks that grow bad.
//!
//! Nothing is lost that need not be. Every drive can be written until too many of its blocks are bad, and then be read.

use phelsuma_drive::lab::{LabError, SoakConfig, SoakState};
use phelsuma_ftl::{Config, FtlError, PRESETS, Preset};
use phelsuma_nand::{Geometry, Timing};

/// The smallest drive of 256 pages, or a few times as many, with room for a few bad blocks.
fn config(name: &str, dies: (u32, u32)) -> SoakConfig {
    config_with(name, dies, 16)
}

/// With so many entries in its cache; 0: as many as it has by default.
fn config_with(name: &str, dies: (u32, u32), cache: u32) -> SoakConfig {
    let pages_per_block = if dies == (1, 1) { 4 } else { 8 };
    let blocks = if dies == (1, 1) { 64 } else { 128 };
    let sizes = [1, 2, 4, 8].map(|times| Geometry::new(512, pages_per_block, times * blocks, dies.0, dies.1).unwrap());
    let mut composition = Preset::named(name).unwrap().composition;
    if composition.cache_entries().is_some() {
        composition.set("mapping.cache", &cache.to_string()).unwrap();
    }
    let of = |geometry, logical_pages| SoakConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: Config::new(name, composition, logical_pages, 1),
        seed: 1,
        decay: 0,
        bad: 0,
        threads: 2,
    };
    let mut fitting = sizes.into_iter().filter_map(|geometry| {
        let all = geometry.pages() as u32;
        match of(geometry, all).soak(&mut SoakState::new(&of(geometry, all)), 1, &mut |_| false) {
            Err(LabError::Workload(FtlError::DoesNotFit { largest_ratio, .. })) => {
                (largest_ratio > 0.25).then(|| of(geometry, (f64::from(all) * largest_ratio * 0.75) as u32))
            }
            other => panic!("{name}: {other:?}"),
        }
    });
    fitting.next().unwrap_or_else(|| panic!("{name}: eight times as many blocks have no room, either"))
}

fn soak(config: &SoakConfig, cycles: u64) -> SoakState {
    let mut state = SoakState::new(config);
    config.soak(&mut state, cycles, &mut |state| state.failed == 0).unwrap();
    state
}

fn assert_sound(config: &SoakConfig, cycles: u64) {
    let thorough = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    let state = soak(config, if thorough { 300 * cycles } else { cycles });
    assert!(state.found.is_empty(), "{}: {:#?}", state.of, state.found);
    assert!(state.cycles >= cycles && state.lives > 0);
    assert_eq!(state.cuts > 0 && state.recovery_cuts > 0, !config.ftl.composition.has_battery(), "{state:?}");
    assert_eq!(state.decayed > 0, config.decay > 0);
    assert_eq!(state.grown_bad > 0, config.bad > 0);
}

/// Page-mapped FTLs with each kind of mapping and validity: what decays is looked for in other places by each.
const PAGE_MAPPED: [&str; 8] = ["page", "dftl", "mu-ftl", "mu-ftl-pvb", "geckoftl", "phelsuma", "lazyftl", "ib-ftl"];

#[test]
fn power_cuts() {
    for preset in alone() {
        assert_sound(&config(preset.name, (1, 1)), 800);
    }
}

/// Those that are more than another one on a drive of one channel.
fn alone() -> impl Iterator<Item = &'static Preset> {
    PRESETS.iter().filter(|preset| !preset.composition.is_per_channel())
}

#[test]
fn power_cuts_and_blocks_that_grow_bad_of_drives_with_an_ftl_for_each_channel() {
    for preset in PRESETS.iter().filter(|preset| preset.composition.is_per_channel()) {
        assert_sound(&config(preset.name, (2, 1)), 400);
        assert_sound(&SoakConfig { bad: 5, ..config(preset.name, (3, 1)) }, 400);
    }
}

/// In larger blocks more translation pages are the last ones that some session wrote.
#[test]
fn power_cuts_of_drives_with_larger_blocks() {
    for name in alone().map(|preset| preset.name) {
        let mut config = config(name, (1, 1));
        config.geometry = Geometry::new(512, 8, config.geometry.blocks().into(), 1, 1).unwrap();
        config.ftl.logical_pages *= 2;
        assert_sound(&config, 400);
    }
}

#[test]
fn power_cuts_of_drives_of_several_dies() {
    for name in alone().map(|preset| preset.name) {
        assert_sound(&config(name, (2, 2)), 300);
    }
}

#[test]
fn blocks_that_grow_bad_until_the_drive_can_only_be_read() {
    for name in alone().map(|preset| preset.name) {
        for bad in [5, 30] {
            assert_sound(&SoakConfig { bad, ..config(name, (1, 1)) }, 400);
        }
    }
}

/// Two kinds of lives. Blocks grew bad faster than collection could make up for, so that a recovery had no block left: it
/// did not mount, or what it could not copy was gone at the next mount. Or the pages in front of the first readable page
/// of a block were taken for live.
#[test]
fn lives_that_once_went_wrong_where_blocks_grew_bad() {
    let lives: [(&str, u32, &[u64]); 9] = [
        ("page", 5, &[872]),
        ("fifo", 10, &[358]),
        ("ib-ftl", 5, &[912, 1580, 1682]),
        ("bast", 3, &[65, 99, 157]),
        ("fast", 3, &[143, 146, 155]),
        ("block", 3, &[15, 115, 249]),
        ("bast", 1, &[414]),
        ("block", 1, &[240, 388]),
        ("last++", 1, &[147]),
    ];
    for (name, bad, lives) in lives {
        for life in lives {
            let config = SoakConfig { bad, ..config_with(name, (1, 1), 64) };
            assert_eq!(config.relive(*life).unwrap(), None, "{name}");
        }
    }
    // A program failed in the last free block while a recovery held others.
    let mut lazyftl = SoakConfig { seed: 12, decay: 5, bad: 20, ..config_with("lazyftl", (1, 1), 64) };
    lazyftl.ftl.seed = 12;
    assert_eq!(lazyftl.relive(15).unwrap(), None, "lazyftl");
    let mut config = SoakConfig { seed: 378, bad: 3, ..config("fast", (2, 1)) };
    config.geometry = Geometry::new(512, 16, 64, 2, 1).unwrap();
    config.ftl.composition.set("log.blocks", "6").unwrap();
    (config.ftl.logical_pages, config.ftl.seed) = (491, 378);
    for life in [16, 135, 201, 285, 315] {
        assert_eq!(config.relive(life).unwrap(), None, "fast on two channels");
    }
}

#[test]
fn pages_that_decay() {
    for name in PAGE_MAPPED {
        assert_sound(&SoakConfig { decay: 10, ..config(name, (1, 1)) }, 3_000);
    }
    for name in ["page", "dftl", "mu-ftl-pvb"] {
        assert_sound(&SoakConfig { decay: 20, bad: 60, ..config(name, (1, 1)) }, 3_000);
    }
}

/// An older map page names blocks that were written anew since, for another superblock or the map. Lives 4, 5 and 6
/// among these once had blocks with two uses, and a free one with live pages. For data lost then nothing is promised.
#[test]
fn a_superblock_whose_map_page_decayed_takes_no_block_of_anothers() {
    let state = soak(&SoakConfig { decay: 3, ..config("superblock", (1, 1)) }, 4_000);
    assert!(state.found.is_empty(), "{:#?}", state.found);
    assert!(state.not_promised > 0 && state.lives_not_promised.len() > 1, "{state:?}");
}

#[test]
fn recoveries_that_a_battery_hears_the_end_of_may_be_cut_between_operations() {
    for name in ["dftl", "mu-ftl-pvb"] {
        let state = soak(&SoakConfig { decay: 3, ..config(name, (1, 1)) }, 4_000);
        assert!(state.found.is_empty(), "{name}: {:#?}", state.found);
        assert!(state.recovery_cuts > 0, "{name}: {state:?}");
    }
}

#[test]
fn how_many_threads_live_lives_makes_no_difference() {
    let told = |threads| {
        let state = soak(&SoakConfig { threads, ..config("page", (1, 1)) }, 1_000);
        (state.lives, state.cycles, state.cuts, state.recovery_cuts)
    };
    assert_eq!(told(1), told(7));
}

#[test]
fn lives_that_end_are_counted() {
    let state = soak(&SoakConfig { bad: 2, ..config("page", (1, 1)) }, 500);
    assert!(state.worn_out > 0 && state.found.is_empty(), "{state:?}");
    assert_eq!(soak(&config("page", (1, 1)), 500).worn_out, 0);
}

#[test]
fn what_no_soak_has_left_is_told() {
    let whole = soak(&config("page", (1, 1)), 100);
    assert_eq!(whole.what_is_wrong(), None);
    let wrong = |change: &dyn Fn(&mut SoakState)| {
        let mut state = whole.clone();
        change(&mut state);
        state.what_is_wrong().unwrap()
    };
    assert!(wrong(&|state| state.schema = "phelsuma.soak/9".into()).contains("phelsuma.soak/1"));
    assert!(wrong(&|state| state.lives = u64::MAX).contains("lives"));
    assert!(wrong(&|state| state.failed = state.lives + 1).contains("failed"));
    assert!(wrong(&|state| state.cuts = state.cycles + 1).contains("cuts"));
}

/// Lives that once failed after pages had decayed:
/// - no free block was left;
/// - places had two owners, or were stale and mapped;
/// - what was read was compared with a translation page that a cut had torn;
/// - a translation page written as lost claimed to know which entries were dirty;
/// - an older copy of one claimed what others had written since;
/// - where several pages in a row could not say what they were, all translation pages were taken for lost, also those
///   written since.
#[test]
fn lives_that_once_went_wrong_where_pages_decayed() {
    let lives: [(&str, u32, u32, u32, &[u64]); 7] = [
        ("dftl", 64, 10, 0, &[19, 30, 263, 410]),
        ("dftl", 64, 2, 0, &[28, 41]),
        ("geckoftl", 50, 10, 0, &[396, 446]),
        ("lazyftl", 64, 10, 0, &[135]),
        ("lazyftl", 64, 10, 20, &[280]),
        ("ib-ftl", 64, 10, 0, &[81]),
        ("ib-ftl", 0, 10, 0, &[87, 172, 325]),
    ];
    for (name, cache, decay, bad, lives) in lives {
        // The largest drive with a cache of 64 entries.
        let with = |entries| SoakConfig { decay, bad, ..config_with(name, (1, 1), entries) };
        let (mut config, largest) = (with(cache), with(cache.max(64)));
        config.ftl.logical_pages = largest.ftl.logical_pages;
        for life in lives {
            assert_eq!(config.relive(*life).unwrap(), None, "{name}, decay {decay}, bad {bad}");
        }
    }
}

/// Where the last pages of a block cannot say which translation pages they were, those written since are beyond doubt. Where
/// one still says it, so are all others.
#[test]
fn lives_that_once_went_wrong_where_the_end_of_a_block_decayed() {
    for (seed, life) in [(1, 15), (2, 14), (2, 78), (3, 34), (3, 50)] {
        let mut config = SoakConfig { seed, decay: 3, bad: 20, ..config_with("dftl-page", (1, 1), 64) };
        config.geometry = Geometry::new(512, 16, 256, 1, 1).unwrap();
        (config.ftl.logical_pages, config.ftl.seed) = (2807, seed);
        assert_eq!(config.relive(life).unwrap(), None, "seed {seed}");
    }
    for (seed, life) in [(2, 29), (5, 136), (11, 28)] {
        let mut config = SoakConfig { seed, decay: 3, ..config_with("lazyftl", (1, 1), 64) };
        config.ftl.seed = seed;
        assert_eq!(config.relive(life).unwrap(), None, "lazyftl, seed {seed}");
    }
}

/// Recoveries were cut. One had copied an older version of a translation page, and the copy looked newer than the version
/// that was lost. Others read a page once for each of many versions, which was more than they state.
#[test]
fn lives_that_once_went_wrong_on_four_dies_where_versions_were_suspect() {
    for (pages_per_block, logical_pages, (seed, life)) in [(8, 545, (7, 106)), (4, 234, (1, 1))] {
        let mut config = SoakConfig { seed, decay: 3, ..config_with("geckoftl", (2, 2), 64) };
        config.geometry = Geometry::new(512, pages_per_block, 160, 2, 2).unwrap();
        (config.ftl.logical_pages, config.ftl.seed) = (logical_pages, seed);
        assert_eq!(config.relive(life).unwrap(), None, "seed {seed}");
    }
}

/// On several dies a page is acknowledged while others are in flight. Here it was written again at once, and the power
/// failed. The recovery erased it before the newer one was safe, and was cut.
#[test]
fn a_page_is_kept_that_was_acknowledged_right_before_the_one_in_flight() {
    let mut config = SoakConfig { seed: 45, ..config_with("dftl-noflush", (2, 2), 17) };
    config.geometry = Geometry::new(512, 4, 128, 2, 2).unwrap();
    (config.ftl.logical_pages, config.ftl.seed) = (269, 45);
    for life in [3, 31] {
        assert_eq!(config.relive(life).unwrap(), None);
    }
}

/// - A page of the log was in flight at a cut. One recovery copied it and was cut as well, then another one copied the copy.
///   That erased the first copy, which may have been the only one to read well, and was cut: entries of the log were lost.
/// - A page was moved, and written again before the move had completed. The new page named a blank one, so that nothing
///   reported the page that was moved.
#[test]
fn lives_of_ib_ftl_that_once_went_wrong_on_several_dies() {
    let lives = [
        ((256, (4, 2)), 446, (14, 12, 0), 67),
        ((128, (1, 4)), 179, (1, 0, 5), 79),
        ((256, (4, 2)), 446, (42, 0, 0), 32),
    ];
    for ((blocks, (channels, dies)), logical_pages, (seed, decay, bad), life) in lives {
        let mut config = SoakConfig { seed, decay, bad, ..config_with("ib-ftl", (2, 2), 64) };
        config.geometry = Geometry::new(512, 4, blocks, channels, dies).unwrap();
        (config.ftl.logical_pages, config.ftl.seed) = (logical_pages, seed);
        assert_eq!(config.relive(life).unwrap(), None, "life {life}");
    }
}

/// The first page of a block was torn, and its spare area said when it was programmed. A translation page named what had
/// been in its place before. The page counted as live for good.
#[test]
fn a_torn_page_is_not_the_one_that_was_in_its_place() {
    let mut config = SoakConfig { seed: 33, bad: 8, ..config_with("geckoftl", (2, 2), 64) };
    config.geometry = Geometry::new(512, 4, 256, 4, 2).unwrap();
    (config.ftl.logical_pages, config.ftl.seed) = (401, 33);
    assert_eq!(config.relive(28).unwrap(), None);
}

/// Recoveries cut time and again, beside pages that decayed: a block log that was torn all round its region, pages that
/// only a lost or a suspect page named, or runs alone where a translation page was unreadable, trims in runs that turned bad,
/// blocks held until none was free, a block's first page, which was taken for trimmed, and pages of runs that were made again
/// at each mount until another one of their group decayed.
#[test]
fn lives_that_once_went_wrong_where_pages_decayed_and_recoveries_were_cut() {
    let (large, small) = (("phelsuma", 256, 308, 64), ("geckoftl", 64, 50, 50));
    let lives = [
        (large, (21, 20), &[493, 2763, 2805, 4468, 5053, 5830, 7050, 7130, 7213][..]),
        (large, (22, 5), &[855, 3121, 4432, 4970, 5501, 5880, 7202, 7212]),
        (small, (21, 20), &[194, 4812]),
    ];
    for ((name, blocks, logical_pages, cache), (seed, decay), lives) in lives {
        for life in lives {
            let mut config = SoakConfig { seed, decay, bad: 300, ..config_with(name, (1, 1), cache) };
            config.geometry = Geometry::new(512, 4, blocks, 1, 1).unwrap();
            config.ftl.logical_pages = logical_pages;
            assert_eq!(config.relive(*life).unwrap(), None, "{name}, seed {seed}, decay {decay}");
        }
    }
}

/// A life of `phelsuma` with 64 entries in its cache: pages of a block, blocks, dies, and logical pages; seed, decay, bad
/// blocks, and its number.
type Lived = ((u32, u64, u32, u32), (u64, u32, u32), u64);

/// Lives in which translation pages, or pages of runs, decayed, on larger blocks as well:
/// - a recovery wrote a translation page anew, without what runs had of it;
/// - a copy of a page that runs named was of no account;
/// - a collection dropped pages that only an unreadable translation page named, or a run;
/// - a parity page had decayed before a page of its group did;
/// - the newest page of a block log stood behind a first page that was torn;
/// - a translation page decayed right before a page that a cut had torn.
///
/// In the last one nothing decays. A recovery from an erase that was cut wrote into translation pages what runs have, and
/// pages that this made stale were never reported.
const DECAYED: [Lived; 11] = [
    ((32, 80, 1, 528), (404, 4, 30), 45),
    ((64, 96, 1, 1967), (111, 5, 30), 18),
    ((32, 80, 1, 528), (502, 4, 30), 129),
    ((64, 96, 1, 1967), (501, 5, 30), 111),
    ((64, 96, 1, 1967), (501, 5, 30), 184),
    ((4, 256, 1, 308), (210, 2, 6), 119),
    ((64, 96, 1, 1967), (401, 5, 30), 62),
    ((32, 80, 1, 528), (404, 4, 30), 126),
    ((4, 256, 2, 245), (212, 2, 2), 133),
    ((4, 256, 1, 308), (22, 5, 300), 3729),
    ((16, 128, 1, 659), (9004, 0, 0), 17),
];

fn of_decayed((pages_per_block, blocks, dies, logical_pages): (u32, u64, u32, u32), seed: u64) -> SoakConfig {
    let mut config = SoakConfig { seed, ..config_with("phelsuma", (1, 1), 64) };
    config.geometry = Geometry::new(512, pages_per_block, blocks, 1, dies).unwrap();
    config.ftl = Config::new("phelsuma", config.ftl.composition, logical_pages, seed);
    config
}

#[test]
fn lives_that_once_went_wrong_where_translation_pages_decayed() {
    for (of, (seed, decay, bad), life) in DECAYED {
        let config = SoakConfig { decay, bad, ..of_decayed(of, seed) };
        assert_eq!(config.relive(life).unwrap(), None, "{of:?}, seed {seed}");
    }
}

/// Blocks in which many translation pages are none of the last two.
#[test]
fn pages_that_decay_in_larger_blocks() {
    for of in [(32, 80, 1, 528), (64, 96, 1, 1967)] {
        assert_sound(&SoakConfig { decay: 4, bad: 30, ..of_decayed(of, 1) }, 500);
    }
}

#[test]
fn lives_add_up_whoever_lives_them() {
    let two = config("geckoftl", (1, 1));
    let mut in_parts = SoakState::new(&two);
    two.soak(&mut in_parts, 300, &mut |_| true).unwrap();
    let begun = in_parts.lives;
    two.soak(&mut in_parts, 600, &mut |_| true).unwrap();
    assert!(begun > 0 && in_parts.lives > begun && in_parts.cycles >= 600);
    let one = SoakConfig { threads: 1, ..two };
    let mut at_once = SoakState::new(&one);
    one.soak(&mut at_once, u64::MAX, &mut |state| state.lives < in_parts.lives).unwrap();
    assert_eq!(SoakState { seconds: in_parts.seconds, ..at_once }, in_parts);
}

/// A soak finds what an FTL forgets.
#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    /// A soak finds the failure that it is for, shortens it, and shows it again.
    #[test]
    fn what_an_ftl_forgets_is_found_and_a_life_can_be_lived_again() {
        for (name, barrier) in [
            ("page", Barrier::EraseBeforeUse),
            ("geckoftl", Barrier::SuspectsVerified),
            ("lazyftl", Barrier::CopiesBeforeErase),
            ("ib-ftl", Barrier::SuspectsCopied),
        ] {
            let mut config = config(name, (1, 1));
            config.ftl.forgets = Some(barrier);
            let state = soak(&config, 100_000);
            let found = state.found.first().unwrap_or_else(|| panic!("{name} without {barrier:?}: {state:?}"));
            assert!(!found.script.is_empty() && found.script.len() as u64 <= found.cycle + 1, "{found:#?}");
            assert_eq!(config.relive(found.life).unwrap().as_ref(), Some(found));
        }
    }
}

#[test]
fn what_is_not_promised_is_counted_apart_and_shown_when_the_life_is_lived_again() {
    let config = SoakConfig { decay: 3, ..config("bast", (1, 1)) };
    let state = soak(&config, 12_000);
    assert_eq!((state.failed, &state.found), (0, &Vec::new()), "{}", state.of);
    assert!(state.not_promised > 0, "{state:?}");
    let shown: Vec<_> = (0..state.lives).filter_map(|life| config.relive(life).unwrap()).collect();
    assert_eq!(shown.len() as u64, state.not_promised);
    assert!(shown.iter().all(|found| !found.promised && !found.script.is_empty()), "{shown:#?}");
}
