//! Running the command and looking at what it says.

#![allow(dead_code, reason = "the bench takes a part of it")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Runs `phelsuma`.
pub(crate) fn phelsuma<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_phelsuma")).args(args).stdin(Stdio::null()).output().unwrap()
}

/// Says that a test is skipped, and why: also where tests say nothing else unless they fail.
#[expect(clippy::explicit_write, reason = "tests that pass are shown nothing of what is printed otherwise")]
pub(crate) fn skipped(why: &str) {
    writeln!(std::io::stderr(), "skipped: {why}").unwrap();
}

/// The words of a command line.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_string).collect()
}

/// Runs `phelsuma` and expects success; what it printed.
pub(crate) fn prints(line: &str) -> String {
    let out = phelsuma(&words(line));
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    // On a slow machine it says how far it is.
    let error: String = error.lines().filter(|line| !(line.contains(" after ") && line.ends_with(" s"))).collect();
    assert_eq!(out.status.code(), Some(0), "{line}: {error}");
    assert_eq!(error, "", "{line}");
    String::from_utf8(out.stdout).unwrap()
}

/// Runs `phelsuma` and expects JSON.
pub(crate) fn json(line: &str) -> serde_json::Value {
    let text = prints(line);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
}

/// Expects this exit code and one line on stderr; the line.
pub(crate) fn refused_with(code: i32, args: &[String]) -> String {
    let out = phelsuma(args);
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
    assert!(error.starts_with("phelsuma: "), "{args:?}: {error}");
    assert!(error.len() > "phelsuma: \n".len(), "{args:?} says nothing");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    error
}

/// A file of this test's own.
pub(crate) fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A trace small enough to be read at a glance.
pub(crate) fn tiny_trace(name: &str) -> PathBuf {
    let text = "time_us,device,op,offset_bytes,size_bytes
0,0,write,0,8192
100,0,write,4096,4096
200,0,read,0,4096
300,0,write,40960,512
400,0,trim,0,4096
500,0,flush,0,0
";
    file(name, text.as_bytes())
}

/// Makes a stored run of a paper's first claim one of earlier sources.
pub(crate) fn make_older(papers: &std::path::Path, paper: &str, run: &str) {
    let store = phelsuma_claims::Store::open(papers, paper).unwrap();
    let mut findings = store.findings(phelsuma_claims::Scale::Quick).unwrap().unwrap();
    let of_it = findings.claims[0].runs.get_mut(run).unwrap();
    let newer = store.runs().unwrap().get(of_it.key.as_deref().unwrap()).unwrap().clone();
    let older = phelsuma_claims::StoredRun { sources: "earlier".into(), ..newer };
    let key = of_it.key.replace(store.write_run(&older).unwrap());
    for finding in &mut findings.claims {
        finding.runs.values_mut().filter(|run| run.key == key).for_each(|run| run.key = Some(older.key()));
    }
    store.write_findings(&findings).unwrap();
}
