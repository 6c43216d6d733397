//! The harness proves itself: FTLs that each omit one rule that their data stand on, and an experiment that catches
//! each.
//!
//! The experiments are of the crash laboratory (`experiments.rs`). They find nothing on the FTL that omits none.
//!
//! `make test` and `make mutants` run it, and `make mutants-table` writes `docs/MUTANTS.md`. A release has no such
//! FTLs.

mod experiments;
mod table;
mod trap;

use experiments::{ELSEWHERE, UNNOTICED, traps};
use phelsuma_ftl::Barrier;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;
use trap::{Caught, Trap};

/// How many experiments are done at the same time.
const WORKERS: usize = 2;

/// Does something with each, several at a time; what came of it, in order.
fn each<T: Sync, R: Send>(of: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((number, one)) = of.get(next.load(Ordering::Relaxed)).and_then(|_| {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    of.get(number).map(|one| (number, one))
                }) {
                    let result = work(one);
                    done.lock().unwrap().push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Every experiment with its mutant: done once for all tests.
static CAUGHT: LazyLock<Vec<(Barrier, Trap, Option<Caught>)>> = LazyLock::new(|| {
    each(&traps(), |(barrier, trap)| {
        let begun = Instant::now();
        let caught = trap.with(*barrier);
        println!("{:6.1} s {barrier:?} {} {trap}: {caught:?}", begun.elapsed().as_secs_f64(), trap.ftl());
        (*barrier, *trap, caught)
    })
});

#[test]
fn mutants_are_caught_each() {
    let missed: Vec<_> = CAUGHT.iter().filter(|(.., caught)| caught.is_none()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    let caught: HashSet<Barrier> = traps().into_iter().map(|(barrier, _)| barrier).collect();
    assert!(caught.len() >= 50, "{} mutants", caught.len());
}

#[test]
fn mutants_are_all_in_the_list_and_only_once() {
    let trapped = traps();
    for barrier in Barrier::ALL {
        let lists = [
            trapped.iter().any(|(b, _)| b == barrier),
            ELSEWHERE.iter().any(|(b, _)| b == barrier),
            UNNOTICED.iter().any(|(b, _)| b == barrier),
        ];
        assert_eq!(lists.into_iter().filter(|listed| *listed).count(), 1, "{barrier:?}: {lists:?}");
        assert!(!barrier.rule().is_empty());
    }
}

/// As much of each experiment as it took to catch the mutant.
#[test]
fn what_catches_mutants_finds_nothing_on_ftls_that_forget_nothing() {
    // Several mutants are caught in the same experiment.
    let mut needed: HashMap<String, (Trap, u64)> = HashMap::new();
    for (_, trap, caught) in CAUGHT.iter() {
        let lives = caught.as_ref().map_or(0, |caught| caught.lives);
        let most = needed.entry(format!("{trap:?}")).or_insert((*trap, 0));
        most.1 = most.1.max(lives);
    }
    let mut needed: Vec<(Trap, u64)> = needed.into_values().collect();
    if std::env::var_os("PHELSUMA_THOROUGH").is_none() {
        // In an order of their own, every fifth one.
        needed.sort_by_key(|(trap, _)| format!("{trap:?}"));
        needed = needed.into_iter().step_by(5).collect();
    }
    let wrong: Vec<String> = each(&needed, |(trap, lives)| {
        let begun = Instant::now();
        let found = trap.without(*lives);
        println!("{:6.1} s nothing forgotten, {} {trap}", begun.elapsed().as_secs_f64(), trap.ftl());
        found.map(|found| format!("{} {trap}: {found}", trap.ftl()))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn mutants_are_in_the_documentation_with_what_caught_them() {
    let mut text = String::new();
    write!(text, "{}", table::Table(&CAUGHT)).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MUTANTS.md");
    if std::env::var_os("PHELSUMA_UPDATE_MUTANTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    let first = text.lines().zip(documented.lines()).find(|(now, then)| now != then);
    assert!(text == documented, "docs/MUTANTS.md is another one (make mutants-table writes it): {first:#?}");
}
