//! In the place of `saved.rs` where a build has no compressor: no drive is saved.

use crate::config::{RunConfig, RunError};
use crate::saving::Saving;
use phelsuma_nand::Geometry;
use phelsuma_nand::state::{StateError, StateIn, StateOut};
use std::path::Path;

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
