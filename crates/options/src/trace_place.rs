//! Where traces are: the folder of those that are known by name, and what a path or a name stands for.

use crate::failure::{Failure, Outcome, like};
use crate::listed_options::ListedOptions;
use crate::trace_list::{Listed, TraceList, is_name};
use phelsuma_trace::{OpenOptions, TraceError, TraceFile};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The variable that names the folder of public traces.
const FOLDER: &str = "PHELSUMA_TRACES";

/// The user's settings: `~/.config/phelsuma`, or where `XDG_CONFIG_HOME` says.
pub(crate) fn settings() -> Option<PathBuf> {
    in_home("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("phelsuma"))
}

/// The folder of traces: what `PHELSUMA_TRACES` names, or `~/.local/share/phelsuma/traces`.
///
/// # Errors
/// There is no home directory, or a file of that name.
pub fn trace_folder() -> Outcome<PathBuf> {
    let named = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = named.or_else(|| Some(in_home("XDG_DATA_HOME", ".local/share")?.join("phelsuma/traces")));
    match folder {
        Some(folder) if folder.is_file() => Err(Failure::Input(format!(
            "{}: is a file, a folder of traces would be right ({FOLDER} names one)",
            folder.display()
        ))),
        Some(folder) => Ok(folder),
        None => Err(Failure::Input(format!("there is no home directory; {FOLDER} may name a folder of traces"))),
    }
}

fn in_home(variable: &str, folder: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(folder)))
}

/// What is to be opened.
pub(crate) struct Found {
    /// The file.
    pub(crate) path: PathBuf,
    /// What the list says of how it is read.
    pub(crate) options: ListedOptions,
}

/// What a path or a name of the list stands for. The list is read only where nothing of that path can be opened.
///
/// # Errors
/// A trace of the list that is not there yet; a path that leads nowhere and is nearly a name, or may be one of a list that
/// cannot be read.
pub(crate) fn found(path: &Path) -> Outcome<Found> {
    let as_it_is = || Ok(Found { path: path.to_path_buf(), options: ListedOptions::default() });
    let Some(name) = path.to_str().filter(|name| is_name(name) && !path.exists()) else { return as_it_is() };
    // It may stand for the files of several CPUs.
    let error = match TraceFile::open(path, &OpenOptions::default()) {
        Err(error @ TraceError::Io { .. }) if is_missing(&error) => error,
        _ => return as_it_is(),
    };
    let list = match TraceList::load(None) {
        Ok(list) => list,
        Err(wrong) if TraceList::built_in()?.find(name).is_some() => return Err(wrong),
        Err(Failure::Input(wrong) | Failure::Failed(wrong)) => {
            return Err(Failure::Input(format!("{error}; and a list of traces cannot be read: {wrong}")));
        }
    };
    let Some(listed) = list.find(name) else {
        return match like(name, list.traces.iter().map(|trace| trace.name.as_str())) {
            Some(near) => {
                Err(Failure::Input(format!("{error}; on the list of `phelsuma trace get`, '{near}' is most like it")))
            }
            None => as_it_is(),
        };
    };
    let path = trace_folder()?.join(listed.file());
    if path.is_file() {
        return Ok(Found { path, options: listed.options().clone() });
    }
    let does = match listed {
        Listed::Trace(_) => "gets it",
        Listed::Of(..) => "says how to get it",
    };
    Err(Failure::Input(format!("{name}: there is no {}; `phelsuma trace get {name}` {does}", path.display())))
}

fn is_missing(error: &TraceError) -> bool {
    matches!(error, TraceError::Io { source, .. } if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}
