//! Power cuts at every operation, nested, with every fault.

use phelsuma_drive::lab::{Fault, LabConfig, Points, Sweep, Workload};
use phelsuma_mcu::MetaPlace;
use phelsuma_mcu_nand::{Mcu, McuSubject};
use phelsuma_nand::{Geometry, Timing};

fn sweep(parts: Mcu, meta: MetaPlace, workload: Workload, writes: u32, points: Points, depth: u32) {
    let geometry = Geometry::new(512, 16, 48, 1, 1).unwrap();
    let config = LabConfig {
        geometry,
        timing: Timing::preset("gecko").unwrap(),
        ftl: McuSubject::new(parts, &geometry, meta, 32, None),
        workload,
        writes,
        points,
        faults: Fault::all().into_iter().chain([Fault::defects().next().unwrap()]).collect(),
        depth,
        seed: 1,
        threads: 2,
    };
    let report = Sweep::new(&config).run().unwrap();
    assert!(!report.failed(), "{}: {report:#?}", config.describe());
    println!("{} {workload:?}: {} cuts", config.describe(), report.cuts);
}

#[test]
fn every_operation_with_every_fault() {
    for meta in [MetaPlace::Spare, MetaPlace::InPage] {
        for parts in [Mcu::Gecko, Mcu::Smallest, Mcu::RamTable] {
            sweep(parts, meta, Workload::Mixed, 60, Points::Every, 1);
        }
    }
}

#[test]
fn nested() {
    for parts in [Mcu::Gecko, Mcu::Smallest, Mcu::RamTable] {
        sweep(parts, MetaPlace::Spare, Workload::Mixed, 40, Points::Some(10), 2);
    }
}
