//! What a reader of a result should know before comparing it with others.

use phelsuma_drive::{CompositionNames, RunResult};
use phelsuma_ftl::{Composition, Preset};
use phelsuma_options::count;
use phelsuma_trace::Workload;

/// The name of an FTL in a table: what is told what no real FTL knows is marked.
pub(crate) fn named(ftl: &str, is_oracle: bool) -> String {
    if is_oracle { format!("{ftl} (oracle)") } else { ftl.to_string() }
}

/// What an oracle is, under a table in which there is one. It need not be a bound: classes tell little of pages that are
/// written at many rates.
pub(crate) const ABOUT_ORACLES: &str =
    "(oracle): told the class of each page or when it dies, which no real FTL knows: no drive, and it wins nothing";

/// The parts of an FTL, each with what it is the part of.
type Parts = [(&'static str, String); 7];

fn parts(composition: &Composition) -> Parts {
    let [mapping, validity, victim, placement] = composition.names();
    let [metadata, power] = composition.names_of_metadata_and_power().map(str::to_string);
    [
        ("mapping", mapping),
        ("validity", validity),
        ("victim", victim),
        ("placement", placement),
        ("metadata", metadata),
        ("power", power),
        ("wear", composition.name_of_wear().unwrap_or_else(not_levelled)),
    ]
}

fn parts_of_result(names: &CompositionNames) -> Parts {
    [
        ("mapping", names.mapping.clone()),
        ("validity", names.validity.clone()),
        ("victim", names.victim.clone()),
        ("placement", names.placement.clone()),
        ("metadata", names.metadata.to_string()),
        ("power", names.power.to_string()),
        ("wear", names.wear.clone().unwrap_or_else(not_levelled)),
    ]
}

fn not_levelled() -> String {
    "none".to_string()
}

/// The parts that are not those of the preset that the FTL is called after.
pub(crate) fn changed(result: &RunResult) -> Option<String> {
    differing(&result.ftl, &parts_of_result(&result.composition))
}

/// The same of an FTL that has no result.
pub(crate) fn changed_of(ftl: &str, composition: &Composition) -> Option<String> {
    differing(ftl, &parts(composition))
}

fn differing(ftl: &str, parts_here: &Parts) -> Option<String> {
    let preset = parts(&Preset::named(ftl).ok()?.composition);
    let differing = preset.iter().zip(parts_here).filter(|(preset, here)| preset != here);
    let shown: Vec<String> = differing.map(|((part, was), (_, is))| format!("{part} {is} for {was}")).collect();
    (!shown.is_empty()).then(|| format!("{ftl} here has {}", shown.join(", ")))
}

/// Whether the workload has an end of its own, so that a longer run is another workload.
pub(crate) fn ends(result: &RunResult) -> bool {
    result.fold.is_none() && Workload::parse(&result.workload).is_ok_and(|workload| workload.ends())
}

/// Of a drive with next to no spare space.
pub(crate) fn extreme_ratio(result: &RunResult) -> Option<String> {
    let spare = 1.0 - result.geometry.effective_ratio;
    (spare < 0.03).then(|| {
        format!(
            "extreme ratio: {:.1} % of the flash is spare, and write amplification grows as one over that, as do wear and \
             the time that a run takes",
            spare * 100.0
        )
    })
}

/// Requests of the trace that the drive never saw.
pub(crate) fn dropped(result: &RunResult) -> Option<String> {
    let host = &result.host;
    let (small, outside) = (host.dropped_trims_without_whole_page, host.dropped_trims_outside_footprint);
    let mut why = Vec::new();
    if small > 0 {
        why.push(format!("{} that trim no whole page", count(small)));
    }
    if outside > 0 {
        why.push(format!("{} that trim only pages never read or written", count(outside)));
    }
    (!why.is_empty())
        .then(|| format!("dropped of {} requests of the trace: {}", count(host.trace_requests), why.join(", ")))
}

/// Of a drive so small that reserve and open blocks take more than a quarter of its spare space.
pub(crate) fn small_drive(result: &RunResult) -> Option<String> {
    let g = &result.geometry;
    let taken = 1.0 - (1.0 - g.effective_ratio) / (1.0 - g.ratio);
    (taken > 0.25).then(|| {
        format!(
            "small drive: reserve and open blocks take {:.0} % of the spare space, so compare with larger drives and limits \
             at the effective ratio ({:.4}), not at {:.4}",
            taken * 100.0,
            g.effective_ratio,
            g.ratio
        )
    })
}
