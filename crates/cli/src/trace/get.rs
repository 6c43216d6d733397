//! `phelsuma trace get`: public traces by name.

use super::fetch::{Place, fetch};
use crate::errors::{Failure, Outcome};
use crate::output::{self, WithSchema};
use crate::table;
use phelsuma_options::{Listed, ListedTrace, TraceList, count, trace_folder};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Options of `trace get`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Names of the list, such as vm/cloudphysics or msr/prxy_0
    name: Vec<String>,
    /// All that can be fetched
    #[arg(long, conflicts_with = "name")]
    all: bool,
    /// The folder that they go to [default: what PHELSUMA_TRACES names, else ~/.local/share/phelsuma/traces]
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// A further list; ~/.config/phelsuma/traces.toml is one as well
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// A trace of the list, as JSON has it.
#[derive(Serialize)]
struct Said<'a> {
    name: &'a str,
    /// Where it is, or would be.
    file: String,
    there: bool,
    url: &'a str,
    sha256: Option<String>,
    bytes: Option<u64>,
    requests: Option<u64>,
    licence: &'a str,
    about: &'a str,
    options: Option<&'a str>,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let list = TraceList::load(args.list.as_deref())?;
    let folder = args.into.clone().map_or_else(trace_folder, Ok)?;
    if args.name.is_empty() && !args.all {
        return if args.json { show_json(list.traces.iter(), &folder) } else { show(&list, &folder) };
    }
    let mut wanted = Vec::new();
    for name in &args.name {
        match list.get(name)? {
            Listed::Trace(trace) => wanted.push(trace),
            Listed::Of(collection, file) => {
                let file = folder.join(file);
                if !file.is_file() {
                    return Err(Failure::Failed(format!(
                        "{name} is fetched by hand, as {} asks for a name or for consent to terms ({}); it goes to {}, and \
                         --trace {name} finds it there",
                        collection.page,
                        collection.licence,
                        file.display()
                    )));
                }
                said(args, &format!("{name}: {} is there", file.display()))?;
            }
        }
    }
    if args.all {
        wanted = list.traces.iter().collect();
    }
    std::fs::create_dir_all(&folder).map_err(|error| Failure::Input(format!("{}: {error}", folder.display())))?;
    let mut failed = Vec::new();
    for trace in &wanted {
        // One that cannot be fetched does not keep the others away.
        match get(trace, &folder) {
            Ok(text) => said(args, &text)?,
            Err(Failure::Input(text) | Failure::Failed(text)) => failed.push(text),
            Err(failure) => return Err(failure),
        }
    }
    if args.json {
        show_json(wanted.into_iter(), &folder)?;
    }
    let Some(last) = failed.pop() else { return Ok(()) };
    failed.iter().for_each(|text| output::remark(text));
    Err(Failure::Failed(last))
}

/// A line of text; with JSON, a remark beside it.
fn said(args: &Args, text: &str) -> Outcome {
    if args.json {
        output::remark(text);
        return Ok(());
    }
    output::print(&format!("{text}\n"))
}

/// Fetches a trace unless it is there, and says what is there then.
fn get(trace: &ListedTrace, folder: &Path) -> Outcome<String> {
    let place = Place::new(folder, trace);
    let (name, file) = (&trace.name, place.file.display());
    let options = trace.options.as_ref().map_or(String::new(), |options| format!("; it needs {options}"));
    if place.file.is_file() {
        return Ok(format!("{name}: {file} is there{options}"));
    }
    let fetched = fetch(trace, &place)?;
    let requests = count(fetched.requests);
    if let Some(expected) = trace.requests.filter(|expected| *expected != fetched.requests) {
        let expected = count(expected);
        return Err(Failure::Failed(format!("{name}: {file} has {requests} requests, where the list has {expected}")));
    }
    let unchecked = match &trace.sha256 {
        Some(_) => String::new(),
        None => format!("; the list has no hash to hold it against: sha256 = \"{}\"", fetched.sha256),
    };
    Ok(format!("{name}: {requests} requests in {file}, terms: {}{options}{unchecked}", trace.licence))
}

/// The list as a table.
fn show(list: &TraceList, folder: &Path) -> Outcome {
    let rows = list.traces.iter().map(|trace| {
        let there = Place::new(folder, trace).file.is_file();
        [
            trace.name.clone(),
            trace.requests.map_or("?".to_string(), count),
            if there { "yes" } else { "no" }.to_string(),
            trace.licence.clone(),
            trace.about.clone(),
        ]
    });
    let traces = table::texts(["trace", "requests", "there", "terms", "what it is"], rows);
    let rows = list.collections.iter().map(|collection| {
        [
            format!("{}/NAME", collection.name),
            collection.page.clone(),
            collection.licence.clone(),
            collection.about.clone(),
        ]
    });
    let collections = table::texts(["by hand", "from", "terms", "what it is"], rows);
    let folder = folder.display();
    output::print(&format!(
        "{traces}\n\n{collections}\n\nThey are in {folder}. `phelsuma trace get NAME` fetches one.\n"
    ))
}

/// Traces as JSON.
fn show_json<'a>(traces: impl Iterator<Item = &'a ListedTrace>, folder: &Path) -> Outcome {
    let traces: Vec<Said<'_>> = traces
        .map(|trace| {
            let file = Place::new(folder, trace).file;
            Said {
                name: &trace.name,
                there: file.is_file(),
                file: file.display().to_string(),
                url: &trace.url,
                sha256: trace.sha256.clone(),
                bytes: trace.bytes,
                requests: trace.requests,
                licence: &trace.licence,
                about: &trace.about,
                options: trace.options.as_deref(),
            }
        })
        .collect();
    output::json(&WithSchema { schema: "phelsuma.trace-list/1", value: serde_json::json!({"traces": traces}) })
}
