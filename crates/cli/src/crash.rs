//! `phelsuma crash`: the power is cut at every program and erase, with every fault, and what survives is checked.

use crate::errors::{Failure, Outcome};
use crate::lab_args::{BLOCKS, BLOCKS_MAX, LabArgs, fits, why_not};
use crate::progress::Bars;
use crate::table::number;
use crate::tried::Tried;
use crate::{output, remarks, replay, table};
use phelsuma_drive::lab::{
    CrashReport, CrashReports, Fault, LabConfig, LabError, Path, Points, Spread, Subject, Sweep, Workload,
};
use phelsuma_ftl::FtlError;
use phelsuma_options::{check_logical_pages, count, ratio, size};
use phelsuma_plugin::Plugin;
use std::fmt::Write;
use std::time::Instant;

/// Options of `crash`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lab: LabArgs,
    /// The workloads, separated by commas (see `phelsuma list`), or `all`; each is a separate experiment
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = Workload::Mixed.name())]
    workload: Vec<String>,
    /// Run each workload with N seeds, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Write requests of the workload. The drive is filled and overwritten before it; cuts hit that phase as well
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    writes: u32,
    /// Instead of --writes: as many write requests as cause N programs and erases in each workload
    #[arg(long, value_name = "N", conflicts_with = "writes", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    operations: Option<u32>,
    /// Cut at every program and erase (the default). With a battery, cut after every request instead
    #[arg(long, conflicts_with_all = ["cuts", "replay"])]
    every_op: bool,
    /// Cut at only N of the programs and erases, spread evenly
    #[arg(long, value_name = "N", conflicts_with = "replay", value_parser = clap::value_parser!(u32).range(1..))]
    cuts: Option<u32>,
    /// Faults that a cut can cause, separated by commas (see `phelsuma list`) [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    faults: Vec<String>,
    /// Also try defects at the same operations. Either the operation fails and its block is bad from then on, or a page
    /// decays. Power cuts follow each defect. Of --faults they use not-started, torn-seen and partial-mixed
    #[arg(long)]
    defects: bool,
    /// Percent of the blocks that are bad from the factory
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=5))]
    factory_bad: u32,
    /// Also cut during each recovery. With a battery, only `phelsuma soak` cuts recoveries
    #[arg(long, conflicts_with = "replay")]
    nested: bool,
    /// Cut each recovery at each of its operations, and the next recoveries at the same operation, N times in a row. Has
    /// no effect with a battery
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    again: u32,
    /// How deep cuts are nested: 1 cuts only the workload, 2 also its recoveries (as --nested does), 3 also the
    /// recoveries from those cuts
    #[arg(long, value_name = "D", conflicts_with = "replay")]
    depth: Option<u32>,
    /// Run only the branch with this id. Drive, workload and seed must be those of the run that printed it
    #[arg(long, value_name = "ID")]
    replay: Option<Path>,
    /// Blocks of the flash [default: 64, doubled until all the FTLs fit]
    #[arg(long, value_name = "N")]
    blocks: Option<u64>,
    /// Pages of a block
    #[arg(long, value_name = "N", default_value_t = 32)]
    pages_per_block: u32,
    /// Logical over physical pages
    #[arg(long, default_value = "0.60", value_parser = ratio)]
    ratio: f64,
}

/// What all workloads told of one FTL.
struct Found {
    reports: CrashReports,
    /// How long each workload took.
    seconds: Vec<f64>,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let workloads = args.workloads()?;
    let (configs, not_set) = args.configs()?;
    // Before the first of them is begun.
    for config in &configs {
        config.what_meets_it().map_err(|error| about(config, false, error, (configs.len() > 1, false)))?;
    }
    let bars = Bars::new();
    let mut found = Vec::with_capacity(configs.len());
    for config in &configs {
        let (mut reports, mut seconds) = (Vec::new(), Vec::new());
        let seeds = (0..u64::from(args.seeds)).map(|n| config.seed.wrapping_add(n));
        let each = workloads.iter().flat_map(|workload| seeds.clone().map(|seed| (*workload, seed)));
        for (workload, seed) in each {
            let ftl = config.ftl.clone().with_seed(seed);
            let mut config = LabConfig { ftl, workload, seed, ..config.clone() };
            let several = (configs.len() > 1, workloads.len() > 1);
            let begun = Instant::now();
            reports.push(experiment(&mut config, args, &bars, several)?);
            seconds.push(begun.elapsed().as_secs_f64());
        }
        let of = format!(
            "{}, {} % of the blocks bad from the factory, recoveries cut again {} times",
            config.describe(),
            args.factory_bad,
            args.again
        );
        found.extend(CrashReports::of(of, reports).map(|reports| Found { reports, seconds }));
    }
    if args.lab.json || args.replay.is_some() {
        not_set.iter().for_each(|remark| output::remark(remark));
    }
    if args.lab.json {
        let reports: Vec<&CrashReports> = found.iter().map(|found| &found.reports).collect();
        output::json(&reports)?;
    } else if let Some(path) = &args.replay {
        output::print(&replayed(path, &found))?;
    } else {
        let heading = args.heading(&configs, &workloads, &not_set);
        output::print(&(heading + &as_text(&found) + &args.about_cuts(&configs, &found)))?;
    }
    if found.iter().any(|found| found.reports.sum.failed()) { Err(Failure::Shown) } else { Ok(()) }
}

/// One FTL under one workload; whether there are several of each.
fn experiment(config: &mut LabConfig<Tried>, args: &Args, bars: &Bars, several: (bool, bool)) -> Outcome<CrashReport> {
    let bar = match several.1 {
        true => bars.add(&format!("{}, {}", config.ftl.name(), config.workload.name())),
        false => bars.add(config.ftl.name()),
    };
    let counter = bar.clone();
    let factory_bad = (config.geometry.blocks() * args.factory_bad).div_ceil(100);
    if let Some(operations) = args.operations {
        let writes = Sweep::new(config).with_factory_bad(factory_bad).writes_for(operations);
        config.writes = writes.map_err(|error| about(config, factory_bad > 0, error, several))?;
    }
    let sweep = Sweep::new(config).with_factory_bad(factory_bad).cutting_recoveries_again(args.again);
    // Whoever replays an id has seen what shows it.
    let sweep = if args.replay.is_some() { sweep } else { sweep.shortening() };
    let report = sweep.telling(&|now| counter.count("branches", now.branches)).run();
    bar.done();
    if report.as_ref().is_ok_and(|report| report.operations == 0) {
        let name = config.ftl.name();
        return Err(Failure::Failed(format!("{name}: it programs and erases nothing, so nothing was tried")));
    }
    report.map_err(|error| about(config, factory_bad > 0, error, several))
}

impl Args {
    fn workloads(&self) -> Outcome<Vec<Workload>> {
        let mut workloads = Vec::new();
        for name in self.workload.iter().map(|name| name.trim()) {
            let named = match name {
                "all" => Workload::ALL.to_vec(),
                name => vec![Workload::named(name).map_err(|error| Failure::Input(error + ", all"))?],
            };
            if let Some(twice) = named.iter().find(|workload| workloads.contains(*workload)) {
                let twice = twice.name();
                return Err(Failure::Input(format!("workload '{twice}' is given twice; give it once")));
            }
            workloads.extend(named);
        }
        if let (Some(path), 2..) = (&self.replay, self.seeds) {
            return Err(Failure::Input(format!("{path} is a branch of one seed; use --seed without --seeds")));
        }
        match (&self.replay, workloads.as_slice()) {
            (Some(path), [_, _, ..]) => {
                Err(Failure::Input(format!("{path} is a branch of one workload; give one --workload")))
            }
            _ => Ok(workloads),
        }
    }

    fn heading(&self, configs: &[LabConfig<Tried>], workloads: &[Workload], not_set: &[String]) -> String {
        let page = size::show(self.lab.page.into());
        let blocks = || configs.iter().map(|config| u64::from(config.geometry.blocks()));
        let (least, most) = (blocks().min().unwrap_or(BLOCKS), blocks().max().unwrap_or(BLOCKS));
        let mut text = format!(
            "{} blocks of {} pages of {page} at ratio {}, {}{}, seed {}\n",
            if least == most { most.to_string() } else { format!("{least} to {most}") },
            self.pages_per_block,
            self.ratio,
            match self.operations {
                Some(operations) => format!("at least {} programs and erases", count(operations.into())),
                None => format!("{} writes", self.writes),
            },
            match workloads {
                [one] => format!(" of workload {}", one.name()),
                _ => " of each workload".to_string(),
            },
            match self.seeds {
                1 => self.lab.seed.to_string(),
                n => format!("{} and the {} after it", self.lab.seed, n - 1),
            }
        );
        if self.factory_bad > 0 {
            text += &format!("{} % of the blocks are bad from the factory\n", self.factory_bad);
        }
        if self.again > 0 {
            text += &format!(
                "recoveries cut again at each of their operations, {} times in a row\n",
                count(self.again.into())
            );
        }
        if configs.iter().any(|config| config.ftl.is_oracle()) {
            text += &(table::wrapped(remarks::ABOUT_ORACLES, table::PROSE_WIDTH_MAX) + "\n");
        }
        for config in configs.iter().filter(|_| !self.faults.is_empty()) {
            let met = config.what_meets_it().unwrap_or_default();
            let mut missing: Vec<_> =
                config.faults.iter().filter(|fault| !met.contains(fault)).map(|f| f.name()).collect();
            missing.dedup();
            if !missing.is_empty() {
                text += &format!("{}: faults that cannot occur: {}\n", config.ftl.name(), missing.join(", "));
            }
        }
        let ftls = configs.iter().filter_map(|config| config.ftl.own());
        let changed = ftls.filter_map(|ftl| remarks::changed_of(&ftl.name, &ftl.composition));
        for remark in changed.chain(not_set.iter().cloned()) {
            text += &(table::wrapped(&remark, table::PROSE_WIDTH_MAX) + "\n");
        }
        text
    }

    /// Where the cuts were.
    fn about_cuts(&self, configs: &[LabConfig<Tried>], found: &[Found]) -> String {
        let mut text = String::new();
        for (config, Found { reports: CrashReports { sum: r, workloads, .. }, .. }) in configs.iter().zip(found) {
            let battery = config.ftl.has_battery();
            let mut line = format!(
                "{}: cut {} {} of {} {}, {} of these before the workload, while the drive is filled and overwritten",
                r.ftl,
                if battery { "after" } else { "at" },
                count(r.cut_points.into()),
                count(r.operations.into()),
                if battery { "requests" } else { "programs and erases" },
                count(r.preconditioning_cut_points.into())
            );
            if r.defects > 0 {
                line += &format!("; {} defects, each followed by a power cut with nothing in flight", count(r.defects));
            }
            if workloads.len() > 1 {
                line += &format!(", {} experiments together", workloads.len());
            }
            if r.restarts > 0 {
                let restarts = count(r.restarts.into());
                line += &format!("; the workload itself cuts the power {restarts} times");
            }
            if let Some(taken) = &r.taken_back {
                let spread = |s: &Spread| {
                    format!("{} to {}, median {}", count(s.min.into()), count(s.max.into()), count(s.median.into()))
                };
                line += &format!(
                    "; a cut may undo unflushed writes (pages undone: {}; read as an older version: {}; unreadable: {})",
                    spread(&taken.pages),
                    spread(&taken.older),
                    spread(&taken.unreadable)
                );
            }
            if battery {
                line += "; the battery lets requests finish before a cut";
                if config.depth > 1 || self.again > 0 {
                    line += "; recoveries with a battery are not cut, as they write only if metadata have decayed";
                }
            }
            text += &(table::wrapped(&line, table::PROSE_WIDTH_MAX) + "\n");
        }
        text
    }

    /// The experiments, and what is set for some of their FTLs alone.
    fn configs(&self) -> Outcome<(Vec<LabConfig<Tried>>, Vec<String>)> {
        if let Some(blocks) = self.blocks {
            return self.configs_with(blocks);
        }
        let has_room = |config: &&LabConfig<Tried>| fits(&config.geometry, &config.ftl);
        let mut tried: Vec<Vec<LabConfig<Tried>>> = Vec::new();
        let mut blocks = BLOCKS;
        loop {
            let (mut made, not_set) = self.configs_with(blocks)?;
            if made.iter().all(|config| has_room(&config)) {
                return Ok((made, not_set));
            }
            if blocks >= BLOCKS_MAX {
                // Nothing suits all of them: a µ-Tree has less room the more blocks there are. Each has its own then.
                for (nth, config) in made.iter_mut().enumerate() {
                    if let Some(smaller) = tried.iter().map(|configs| &configs[nth]).find(has_room) {
                        *config = smaller.clone();
                    }
                }
                return Ok((made, not_set));
            }
            tried.push(made);
            blocks *= 2;
        }
    }

    fn configs_with(&self, blocks: u64) -> Outcome<(Vec<LabConfig<Tried>>, Vec<String>)> {
        let geometry = self.lab.geometry(blocks, self.pages_per_block)?;
        check_logical_pages(&geometry, self.ratio)?;
        let logical_pages = (geometry.pages() as f64 * self.ratio) as u32;
        if let (true, Some(depth @ 0..=1)) = (self.nested, self.depth) {
            return Err(Failure::Input(format!(
                "--nested cuts the recoveries as well and --depth {depth} does not; use one of them, or --depth 2 or 3"
            )));
        }
        let points = match (&self.replay, self.cuts) {
            (Some(path), _) => Points::Replay(path.clone()),
            (None, Some(cuts)) => Points::Some(cuts),
            (None, None) => Points::Every,
        };
        let depth = self.depth.unwrap_or(if self.nested { 2 } else { 1 });
        let faults = self.faults()?;
        let timing = self.lab.timing.on_blocks(self.lab.page, geometry.pages_per_block())?.chip;
        let lab = |ftl: Tried| LabConfig {
            geometry,
            timing,
            ftl,
            workload: Workload::default(),
            writes: self.writes,
            points: points.clone(),
            faults: faults.clone(),
            depth,
            seed: self.lab.seed,
            threads: self.lab.threads(),
        };
        let own = |name: &str| {
            let (ftl, lacking) = self.lab.ftl(name, &geometry, logical_pages)?;
            Ok((lab(Tried::Own(ftl)), lacking))
        };
        let plugin = |plugin: &Plugin| {
            let subject = plugin.on(&geometry, logical_pages);
            Ok(lab(Tried::Plugin(subject.map_err(|error| Failure::Input(error.to_string()))?)))
        };
        self.lab.each(own, plugin, |config| &config.ftl)
    }

    fn faults(&self) -> Outcome<Vec<Fault>> {
        let known = || Fault::all().into_iter().chain(Fault::defects());
        if self.replay.is_some() {
            return Ok(known().collect());
        }
        if self.faults.is_empty() {
            return Ok(if self.defects { known().collect() } else { Fault::all() });
        }
        let mut faults: Vec<Fault> = if self.defects { Fault::defects().collect() } else { Vec::new() };
        for name in &self.faults {
            faults.extend(Fault::named(name.trim()).map_err(Failure::Input)?);
        }
        // In the order in which they are listed, each once.
        Ok(Fault::every().filter(|fault| faults.contains(fault)).collect())
    }
}

fn about(config: &LabConfig<Tried>, factory_bad: bool, error: LabError, (ftls, workloads): (bool, bool)) -> Failure {
    let names_it = matches!(error, LabError::NotPromised(..) | LabError::NoFault(..));
    let failure = match error {
        LabError::NoSuchBranch(path) if !factory_bad => Failure::Input(replay::no_such_branch(config, &path)),
        LabError::Workload(error @ FtlError::DoesNotFit { .. }) => {
            let text = why_not(&config.geometry, &config.ftl, &error);
            let more =
                if text.contains("--blocks") || text.contains("blocks) would") { "" } else { ", or more --blocks" };
            Failure::Input(text + more)
        }
        error => error.into(),
    };
    let name = match workloads {
        true => format!("{}, {}", config.ftl.name(), config.workload.name()),
        false => config.ftl.name().into(),
    };
    match failure {
        Failure::Input(text) if (ftls || workloads) && !names_it => Failure::Input(format!("{name}: {text}")),
        Failure::Failed(text) => Failure::Failed(format!("{name}: {text}")),
        other => other,
    }
}

/// A short way to a failure, where one was found.
fn shortest(script: &[String]) -> String {
    if script.is_empty() {
        return String::new();
    }
    let requests = format!("Shown by {} requests: {}", script.len(), script.join("; "));
    table::wrapped(&requests, table::PROSE_WIDTH_MAX) + "\n"
}

/// How a report is called: by its workload as well, unless that is the usual one.
fn called(report: &CrashReport, workload: &str) -> String {
    match workload == Workload::default().name() {
        true => report.ftl.clone(),
        false => format!("{}, {workload}", report.ftl),
    }
}

fn replayed(path: &Path, found: &[Found]) -> String {
    let mut text = String::new();
    for report in found.iter().map(|found| &found.reports.sum) {
        let name = called(report, report.workload.unwrap_or_default());
        match report.failures.first() {
            Some(failed) => _ = writeln!(text, "{name}: {path}: {}: {}", failed.kind, failed.message),
            None => match report.failures_not_promised.first() {
                Some(failed) => {
                    _ = writeln!(text, "{name}: {path}: not promised: {}: {}", failed.kind, failed.message);
                }
                None => _ = writeln!(text, "{name}: {path} holds"),
            },
        }
    }
    text
}

fn as_text(found: &[Found]) -> String {
    let several = found.iter().any(|found| found.reports.workloads.len() > 1);
    let several_seeds =
        found.iter().any(|found| found.reports.workloads.windows(2).any(|pair| pair[0].seed != pair[1].seed));
    let mut headings = vec!["FTL"];
    if several {
        headings.extend(["workload", "cuts", "nested\ncuts"]);
    } else {
        headings.extend(["cuts", "nested cuts"]);
    }
    let with_defects = found.iter().any(|found| found.reports.sum.defects > 0);
    if with_defects {
        headings.insert(headings.len() - 2, "defects");
    }
    headings.extend(["covered", "lost", "corrupt", "stuck", "panics"]);
    if with_defects {
        headings.push("not\npromised");
    }
    headings.push(if several { "worst\nrecovery ms" } else { "worst recovery ms" });
    headings.push("time s");
    let mut table = table::numbers(&headings);
    let mut add = |r: &CrashReport, seconds: f64| {
        let mut counts = vec![r.cuts, r.nested_cuts, r.covered_by_equality, r.lost, r.corrupt, r.stuck, r.panics];
        if with_defects {
            counts.insert(0, r.defects);
            counts.push(r.not_promised);
        }
        let mut row = vec![remarks::named(&r.ftl, r.oracle)];
        if several {
            row.push(match r.workload {
                Some(workload) if several_seeds => format!("{workload}, seed {}", r.seed),
                Some(workload) => workload.to_string(),
                None => "all of them".to_string(),
            });
        }
        row.extend(counts.into_iter().map(count));
        row.extend([number(r.worst_recovery_us / 1e3), format!("{seconds:.2}")]);
        table.add_row(row);
    };
    for Found { reports, seconds } in found {
        reports.workloads.iter().zip(seconds).for_each(|(report, seconds)| add(report, *seconds));
        if reports.workloads.len() > 1 {
            add(&reports.sum, seconds.iter().sum());
        }
    }
    let mut text = format!("{table}\n");
    for report in found.iter().flat_map(|found| &found.reports.workloads) {
        let shown = report.failures.len() as u64;
        let mut name = called(report, report.workload.unwrap_or_default());
        if several_seeds {
            name += &format!(", seed {}", report.seed);
        }
        for failed in &report.failures_not_promised[..report.failures_not_promised.len().min(1)] {
            let _ = writeln!(text, "{name}: {}: not promised: {}: {}", failed.id, failed.kind, failed.message);
        }
        for failed in &report.failures {
            let _ = writeln!(text, "{name}: {}: {}: {}", failed.id, failed.kind, failed.message);
            text += &shortest(&failed.script);
        }
        let all = report.lost + report.corrupt + report.stuck + report.panics;
        if all > shown {
            let _ = writeln!(text, "{name}: and {} more", count(all - shown));
        }
    }
    text
}
