//! The laboratory notices a recovery that costs more than it says.

use phelsuma_drive::lab::{CutNand, Fault, LabConfig, Points, Ready, SoakConfig, Subject, Sweep, Workload};
use phelsuma_ftl::{Config, Preset, RecoveryReport};
use phelsuma_nand::{Geometry, Time, Timing};

/// One of the house that states too little.
#[derive(Clone, Debug)]
struct Boasting(Config);

impl Subject for Boasting {
    fn name(&self) -> &str {
        "boasting"
    }

    fn logical_pages(&self) -> u32 {
        self.0.logical_pages
    }

    fn format(&self, nand: &mut CutNand, at: Time) -> Ready<Time> {
        phelsuma_ftl::format(nand, &self.0, at)
    }

    fn recover(&self, nand: &mut CutNand, at: Time) -> Ready<RecoveryReport> {
        let (ftl, mut report) = phelsuma_ftl::recover(nand, &self.0, at)?;
        assert!(report.is_within_bound());
        report.bound.spare_reads = report.total().spare_reads - 1;
        Ok((ftl, report))
    }
}

fn boasting() -> Boasting {
    let composition = Preset::named("page").unwrap().composition;
    Boasting(Config::new("page", composition, 200, 1))
}

#[test]
fn a_recovery_that_is_longer_than_stated_is_found_by_sweeps_and_by_the_soak() {
    let geometry = Geometry::new(512, 16, 32, 1, 1).unwrap();
    let timing = Timing::preset("gecko").unwrap();
    let config = LabConfig {
        geometry,
        timing,
        ftl: boasting(),
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
    assert!(message.contains("too long") && message.contains("spare areas read"), "{message}");

    let soak = SoakConfig { geometry, timing, ftl: boasting(), seed: 1, decay: 0, bad: 0, threads: 1 };
    let found = soak.relive(0).unwrap().unwrap();
    assert!(found.kind == "stuck" && found.message.contains("too long"), "{found:?}");
}
