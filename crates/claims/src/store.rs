//! A paper's folder: the document, stored runs, findings, figures.
//!
//! ```text
//! claims.toml              written by hand
//! results-quick.json       measured values and verdicts
//! runs.jsonl.zst           runs: each one's command, the version and code it was run with, its result
//! figures-quick/fig09.csv  series
//! ```
//!
//! A file is written beside its place, synced and renamed: a reader sees the whole old one or the whole new one. The
//! file of runs is written anew for each run that is done. An interrupt loses only runs in progress. Several commands
//! may store runs at the same time: each takes a lock, reads the file, adds its run, and writes the file.

use crate::document::{Document, Scale, is_file_name};
use crate::error::ClaimsError;
use crate::findings::Findings;
use crate::stored::{StoredRun, StoredRuns};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const FILE_MAX: u64 = 256 << 20;

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

    /// The paper's statements.
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

    /// The findings at a scale, if there are any.
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
        write(&path, (text + "\n").as_bytes())
    }

    /// The stored runs.
    ///
    /// # Errors
    /// A file that cannot be read or is none.
    pub fn runs(&self) -> Result<StoredRuns, ClaimsError> {
        let path = self.runs_path();
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StoredRuns::default()),
            Err(error) => Err(ClaimsError::file(path, &error)),
            Ok(file) => StoredRuns::read(file).map_err(|error| ClaimsError::malformed(path, error)),
        }
    }

    /// Adds a run to the stored ones; its key.
    ///
    /// # Errors
    /// [`ClaimsError::File`]; stored runs that are none.
    pub fn write_run(&self, run: &StoredRun) -> Result<String, ClaimsError> {
        self.change_runs(|runs| runs.insert(run).map_err(|error| ClaimsError::malformed(self.runs_path(), error)))
    }

    /// Writes a figure's series.
    ///
    /// # Errors
    /// [`ClaimsError::File`].
    pub fn write_figure(&self, scale: Scale, id: &str, text: &str) -> Result<(), ClaimsError> {
        write(&self.figure_path(scale, id), text.as_bytes())
    }

    /// Where a figure's series are.
    pub fn figure_path(&self, scale: Scale, id: &str) -> PathBuf {
        self.folder.join(format!("figures-{}", scale.name())).join(format!("{id}.csv"))
    }

    /// Deletes those of the runs in `known` that no findings name; how many. A run that another command has stored
    /// meanwhile stays: its findings are still to come.
    ///
    /// # Errors
    /// [`ClaimsError::File`]; findings or stored runs that are none.
    pub fn prune(&self, known: &StoredRuns) -> Result<usize, ClaimsError> {
        let mut named = BTreeSet::new();
        for scale in Scale::ALL {
            let findings = self.findings(scale)?;
            named.extend(findings.iter().flat_map(Findings::runs).filter_map(|(_, run)| run.key.clone()));
        }
        let is_kept = |key: &str| named.contains(key) || known.get(key).is_none();
        if known.iter().all(|run| is_kept(&run.key())) {
            return Ok(0);
        }
        self.change_runs(|runs| Ok(runs.retain(is_kept)))
    }

    /// Reads the stored runs, changes them and writes them, all under the lock.
    fn change_runs<T>(&self, change: impl FnOnce(&mut StoredRuns) -> Result<T, ClaimsError>) -> Result<T, ClaimsError> {
        let beside = self.folder.join("runs.lock");
        let lock = File::options().create(true).append(true).open(&beside);
        let lock =
            lock.and_then(|file| file.lock().map(|()| file)).map_err(|error| ClaimsError::file(&beside, &error))?;
        let mut runs = self.runs()?;
        let changed = change(&mut runs)?;
        let path = self.runs_path();
        let bytes = runs.to_bytes().map_err(|error| ClaimsError::file(&path, &error))?;
        write(&path, &bytes)?;
        drop(lock);
        Ok(changed)
    }

    fn runs_path(&self) -> PathBuf {
        self.folder.join("runs.jsonl.zst")
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

fn write(path: &Path, bytes: &[u8]) -> Result<(), ClaimsError> {
    let failed = |error: io::Error| ClaimsError::file(path, &error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Two commands may write the same file at a time.
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = File::create(&beside).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}
