//! A paper's folder: the document, stored runs, findings, figures.
//!
//! ```text
//! claims.toml              written by hand
//! results-quick.json       measured values and verdicts
//! runs/HASH.json           a run: its command, the version and sources it was run with, its result
//! figures-quick/fig09.csv  series
//! ```
//!
//! A file is written beside its place and renamed, so that whoever reads it sees all of it.

use crate::document::{Document, Scale, is_file_name};
use crate::error::ClaimsError;
use crate::findings::Findings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A hash of the sources of all crates that decide what a run gives.
pub const SOURCES: &str = env!("PHELSUMA_SOURCES");

/// The largest file that is read, in bytes.
const FILE_MAX: u64 = 256 << 20;

/// A run that was done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRun {
    /// Its command.
    pub command: String,
    /// The version it was run with.
    pub version: String,
    /// The hash of the sources it was run with.
    pub sources: String,
    /// What it gave, without what it cost the machine.
    pub result: Value,
}

impl StoredRun {
    /// A run of this version and these sources.
    pub fn new(command: &str, mut result: Value) -> Self {
        // The one part that differs from machine to machine.
        result.as_object_mut().and_then(|object| object.remove("machine"));
        Self { command: command.into(), version: VERSION.into(), sources: SOURCES.into(), result }
    }

    /// Its file's name.
    pub fn key(&self) -> String {
        key(&self.command, &self.version, &self.sources)
    }
}

/// The name of the file of a run with this command, version and sources.
pub fn key(command: &str, version: &str, sources: &str) -> String {
    let digest = Sha256::digest(format!("{command}\n{version}\n{sources}\n"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The folder of a paper.
#[derive(Clone, Debug)]
pub struct Store {
    paper: String,
    folder: PathBuf,
}

impl Store {
    /// The folder of `paper` in `papers`.
    ///
    /// # Errors
    /// [`ClaimsError::UnknownPaper`] lists those there are.
    pub fn open(papers: &Path, paper: &str) -> Result<Self, ClaimsError> {
        let folder = papers.join(paper);
        if is_file_name(paper) && folder.join("claims.toml").is_file() {
            return Ok(Self { paper: paper.to_string(), folder });
        }
        let Ok(entries) = fs::read_dir(papers) else {
            let known = format!("none: there is no folder {}; --papers says where papers are", papers.display());
            return Err(ClaimsError::UnknownPaper { name: paper.to_string(), known });
        };
        let with_claims = entries.flatten().filter(|entry| entry.path().join("claims.toml").is_file());
        let mut known: Vec<String> = with_claims.map(|entry| entry.file_name().to_string_lossy().into()).collect();
        known.sort_unstable();
        let known = if known.is_empty() { format!("none in {}", papers.display()) } else { known.join(", ") };
        Err(ClaimsError::UnknownPaper { name: paper.to_string(), known })
    }

    /// The paper's name.
    pub fn paper(&self) -> &str {
        &self.paper
    }

    /// What the paper states.
    ///
    /// # Errors
    /// As [`Document::load`].
    pub fn document(&self) -> Result<Document, ClaimsError> {
        Document::load(&self.folder.join("claims.toml"))
    }

    /// Where findings are at a scale.
    pub fn findings_path(&self, scale: Scale) -> PathBuf {
        self.folder.join(format!("results-{}.json", scale.name()))
    }

    /// What was found at a scale, if anything was.
    ///
    /// # Errors
    /// A file that cannot be read or is none.
    pub fn findings(&self, scale: Scale) -> Result<Option<Findings>, ClaimsError> {
        let path = self.findings_path(scale);
        let Some(findings) = read::<Findings>(&path)? else { return Ok(None) };
        if findings.schema != Findings::SCHEMA || findings.scale != scale || findings.paper != self.paper {
            return Err(ClaimsError::malformed(path, "it is not of this schema, paper and scale"));
        }
        Ok(Some(findings))
    }

    /// Writes findings.
    ///
    /// # Errors
    /// [`ClaimsError::File`].
    pub fn write_findings(&self, findings: &Findings) -> Result<(), ClaimsError> {
        let path = self.findings_path(findings.scale);
        let text = serde_json::to_string_pretty(findings).map_err(|error| ClaimsError::malformed(&path, error))?;
        write(&path, &(text + "\n"))
    }

    /// A stored run, if there is one of that name.
    ///
    /// # Errors
    /// A file that cannot be read or is none.
    pub fn run(&self, key: &str) -> Result<Option<StoredRun>, ClaimsError> {
        if !is_file_name(key) {
            return Ok(None);
        }
        let path = self.run_path(key);
        let Some(run) = read::<StoredRun>(&path)? else { return Ok(None) };
        if run.key() != key {
            return Err(ClaimsError::malformed(path, "its name is not the hash of what is in it"));
        }
        Ok(Some(run))
    }

    /// Stores a run; its key.
    ///
    /// # Errors
    /// [`ClaimsError::File`].
    pub fn write_run(&self, run: &StoredRun) -> Result<String, ClaimsError> {
        let key = run.key();
        let path = self.run_path(&key);
        let text = serde_json::to_string(run).map_err(|error| ClaimsError::malformed(&path, error))?;
        write(&path, &(text + "\n"))?;
        Ok(key)
    }

    /// Writes a figure's series.
    ///
    /// # Errors
    /// [`ClaimsError::File`].
    pub fn write_figure(&self, scale: Scale, id: &str, text: &str) -> Result<(), ClaimsError> {
        write(&self.figure_path(scale, id), text)
    }

    /// Where a figure's series are.
    pub fn figure_path(&self, scale: Scale, id: &str) -> PathBuf {
        self.folder.join(format!("figures-{}", scale.name())).join(format!("{id}.csv"))
    }

    /// Deletes the stored runs that no findings name; how many.
    ///
    /// # Errors
    /// [`ClaimsError::File`]; findings that are none.
    pub fn prune(&self) -> Result<usize, ClaimsError> {
        let mut named = Vec::new();
        for scale in Scale::ALL {
            let findings = self.findings(scale)?;
            named.extend(findings.iter().flat_map(Findings::runs).filter_map(|(_, run)| run.key.clone()));
        }
        let folder = self.folder.join("runs");
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries.map_err(|error| ClaimsError::file(&folder, &error))?,
        };
        let mut pruned = 0;
        for path in entries.flatten().map(|entry| entry.path()) {
            let key = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
            if key.is_some_and(|key| named.iter().all(|named| named != key)) {
                fs::remove_file(&path).map_err(|error| ClaimsError::file(&path, &error))?;
                pruned += 1;
            }
        }
        Ok(pruned)
    }

    fn run_path(&self, key: &str) -> PathBuf {
        self.folder.join("runs").join(format!("{key}.json"))
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, ClaimsError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ClaimsError::file(path, &error)),
        Ok(meta) if meta.len() > FILE_MAX => return Err(ClaimsError::malformed(path, "it is too large")),
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(|error| ClaimsError::file(path, &error))?;
    serde_json::from_slice(&bytes).map(Some).map_err(|error| ClaimsError::malformed(path, error))
}

fn write(path: &Path, text: &str) -> Result<(), ClaimsError> {
    let failed = |error: io::Error| ClaimsError::file(path, &error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Two commands may write the same file at a time.
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&beside, text).map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}
