//! Which files a run takes its drive from, and saves it to.

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
