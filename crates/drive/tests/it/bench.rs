//! A drive that is driven by hand: its plug, and its checker.

use phelsuma_drive::lab::{Bench, BenchError, FailureKind, Fault, Met, Moment, Plug, Request, Workload, script};
use phelsuma_ftl::{Composition, Config, Preset};
use phelsuma_nand::{Geometry, Kind, TIMINGS};
use std::sync::Arc;

const BLOCKS: u64 = 64;

fn config(ftl: &str) -> Config {
    let mut composition: Composition = Preset::named(ftl).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    Config::new(ftl, composition, 1_000, 1)
}

/// A drive that collects, and the requests that come next.
fn worn_in(config: Config) -> (Bench, std::vec::IntoIter<Request>) {
    let geometry = Geometry::new(512, 32, BLOCKS, 1, 1).unwrap();
    let (mut requests, before) = script(Workload::Mixed, &geometry, &config, 4_000, 1);
    let rest = requests.split_off(before);
    let mut bench = Bench::format(Arc::new(config), geometry, TIMINGS[0].2).unwrap();
    requests.iter().for_each(|request| bench.submit(request, None).unwrap());
    (bench, rest.into_iter())
}

/// Serves requests until the power fails.
fn cut(bench: &mut Bench, requests: &mut impl Iterator<Item = Request>, mut plug: Plug) -> Option<Met> {
    requests.find_map(|request| bench.submit_until(&request, None, &mut plug).unwrap())
}

#[test]
fn a_cut_meets_what_was_named_and_the_drive_goes_on() {
    let (mut bench, mut requests) = worn_in(config("geckoftl"));
    for fault in Fault::all() {
        let moments: &[Moment] = match fault {
            Fault::Erase(_) => &[Moment::Erase],
            _ => &[Moment::Host, Moment::Moved, Moment::Metadata],
        };
        for moment in moments {
            let met = cut(&mut bench, &mut requests, Plug { moment: *moment, skip: 2, fault, seed: 1 }).unwrap();
            let is_data = met.kind == Some(Kind::User);
            match moment {
                Moment::Erase => assert_eq!(met.kind, None),
                Moment::Metadata => assert!(met.kind.is_some() && !is_data),
                _ => assert!(is_data),
            }
            assert!(!bench.is_on());
            assert_eq!(bench.submit(&Request::Flush, None), Err(BenchError::Off));
            let recovered = bench.recover().unwrap();
            assert_eq!((recovered.checked, recovered.older, recovered.unreadable), (1_000, 0, 0));
            assert_eq!(bench.examine(), Ok(()), "{} {}", moment.name(), fault.name());
        }
    }
}

#[test]
fn a_copy_goes_its_own_way() {
    let (mut bench, mut requests) = worn_in(config("page"));
    let mut copy = bench.copy();
    let next: Vec<Request> = requests.by_ref().take(50).collect();
    next.iter().for_each(|request| bench.submit(request, None).unwrap());
    assert_ne!(bench.operations(), copy.operations());
    copy.pull().unwrap();
    assert_eq!((copy.is_on(), bench.is_on()), (false, true));
    copy.recover().unwrap();
    next.iter().for_each(|request| copy.submit(request, None).unwrap());
    assert_eq!((bench.examine(), copy.examine()), (Ok(()), Ok(())));
}

/// What it says is worth something: an FTL that believes a torn page is found out.
#[cfg(phelsuma_mutants)]
#[test]
fn the_checker_finds_an_ftl_that_believes_what_is_torn() {
    use phelsuma_ftl::Barrier;
    use phelsuma_nand::sim::ProgramFault;
    let mut config = config("page");
    config.forgets = Some(Barrier::SuspectsVerified);
    let (mut bench, mut requests) = worn_in(config);
    let fault = Fault::Program(ProgramFault::TornUnseen);
    let found = (0..20).any(|skip| {
        let met = cut(&mut bench, &mut requests, Plug { moment: Moment::Host, skip, fault, seed: 1 });
        assert!(met.is_some());
        match bench.recover() {
            Ok(_) => bench.examine().is_err(),
            Err(BenchError::Found(wrong)) => wrong.kind != FailureKind::Panic,
            Err(other) => panic!("{other}"),
        }
    });
    assert!(found);
}
