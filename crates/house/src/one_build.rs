//! Tests and the command stand on one build of what they share.
//!
//! Cargo builds a crate once for each set of its features. Where tests ask for one feature more of a crate near the root,
//! all that stands on it is compiled twice, which costs minutes.

use std::collections::BTreeSet;
use std::process::Command;

/// Each crate with its features, going by these kinds of dependencies.
fn crates(kinds: &str) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let mut command = Command::new(cargo);
    command.args(["tree", "--workspace", "--offline", "--no-default-features", "--features", "std,zstd"]);
    command.args(["--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]", "--edges", kinds]);
    let out = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn tests_ask_for_no_further_feature_of_what_the_command_stands_on() {
    let (with_tests, without) = (crates("normal,build,dev"), crates("normal,build"));
    assert!(without.len() > 50, "{without:?}");
    let twice: Vec<&String> = without.difference(&with_tests).collect();
    assert!(twice.is_empty(), "built with other features for tests, so twice: {twice:?}");
}
