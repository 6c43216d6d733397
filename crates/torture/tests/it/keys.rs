//! `docs/JSON.md` names every key of the reports, and no other.

use crate::common::{RECORDS, has_fuse, raw, records, tried};
use phelsuma_torture::{Unsynced, UnsyncedWrite};
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys of leaves.
fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(entries) => entries.iter().for_each(|entry| keys(entry, &format!("{at}[]"), found)),
        Value::Object(object) => object.iter().for_each(|(key, value)| {
            let key = if at == "failed" { "KIND" } else { key };
            keys(value, &if at.is_empty() { key.to_string() } else { format!("{at}.{key}") }, found);
        }),
        _ => _ = found.insert(at.to_string()),
    }
}

/// `a.{b,c}` is `a.b` and `a.c`.
fn expanded(key: &str) -> Vec<String> {
    let Some((before, rest)) = key.split_once('{') else { return vec![key.to_string()] };
    let (choices, after) = rest.split_once('}').unwrap();
    choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
}

#[test]
fn the_keys_of_the_report_are_documented() {
    if !has_fuse() {
        return;
    }
    let mut printed = BTreeSet::new();
    let mut report = tried(&raw(&records(""), RECORDS)).unwrap();
    report.warnings.push(String::new());
    report.unwritten.push(String::new());
    let failure = &mut report.failures[0];
    failure.state.lost[0].other_places.push(String::new());
    failure.state.kept = failure.state.lost.clone();
    keys(&serde_json::to_value(&report).unwrap(), "", &mut printed);
    assert_eq!(printed, documented("phelsuma.torture/1"));
}

#[test]
fn the_keys_of_unsynced_are_documented() {
    let write = UnsyncedWrite {
        event: 1,
        offset: 0,
        length: 512,
        place: None,
        file_offset: None,
        place_range: (0, 512),
        other_places: vec![String::new()],
        mark: String::new(),
        marks: 1,
        flush: None,
    };
    let schema = "phelsuma.torture-unsynced/1";
    let found = Unsynced { schema, marks: 1, flushes: 0, empty_marks: vec![String::new()], writes: vec![write] };
    let mut printed = BTreeSet::new();
    keys(&serde_json::to_value(&found).unwrap(), "", &mut printed);
    assert_eq!(printed, documented(schema));
}

fn documented(schema: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/JSON.md")).unwrap();
    let section = text.split("\n## ").find(|s| s.starts_with(&format!("`{schema}`"))).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.flat_map(|(key, _)| expanded(key)).collect()
}
