//! Thousands of power cuts in a row on one drive, a few programs and erases apart, also during recovery.

use crate::common::{Host, Step, below, chips, config, most_pages, scaled, scanned, small, with_metadata};
use phelsuma_nand::Geometry;
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

struct Storm {
    preset: &'static str,
    geometry: Geometry,
    /// Of the most pages that fit.
    share: f64,
    cuts: u32,
    operations_max: u64,
    /// Whether operations that overlap the cut one are cut as well.
    overlap: bool,
    seed: u64,
}

/// Runs on until the power fails; an error while it is on is a failure. How often what the preset is tried for was
/// there when the power failed: collections for wear, those of groups that were cut, and merges of Logarithmic Gecko under way.
fn storm(s: &Storm) -> u64 {
    let logical = (f64::from(most_pages(s.preset, s.geometry)) * s.share) as u32;
    let what = format!("{} on {:?}, {logical} logical pages, seed {}", s.preset, s.geometry, s.seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(s.seed);
    let mut host = Host::new(chips(s.geometry), config(s.preset, logical), s.seed);
    host.plug.overlap = s.overlap;
    host.overwrite().unwrap();
    let (mut cuts, mut seen) = (0, 0);
    let looked_at = match () {
        () if s.preset.ends_with("+wear") => Some("wear_collections"),
        () if s.preset.ends_with("+groups") => Some("groups_given_up"),
        () if s.preset.contains("+runs") => Some("gecko_merging"),
        () => None,
    };
    // Levelling has something to do where some pages stay.
    let reached = if s.preset.ends_with("+wear") { logical / 2 } else { logical };
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        while cuts < s.cuts {
            host.waits = below(&mut rng, 2) == 0;
            if host.ftl.is_some() {
                let step = Step::by_chance(&mut rng, reached);
                if let Err(error) = host.step(&step) {
                    assert!(host.plug.cut_at().is_some(), "{step:?} fails with the power on: {error}");
                }
            } else {
                host.plug.arm(below(&mut rng, s.operations_max + 1));
                if let Err(error) = host.recover() {
                    assert!(host.plug.cut_at().is_some(), "recovery fails with the power on: {error}");
                }
            }
            let is_merging = |host: &Host| looked_at == Some("gecko_merging") && host.counter("gecko_merging") > 0;
            if host.plug.cut_at().is_none() && is_merging(&host) && below(&mut rng, 4) == 0 {
                host.plug.arm(below(&mut rng, 12));
            }
            if host.plug.cut_at().is_some() {
                cuts += 1;
                if let Some(counter) = looked_at.filter(|_| host.ftl.is_some()) {
                    seen += host.counter(counter);
                }
                host.power_back();
            } else if cuts == 0 {
                host.plug.arm(below(&mut rng, s.operations_max + 1));
            }
        }
        host.plug.disarm();
        if host.ftl.is_none() {
            host.recover().unwrap();
        }
        for _ in 0..2 {
            host.overwrite().unwrap_or_else(|error| panic!("the drive cannot be written over: {error}"));
            host.compare_all();
            host.check();
        }
        host.step(&Step::Cut).unwrap();
    }));
    if let Err(panic) = run {
        eprintln!("after {cuts} cuts: {what}");
        std::panic::resume_unwind(panic);
    }
    seen
}

fn storms(geometry: Geometry, share: f64, overlap: bool) {
    for preset in scanned() {
        let geometry = with_metadata(preset.name, geometry);
        for (operations_max, seed) in [(2, 1), (6, 2), (20, 3)] {
            storm(&Storm {
                preset: preset.name,
                geometry,
                share,
                cuts: scaled(120, 10_000),
                operations_max,
                overlap,
                seed,
            });
        }
    }
}

#[test]
fn drives_that_level_wear_survive_a_storm_of_cuts() {
    for preset in ["page+wear", "geckoftl+wear"] {
        for (geometry, share, overlap) in
            [(small(32, 40, 1, 1), 0.8, true), (small(32, 40, 1, 1), 1.0, true), (small(16, 80, 2, 2), 1.0, true)]
        {
            // The longer ones are long enough for the scan to come all round, and to find something.
            for (operations_max, cuts, seed) in [(6, 300, 4), (2_000, 60, 5)] {
                let levelled = storm(&Storm {
                    preset,
                    geometry: with_metadata(preset, geometry),
                    share,
                    cuts: scaled(cuts, 10 * cuts),
                    operations_max,
                    overlap,
                    seed,
                });
                assert!(levelled > 10 || operations_max < 2_000, "{preset}: {levelled} blocks levelled");
            }
        }
    }
}

#[test]
fn merges_in_slices_survive_a_storm_of_cuts() {
    // Dense runs have fewer pages, and so fewer slices.
    for (preset, least) in [("geckoftl+runs", 60), ("geckoftl+two-way+runs", 60), ("geckoftl+dense+runs", 20)] {
        let mut seen = 0;
        for (geometry, share) in [(small(32, 240, 1, 1), 0.8), (small(16, 480, 2, 2), 1.0)] {
            // The first cuts come before any merge is done: what is left to merge grows.
            for (operations_max, cuts, seed) in [(30, 100, 12), (3000, 80, 13)] {
                seen += storm(&Storm {
                    preset,
                    geometry,
                    share,
                    cuts: scaled(cuts, 10 * cuts),
                    operations_max,
                    overlap: true,
                    seed,
                });
            }
        }
        assert!(seen >= least, "{preset}: the power fails during {seen} merges");
    }
}

#[test]
fn collections_in_slices_batches_and_groups_survive_a_storm_of_cuts() {
    let slices = ["page+slices", "lazyftl+slices", "geckoftl+slices", "geckoftl+slices+sample+wear"];
    let groups = ["lazyftl+groups", "geckoftl+groups"];
    for preset in slices.into_iter().chain(["lazyftl+batches", "geckoftl+batches"]).chain(groups) {
        let mut seen = 0;
        // Of smaller drives a group would be too much.
        let (one_die, four_dies) = match preset.ends_with("+groups") {
            true => (small(32, 120, 1, 1), small(16, 640, 2, 2)),
            false => (small(32, 60, 1, 1), small(16, 160, 2, 2)),
        };
        for (geometry, share) in [(one_die, 0.8), (one_die, 1.0), (four_dies, 1.0)] {
            for (operations_max, cuts, seed) in [(6, 60, 17), (400, 40, 18)] {
                seen += storm(&Storm {
                    preset,
                    geometry: with_metadata(preset, geometry),
                    share,
                    cuts: scaled(cuts, 50 * cuts),
                    operations_max,
                    overlap: true,
                    seed,
                });
            }
        }
        assert!(
            seen >= 20 || !preset.ends_with("+groups"),
            "{preset}: the power fails in {seen} collections of groups"
        );
    }
}

#[test]
fn drives_with_a_block_log_survive_a_storm_of_cuts() {
    for preset in ["geckoftl+log", "geckoftl+log+sample", "geckoftl+log+runs"] {
        // The last one has a table of several pages.
        let drives = [
            (small(32, 40, 1, 1), 0.8),
            (small(32, 40, 1, 1), 1.0),
            (small(16, 80, 2, 2), 1.0),
            (small(8, 1_000, 1, 1), 0.7),
        ];
        for (geometry, share) in drives {
            for (operations_max, cuts, seed) in [(2, 150, 14), (6, 100, 15), (200, 50, 16)] {
                let cuts = if geometry.blocks() > 500 { cuts / 5 } else { cuts };
                storm(&Storm {
                    preset,
                    geometry: with_metadata(preset, geometry),
                    share,
                    cuts: scaled(cuts, 10 * cuts),
                    operations_max,
                    overlap: true,
                    seed,
                });
            }
        }
    }
}

#[test]
fn drives_that_count_a_sample_survive_a_storm_of_cuts() {
    for preset in ["page+sample", "pl-greedy+sample", "lazyftl+sample", "geckoftl+sample", "geckoftl+sample+wear"] {
        for (geometry, share) in [(small(32, 40, 1, 1), 0.8), (small(32, 40, 1, 1), 1.0), (small(16, 80, 2, 2), 1.0)] {
            // Between the rarer ones the sample is no longer the one that the recovery left.
            for (operations_max, cuts, seed) in [(6, 300, 6), (2_000, 40, 7)] {
                storm(&Storm {
                    preset,
                    geometry: with_metadata(preset, geometry),
                    share,
                    cuts: scaled(cuts, 10 * cuts),
                    operations_max,
                    overlap: true,
                    seed,
                });
            }
        }
    }
}

/// Several blocks of user pages are open at a time, some of them for long.
#[test]
fn drives_that_sort_by_age_survive_a_storm_of_cuts() {
    let sorting = [
        "geckoftl+dual",
        "geckoftl+dual+fetch",
        "lazyftl+dual",
        "ib-ftl+dual",
        "geckoftl+dac",
        "dual-greedy+wear",
        "dac+dac",
        "cat+wear",
    ];
    for preset in sorting {
        for (geometry, share) in [(small(32, 48, 1, 1), 0.8), (small(32, 48, 1, 1), 1.0), (small(16, 100, 2, 2), 1.0)] {
            for (operations_max, cuts, seed) in [(6, 150, 10), (600, 20, 11)] {
                storm(&Storm {
                    preset,
                    geometry: with_metadata(preset, geometry),
                    share,
                    cuts: scaled(cuts, 10 * cuts),
                    operations_max,
                    overlap: true,
                    seed,
                });
            }
        }
    }
}

#[test]
fn drives_with_a_tree_of_several_levels_survive_a_storm_of_cuts() {
    for preset in ["lazyftl+tree", "ib-ftl+tree", "ib-ftl+sample"] {
        for (geometry, share) in [(small(32, 80, 1, 1), 0.9), (small(32, 80, 1, 1), 1.0), (small(16, 160, 2, 2), 1.0)] {
            for (operations_max, cuts, seed) in [(2, 300, 8), (30, 200, 9)] {
                storm(&Storm {
                    preset,
                    geometry: with_metadata(preset, geometry),
                    share,
                    cuts: scaled(cuts, 10 * cuts),
                    operations_max,
                    overlap: true,
                    seed,
                });
            }
        }
    }
}

#[test]
fn one_die_with_room_survives_a_storm_of_cuts() {
    storms(small(32, 40, 1, 1), 0.8, true);
}

#[test]
fn one_die_as_full_as_it_goes_survives_a_storm_of_cuts() {
    storms(small(32, 40, 1, 1), 1.0, true);
}

#[test]
fn four_dies_survive_a_storm_of_cuts_at_one_operation_at_a_time() {
    storms(small(16, 80, 2, 2), 0.9, false);
}

#[test]
fn four_dies_survive_a_storm_of_cuts_at_all_that_overlaps() {
    storms(small(16, 80, 2, 2), 1.0, true);
}

/// Cuts chosen each time so that the fewest free blocks are left: the worst that a run of cuts can do.
fn worst_cuts(preset: &str, geometry: Geometry, sessions: u32, seed: u64) {
    let logical = most_pages(preset, geometry);
    let mut host = Host::new(chips(geometry), config(preset, logical), seed);
    for _ in 0..2 {
        host.overwrite().unwrap();
    }
    host.plug.pull(host.at);
    host.power_back();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut free_min = u64::MAX;
    for session in 0..sessions {
        let mut best: Option<(u64, Host)> = None;
        let ways = 3 * u64::from(geometry.pages_per_block());
        for operations in 0..ways {
            let mut branch = host.fork(seed + u64::from(session) * ways + operations);
            branch.plug.arm(operations);
            if branch.recover().is_ok() {
                let mut steps = rng.clone();
                while branch.plug.cut_at().is_none() {
                    let _ = branch.step(&Step::by_chance(&mut steps, logical));
                }
            }
            assert!(branch.plug.cut_at().is_some(), "{preset}: recovery fails with the power on");
            branch.power_back();
            let mut after = branch.fork(1);
            after.recover().unwrap_or_else(|error| {
                panic!("{preset} on {geometry:?}, seed {seed}: session {session}, cut after {operations}: {error}")
            });
            let free = after.counter("free_blocks");
            if best.as_ref().is_none_or(|(least, _)| free < *least) {
                best = Some((free, branch));
            }
        }
        let (free, worst) = best.unwrap();
        free_min = free_min.min(free);
        host = worst;
        rng = Xoshiro256PlusPlus::seed_from_u64(below(&mut rng, u64::MAX));
    }
    println!("{preset} on {geometry:?}: {free_min} blocks free at the worst");
    host.recover().unwrap();
    for _ in 0..2 {
        host.overwrite().unwrap();
    }
    host.compare_all();
    host.check();
}

#[test]
fn the_worst_cut_each_time_leaves_free_blocks() {
    for preset in scanned().iter().map(|preset| preset.name).chain(["page+sample"]) {
        for (geometry, seed) in [(small(16, 60, 1, 1), 1), (small(16, 100, 2, 2), 2)] {
            let geometry = with_metadata(preset, geometry);
            worst_cuts(preset, geometry, scaled(2, 100), seed);
        }
    }
}

/// The host's actions between two cuts: few steps on few pages, so that a failure shrinks to something a person can
/// read.
fn short_step() -> impl Strategy<Value = Step> {
    let place = (0..40u32, 1..4u32);
    prop_oneof![
        4 => (place.clone(), any::<bool>()).prop_map(|((first, pages), bytes)| Step::Write { first, pages, bytes }),
        2 => place.prop_map(|(first, pages)| Step::Trim { first, pages }),
        1 => Just(Step::Flush),
    ]
}

/// Until the power fails, with this many programs and erases before it, as this fault.
#[derive(Clone, Debug)]
struct Session {
    steps: Vec<Step>,
    operations: u64,
    program: ProgramFault,
    erase: EraseFault,
}

fn session() -> impl Strategy<Value = Session> {
    let program = (0..ProgramFault::ALL.len()).prop_map(|n| ProgramFault::ALL[n]);
    let erase = (0..EraseFault::ALL.len()).prop_map(|n| EraseFault::ALL[n]);
    (prop::collection::vec(short_step(), 0..6), 0..12u64, program, erase)
        .prop_map(|(steps, operations, program, erase)| Session { steps, operations, program, erase })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(1000, 100_000), ..ProptestConfig::default() })]

    #[test]
    fn a_few_sessions_that_end_in_cuts_lose_nothing(
        preset in 0..scanned().len(),
        dies in prop::sample::select(vec![1u32, 2, 4]),
        overlap in any::<bool>(),
        sessions in prop::collection::vec(session(), 1..12),
    ) {
        let geometry = with_metadata(scanned()[preset].name, small(16, 40 + 16 * u64::from(dies), 1, dies));
        let mut host = Host::new(chips(geometry), config(scanned()[preset].name, 80), 1);
        host.plug.overlap = overlap;
        for session in &sessions {
            host.plug.program_faults = vec![session.program];
            host.plug.erase_faults = vec![session.erase];
            host.plug.arm(session.operations);
            if host.ftl.is_none()
                && let Err(error) = host.recover()
            {
                prop_assert!(host.plug.cut_at().is_some(), "recovery fails with the power on: {}", error);
            }
            for step in &session.steps {
                if host.plug.cut_at().is_none()
                    && let Err(error) = host.step(step)
                {
                    prop_assert!(host.plug.cut_at().is_some(), "{:?} fails with the power on: {}", step, error);
                }
            }
            if host.plug.cut_at().is_none() {
                host.plug.pull(host.at);
            }
            host.power_back();
        }
        host.recover().unwrap();
        host.overwrite().unwrap();
        host.compare_all();
    }
}
