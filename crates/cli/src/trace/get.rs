//! `phelsuma trace get`: public traces by name.

use super::curl::Stop;
use super::fetch::{fetch, look_at};
use super::place::Place;
use crate::errors::{Failure, Outcome};
use crate::output::{self, WithSchema};
use crate::table;
use phelsuma_options::{Listed, ListedTrace, TraceList, count, one_line, size, trace_folder};
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
    options: Option<String>,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let list = TraceList::load(args.list.as_deref())?;
    let folder = args.into.clone().map_or_else(trace_folder, Ok)?;
    if folder.is_file() {
        return Err(Failure::Input(format!("{}: is a file, a folder would be right", folder.display())));
    }
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
    let (mut failed, stop) = (Vec::new(), Stop::new()?);
    for trace in &wanted {
        // One that cannot be fetched does not keep the others away.
        match get(args, trace, &folder, &stop) {
            Ok(text) => said(args, &text)?,
            Err(Failure::Input(text) | Failure::Failed(text)) => failed.push(text),
            Err(failure) => return Err(failure),
        }
        if stop.told() {
            break;
        }
    }
    if args.json {
        show_json(wanted.into_iter(), &folder)?;
    }
    let Some(last) = failed.pop() else { return Ok(()) };
    failed.iter().for_each(|text| output::remark(&one_line(text)));
    Err(Failure::Failed(last))
}

/// A line of text. JSON says the same by itself.
fn said(args: &Args, text: &str) -> Outcome {
    if args.json { Ok(()) } else { output::print(&format!("{}\n", one_line(text))) }
}

/// Fetches a trace unless it is there, and says what is there then.
fn get(args: &Args, trace: &ListedTrace, folder: &Path, stop: &Stop) -> Outcome<String> {
    let place = Place::new(folder, trace);
    let (name, file) = (&trace.name, place.file.display());
    let taken = taken(args, trace, &place);
    if place.file.is_file() {
        let counted = look_at(trace, &place)?.map_or("too large to be counted anew".to_string(), requests);
        return Ok(format!("{name}: {file} is there, {counted}{taken}"));
    }
    let fetched = fetch(trace, &place, stop)?;
    let requests = requests(fetched.requests);
    let unchecked = match &trace.sha256 {
        Some(_) => String::new(),
        None => format!("; the list has no hash to hold it against: sha256 = \"{}\"", fetched.sha256),
    };
    let by_hand = match fetched.by_hand {
        true => format!("; {} is not needed any more", place.by_hand.display()),
        false => String::new(),
    };
    Ok(format!("{name}: {requests} in {file}, terms: {}{taken}{unchecked}{by_hand}", trace.licence))
}

fn requests(n: u64) -> String {
    format!("{} requests", count(n))
}

/// With which options it is taken by its name; the path to use where the name leads elsewhere.
fn taken(args: &Args, trace: &ListedTrace, place: &Place) -> String {
    let options = match trace.options.to_string() {
        none if none.is_empty() => none,
        some => format!(" {some}"),
    };
    let leads_here = || {
        let list = TraceList::load(None).ok()?;
        let Listed::Trace(listed) = list.find(&trace.name)? else { return None };
        Some(trace_folder().ok()?.join(&listed.file) == place.file && listed.options == trace.options)
    };
    if (args.list.is_some() || args.into.is_some()) && leads_here() != Some(true) {
        return format!(
            "; --trace {}{options} takes it, as its name is not known without this command's options",
            place.file.display()
        );
    }
    if options.is_empty() { options } else { format!("; its name stands for{options} too") }
}

/// The list as a table.
fn show(list: &TraceList, folder: &Path) -> Outcome {
    let rows = list.traces.iter().map(|trace| {
        let there = Place::new(folder, trace).file.is_file();
        [
            trace.name.clone(),
            trace.requests.map_or("?".to_string(), count),
            trace.bytes.map_or("?".to_string(), size::show),
            if there { "yes" } else { "no" }.to_string(),
            one_line(&trace.licence),
            one_line(&trace.about),
        ]
    });
    let traces = table::texts(["trace", "requests", "size", "there", "terms", "what it is"], rows);
    let rows = list.collections.iter().map(|collection| {
        let of = [&collection.page, &collection.licence, &collection.about].map(|text| one_line(text));
        let [page, licence, about] = of;
        [format!("{}/NAME", collection.name), page, licence, about]
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
                options: Some(trace.options.to_string()).filter(|options| !options.is_empty()),
            }
        })
        .collect();
    output::json(&WithSchema { schema: "phelsuma.trace-list/1", value: serde_json::json!({"traces": traces}) })
}
