//! Cases in which the papers' own rules lose data or get stuck, without any power cut.
//!
//! With each repair the drive does not go wrong. With mutants (`make mutants`) each is taken away again, and it does.

use crate::common::{Host, Step, chips, composition, most_pages_of, scaled, small};
use phelsuma_ftl::{Composition, Config, FtlError};
use phelsuma_nand::{Block, Geometry, Nand, Purpose};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// GeckoFTL with a small cache.
fn geckoftl(parameters: &[(&str, &str)]) -> Composition {
    let parts = [
        ("mapping", "paged"),
        ("mapping.on-miss", "lazy"),
        ("mapping.cache", "24"),
        ("validity", "gecko"),
        ("metadata", "left"),
    ];
    composition(&[&parts, parameters].concat())
}

/// A test's changes of an FTL.
type Prepare<'a> = &'a dyn Fn(&mut Config);

const AS_IT_IS: Prepare<'static> = &|_| {};

fn drive(composition: Composition, geometry: Geometry, logical_pages: u32, prepare: Prepare<'_>) -> Host {
    let mut config = Config::new("any", composition, logical_pages, 7);
    prepare(&mut config);
    Host::new(chips(geometry), config, 1)
}

/// Random requests, programs failing now and then, and everything read and checked in between. Panics at an error.
fn work(host: &mut Host, failing_programs: bool, seed: u64) -> Result<(), FtlError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let pages = host.logical_pages();
    if failing_programs {
        // Early, while there is no need to collect: the failed program's remains lie there for long.
        let mut sim = host.plug.copy();
        sim.break_at_program(Block(9));
        host.plug.replace(sim);
    }
    host.overwrite()?;
    for n in 0..scaled(6_000, 60_000) {
        if failing_programs && n % 1_500 == 700 {
            // Some block of every eighth of the drive: it fails in the middle of its pages if it is open now.
            let blocks = host.plug.geometry().blocks();
            let mut sim = host.plug.copy();
            sim.break_at_program(Block(2 + (n * 7) % (blocks - 2)));
            host.plug.replace(sim);
        }
        host.step(&Step::by_chance(&mut rng, pages))?;
        if n % 400 == 0 {
            host.compare_all();
        }
    }
    host.compare_all();
    host.check();
    Ok(())
}

fn goes_wrong(prepare: Prepare<'_>) -> Option<String> {
    // A buffer that is flushed often, and one that holds entries of every block for long.
    let geometries = [small(32, 128, 1, 1), Geometry::new(4096, 16, 128, 1, 1).unwrap()];
    geometries.into_iter().find_map(|geometry| goes_wrong_on(geometry, prepare))
}

fn goes_wrong_on(geometry: Geometry, prepare: Prepare<'_>) -> Option<String> {
    let composition = geckoftl(&[]);
    let logical_pages = most_pages_of(composition, geometry) - 8 * geometry.pages_per_block();
    (1..=3).find_map(|seed| {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut host = drive(composition, geometry, logical_pages, prepare);
            work(&mut host, true, seed).map_err(|error| error.to_string())
        }));
        match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => panic!("refused: {error}"),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or(panic.downcast_ref::<&str>().map(|t| (*t).to_string())).unwrap_or_default();
                // Wrong data, or structures that disagree; anything else is another defect.
                let expected = ["is not what was written last", "structures disagree", "has no live page to lose"];
                assert!(expected.iter().any(|e| text.contains(e)), "{text}");
                Some(text)
            }
        }
    })
}

#[test]
fn with_every_repair_nothing_goes_wrong() {
    assert_eq!(goes_wrong(AS_IT_IS), None);
}

/// Hot pages under one translation page, and now and then one under another: each block of translation pages comes to
/// hold a cold one that stays live for long, and is never wholly stale.
fn pin_blocks(prepare: Prepare<'_>) -> (Result<(), FtlError>, u64) {
    let geometry = small(32, 768, 1, 1);
    let composition = geckoftl(&[("mapping.cache", "16")]);
    let logical_pages = most_pages_of(composition, geometry);
    let mut host = drive(composition, geometry, logical_pages, prepare);
    let per_translation_page = 128;
    for page in 0..logical_pages {
        host.write(page, 1, false).unwrap();
    }
    let mut result = Ok(());
    let mut cold = 0;
    for n in 0..scaled(80_000, 600_000) {
        let page = if n % 96 == 0 {
            cold = (cold + per_translation_page) % logical_pages;
            cold
        } else {
            n * 37 % (2 * per_translation_page)
        };
        result = host.write(page, 1, false);
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        host.compare_all();
        host.check();
    }
    (result, host.counter("metadata_fallbacks"))
}

#[test]
fn cold_translation_pages_do_not_pin_blocks_until_none_is_free() {
    let (result, fallbacks) = pin_blocks(AS_IT_IS);
    result.unwrap();
    assert!(fallbacks > 0, "the emptiest block of metadata is collected");
}

/// A demand-paged or RAM mapping with a page validity log, its blocks collected like all others.
fn logging(parameters: &[(&str, &str)]) -> Composition {
    composition(&[&[("validity", "page-validity-log"), ("metadata", "collected")], parameters].concat())
}

#[test]
fn a_page_validity_log_is_right_when_programs_fail() {
    let paged = |on_miss| [("mapping", "paged"), ("mapping.on-miss", on_miss), ("mapping.cache", "24")];
    for parameters in [&[][..], &paged("fetch"), &paged("lazy")] {
        for geometry in [small(32, 128, 1, 1), small(16, 256, 2, 2), Geometry::new(4096, 16, 128, 1, 1).unwrap()] {
            let composition = logging(parameters);
            let logical_pages = most_pages_of(composition, geometry) - 8 * geometry.pages_per_block();
            for seed in 1..=2 {
                let mut host = drive(composition, geometry, logical_pages, AS_IT_IS);
                work(&mut host, true, seed).unwrap();
                if geometry.page_bytes() == 512 {
                    assert!(host.counter("pvl_pages_cleaned") > 100, "the log is cleaned");
                    assert!(host.counter("pvl_reinserted") > 100, "and something of it kept");
                    assert!(host.counter("pvl_dropped") > 100, "and something dropped");
                }
                assert_eq!(host.counter("pvl_repeats_dropped"), 0, "no page is reported twice");
            }
        }
    }
}

/// Trims everything on a full drive, and writes again: the entries that count are then more than X, twice the pages
/// that can be stale on a drive without trims.
fn trim_all(prepare: Prepare<'_>) -> Result<(), FtlError> {
    let geometry = small(32, 512, 1, 1);
    let composition = logging(&[]);
    let mut host = drive(composition, geometry, most_pages_of(composition, geometry), prepare);
    for _ in 0..3 {
        host.overwrite()?;
        host.trim(0, host.logical_pages())?;
        host.check();
    }
    host.overwrite()?;
    host.compare_all();
    host.check();
    Ok(())
}

#[test]
fn a_trimmed_drive_has_more_stale_pages_than_its_log_was_made_for() {
    trim_all(AS_IT_IS).unwrap();
}

/// What goes wrong without a repair.
/// An erase count beside a translation page is no sign that one was lost: nothing is dearer after a plain cut.
#[test]
fn a_plain_cut_makes_no_drive_that_levels_wear_doubt_its_table() {
    for preset in ["geckoftl", "geckoftl+wear"] {
        let mut host = Host::with_share(preset, small(32, 256, 1, 1), 0.8);
        host.overwrite().unwrap();
        host.overwrite().unwrap();
        let reads_of_an_overwrite = |host: &mut Host| {
            let reads = |host: &mut Host| host.plug.sim().stats().of(Purpose::Translation).reads;
            let before = reads(host);
            host.overwrite().unwrap();
            reads(host) - before
        };
        let uncut = reads_of_an_overwrite(&mut host);
        host.step(&Step::Cut).unwrap();
        host.overwrite().unwrap();
        let after = reads_of_an_overwrite(&mut host);
        assert!(after <= uncut + uncut / 10, "{preset}: {uncut} translation reads before the cut, {after} after it");
    }
}

#[cfg(phelsuma_mutants)]
mod mutants {
    use super::*;
    use phelsuma_ftl::Barrier;

    #[test]
    fn without_any_one_of_the_repairs_data_are_lost_or_structures_disagree() {
        for barrier in Barrier::OF_LAZINESS {
            let wrong = goes_wrong(&|config| config.forgets = Some(*barrier));
            println!("{barrier:?}: {wrong:?}");
            assert!(wrong.is_some(), "nobody notices that {barrier:?} is forgotten");
        }
    }

    #[test]
    fn without_a_bound_on_metadata_cold_translation_pages_pin_blocks_until_none_is_free() {
        let (result, _) = pin_blocks(&|config| config.forgets = Some(Barrier::MetadataBounded));
        assert!(matches!(result, Err(FtlError::Full { .. })), "never collecting metadata: {result:?}");
    }

    /// The paper's rule turns the log over and over, and no block is left.
    #[test]
    fn cleaning_until_the_log_is_short_never_ends_on_a_trimmed_drive() {
        let result = trim_all(&|config| config.forgets = Some(Barrier::LogCleaningBounded));
        assert!(matches!(result, Err(FtlError::Full { .. })), "cleaning until the log is short: {result:?}");
    }
}
