//! The programs in `examples/torture`: the careless ones are found, the careful ones survive. Thorough: all of them.

use crate::common::{ext4, has_ext4, has_program, raw, tried};
use phelsuma_torture::model::Policy;
use phelsuma_torture::{Config, Report};
use std::path::Path;

fn examples() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/torture").display().to_string()
}

fn of(name: &str, word: &str, policy: Policy) -> Report {
    let folder = format!("{}/{name}", examples());
    let (workload, check) = (format!("{folder}/workload {word}"), format!("{folder}/check"));
    let recover = Path::new(&folder).join("recover");
    let is_raw = matches!(name, "careless-raw" | "careless-order");
    let mut config = if is_raw { raw(&workload, &check) } else { ext4(&workload, &check) };
    config.shape.size = config.shape.size.max(1 << 20);
    config.recover = recover.exists().then(|| recover.display().to_string());
    config.budget.states = Some(100);
    tried(&Config { policy, ..config }).unwrap()
}

fn are_tried() -> bool {
    let are = std::env::var_os("PHELSUMA_THOROUGH").is_some() && has_ext4() && has_program("python3");
    if !are {
        println!("skipped: only with PHELSUMA_THOROUGH=1, root and Python");
    }
    are
}

#[test]
fn careless_programs_are_found_within_a_hundred_states() {
    if !are_tried() {
        return;
    }
    for name in ["careless-raw", "careless-order", "careless-rename", "careless-append", "careless-directory"] {
        let careless = of(name, "", Policy::Subset);
        assert!(careless.states <= 101 && careless.has_failed(), "{name}: {}", careless.text());
        assert!(careless.failures.iter().all(|failure| failure.lost.len() <= 3), "{name}: {}", careless.text());
        let careful = of(name, "careful", Policy::Subset);
        assert!(!careful.has_failed(), "{name}: {}", careful.text());
        let lies = of(name, "careful", Policy::Lies);
        assert!(lies.has_failed(), "{name}: {}", lies.text());
        let all = of(name, "", Policy::All);
        assert!(!all.has_failed(), "{name}: {}", all.text());
    }
}

/// A database of `examples/torture`: its size, its setup, and what its scripts take.
fn database(name: &str, workload: &str, check: &str, policy: Policy) -> Report {
    let folder = format!("{}/{name}", examples());
    let mut config = ext4(&format!("{folder}/workload {workload}"), &format!("{folder}/check {check}"));
    if name == "postgresql" {
        config.shape.size = 128 << 20;
        config.setup = Some(format!("{folder}/setup"));
    }
    config.budget.states = Some(100);
    tried(&Config { policy, ..config }).unwrap()
}

#[test]
fn databases_that_do_not_sync_are_found_within_a_hundred_states() {
    if !are_tried() {
        return;
    }
    // What SQLite and PostgreSQL lose of the newest without a sync is no surprise; that they break is what is looked for.
    let both = [("sqlite", "wal full", "wal off"), ("postgresql", "", "fsync=off")];
    let there = |name: &str| name == "sqlite" || Path::new("/usr/lib/postgresql").exists();
    for (name, synced, unsynced) in both.into_iter().filter(|(name, ..)| there(name)) {
        let safe = database(name, synced, "durable", Policy::Subset);
        assert!(!safe.has_failed(), "{name}: {}", safe.text());
        let lies = database(name, synced, "durable", Policy::Lies);
        assert!(lies.has_failed(), "{name}: {}", lies.text());
        let broken = database(name, unsynced, "consistent", Policy::Subset);
        assert!(broken.states <= 101 && broken.has_failed(), "{name}: {}", broken.text());
        assert!(broken.failures.iter().all(|failure| failure.lost.len() <= 3), "{name}: {}", broken.text());
    }
}
