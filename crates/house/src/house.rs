//! The crates of the workspace, read.

use crate::graph::circles;
use crate::modules::Crate;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// All crates, by the folder's name.
pub(crate) struct House {
    pub(crate) crates: BTreeMap<String, Crate>,
}

impl House {
    /// Reads the workspace in which this was compiled.
    ///
    /// # Errors
    /// One line: what cannot be read.
    pub(crate) fn read() -> Result<Self, String> {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let text = |path: &str| fs::read_to_string(root.join(path)).ok();
        let folders = fs::read_dir(root.join("crates")).map_err(|error| format!("crates: {error}"))?;
        let mut crates = BTreeMap::new();
        for folder in folders {
            let name = folder.map_err(|error| format!("crates: {error}"))?.file_name().to_string_lossy().into_owned();
            let read = Crate::read(&text, &format!("crates/{name}/src"))?;
            crates.insert(name, read);
        }
        if crates.contains_key("ftl") { Ok(Self { crates }) } else { Err("crates/ftl is not there".into()) }
    }

    pub(crate) fn ftl(&self) -> &Crate {
        &self.crates["ftl"]
    }

    /// The largest circle of files in a crate.
    pub(crate) fn largest_circle(&self, name: &str) -> usize {
        let all = &self.crates[name];
        circles(all.files.len(), &all.references()).first().map_or(1, Vec::len)
    }

    /// The largest circle of files outside `ftl`.
    pub(crate) fn largest_circle_elsewhere(&self) -> usize {
        let others = self.crates.keys().filter(|name| *name != "ftl");
        others.map(|name| self.largest_circle(name)).max().unwrap_or(1)
    }
}
