//! Traces by name: a list of public ones, to which users add theirs, and the folder that they are in.
//!
//! `--trace vm/cloudphysics` is the file of that name, once `phelsuma trace get` has fetched it.

use crate::failure::{Failure, Outcome, like};
use crate::listed_options::ListedOptions;
use crate::trace_place::settings;
use phelsuma_trace::{Compression, TraceError};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// The list that everybody has.
const BUILT_IN: &str = include_str!("traces.toml");

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
    /// Options that it needs.
    #[serde(default)]
    pub options: ListedOptions,
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
    /// Options that each of them needs.
    #[serde(default)]
    pub options: ListedOptions,
}

/// What lists of traces have.
#[derive(Debug, Default)]
pub struct TraceList {
    /// Those that can be fetched.
    pub traces: Vec<ListedTrace>,
    /// Those that are fetched by hand.
    pub collections: Vec<ListedCollection>,
}

/// A list as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    trace: Vec<Spanned<ListedTrace>>,
    #[serde(default)]
    collection: Vec<Spanned<ListedCollection>>,
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

    /// Options that it needs.
    pub(crate) fn options(&self) -> &ListedOptions {
        match self {
            Self::Trace(trace) => &trace.options,
            Self::Of(collection, _) => &collection.options,
        }
    }
}

impl TraceList {
    /// The list that everybody has, that in the user's settings, and a further one: of two with a name the last.
    ///
    /// # Errors
    /// A list that cannot be read, or with an entry that cannot be.
    pub fn load(further: Option<&Path>) -> Outcome<Self> {
        let mut all = Self::built_in()?;
        let own = settings().map(|folder| folder.join("traces.toml")).filter(|path| path.is_file());
        for path in own.as_deref().into_iter().chain(further) {
            let about = |what: &dyn std::fmt::Display| Failure::Input(format!("{}: {what}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| about(&error))?;
            all.add(&text).map_err(|error| about(&error))?;
        }
        Ok(all)
    }

    /// The list that everybody has.
    pub(crate) fn built_in() -> Outcome<Self> {
        let mut list = Self::default();
        list.add(BUILT_IN).map_err(Failure::Failed)?;
        Ok(list)
    }

    /// Adds a list; what is wrong with it, with the line.
    fn add(&mut self, text: &str) -> Result<(), String> {
        let at = |byte: usize, what: &str| {
            let line = text.get(..byte).unwrap_or("").matches('\n').count() + 1;
            format!("line {line}: {what}")
        };
        let Written { trace, collection } = toml::from_str(text)
            .map_err(|error: toml::de::Error| at(error.span().map_or(0, |span| span.start), error.message()))?;
        self.traces.retain(|known| trace.iter().all(|new| new.get_ref().name != known.name));
        for new in trace {
            let begin = new.span().start;
            let new = new.into_inner();
            new.check().map_err(|what| at(begin, &what))?;
            self.traces.retain(|known| known.name != new.name);
            if let Some(known) = self.traces.iter().find(|known| known.file == new.file) {
                let what = format!(
                    "{} and {} have the same file, {}; one each would be right",
                    known.name, new.name, new.file
                );
                return Err(at(begin, &what));
            }
            self.traces.push(new);
        }
        for new in collection {
            let begin = new.span().start;
            let new = new.into_inner();
            new.check().map_err(|what| at(begin, &what))?;
            self.collections.retain(|known| known.name != new.name);
            self.collections.push(new);
        }
        Ok(())
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
    /// How what is fetched is packed. What a server packed is kept as it is.
    ///
    /// # Errors
    /// The file's name asks for what is not written.
    pub fn packing(&self) -> Result<Compression, TraceError> {
        let ending = |path: &str| Path::new(path).extension().map(|ending| ending.to_ascii_lowercase());
        if ending(&self.file).is_some() && ending(&self.file) == ending(self.url_path()) {
            return Ok(Compression::None);
        }
        Compression::of(Path::new(&self.file))
    }

    /// The address without what is asked of the server.
    #[must_use]
    pub fn url_path(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }

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
        if self.url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return wrong("url has to be without blanks; %20 stands for one");
        }
        let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if !self.sha256.as_ref().is_none_or(is_hash) {
            return wrong("sha256 has to be 64 hexadecimal digits");
        }
        self.packing().map_err(|error| format!("{}: {error}", self.name))?;
        self.options.check().map_err(|what| format!("{}: {what}", self.name))
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
        self.options.check().map_err(|what| format!("{}: {what}", self.name))
    }
}

/// Whether a text can be the name of a trace.
pub(crate) fn is_name(text: &str) -> bool {
    text.split('/').all(is_file_name)
}

/// Whether a text names a file of a folder, and no other folder.
fn is_file_name(text: &str) -> bool {
    let taken = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    !text.starts_with(['.', '-']) && !text.is_empty() && text.len() <= 200 && text.chars().all(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<TraceList, String> {
        let mut list = TraceList::default();
        list.add(text).map(|()| list)
    }

    fn entry(name: &str, file: &str, url: &str, further: &str) -> String {
        format!("[[trace]]\nname = \"{name}\"\nfile = \"{file}\"\nurl = \"{url}\"\nlicence = \"none\"\n{further}\n")
    }

    #[test]
    fn the_list_that_everybody_has_can_be_read() {
        let list = TraceList::built_in().unwrap();
        assert!(list.traces.iter().all(|trace| trace.sha256.is_some() && trace.bytes.is_some()));
        assert_eq!(list.find("msr/prxy_0").unwrap().file(), "prxy_0.csv.gz");
        assert_eq!(list.find("vm/cloudphysics").unwrap().file(), "vm_cloudphysics.vscsi.zst");
        assert_eq!(list.find("server/dtrs_5min").unwrap().options().to_string(), "--time-unit us");
        assert!(list.find("msr/../x").is_none() && list.find("msr/").is_none() && list.find("msr").is_none());
    }

    #[test]
    fn what_leads_out_of_the_folder_is_no_entry() {
        assert!(list(&entry("a/b", "b.csv", "https://a.example/b", "")).is_ok());
        for (name, file, url) in [
            ("../b", "b.csv", "https://a.example/b"),
            ("-b", "b.csv", "https://a.example/b"),
            ("a/b", "../b.csv", "https://a.example/b"),
            ("a/b", "/b.csv", "https://a.example/b"),
            ("a/b", ".b.csv", "https://a.example/b"),
            ("a/b", "b.csv", "file:///etc/passwd"),
            ("a/b", "b.csv", "-o/etc/passwd"),
            ("a/b", "b.csv", "https://a.example/b c"),
        ] {
            assert!(list(&entry(name, file, url, "")).is_err(), "{name} {file} {url}");
        }
        let error = list("# A list.\n[[trace]]\nnome = \"a\"\n").unwrap_err();
        assert!(error.starts_with("line 3: unknown field `nome`"), "{error}");
    }

    #[test]
    fn of_two_entries_with_a_name_the_last_stands() {
        let mut list = TraceList::built_in().unwrap();
        let before = list.traces.len();
        list.add(&entry("vm/cloudphysics", "mine.csv", "https://a.example/b", "")).unwrap();
        assert_eq!(list.traces.len(), before);
        assert_eq!(list.find("vm/cloudphysics").unwrap().file(), "mine.csv");
        // Even with the file that it had.
        list.add(&entry("vm/cloudphysics", "mine.csv", "https://a.example/c", "")).unwrap();
        assert_eq!(list.traces.len(), before);
    }

    #[test]
    fn two_traces_are_not_kept_in_one_file() {
        let (a, b) = (entry("a", "x.csv", "https://a.example/a", ""), entry("b", "x.csv", "https://a.example/b", ""));
        let error = list(&format!("{a}{b}")).unwrap_err();
        assert!(error.starts_with("line 7: a and b have the same file, x.csv"), "{error}");
        let mut all = TraceList::built_in().unwrap();
        let error = all.add(&entry("mine", "oltp_tpcc_7k.trace.zst", "https://a.example/a", "")).unwrap_err();
        assert!(error.starts_with("line 1: oltp/tpcc_7k and mine have the same file"), "{error}");
        // Names that change files with each other.
        let mut all = list(&format!("{a}{}", entry("b", "y.csv", "https://a.example/b", ""))).unwrap();
        let swapped = [entry("a", "y.csv", "https://a.example/a", ""), b].concat();
        all.add(&swapped).unwrap();
        assert_eq!(all.find("a").unwrap().file(), "y.csv");
    }

    #[test]
    fn a_file_is_packed_as_its_name_says_unless_the_server_did_so() {
        let packing = |file: &str, url: &str| {
            let list = list(&format!("\n{}", entry("a", file, url, "")))?;
            list.traces[0].packing().map_err(|error| error.to_string())
        };
        assert_eq!(packing("a.csv.zst", "https://a.example/a.csv"), Ok(Compression::Zstd));
        assert_eq!(packing("a.csv.gz", "https://a.example/a.csv.gz?raw=true"), Ok(Compression::None));
        assert_eq!(packing("a.csv.gz", "https://a.example/a.csv?as=x.gz"), Ok(Compression::Gzip));
        assert_eq!(packing("a.csv.xz", "https://a.example/a.csv.XZ"), Ok(Compression::None));
        for file in ["a.csv.xz", "a.csv.bz2", "a.zip", "a.tar.gz"] {
            let error = packing(file, "https://a.example/a.csv").unwrap_err();
            assert!(error.starts_with("line 2: a: ") && error.contains("are not written"), "{error}");
        }
    }

    #[test]
    fn options_are_checked_where_they_are_written() {
        let with = |options: &str| list(&entry("a", "a.csv", "https://a.example/a", &format!("options = {options}")));
        let said = |options: &str| with(options).unwrap().traces[0].options.to_string();
        assert_eq!(said("{ time-unit = \"us\", sector = \"4KiB\" }"), "--time-unit us --sector 4096");
        assert_eq!(
            said("{ columns = \"time:us,op,offset,size\", ops = \"read=0,write=1\" }"),
            "--columns time:us,op,offset,size --ops read=0,write=1"
        );
        for (options, says) in [
            ("{ time-unit = \"weeks\" }", "weeks"),
            ("{ unit = \"us\" }", "unknown field `unit`"),
            ("{ format = \"nonsense\" }", "nonsense"),
            ("{ sector = \"3\" }", "power of two"),
            ("{ skip-lines = 1 }", "with columns alone"),
            ("{ columns = \"time,op,offset,size\", format = \"csv\" }", "not both"),
            ("{ columns = \"time,wings\" }", "wings"),
            ("\"--time-unit us\"", "a table, such as"),
        ] {
            let error = with(options).unwrap_err();
            assert!(error.starts_with("line ") && error.contains(says), "{options}: {error}");
        }
    }
}
