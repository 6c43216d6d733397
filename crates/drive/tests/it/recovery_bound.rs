//! The laboratory notices a recovery that costs more than it states, and one that does not report all that it did.

use phelsuma_drive::lab::{CutNand, Fault, LabConfig, Points, Ready, SoakConfig, Subject, Sweep, Workload};
use phelsuma_ftl::{Config, Preset, RecoveryReport};
use phelsuma_nand::{Geometry, Time, Timing};

/// One of the house that does not say what its recoveries cost.
#[derive(Clone, Debug)]
struct Boasting {
    of: Config,
    how: How,
}

#[derive(Clone, Copy, Debug)]
enum How {
    /// It states too little.
    States,
    /// Its steps have another number of reads than the flash.
    Hides,
}

impl Subject for Boasting {
    fn name(&self) -> &str {
        "boasting"
    }

    fn logical_pages(&self) -> u32 {
        self.of.logical_pages
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        self.of.format(nand, at)
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        let (ftl, mut report) = self.of.recover(nand, at)?;
        assert!(report.is_within_bound());
        match self.how {
            How::States => report.bound.spare_reads = report.total().spare_reads - 1,
            How::Hides => report.steps.last_mut().unwrap().reads += 1,
        }
        Ok((ftl, report))
    }
}

fn boasting(how: How) -> Boasting {
    let composition = Preset::named("page").unwrap().composition;
    Boasting { of: Config::new("page", composition, 200, 1), how }
}

#[test]
fn a_recovery_that_is_longer_than_stated_is_found_by_sweeps_and_by_the_soak() {
    is_found(How::States, "spare areas read");
}

#[test]
fn a_recovery_that_tells_of_something_else_than_it_did_is_found_by_sweeps_and_by_the_soak() {
    is_found(How::Hides, "pages read");
}

fn is_found(how: How, what: &str) {
    let geometry = Geometry::new(512, 16, 32, 1, 1).unwrap();
    let timing = Timing::preset("gecko").unwrap();
    let config = LabConfig {
        geometry,
        timing,
        ftl: boasting(how),
        workload: Workload::Mixed,
        writes: 20,
        points: Points::Some(10),
        faults: Fault::all(),
        depth: 1,
        seed: 1,
        threads: 1,
    };
    let report = Sweep::new(&config).run().unwrap();
    assert!(report.stuck > 0, "{report:#?}");
    let message = &report.failures[0].message;
    assert!(message.contains("not what it says") && message.contains(what), "{message}");

    let soak = SoakConfig { geometry, timing, ftl: boasting(how), seed: 1, decay: 0, bad: 0, threads: 1 };
    let found = soak.relive(0).unwrap().unwrap();
    assert!(found.kind == "stuck" && found.message.contains("not what it says"), "{found:?}");
}
