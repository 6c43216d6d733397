//! Traces by name: a list of public ones, to which users add theirs, and the folder that they are in.
//!
//! `--trace vm/cloudphysics` is the file of that name, once `phelsuma trace get` has fetched it.

use crate::failure::{Failure, Outcome, like};
use clap::builder::{PathBufValueParser, TypedValueParser};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The list that everybody has.
const BUILT_IN: &str = include_str!("traces.toml");

/// The variable that names the folder of public traces.
const FOLDER: &str = "PHELSUMA_TRACES";

/// A trace that can be fetched.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ListedTrace {
    /// Its name, such as `vm/cloudphysics`.
    pub name: String,
    /// The file in the folder of traces; what is fetched is compressed if only this name ends in `.gz` or `.zst`.
    pub file: String,
    /// Where it is, over http or https.
    pub url: String,
    /// SHA-256 of what is there, in hexadecimal digits; none where nobody has stated it.
    pub sha256: Option<String>,
    /// Bytes of what is there.
    pub bytes: Option<u64>,
    /// Requests that are in it.
    pub requests: Option<u64>,
    /// Under which terms it is published.
    pub licence: String,
    /// What it is.
    #[serde(default)]
    pub about: String,
    /// Options that it needs, such as `--time-unit us`.
    pub options: Option<String>,
}

/// Traces that are fetched by hand, as their publisher asks for a name or for consent.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ListedCollection {
    /// What stands before the slash in the names of its traces, such as `msr`.
    pub name: String,
    /// The page that has them.
    pub page: String,
    /// The file of a trace in the folder of traces, with a star for what stands behind the slash.
    pub file: String,
    /// Under which terms they are published.
    pub licence: String,
    /// What they are.
    #[serde(default)]
    pub about: String,
}

/// What a list of traces has.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceList {
    /// Those that can be fetched.
    #[serde(default, rename = "trace")]
    pub traces: Vec<ListedTrace>,
    /// Those that are fetched by hand.
    #[serde(default, rename = "collection")]
    pub collections: Vec<ListedCollection>,
}

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub enum Listed<'a> {
    /// A trace.
    Trace(&'a ListedTrace),
    /// A trace of a collection, and the name of its file.
    Of(&'a ListedCollection, String),
}

impl Listed<'_> {
    /// The name of its file in the folder of traces.
    #[must_use]
    pub fn file(&self) -> &str {
        match self {
            Self::Trace(trace) => &trace.file,
            Self::Of(_, file) => file,
        }
    }
}

impl TraceList {
    /// The list that everybody has, that in the user's settings, and a further one: of two with a name the last.
    ///
    /// # Errors
    /// A list that cannot be read, or with an entry that cannot be.
    pub fn load(further: Option<&Path>) -> Outcome<Self> {
        let mut all = Self::parse(BUILT_IN).map_err(Failure::Failed)?;
        let own = settings().map(|folder| folder.join("traces.toml")).filter(|path| path.is_file());
        for path in own.as_deref().into_iter().chain(further) {
            let about = |what: &dyn std::fmt::Display| Failure::Input(format!("{}: {what}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| about(&error))?;
            all.add(Self::parse(&text).map_err(|error| about(&error))?);
        }
        Ok(all)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let list: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text.get(..span.start).unwrap_or("").matches('\n').count() + 1);
            format!("line {line}: {}", error.message())
        })?;
        list.traces.iter().try_for_each(ListedTrace::check)?;
        list.collections.iter().try_for_each(ListedCollection::check)?;
        Ok(list)
    }

    fn add(&mut self, other: Self) {
        let traces = std::mem::take(&mut self.traces).into_iter().chain(other.traces);
        let by_name: BTreeMap<String, ListedTrace> = traces.map(|trace| (trace.name.clone(), trace)).collect();
        self.traces = by_name.into_values().collect();
        let collections = std::mem::take(&mut self.collections).into_iter().chain(other.collections);
        let by_name: BTreeMap<String, ListedCollection> = collections.map(|c| (c.name.clone(), c)).collect();
        self.collections = by_name.into_values().collect();
    }

    /// What a name stands for; none where the list lacks it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Listed<'_>> {
        if let Some(trace) = self.traces.iter().find(|trace| trace.name == name) {
            return Some(Listed::Trace(trace));
        }
        let (collection, trace) = name.split_once('/')?;
        let collection = self.collections.iter().find(|listed| listed.name == collection)?;
        is_file_name(trace).then(|| Listed::Of(collection, collection.file.replace('*', trace)))
    }

    /// The same, with an error that has the name that is nearly right.
    ///
    /// # Errors
    /// The list lacks it.
    pub fn get(&self, name: &str) -> Outcome<Listed<'_>> {
        self.find(name).ok_or_else(|| {
            let known = self.traces.iter().map(|trace| trace.name.as_str());
            let near = like(name, known).map_or(String::new(), |near| format!("; '{near}' is most like it"));
            Failure::Input(format!("there is no trace '{name}' on the list{near}; `phelsuma trace get` shows the list"))
        })
    }
}

impl ListedTrace {
    fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{}: {what}", self.name));
        if !is_name(&self.name) {
            return wrong("a name is letters, digits, dots, dashes and underscores, in parts with a slash between");
        }
        if !is_file_name(&self.file) {
            return wrong("file has to be the name of a file, without a folder");
        }
        if !["http://", "https://"].iter().any(|scheme| self.url.starts_with(scheme)) {
            return wrong("url has to begin with http:// or https://");
        }
        let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if !self.sha256.as_ref().is_none_or(is_hash) {
            return wrong("sha256 has to be 64 hexadecimal digits");
        }
        Ok(())
    }
}

impl ListedCollection {
    fn check(&self) -> Result<(), String> {
        if !is_name(&self.name) || self.name.contains('/') || self.file.matches('*').count() != 1 {
            return Err(format!("{}: a collection has a name without a slash, and a file with one star", self.name));
        }
        if !is_file_name(&self.file.replace('*', "x")) {
            return Err(format!("{}: file has to be the name of a file, without a folder", self.name));
        }
        Ok(())
    }
}

/// Whether a text can be the name of a trace.
fn is_name(text: &str) -> bool {
    text.split('/').all(is_file_name)
}

/// Whether a text names a file of a folder, and no other folder.
fn is_file_name(text: &str) -> bool {
    let taken = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    !text.starts_with('.') && !text.is_empty() && text.len() <= 200 && text.chars().all(taken)
}

/// The user's settings: `~/.config/phelsuma`, or where `XDG_CONFIG_HOME` says.
pub(crate) fn settings() -> Option<PathBuf> {
    in_home("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("phelsuma"))
}

/// The folder of traces: what `PHELSUMA_TRACES` names, or `~/.local/share/phelsuma/traces`.
///
/// # Errors
/// There is no home directory.
pub fn trace_folder() -> Outcome<PathBuf> {
    let named = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = named.or_else(|| Some(in_home("XDG_DATA_HOME", ".local/share")?.join("phelsuma/traces")));
    folder.ok_or_else(|| Failure::Input(format!("there is no home directory; {FOLDER} may name a folder of traces")))
}

fn in_home(variable: &str, folder: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(folder)))
}

/// The file that a path or a name of the list stands for.
///
/// # Errors
/// A trace of the list that is not there yet.
pub fn trace_path(path: PathBuf) -> Outcome<PathBuf> {
    let name = path.to_str().filter(|name| is_name(name) && !path.exists());
    let Some(name) = name else { return Ok(path) };
    let list = TraceList::load(None)?;
    let Some(listed) = list.find(name) else {
        // A path that leads nowhere may be a name that is nearly right; other paths are refused by who opens them.
        let near = like(name, list.traces.iter().map(|trace| trace.name.as_str()));
        return near.map_or(Ok(path.clone()), |_| list.get(name).map(|_| path.clone()));
    };
    let file = trace_folder()?.join(listed.file());
    if file.is_file() {
        return Ok(file);
    }
    Err(Failure::Input(format!("{name}: there is no {}; `phelsuma trace get {name}` gets it", file.display())))
}

/// For options: a path, or a name of the list.
pub fn trace_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        trace_path(path).map_err(|failure| match failure {
            Failure::Input(text) | Failure::Failed(text) => text,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_that_everybody_has_can_be_read() {
        let list = TraceList::parse(BUILT_IN).unwrap();
        assert!(list.traces.iter().all(|trace| trace.sha256.is_some() && trace.bytes.is_some()));
        assert_eq!(list.find("msr/prxy_0").unwrap().file(), "prxy_0.csv.gz");
        assert_eq!(list.find("vm/cloudphysics").unwrap().file(), "vm_cloudphysics.vscsi.zst");
        assert!(list.find("msr/../x").is_none() && list.find("msr/").is_none() && list.find("msr").is_none());
    }

    #[test]
    fn what_leads_out_of_the_folder_is_no_entry() {
        let entry = |name: &str, file: &str, url: &str| {
            TraceList::parse(&format!(
                "[[trace]]\nname = \"{name}\"\nfile = \"{file}\"\nurl = \"{url}\"\nlicence = \"none\"\n"
            ))
        };
        assert!(entry("a/b", "b.csv", "https://a.example/b").is_ok());
        for (name, file, url) in [
            ("../b", "b.csv", "https://a.example/b"),
            ("a/b", "../b.csv", "https://a.example/b"),
            ("a/b", "/b.csv", "https://a.example/b"),
            ("a/b", ".b.csv", "https://a.example/b"),
            ("a/b", "b.csv", "file:///etc/passwd"),
            ("a/b", "b.csv", "-o/etc/passwd"),
        ] {
            assert!(entry(name, file, url).is_err(), "{name} {file} {url}");
        }
        let error = TraceList::parse("# A list.\n[[trace]]\nnome = \"a\"\n").unwrap_err();
        assert!(error.starts_with("line 3: unknown field `nome`"), "{error}");
    }

    #[test]
    fn of_two_entries_with_a_name_the_last_stands() {
        let mut list = TraceList::parse(BUILT_IN).unwrap();
        let before = list.traces.len();
        let own = "[[trace]]\nname = \"vm/cloudphysics\"\nfile = \"mine.csv\"\nurl = \"https://a.example/b\"\nlicence = \"mine\"\n";
        list.add(TraceList::parse(own).unwrap());
        assert_eq!(list.traces.len(), before);
        assert_eq!(list.find("vm/cloudphysics").unwrap().file(), "mine.csv");
    }
}
