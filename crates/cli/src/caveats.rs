//! What a reader of a comparison should know before believing it: each a line that says what it means and what to do.

use crate::remarks;
use phelsuma_drive::{RunConfig, RunResult};
use phelsuma_ftl::Composition;
use phelsuma_nand::Geometry;
use serde::Serialize;

/// One of them.
#[derive(Debug, Serialize)]
pub(crate) struct Caveat {
    /// Which it is, for programs.
    pub(crate) kind: &'static str,
    /// The line.
    pub(crate) text: String,
}

/// The kind of those that say which parts an FTL has here: a star stands before them, and at its row.
pub(crate) const CHANGED: &str = "changed";

/// Those of these results, of runs on this drive; `not_set` are parameters that some of the FTLs have no part for.
pub(crate) fn of(results: &[RunResult], configs: &[RunConfig], geometry: &Geometry, not_set: &[String]) -> Vec<Caveat> {
    let Some(first) = results.first() else { return Vec::new() };
    let fullest = results
        .iter()
        .filter(|r| !remarks::has_log_blocks(r))
        .max_by(|a, b| a.geometry.effective_ratio.total_cmp(&b.geometry.effective_ratio));
    let of_all = [
        ("parts_differ", parts_differ(configs, geometry)),
        ("short", short(first, results)),
        ("not_steady", not_steady(first, results, configs)),
        ("overloaded", overloaded(results)),
        ("dropped", remarks::dropped(first)),
        ("small_drive", remarks::small_drive(results)),
        ("small_blocks", configs.first().and_then(remarks::small_blocks)),
        ("one_by_one", configs.iter().find_map(remarks::one_by_one)),
        ("extreme_ratio", fullest.and_then(remarks::extreme_ratio)),
        ("long_waits", remarks::long_waits(results)),
        ("oracle", results.iter().any(|r| r.oracle).then(|| remarks::ABOUT_ORACLES.to_string())),
    ];
    let of_each = results.iter().flat_map(|r| {
        let own = [remarks::one_group(r), remarks::unused_blocks(r), remarks::changed(r)];
        ["one_group", "unused_blocks", CHANGED].into_iter().zip(own)
    });
    let (changed, others): (Vec<_>, Vec<_>) = of_each.partition(|(kind, _)| *kind == CHANGED);
    let not_set = not_set.iter().map(|text| ("not_set", Some(text.clone())));
    let reader = first.input.iter().flat_map(remarks::warnings).map(|text| ("reader", Some(text)));
    let all = reader.chain(of_all).chain(others).chain(changed).chain(not_set);
    all.filter_map(|(kind, text)| Some(Caveat { kind, text: text? })).collect()
}

/// Two of the FTLs choose victims and place pages in different ways, so their difference has two causes. What gives all of
/// them one placement, or else one way to choose, is tried.
fn parts_differ(configs: &[RunConfig], geometry: &Geometry) -> Option<String> {
    let real = configs.iter().filter(|c| c.composition.page_mapped().is_some() && c.composition.knowledge().is_none());
    let real: Vec<&RunConfig> = real.collect();
    let parts: Vec<[String; 2]> = real.iter().map(|config| victim_and_placement(&config.composition)).collect();
    let both = |a: &[String; 2], b: &[String; 2]| a.iter().zip(b).all(|(a, b)| a != b);
    let named = || real.iter().zip(&parts);
    let mut pairs = named().flat_map(|(a, of_a)| named().map(move |(b, of_b)| ((a, of_a), (b, of_b))));
    let ((a, _), (b, _)) = pairs.find(|((_, a), (_, b))| both(a, b))?;
    let alike = |part: usize, key: &str| {
        // A name without its parameters, which stand in parentheses.
        let names = parts.iter().filter_map(|of| of.get(part)?.split(['(', ' ']).next());
        names.map(|name| (key.to_string(), name.to_string())).find(|(key, name)| {
            let set = |config: &&RunConfig| {
                let mut composition = config.composition;
                composition.set_all(&[(key, name)]).ok()?;
                let logical_pages = config.shape.logical_pages(geometry);
                composition.check_on(geometry, logical_pages).ok()?;
                Some(victim_and_placement(&composition))
            };
            let made: Option<Vec<[String; 2]>> = real.iter().map(set).collect();
            made.is_some_and(|made| {
                let same = |of: usize| made.iter().zip(made.iter().skip(1)).all(|(a, b)| a.get(of) == b.get(of));
                same(part) && !same(1 - part)
            })
        })
    };
    let compares = |set: Option<(String, String)>, what: &str| {
        set.map(|(key, name)| format!("--set {key}={name} compares {what}"))
    };
    let advice = compares(alike(1, "placement"), "victims").or_else(|| compares(alike(0, "victim"), "placements"));
    let advice = advice.map(|advice| format!(": {advice}")).unwrap_or_default();
    Some(format!("{}, {} differ in victim and placement{advice}", a.ftl, b.ftl))
}

fn victim_and_placement(composition: &Composition) -> [String; 2] {
    let [_, _, victim, placement] = composition.names();
    [victim, placement]
}

/// So little is counted that the figures depend on where that begins.
fn short(first: &RunResult, results: &[RunResult]) -> Option<String> {
    let written = results.iter().find_map(remarks::short)?;
    let what = if first.fold.is_some() { "a replay writes" } else { "the run writes" };
    let longer = remarks::longer_input(first);
    Some(format!("short: {what} {written:.2} of the drive: figures depend on where it begins; {longer}"))
}

/// Write amplification changes while it is counted. Of a short run that says nothing of the drive.
fn not_steady(first: &RunResult, results: &[RunResult], configs: &[RunConfig]) -> Option<String> {
    let unsteady: Vec<(&RunResult, f64)> =
        results.iter().filter(|r| r.steady == Some(false)).filter_map(|r| Some((r, r.drift?))).collect();
    let (worst, drift) = unsteady.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    if results.iter().any(|r| remarks::short(r).is_some()) {
        return None;
    }
    let between = match first.loops {
        Some(2..) => "from one loop to the next",
        _ => "from half to half",
    };
    let advice = match (first.loops, configs.first()) {
        (Some(1), _) => "try --loops 4".to_string(),
        (Some(loops), _) => format!("try --loops {}", loops.saturating_mul(2)),
        (None, _) if remarks::ends(first) => "give the workload more rounds=N".to_string(),
        (None, Some(config)) => format!("try --warmup {}", (config.warmup * 4.0).max(2.0)),
        (None, None) => "raise --warmup".to_string(),
    };
    let (unsteady, all, worst) = (unsteady.len(), results.len(), &worst.ftl);
    let drift = drift * 100.0;
    Some(format!("not steady: {unsteady} of {all} change, {worst} most ({drift:+.1} % {between}); {advice}"))
}

/// Requests arrive faster than some of the FTLs serve them.
fn overloaded(results: &[RunResult]) -> Option<String> {
    let late: Vec<&str> = results.iter().filter(|r| remarks::overloaded(r)).map(|r| r.ftl.as_str()).collect();
    (!late.is_empty()).then(|| {
        format!("overloaded: requests outrun {}, so latencies are of the queue; try --queue-depth 16", late.join(", "))
    })
}
