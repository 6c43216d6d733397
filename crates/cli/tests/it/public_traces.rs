//! Real traces, in the folder that `PHELSUMA_TRACES` names: each is run in full by several FTLs.

use crate::common::{json, skipped};
use std::path::PathBuf;

/// The traces; none where there is no folder and nobody said that there should be one.
fn traces() -> Option<Vec<PathBuf>> {
    let named = std::env::var_os("PHELSUMA_TRACES").map(PathBuf::from);
    let workspace = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = named.clone().unwrap_or_else(|| workspace.join("../shared/traces/public"));
    if named.is_none() && !folder.is_dir() {
        skipped(&format!("all traces, there is no folder {}", folder.display()));
        return None;
    }
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let traces: Vec<PathBuf> = files.filter(|path| path.extension().is_none_or(|e| e != "md")).collect();
    assert!(!traces.is_empty(), "{} has no traces", folder.display());
    Some(traces)
}

#[test]
fn every_request_of_every_trace_is_completed() {
    let Some(traces) = traces() else { return };
    let all = std::env::var_os("PHELSUMA_THOROUGH").is_some();
    let ftls = if all { "page,fifo,d-choices,pl-greedy,dftl,geckoftl" } else { "page,dftl,geckoftl" };
    for path in &traces {
        let path = path.display();
        let info = json(&format!("trace info {path} --json"));
        let all = json(&format!("compare --ftl {ftls} --trace {path} --json"));
        let all = all.as_array().unwrap();
        assert_eq!(all.len(), ftls.split(',').count());
        for result in all {
            let host = |key: &str| result["host"][key].as_u64().unwrap();
            assert_eq!(host("trace_requests"), info["requests"].as_u64().unwrap(), "{path} {}", result["ftl"]);
            // Folding drops trims alone, and says so.
            let dropped = host("dropped_trims_without_whole_page") + host("dropped_trims_outside_footprint");
            assert!(dropped <= info["trims"].as_u64().unwrap(), "{path} {}", result["ftl"]);
            assert_eq!(host("requests"), host("trace_requests") - dropped, "{path} {}", result["ftl"]);
        }
    }
    println!("{} traces run", traces.len());
}
