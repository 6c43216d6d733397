//! The page in a browser: `make web` builds it, and `make page-browser` has what looks at it.

use crate::{Page, small};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Drives that are driven there as here; those that differ most.
const SAME: [&str; 6] = ["page", "sepbit", "geckoftl", "mu-ftl", "last++", "ftl-mm:fast"];

#[test]
fn a_browser_shows_drives_that_are_what_they_are_here() {
    let Some(target) = Path::new(env!("CARGO_TARGET_TMPDIR")).parent() else { return };
    let (page, python) = (target.join("browser/index.html"), target.join("page-venv/bin/python"));
    let works = Command::new(&python).args(["-c", "import playwright"]).output().is_ok_and(|out| out.status.success());
    let there = [
        (page.exists(), "the page (`make web` builds it)"),
        (works, "a Python with playwright (`make page-browser` makes one)"),
        (Path::new("/usr/bin/chromium").exists(), "chromium (`make page-browser` installs it)"),
    ];
    if let Some((_, what)) = there.iter().find(|(is_there, _)| !is_there) {
        eprintln!("skipped: there is no {what}");
        return;
    }
    let same: Vec<Value> = SAME.iter().map(|ftl| same(ftl)).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/browser/look.py");
    let shots = std::env::temp_dir().join("phelsuma-web");
    let output = Command::new(python).arg(script).args([&page, &shots]).arg(json!(same).to_string()).output().unwrap();
    let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{error}");
    print!("{said}");
}

/// What is asked of a drive, and what it is then.
fn same(ftl: &str) -> Value {
    let asked = [
        json!({ "do": "open", "settings": small(ftl), "filled": true, "fit": true }),
        json!({ "do": "run", "steps": 1_500 }),
        json!({ "do": "act", "act": "arm", "moment": "moved", "skip": 1, "fault": "torn-unseen" }),
        json!({ "do": "run", "steps": 4_000 }),
        json!({ "do": "act", "act": "recover" }),
        json!({ "do": "run", "steps": 1_500 }),
    ];
    let mut page = Page::default();
    asked.iter().for_each(|question| drop(page.ask(question)));
    json!({ "ftl": ftl, "asked": asked, "digest": page.digest() })
}
