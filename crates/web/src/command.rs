//! The line of the command that does what the page shows.

use crate::engine::Engine;
use crate::settings::{Host, Settings};
use phelsuma_drive::lab::Fault;
use phelsuma_ftl::ENTRY_BYTES;
use phelsuma_trace::quoted;

/// The line. A workload of runs is a run over as many pages as were written, a trace one over its first requests. One of the laboratory's is the experiment,
/// and where the power was cut, the branch of it.
pub(crate) fn command(engine: &Engine) -> String {
    let settings = &engine.settings;
    match settings.host(&settings.workload) {
        Ok(Host::Lab(workload)) => lab(engine, workload.name()),
        Ok(Host::Trace(trace)) => {
            let now = &engine.now;
            let is_part = !now.has_changed && !now.ended && now.taken > engine.fill;
            let first =
                is_part.then(|| trace.requests_of(now.taken - engine.fill, engine.config.logical_pages, settings));
            let first = first.map_or_else(String::new, |requests| format!(" --first {requests}"));
            run(engine, &format!("--trace {}", path(trace.name())), &format!(" --fold wrap{first}"))
        }
        _ => {
            let written = engine.now.asked.written.max(1);
            let passes = (written as f64 + 0.5) / f64::from(engine.config.logical_pages);
            run(engine, &format!("--workload {}", settings.workload), &format!(" --warmup 0 --passes {passes}"))
        }
    }
}

/// A file in the folder, as a shell takes it.
fn path(name: &str) -> String {
    quoted(&if name.starts_with('-') { format!("./{name}") } else { name.into() })
}

fn shape(settings: &Settings, engine: &Engine) -> String {
    let mut line = format!(
        " --ratio {} --page {} --pages-per-block {}",
        settings.ratio, settings.page_bytes, settings.pages_per_block
    );
    for (name, count) in [("channels", settings.channels), ("dies", settings.dies)] {
        if count > 1 {
            line += &format!(" --{name} {count}");
        }
    }
    if let Some(entries @ 1..) = engine.config.composition.cache_entries() {
        line += &format!(" --cache {}", u64::from(entries) * ENTRY_BYTES);
    }
    for change in settings.set.iter().filter(|change| !change.trim_start().starts_with("mapping.cache")) {
        line += &format!(" --set {}", change.replace(' ', ""));
    }
    line + &format!(" --seed {}", settings.seed)
}

fn run(engine: &Engine, input: &str, extent: &str) -> String {
    let settings = &engine.settings;
    let bytes = engine.geometry.pages() * u64::from(settings.page_bytes);
    let cut = if engine.now.recovered.is_some() || !engine.now.bench.is_on() { " --cut-at-end" } else { "" };
    format!("phelsuma run --ftl {} {input} --capacity {bytes}{}{extent}{cut}", settings.ftl, shape(settings, engine))
}

fn lab(engine: &Engine, workload: &str) -> String {
    let settings = &engine.settings;
    let mut line = format!(
        "phelsuma crash --ftl {} --workload {workload} --blocks {}{} --writes {}",
        settings.ftl,
        settings.blocks,
        shape(settings, engine),
        engine.now.asked.requests.max(1)
    );
    // Behind the first cut operations are counted anew, and what came then is of no script.
    let is_first = engine.now.fails == 1 && engine.now.workload == settings.workload;
    let cuts: Vec<String> = match engine.now.told_after {
        Some(request) => vec![format!("{request}.{}", Fault::Announced.name())],
        None => engine.now.met.iter().map(|(met, fault)| format!("{}.{fault}", met.operation)).collect(),
    };
    if is_first && !cuts.is_empty() {
        line += &format!(" --replay {}", cuts.join("/"));
    }
    line
}
