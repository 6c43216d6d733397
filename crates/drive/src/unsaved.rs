//! In the place of `saved.rs` where a build has no compressor: no drive is saved.

use crate::config::{RunConfig, RunError};
use phelsuma_nand::Geometry;
use phelsuma_nand::state::{StateError, StateIn, StateOut};
use std::path::Path;

/// What becomes of the drive between its warm-up and what is measured.
#[derive(Clone, Copy, Default, Debug)]
pub struct Saving<'a> {
    /// The code of the simulation, by any name that other code does not have.
    pub build: &'a str,
    /// The drive is taken from this file, in place of fill and warm-up.
    pub from: Option<&'a Path>,
    /// The drive is saved to this file.
    pub to: Option<&'a Path>,
}

impl Saving<'_> {
    /// Refuses a run whose drive is to be saved.
    pub(crate) fn check(&self, _config: &RunConfig) -> Result<(), RunError> {
        match (self.from, self.to) {
            (None, None) => Ok(()),
            _ => Err(RunError::Input("this build saves no drives: it was made without zstd".into())),
        }
    }
}

/// There is none.
pub(crate) enum Saver {}

impl Saver {
    pub(crate) fn begin(_path: &Path, _: &str, _: &RunConfig, _: &Geometry) -> Result<Self, RunError> {
        Err(RunError::Input("this build saves no drives".into()))
    }

    pub(crate) fn put(&mut self, _: impl FnOnce(&mut dyn StateOut) -> Result<(), StateError>) -> Result<(), RunError> {
        match *self {}
    }

    pub(crate) fn finish(self) -> Result<(), RunError> {
        match self {}
    }
}

/// There is none.
pub(crate) enum Saved {}

impl Saved {
    pub(crate) fn open(_path: &Path, _: &str, _: &RunConfig, _: &Geometry) -> Result<Self, RunError> {
        Err(RunError::Input("this build saves no drives".into()))
    }

    pub(crate) fn take<T>(&mut self, _: impl FnOnce(&mut dyn StateIn) -> Result<T, StateError>) -> Result<T, RunError> {
        match *self {}
    }
}
