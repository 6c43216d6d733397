//! Crashes at any write to the file, of the process and of the host, and crashes of the opening after one.
//!
//! Not tested: a disk that loses data which it has acknowledged as durable, and sectors that go bad.

use super::Forgets;
use super::drive::{Expected, Formatted, formatted, up, verify, work};
use super::recorder::{Crash, Recorder, Replay};
use crate::image::{CreateOptions, Durability, FaultPlan, ImageError, ImageNand};
use phelsuma_ftl::{Config, FtlError, Hint, HostData, PRESETS, PowerPart, WriteRequest, recover};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{Block, Content, Geometry, Kind, LogicalPage, Nand, Op, Page, Purpose, Spare, SpareRead, Time};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn scaled(quick: usize, thorough: usize) -> usize {
    if std::env::var_os("PHELSUMA_THOROUGH").is_some_and(|v| v == "1") { thorough } else { quick }
}

/// Not in the long mode: one with a table of pages, those that mount from pages of metadata, and log blocks.
const SOME: [&str; 8] = ["page", "geckoftl", "lazyftl", "ib-ftl", "fast", "superblock", "last++", "ftl-mm:fast"];

/// The names of those that any cut may meet, or some of them: an image does not depend on FTLs.
fn presets() -> impl Iterator<Item = &'static str> {
    let any_cut = [PowerPart::Scan, PowerPart::GECKO_REC, PowerPart::Synchronize, PowerPart::Fast];
    PRESETS
        .iter()
        .filter(move |preset| preset.composition.power().is_none_or(|power| any_cut.contains(&power)))
        .filter(|preset| !preset.composition.may_lose_what_is_not_flushed())
        .filter(|preset| scaled(0, 1) == 1 || SOME.contains(&preset.name))
        .map(|preset| preset.name)
}

/// A panic and an error are both noticed.
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

/// Opens an image, recovers the drive on it, and crashes at some write of that.
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
    all_presets(false, &[Crash::Process], scaled(60, 1_000));
}

#[test]
fn what_was_flushed_survives_the_hosts_crash_whatever_writes_are_missing() {
    all_presets(false, &Crash::OF_HOST, scaled(20, 300));
}

#[test]
fn an_opening_that_crashes_as_well_loses_nothing_either() {
    all_presets(true, &[Crash::Process, Crash::AnyPieces, Crash::SectorsInOrder], scaled(12, 600));
}

/// A plug that is pulled within so many operations, with any faults.
fn plan(nand: &ImageNand<Recorder>, within: u64, rng: &mut impl RngCore) -> Option<FaultPlan> {
    let mut below = |n: u64| rng.next_u64() % n;
    Some(FaultPlan {
        after: nand.operations() + below(within),
        program: ProgramFault::ALL[below(ProgramFault::ALL.len() as u64) as usize],
        erase: EraseFault::ALL[below(EraseFault::ALL.len() as u64) as usize],
        seed: below(u64::MAX),
    })
}

#[test]
fn what_was_acknowledged_survives_the_plug_with_every_fault_and_again_in_the_recovery() {
    for preset in presets() {
        let drive = formatted(preset, 4);
        let pages = drive.config.logical_pages;
        let mut cut_again = 0;
        for seed in 0..scaled(60, 600) as u64 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut worked = up(Recorder::new(drive.image.clone()), Forgets::default()).unwrap();
            let planned = plan(&worked.0, 1_000, &mut rng);
            worked.0.set_fault_plan(planned);
            let requests = work(&mut worked, pages, 150, 8, seed);
            let mut recorder = worked.0.into_storage();
            let expected = Expected::after(pages, &requests, recorder.events.len(), false);
            for _ in 0..rng.next_u64() % 3 {
                let mut nand = ImageNand::open_on(Recorder::new(recorder.bytes), Durability::Flush).unwrap();
                let planned = plan(&nand, 12, &mut rng);
                nand.set_fault_plan(planned);
                let recovered = recover(&mut nand, &drive.config, Time::ZERO);
                assert!(recovered.is_ok() || nand.is_off(), "{preset}, seed {seed}");
                cut_again += u32::from(nand.is_off());
                recorder = nand.into_storage();
            }
            let done = noticed(|| verify(recorder.bytes, &expected, Forgets::default()));
            done.unwrap_or_else(|error| panic!("{preset}, seed {seed}, {planned:?}: {error}"));
        }
        assert!(cut_again > 0, "{preset}: no recovery was cut");
    }
}

#[test]
fn a_file_that_cannot_be_written_puts_the_image_off_and_retires_no_block() {
    let drive = formatted("page", 4);
    for writes in [0, 1, 2, 100, 101, 500] {
        let mut nand = match ImageNand::open_on(
            Recorder { room: Some(writes), ..Recorder::new(drive.image.clone()) },
            Durability::Flush,
        ) {
            Ok(nand) => nand,
            Err(error) => {
                assert!(writes == 0 && matches!(error, ImageError::Io { .. }), "{error}");
                continue;
            }
        };
        let (mut ftl, _) = recover(&mut nand, &drive.config, Time::ZERO).unwrap();
        let error = (0..).find_map(|n| {
            let request = WriteRequest {
                first: LogicalPage(n % drive.config.logical_pages),
                pages: 1,
                data: HostData::Hollow(n.into()),
                hint: Hint::None,
            };
            ftl.write(&mut nand, &request, Time::ZERO).err()
        });
        assert!(matches!(error, Some(FtlError::Program(_) | FtlError::Erase(_))), "{error:?}");
        assert!(nand.is_off() && matches!(nand.failure(), Some(ImageError::Io { .. })));
        assert!(nand.sync().is_err());
        let bytes = nand.into_storage().bytes;
        let mut nand = ImageNand::open_on(Recorder::new(bytes), Durability::Flush).unwrap();
        assert!((0..nand.geometry().blocks()).all(|block| !nand.is_bad(Block(block))));
        let (mut ftl, _) = recover(&mut nand, &drive.config, Time::ZERO).unwrap();
        assert_eq!(ftl.check(&mut nand), []);
    }
}

#[test]
fn a_mark_of_a_bad_block_is_never_there_without_what_it_rests_on_and_never_lost() {
    let geometry = Geometry::new(512, 8, 16, 1, 1).unwrap();
    let config = Config::new("page", PRESETS[0].composition, 8, 1);
    let options = CreateOptions { spare_slots: Some(2), ..CreateOptions::default() };
    let base = vec![0; ImageNand::file_bytes_of(&geometry, &options).unwrap() as usize];
    let mut nand = ImageNand::create_on(Recorder::new(base.clone()), &geometry, &config, &options).unwrap();
    let created = nand.storage.events.len();
    let op = Op::new(Time::ZERO, Purpose::Host);
    let pages: Vec<Page> = (0..5).flat_map(|b| (0..3).map(move |i| geometry.page(Block(b), i))).collect();
    let program = |nand: &mut ImageNand<Recorder>, page: Page| {
        let content = Content::Hollow(page.0.into());
        let data_crc = content.crc();
        let spare = Spare { kind: Kind::User, stream: 0, key: page.0, version: 1, seq: 1, data_crc, aux: 0 };
        nand.program(page, content, &spare, op).unwrap();
    };
    pages.iter().for_each(|page| program(&mut nand, *page));
    nand.mark_bad(Block(9));
    let marked = nand.storage.events.len();
    (0..8).for_each(|index| program(&mut nand, geometry.page(Block(7), index)));
    let events = nand.into_storage().events;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut replay = Replay::new(&base, &events);
    let mut found = [0, 0];
    for cut in created..events.len() {
        replay.go_to(cut);
        for crash in [Crash::Process].iter().chain(&Crash::OF_HOST).cycle().take(30) {
            let mut nand =
                ImageNand::open_on(Recorder::new(replay.crash(*crash, &mut rng)), Durability::Flush).unwrap();
            let is_bad = nand.is_bad(Block(9));
            found[usize::from(is_bad)] += 1;
            assert!(is_bad || cut < marked, "{crash:?} at {cut}: the mark is lost");
            let there = |page: &Page| matches!(nand.read_spare(*page, op).0, SpareRead::Written(_));
            assert!(
                !is_bad || pages.iter().all(there),
                "{crash:?} at {cut}: it is marked, and pages before are not there"
            );
        }
    }
    assert!(found.iter().all(|n| *n > 100), "{found:?}");
}

/// Whether a double that forgets a rule is caught.
fn is_caught(forgets: Forgets, spare_slots: u32, again: bool, crashes: &'static [Crash]) {
    let drive = formatted("page", spare_slots);
    let trial = |seed| Trial {
        requests: 250,
        flush_each: if spare_slots == 40 { 40 } else { 8 },
        cuts: 40,
        seed,
        forgets,
        again,
        crashes,
    };
    let caught = (1..=20).find_map(|seed| storm(&drive, &trial(seed)).err());
    assert!(caught.is_some(), "{forgets:?} was not noticed");
}

#[test]
fn slots_that_are_used_again_at_once_are_noticed() {
    is_caught(Forgets { slots_wait: true, ..Forgets::default() }, 5, false, &Crash::OF_HOST);
}

#[test]
fn slots_that_are_used_again_before_the_header_says_so_are_noticed() {
    is_caught(Forgets { header_on_disk: true, ..Forgets::default() }, 40, false, &Crash::OF_HOST);
}

#[test]
fn operations_that_are_not_undone_are_noticed() {
    is_caught(Forgets { rolling_back: true, ..Forgets::default() }, 40, true, &Crash::OF_HOST);
}

#[test]
fn a_prefix_with_gaps_is_noticed() {
    is_caught(Forgets { prefix: true, ..Forgets::default() }, 40, false, &Crash::OF_HOST);
}

#[test]
fn pages_whose_data_are_missing_are_noticed() {
    is_caught(Forgets { data_checked: true, ..Forgets::default() }, 40, false, &Crash::OF_HOST);
}

#[test]
fn a_header_written_over_itself_is_noticed_when_the_process_dies() {
    is_caught(Forgets { other_header: true, ..Forgets::default() }, 1, false, &[Crash::Process]);
}
