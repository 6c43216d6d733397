//! The line of the command that does what the page shows.

use crate::engine::Engine;
use crate::settings::{Host, Settings};
use phelsuma_drive::lab::Fault;
use phelsuma_ftl::ENTRY_BYTES;

/// The line. A workload of runs is a run over as many pages as were written. One of the laboratory's is the experiment,
/// and where the power was cut, the branch of it.
pub(crate) fn command(engine: &Engine) -> String {
    match Host::named(&engine.settings.workload) {
        Ok(Host::Lab(workload)) => lab(engine, workload.name()),
        _ => run(engine),
    }
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

fn run(engine: &Engine) -> String {
    let settings = &engine.settings;
    let bytes = engine.geometry.pages() * u64::from(settings.page_bytes);
    let written = engine.now.asked.written.max(1);
    let passes = (written as f64 + 0.5) / f64::from(engine.config.logical_pages);
    let cut = if engine.now.recovered.is_some() || !engine.now.bench.is_on() { " --cut-at-end" } else { "" };
    format!(
        "phelsuma run --ftl {} --workload {} --capacity {bytes}{} --warmup 0 --passes {passes}{cut}",
        settings.ftl,
        settings.workload,
        shape(settings, engine)
    )
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
