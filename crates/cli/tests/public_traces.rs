//! Real traces, in the folder that `PHELSUMA_TRACES` names: each is run in full by every FTL.

#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::json;
use phelsuma_trace::fold::FoldOptions;
use phelsuma_trace::{OpenOptions, PageSource, Source};
use std::path::PathBuf;

#[test]
fn every_request_of_every_trace_is_completed() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/public");
    let folder = std::env::var_os("PHELSUMA_TRACES").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: all traces, there is no folder {}", folder.display());
        return;
    };
    let (mut done, mut skipped) = (0, 0);
    for path in entries.flatten().map(|entry| entry.path()) {
        if !path.is_file() || path.extension().is_some_and(|e| e == "md") {
            skipped += 1;
            continue;
        }
        let info = json(&format!("trace info {} --json", path.display()));
        let dropped = dropped(&path);
        let all = json(&format!("compare --ftl page,fifo,d-choices,pl-greedy --trace {} --json", path.display()));
        let all = all.as_array().unwrap();
        assert_eq!(all.len(), 4);
        for result in all {
            let asked = info["requests"].as_u64().unwrap() - dropped;
            assert_eq!(result["host"]["requests"].as_u64().unwrap(), asked, "{} {}", path.display(), result["ftl"]);
        }
        done += 1;
    }
    println!("{done} traces run, {skipped} files skipped");
}

/// Requests that folding leaves out and says so: trims of pages that are never read or written.
fn dropped(path: &std::path::Path) -> u64 {
    let mut source = PageSource::open(path, &OpenOptions::default(), FoldOptions::default()).unwrap();
    while source.next_request().unwrap().is_some() {}
    source.counts().assert_balanced();
    source.counts().dropped_total()
}
