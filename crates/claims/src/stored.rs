//! A paper's stored runs, all in one file: a line of JSON each, compressed.
//!
//! The same runs are the same bytes, in whichever order they were stored. Lines are sorted by command, version and
//! sources: a run done anew stands beside the earlier one. A line stays byte for byte as it was written until its run
//! is replaced or deleted: to read it and write it again could change a number's last digit.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A hash of the code of all crates that decide the result of a run (`build/code/mod.rs`).
pub const SOURCES: &str = env!("PHELSUMA_SOURCES");

/// How hard zstd tries: at higher levels files are hardly smaller, and a file is written for each run that is done.
const LEVEL: i32 = 9;

/// The largest file that is read, in bytes of its lines.
const LINES_MAX: u64 = 256 << 20;

/// A run that was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRun {
    /// Its command.
    pub command: String,
    /// The version it was run with.
    pub version: String,
    /// The hash of the code it was run with.
    pub sources: String,
    /// Its result, without its cost to the machine.
    pub result: Value,
}

impl StoredRun {
    /// A run of this version and this code.
    pub fn new(command: &str, mut result: Value) -> Self {
        // What differs from machine to machine: cost, and the folder of public traces. The command has a variable for it.
        result.as_object_mut().and_then(|object| object.remove("machine"));
        for file in result.pointer_mut("/input/files").and_then(Value::as_array_mut).into_iter().flatten() {
            let path = file["file"].as_str().unwrap_or_default();
            let is_its =
                |word: &&str| word.split_once('/').is_some_and(|(_, file)| path.ends_with(&format!("/{file}")));
            if let Some(word) = command.split(' ').find(|word| word.starts_with('$') && is_its(word)) {
                file["file"] = word.into();
            }
        }
        Self { command: command.into(), version: VERSION.into(), sources: SOURCES.into(), result }
    }

    /// What findings call it.
    pub fn key(&self) -> String {
        key(&self.command, &self.version, &self.sources)
    }
}

/// What findings call a run with this command, version and sources.
pub fn key(command: &str, version: &str, sources: &str) -> String {
    let digest = Sha256::digest(format!("{command}\n{version}\n{sources}\n"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Runs by key, each with its line.
#[derive(Clone, Default, Debug)]
pub struct StoredRuns(BTreeMap<String, (StoredRun, String)>);

impl StoredRuns {
    /// The run of that key.
    pub fn get(&self, key: &str) -> Option<&StoredRun> {
        self.0.get(key).map(|(run, _)| run)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &StoredRun> {
        self.0.values().map(|(run, _)| run)
    }

    /// Reads a file of runs.
    pub(crate) fn read(file: impl Read) -> io::Result<Self> {
        let mut lines = String::new();
        zstd::Decoder::new(file)?.take(LINES_MAX + 1).read_to_string(&mut lines)?;
        if lines.len() as u64 > LINES_MAX {
            return Err(io::Error::other("it is too large"));
        }
        let run = |(n, line): (usize, &str)| {
            let run = serde_json::from_str::<StoredRun>(line);
            let run = run.map_err(|error| io::Error::other(format!("run {}: {error}", n + 1)))?;
            Ok((run.key(), (run, line.to_string())))
        };
        lines.lines().enumerate().map(run).collect::<io::Result<_>>().map(Self)
    }

    /// The bytes of a file of them.
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut lines: Vec<&(StoredRun, String)> = self.0.values().collect();
        lines.sort_unstable_by_key(|(run, _)| (&run.command, &run.version, &run.sources));
        let text: String = lines.into_iter().flat_map(|(_, line)| [line, "\n"]).collect();
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        compressor.include_checksum(true)?;
        compressor.compress(text.as_bytes())
    }

    /// Adds a run, in place of one of the same key.
    pub(crate) fn insert(&mut self, run: &StoredRun) -> serde_json::Result<String> {
        let (key, line) = (run.key(), serde_json::to_string(run)?);
        self.0.insert(key.clone(), (run.clone(), line));
        Ok(key)
    }

    /// Deletes those whose keys are not to be kept; how many.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) -> usize {
        let before = self.0.len();
        self.0.retain(|key, _| is_kept(key));
        before - self.0.len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn run(command: &str, sources: &str) -> StoredRun {
        StoredRun {
            sources: sources.into(),
            ..StoredRun::new(command, serde_json::json!({"wa": 1.5, "machine": {"wall_seconds": 2}}))
        }
    }

    fn all(runs: &[StoredRun]) -> StoredRuns {
        let mut all = StoredRuns::default();
        runs.iter().for_each(|run| _ = all.insert(run).unwrap());
        all
    }

    fn lines(bytes: &[u8]) -> String {
        String::from_utf8(zstd::decode_all(bytes).unwrap()).unwrap()
    }

    #[test]
    fn a_run_has_no_folder_of_one_machine() {
        let result = serde_json::json!({"input": {"files": [{"file": "/a/folder/b/c.zst"}, {"file": "traces/d.zst"}]}});
        let run = StoredRun::new("run --trace $PHELSUMA_TRACES/b/c.zst --loops 2", result);
        let file = |n: usize| run.result["input"]["files"][n]["file"].clone();
        assert_eq!([file(0), file(1)], ["$PHELSUMA_TRACES/b/c.zst", "traces/d.zst"]);
    }

    #[test]
    fn the_same_runs_are_the_same_bytes_in_the_order_of_their_commands() {
        let runs = [run("run b", "new"), run("run a", "old"), run("run a", "new"), run("limits", "old")];
        let bytes = all(&runs).to_bytes().unwrap();
        let mut turned = runs.clone();
        turned.reverse();
        assert_eq!(all(&turned).to_bytes().unwrap(), bytes);
        assert_eq!(StoredRuns::read(bytes.as_slice()).unwrap().to_bytes().unwrap(), bytes);
        let begins = |line: &str| line.split(",\"result\"").next().unwrap().to_string();
        let order: Vec<String> = lines(&bytes).lines().map(begins).collect();
        let of = |command, sources| {
            format!("{{\"command\":\"{command}\",\"version\":\"{VERSION}\",\"sources\":\"{sources}\"")
        };
        assert_eq!(order, [of("limits", "old"), of("run a", "new"), of("run a", "old"), of("run b", "new")]);
    }

    #[test]
    fn a_line_stays_as_it_was_written_when_others_come_and_go() {
        // More digits than a number keeps.
        let line = r#"{"command":"run c","version":"0.0.9","sources":"x","result":{"wa": 1.00000000000000000001}}"#;
        let mut runs = StoredRuns::read(zstd::encode_all(line.as_bytes(), 1).unwrap().as_slice()).unwrap();
        let other = runs.insert(&run("run d", "x")).unwrap();
        assert!(lines(&runs.to_bytes().unwrap()).starts_with(line));
        assert_eq!(runs.retain(|key| key != other), 1);
        assert_eq!(lines(&runs.to_bytes().unwrap()), line.to_string() + "\n");
    }

    #[test]
    fn what_is_no_file_of_runs_is_an_error() {
        let read = |bytes: &[u8]| StoredRuns::read(bytes).unwrap_err().to_string();
        assert!(!read(b"{}").is_empty());
        assert!(read(&zstd::encode_all(&b"{}\n"[..], 1).unwrap()).starts_with("run 1: missing field `command`"));
        let mut torn = all(&[run("run a", "new")]).to_bytes().unwrap();
        torn.truncate(torn.len() - 1);
        assert!(!read(&torn).is_empty());
        let mut flipped = all(&[run("run a", "new")]).to_bytes().unwrap();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        assert!(!read(&flipped).is_empty());
    }
}
