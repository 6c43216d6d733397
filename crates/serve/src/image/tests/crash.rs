//! Crashes at any write to the file, of the process and of the host, and crashes of what opens the image after one.
//!
//! Not tested: a disk that does not keep what it has said to be durable, and sectors that go bad.

use super::Forgets;
use super::drive::{Expected, Formatted, formatted, up, verify, work};
use super::recorder::{Crash, Recorder, Replay};
use phelsuma_ftl::{PRESETS, PowerPart};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn scaled(quick: usize, thorough: usize) -> usize {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1") { thorough } else { quick }
}

/// The names of those that any cut may meet.
fn presets() -> impl Iterator<Item = &'static str> {
    let any_cut = [PowerPart::Scan, PowerPart::GeckoRec, PowerPart::Synchronize];
    PRESETS.iter().filter(move |preset| any_cut.contains(&preset.composition.power)).map(|preset| preset.name)
}

/// Whether it panics or says what is wrong, somebody has noticed.
fn noticed(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("a panic".to_string()))
}

struct Trial {
    requests: u32,
    /// One request in so many is a flush.
    flush_each: u64,
    cuts: usize,
    seed: u64,
    forgets: Forgets,
    /// Whether what opens the image is cut as well.
    again: bool,
    crashes: &'static [Crash],
}

/// Works on a drive, and crashes it at so many writes chosen at random. The first thing wrong.
fn storm(drive: &Formatted, trial: &Trial) -> Result<(), String> {
    let pages = drive.config.logical_pages;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(trial.seed);
    let mut worked = up(Recorder::new(drive.image.clone()), trial.forgets)?;
    let requests = work(&mut worked, pages, trial.requests, trial.flush_each, trial.seed);
    let events = worked.0.into_storage().events;
    let mut cuts: Vec<usize> = (0..trial.cuts).map(|_| (rng.next_u64() % events.len() as u64) as usize).collect();
    cuts.sort_unstable();
    let mut replay = Replay::new(&drive.image, &events);
    for cut in cuts {
        replay.go_to(cut);
        for crash in trial.crashes {
            let image = replay.crash(*crash, &mut rng);
            let expected = Expected::after(pages, &requests, cut, *crash != Crash::Process);
            let say = |error: String| format!("{crash:?} at write {cut} of {}: {error}", events.len());
            if trial.again {
                let second = crash_of_opening(&image, trial.forgets, *crash, &mut rng).map_err(say)?;
                noticed(|| verify(second, &expected, trial.forgets)).map_err(|e| say(format!("cut again: {e}")))?;
            }
            noticed(|| verify(image, &expected, trial.forgets)).map_err(say)?;
        }
    }
    Ok(())
}

/// Opens an image, recovers what is on it, and crashes at some write of that.
fn crash_of_opening(image: &[u8], forgets: Forgets, crash: Crash, rng: &mut impl RngCore) -> Result<Vec<u8>, String> {
    let opened = up(Recorder::new(image.to_vec()), forgets)?;
    let events = opened.0.into_storage().events;
    let mut replay = Replay::new(image, &events);
    replay.go_to((rng.next_u64() % (events.len() as u64 + 1)) as usize);
    Ok(replay.crash(crash, rng))
}

fn all_presets(again: bool, crashes: &'static [Crash], cuts: usize) {
    for (n, preset) in (1..).zip(presets()) {
        for spare_slots in [1, 5, 40] {
            let drive = formatted(preset, spare_slots);
            let seed = n * 100 + u64::from(spare_slots);
            let flush_each = if spare_slots == 40 { 40 } else { 8 };
            let trial = Trial { requests: 250, flush_each, cuts, seed, forgets: Forgets::default(), again, crashes };
            storm(&drive, &trial).unwrap_or_else(|error| panic!("{preset}, {spare_slots} spare slots: {error}"));
        }
    }
}

#[test]
fn what_a_process_has_acknowledged_survives_its_death_between_and_inside_writes() {
    all_presets(false, &[Crash::Process], scaled(60, 3_000));
}

#[test]
fn what_was_flushed_survives_the_hosts_crash_whatever_writes_are_missing() {
    all_presets(false, &Crash::OF_HOST, scaled(20, 1_000));
}

#[test]
fn an_opening_that_crashes_as_well_loses_nothing_either() {
    all_presets(true, &[Crash::Process, Crash::AnyPieces, Crash::SectorsInOrder], scaled(12, 600));
}

/// Whether a double that forgets a rule is caught.
fn is_caught(forgets: Forgets, spare_slots: u32, again: bool) {
    let drive = formatted("page", spare_slots);
    let trial = |seed| Trial {
        requests: 250,
        flush_each: if spare_slots == 40 { 40 } else { 8 },
        cuts: 40,
        seed,
        forgets,
        again,
        crashes: &Crash::OF_HOST,
    };
    let caught = (1..=20).find_map(|seed| storm(&drive, &trial(seed)).err());
    assert!(caught.is_some(), "{forgets:?} was not noticed");
}

#[test]
fn slots_that_are_used_again_at_once_are_noticed() {
    is_caught(Forgets { slots_wait: true, ..Forgets::default() }, 5, false);
}

#[test]
fn slots_that_are_used_again_before_the_header_says_so_are_noticed() {
    is_caught(Forgets { header_on_disk: true, ..Forgets::default() }, 40, false);
}

#[test]
fn operations_that_are_not_undone_are_noticed() {
    is_caught(Forgets { rolling_back: true, ..Forgets::default() }, 40, true);
}

#[test]
fn a_prefix_with_gaps_is_noticed() {
    is_caught(Forgets { prefix: true, ..Forgets::default() }, 40, false);
}

#[test]
fn pages_whose_data_are_missing_are_noticed() {
    is_caught(Forgets { data_checked: true, ..Forgets::default() }, 40, false);
}
