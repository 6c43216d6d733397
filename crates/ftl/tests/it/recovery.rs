//! Recovery: what a power cut leaves, and what the drive makes of it.

use crate::common::{Host, Step, below, chips, config, scanned, small, with_metadata, with_tombstones};
use phelsuma_ftl::{Config, Preset, recover};
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_nand::{Geometry, Time};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A host with a drive of one die, so that an operation is in flight alone.
fn host(preset: &str, share: f64) -> Host {
    Host::with_share(preset, small(32, 40, 1, 1), share)
}

impl Host {
    /// The power fails at the program or erase after the next `operations`, and is back.
    fn cut_after(&mut self, operations: u64, program: ProgramFault, erase: EraseFault, run: impl FnOnce(&mut Self)) {
        self.plug.program_faults = vec![program];
        self.plug.erase_faults = vec![erase];
        self.plug.arm(operations);
        run(self);
        assert!(self.plug.cut_at().is_some(), "there were no {operations} operations");
        self.power_back();
    }
}

#[test]
fn a_torn_page_that_one_recovery_rejects_is_rejected_by_the_next_one_too() {
    for preset in scanned() {
        let mut host = host(preset.name, 0.8);
        host.write(3, 1, false).unwrap();
        host.cut_after(0, ProgramFault::TornUnseen, EraseFault::NotStarted, |h| assert!(h.write(3, 1, false).is_err()));
        host.recover().unwrap();
        host.write(4, 1, false).unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn a_torn_tombstone_page_does_not_bring_trimmed_pages_back() {
    for preset in with_tombstones() {
        let mut host = host(preset.name, 0.8);
        host.write(0, 20, false).unwrap();
        host.trim(3, 4).unwrap();
        host.flush().unwrap();
        host.trim(10, 4).unwrap();
        host.cut_after(0, ProgramFault::TornUnseen, EraseFault::NotStarted, |h| assert!(h.flush().is_err()));
        host.recover().unwrap();
        host.write(15, 1, false).unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn what_an_unstable_page_replaced_is_not_erased_before_its_copy_is_safe() {
    for preset in scanned() {
        for erase in EraseFault::ALL {
            for operations in 0..3 {
                let mut host = host(preset.name, 0.8);
                for page in 0..32 {
                    host.write(page, 1, false).unwrap();
                }
                for page in 0..31 {
                    host.write(page, 1, false).unwrap();
                }
                host.cut_after(0, ProgramFault::Unstable, EraseFault::NotStarted, |h| {
                    assert!(h.write(31, 1, false).is_err());
                });
                host.plug.program_faults = vec![ProgramFault::TornSeen];
                host.plug.erase_faults = vec![*erase];
                host.plug.arm(operations);
                if host.recover().is_err() {
                    assert!(host.plug.cut_at().is_some());
                    host.power_back();
                    host.recover().unwrap();
                }
            }
        }
    }
}

#[test]
fn recoveries_in_a_row_do_not_use_up_a_drive_that_was_trimmed_whole() {
    for preset in scanned() {
        let mut host = host(preset.name, 1.0);
        for _ in 0..3 {
            host.overwrite().unwrap();
        }
        let logical = host.logical_pages();
        host.trim(0, logical).unwrap();
        host.flush().unwrap();
        for cut in 0..50 {
            host.plug.pull(host.at);
            host.power_back();
            host.recover().unwrap_or_else(|error| panic!("{}: recovery {cut}: {error}", preset.name));
        }
        host.overwrite().unwrap();
        host.compare_all();
    }
}

#[test]
fn a_tombstone_page_that_reads_well_once_does_not_hide_the_one_before_it() {
    for preset in with_tombstones() {
        let mut host = host(preset.name, 0.8);
        host.write(0, 20, false).unwrap();
        host.trim(3, 4).unwrap();
        host.flush().unwrap();
        host.trim(10, 4).unwrap();
        host.cut_after(0, ProgramFault::UnstableOnce, EraseFault::NotStarted, |h| assert!(h.flush().is_err()));
        host.recover().unwrap();
        host.write(15, 1, false).unwrap();
        host.step(&Step::Cut).unwrap();
        host.compare_all();
    }
}

#[test]
fn a_torn_page_stays_rejected_however_often_recovery_itself_is_cut() {
    for preset in scanned() {
        for dies in [1, 4] {
            let geometry = with_metadata(preset.name, small(16, 80, 1, dies));
            let mut host = Host::new(chips(geometry), config(preset.name, 540), 1);
            host.plug.overlap = false;
            host.write(3, 1, false).unwrap();
            host.write(4, 1, false).unwrap();
            host.cut_after(0, ProgramFault::TornUnseen, EraseFault::NotStarted, |h| {
                assert!(h.write(3, 1, false).is_err())
            });
            for _ in 0..60 {
                // At the second operation: the first one is an erase.
                host.plug.program_faults = vec![ProgramFault::TornUnseen];
                host.plug.arm(1);
                let recovered = host.recover();
                host.plug.disarm();
                if recovered.is_ok() {
                    host.plug.pull(host.at);
                }
                host.power_back();
            }
            host.recover().unwrap();
            host.write(5, 1, false).unwrap();
            host.step(&Step::Cut).unwrap();
            host.compare_all();
        }
    }
}

#[test]
fn gecko_rec_takes_less_ram_than_the_ftl_that_it_mounts() {
    let geometry = Geometry::new(4_096, 64, 4_096, 1, 1).unwrap();
    let logical_pages = (geometry.pages() as f64 * 0.7) as u32;
    let composition = Preset::named("geckoftl").unwrap().composition;
    let mut host = Host::new(chips(geometry), Config::new("geckoftl", composition, logical_pages, 1), 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for state in ["formatted", "filled", "overwritten"] {
        match state {
            "filled" => (0..logical_pages).step_by(64).for_each(|first| {
                host.write(first, 64.min(logical_pages - first), false).unwrap();
            }),
            "overwritten" => (0..60_000).for_each(|_| {
                host.write(below(&mut rng, u64::from(logical_pages)) as u32, 1, false).unwrap();
            }),
            _ => {}
        }
        let ram = host.ftl.take().unwrap().ram().all_total();
        let (ftl, report) = recover(&mut host.plug, &host.config, Time::ZERO).unwrap();
        (host.ftl, host.at) = (Some(ftl), report.done);
        assert!(report.scratch_bytes < ram, "{state}: {} of {ram} bytes", report.scratch_bytes);
        // Blocks that hold nothing are in no list.
        assert!(state != "formatted" || report.scratch_bytes < 24_000, "{}", report.scratch_bytes);
    }
}
