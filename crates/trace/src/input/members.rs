//! Members of an archive: those that are passed over, and what is said where more than one is left.

use std::sync::Arc;

use super::said::refused;
use super::stream::printable;

/// How many are named.
const NAMED_MAX: usize = 5;

/// A name as errors show it.
pub(super) fn name_of(bytes: &[u8]) -> Arc<str> {
    printable(&String::from_utf8_lossy(bytes))
}

/// What macOS adds to archives: attributes and views of folders, which hold nothing of a trace.
pub(super) fn is_of_macos(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    name.starts_with("__MACOSX/") || last.starts_with("._") || last == ".DS_Store"
}

/// What people write for people beside a trace.
fn is_of_people(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let begins = ["readme", "license", "licence", "copying", "copyright", "changelog", "notice", "authors", "citation"];
    let ends = [".md", ".rst", ".pdf", ".html", ".bib", ".py", ".sh"];
    begins.iter().any(|begin| last.starts_with(begin)) || ends.iter().any(|end| last.ends_with(end))
}

/// Names, of which enough are known once there is one more than is shown.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Arc<str>>);

impl Names {
    pub(super) fn add(&mut self, name: Arc<str>) {
        self.0.push(name);
    }

    pub(super) fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    pub(super) fn are_enough(&self) -> bool {
        self.0.len() > NAMED_MAX
    }

    /// The first that may be a trace.
    pub(super) fn likeliest(&self) -> String {
        let found = self.0.iter().find(|name| !is_of_people(name)).or(self.0.first());
        found.map(ToString::to_string).unwrap_or_default()
    }

    /// The error of an archive that holds these; `commands` read one of them.
    pub(super) fn too_many(&self, archive: &str, commands: &str) -> std::io::Error {
        let mut shown: Vec<&str> = self.0.iter().take(NAMED_MAX).map(|name| &**name).collect();
        if self.are_enough() {
            shown.push("…");
        }
        let shown = shown.join(", ");
        refused(format!("the {archive} archive has more than one file ({shown}); {commands} reads one of them"))
    }
}

/// The error of an archive with nothing to read in it.
pub(super) fn none(archive: &str) -> std::io::Error {
    refused(format!("the {archive} archive has no file with anything in it, one trace would be right"))
}
