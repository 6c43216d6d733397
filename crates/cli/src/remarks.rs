//! Remarks on a result, to be read before it is compared with others.

use crate::table::number;
use phelsuma_drive::{Arrival, CompositionNames, Fill, RunConfig, RunResult};
use phelsuma_ftl::{CollectionPart, Composition, Preset};
use phelsuma_options::count;
use phelsuma_trace::{FileRead, InputReport, SkipReason, Workload};

/// The name of an FTL in a table: what is told what no real FTL knows is marked.
pub(crate) fn named(ftl: &str, is_oracle: bool) -> String {
    if is_oracle { format!("{ftl} (oracle)") } else { ftl.to_string() }
}

/// What an oracle is, under a table in which there is one. It need not be a bound: classes tell little of pages that are
/// written at many rates.
pub(crate) const ABOUT_ORACLES: &str =
    "(oracle): an FTL that is given the class or the death of each page, which no real FTL has; it wins nothing";

/// What was read of a trace, as a line; none of a workload.
pub(crate) fn read(result: &RunResult) -> Option<String> {
    result.input.as_ref().map(read_of)
}

/// The same of a trace that is not run.
pub(crate) fn read_of(input: &InputReport) -> String {
    let mut parts = Vec::new();
    if input.files.len() > 1 {
        parts.push(format!("{} files", input.files.len()));
    }
    // Files are mostly of one kind.
    let ways: Vec<Vec<String>> = input.files.iter().map(way_of).collect();
    let differ = ways.iter().any(|way| Some(way) != ways.first());
    for (at, (file, way)) in input.files.iter().zip(&ways).enumerate() {
        if ways.iter().take(at).any(|other| other == way) {
            continue;
        }
        let more = ways.iter().skip(at + 1).filter(|other| *other == way).count();
        let name = if more > 0 { format!("{} and {more} more", file.file) } else { file.file.clone() };
        let way = way.join(", ");
        parts.push(if differ { format!("{name}: {way}") } else { way });
    }
    parts.push(format!("{} requests", count(input.requests)));
    if input.records != input.requests {
        parts.push(format!("of {} records", count(input.records)));
    }
    if input.devices != 1 {
        parts.push(format!("{} devices", count(input.devices)));
    }
    if input.shared_devices > 0 {
        parts.push(format!("devices that several files share: {}", count(input.shared_devices)));
    }
    parts.push(format!("{:.3} s", input.duration_ns as f64 / 1e9));
    if input.sorted {
        parts.push(format!("sorted: {} were back in time", count(input.back_in_time)));
    }
    // Comments and the like are no requests.
    let is_text = |reason| matches!(reason, SkipReason::Comment | SkipReason::BlankLine | SkipReason::Heading);
    let left_out = input.left_out.iter().filter(|(reason, _)| !is_text(*reason));
    let left_out: Vec<String> = left_out.map(|(reason, times)| format!("{reason}: {}", count(times))).collect();
    if !left_out.is_empty() {
        parts.push(format!("left out: {}", left_out.join(", ")));
    }
    format!("read: {}", parts.join(", ").replace(" requests, of ", " requests of "))
}

/// How a file was read.
fn way_of(file: &FileRead) -> Vec<String> {
    let guessed = |guessed: bool| if guessed { " (guessed)" } else { "" };
    let mut parts = vec![format!("{}{}", file.format, guessed(file.format_guessed)), times_of(file)];
    if let Some(assumed) = &file.assumed {
        let format = file.format;
        parts.push(format!("{assumed} (guessed: --format {format} confirms, --columns names others)"));
    }
    if let Some(columns) = &file.columns {
        let (address, size) = (unit(columns.address_unit_bytes), unit(columns.size_unit_bytes));
        parts.push(format!("addresses in {address}{}", guessed(columns.address_unit_guessed)));
        parts.push(format!("sizes in {size}{}", guessed(columns.size_unit_guessed)));
    }
    parts
}

fn times_of(file: &FileRead) -> String {
    let columns = file.columns.as_ref().map(|read| read.columns.as_str());
    match columns {
        Some(columns) if !columns.contains("time") => "no times".to_string(),
        Some(columns) if columns.contains("time:date") => "times are dates".to_string(),
        _ => format!("times in {}{}", file.time_unit, if file.time_unit_guessed { " (guessed)" } else { "" }),
    }
}

fn unit(bytes: u64) -> String {
    if bytes == 1 { "bytes".to_string() } else { format!("units of {bytes} B") }
}

/// What a trace's reader doubts, as lines.
pub(crate) fn warnings(input: &InputReport) -> Vec<String> {
    input.warnings.iter().map(|warning| format!("warning: {warning}")).collect()
}

/// The parts of an FTL, each with what it is the part of.
type Parts = [(&'static str, String); 10];

fn parts(composition: &Composition) -> Parts {
    let [mapping, validity, victim, placement] = composition.names();
    let [metadata, power, collection] = composition.other_names();
    [
        ("mapping", mapping),
        ("validity", validity),
        ("victim", victim),
        ("placement", placement),
        ("metadata", metadata),
        ("power", power),
        ("collection", collection),
        ("slc", composition.page_mapped().and_then(|parts| parts.slc.name()).unwrap_or_else(nothing)),
        ("wear", composition.name_of_wear().unwrap_or_else(nothing)),
        ("write cache", nothing()),
    ]
}

fn parts_of_result(names: &CompositionNames) -> Parts {
    [
        ("mapping", names.mapping.clone()),
        ("validity", names.validity.clone()),
        ("victim", names.victim.clone()),
        ("placement", names.placement.clone()),
        ("metadata", names.metadata.clone()),
        ("power", names.power.clone()),
        ("collection", names.collection.clone()),
        ("slc", names.slc.clone().unwrap_or_else(nothing)),
        ("wear", names.wear.clone().unwrap_or_else(nothing)),
        ("write cache", names.write_cache.clone().unwrap_or_else(nothing)),
    ]
}

fn nothing() -> String {
    "none".to_string()
}

/// The parts that are not those of the preset that the FTL is called after.
pub(crate) fn changed(result: &RunResult) -> Option<String> {
    changed_names(&result.ftl, &result.composition)
}

/// The same of an FTL with parts of these names.
pub(crate) fn changed_names(ftl: &str, names: &CompositionNames) -> Option<String> {
    differing(ftl, &parts_of_result(names))
}

/// The same of an FTL that has no result.
pub(crate) fn changed_of(ftl: &str, composition: &Composition) -> Option<String> {
    differing(ftl, &parts(composition))
}

fn differing(ftl: &str, parts_here: &Parts) -> Option<String> {
    let preset = parts(&Preset::named(ftl).ok()?.composition);
    let differing = preset.iter().zip(parts_here).filter(|(preset, here)| preset != here);
    let shown: Vec<String> = differing.map(|((part, was), (_, is))| format!("{part} {is} instead of {was}")).collect();
    (!shown.is_empty()).then(|| format!("{ftl} here has {}", shown.join(", ")))
}

/// Whether the workload has an end of its own, so that a longer run is another workload.
pub(crate) fn ends(result: &RunResult) -> bool {
    result.fold.is_none() && Workload::parse(&result.workload).is_ok_and(|workload| workload.ends())
}

/// Whether the FTL has log blocks: then these are its spare space, and other remarks apply.
pub(crate) fn has_log_blocks(result: &RunResult) -> bool {
    result.geometry.log_blocks > 0
}

/// Merges of a log-block FTL, which say more than its counters one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merges {
    pub(crate) switch: u64,
    pub(crate) partial: u64,
    /// Logical blocks that were merged in full.
    pub(crate) full: u64,
    /// Log blocks given back in which nothing was live.
    pub(crate) dead: u64,
    /// Logical blocks with live pages in a log block that full merges emptied, on average; none without any.
    pub(crate) association: Option<f64>,
    /// Pages that the host had written to a log block when it was merged, of all of its pages; none without any.
    pub(crate) used: Option<f64>,
}

impl Merges {
    /// None of another FTL.
    pub(crate) fn of(result: &RunResult) -> Option<Self> {
        let counter = |name: &str| result.counters.get(name).copied();
        let over = |name: &str, below: f64| counter(name).filter(|_| below > 0.0).map(|sum| sum as f64 / below);
        let emptied = counter("log_blocks_fully_merged")? as f64;
        let pages = counter("merged_log_blocks")? as f64 * f64::from(result.geometry.pages_per_block);
        Some(Self {
            switch: counter("switch_merges")?,
            partial: counter("partial_merges")?,
            full: counter("full_merges")?,
            dead: counter("dead_log_blocks")?,
            association: over("associated_logical_blocks", emptied),
            used: over("merged_log_pages", pages),
        })
    }

    /// In words.
    pub(crate) fn show(&self) -> String {
        let mut text = format!(
            "merges: {} switch, {} partial, {} full; {} log blocks were dead",
            count(self.switch),
            count(self.partial),
            count(self.full),
            count(self.dead)
        );
        if let Some(degree) = self.association {
            text += &format!("; association degree {degree:.2}");
        }
        if let Some(used) = self.used {
            text += &format!("; log blocks {:.0} % written when they were merged", used * 100.0);
        }
        text
    }
}

/// How requests come, and what is written before anything is counted.
pub(crate) fn protocol(config: &RunConfig) -> String {
    let arrival = match config.arrival {
        Arrival::QueueDepth(depth) => format!("queue depth {depth}"),
        Arrival::Timestamps => "requests at their timestamps".to_string(),
    };
    let fill = match config.fill {
        Fill::Sequential => "filled in sequence",
        Fill::Random => "filled at random",
        Fill::None => "not filled",
    };
    let warmup =
        if config.warmup > 0.0 { format!(", then {} capacities of warm-up", config.warmup) } else { String::new() };
    format!("timing {}, {arrival}; {fill}{warmup}; seed {}", config.timing_name, config.seed)
}

/// Of blocks so small that erases take much of the time that programs do, on chips that program many pages at once: those
/// have large blocks.
pub(crate) fn small_blocks(config: &RunConfig) -> Option<String> {
    let (timing, pages) = (&config.timing, config.shape.pages_per_block);
    let unit = timing.unit_pages.max(1);
    let programs = timing.erase_ns as f64 / timing.program_ns.max(1) as f64;
    let share = programs / f64::from(pages.div_ceil(unit));
    // A power of two times the unit, with erases of at most a tenth.
    let larger = (10.0 * programs).log2().ceil().exp2() as u64 * u64::from(unit);
    (timing.unit_pages > 1 && share > 0.2).then(|| {
        format!(
            "small blocks for {}: erasing one takes {:.0} % of the time to program it; --pages-per-block {} is nearer to \
             its chips",
            config.timing_name,
            share * 100.0,
            larger
        )
    })
}

/// Of a drive of several dies and large units whose collections go one after another: its dies wait for one.
pub(crate) fn one_by_one(config: &RunConfig) -> Option<String> {
    let dies = config.shape.channels * config.shape.dies_per_channel;
    let parts = config.composition.page_mapped()?;
    (config.timing.unit_pages > 1 && dies > 1 && parts.collection == CollectionPart::Whole).then(|| {
        "collections go one after another, each on one die; --set collection=batches has them side by side".to_string()
    })
}

/// Of a log-block FTL that is told to use so few log blocks that much of the flash lies idle.
pub(crate) fn unused_blocks(result: &RunResult) -> Option<String> {
    let g = &result.geometry;
    (g.log_blocks > 1 && g.unused_blocks > g.log_blocks / 2).then(|| {
        format!(
            "{} leaves {} blocks unused: it has {} log blocks, and --set log.blocks={} uses all blocks",
            result.ftl,
            g.unused_blocks,
            g.log_blocks,
            g.log_blocks + g.unused_blocks
        )
    })
}

/// Of MiDAS that has one group yet, which is greedy without any separation.
pub(crate) fn one_group(result: &RunResult) -> Option<String> {
    (result.counters.get("placement_predicted_wa_thousandths") == Some(&0)).then(|| {
        format!(
            "{} still has one group, so it is greedy: it chooses its groups after four logical capacities (midas.epoch); \
             raise --warmup, or --loops with a trace",
            result.ftl
        )
    })
}

/// Of results whose 99th percentile is below the mean: what few writes wait for is above it.
pub(crate) fn long_waits(results: &[RunResult]) -> Option<String> {
    let writes = results.iter().filter_map(|result| Some((result, result.latency_us.write?)));
    let rare: Vec<String> = writes
        .filter(|(_, write)| write.mean > write.p99)
        .map(|(result, write)| format!("{} (p99.9 {}, max {})", result.ftl, number(write.p999), number(write.max)))
        .collect();
    (!rare.is_empty()).then(|| format!("a few writes wait long, beyond p99: {}", rare.join(", ")))
}

/// Of a drive with next to no spare space.
pub(crate) fn extreme_ratio(result: &RunResult) -> Option<String> {
    if has_log_blocks(result) {
        return None;
    }
    let spare = 1.0 - result.geometry.effective_ratio;
    (spare < 0.03).then(|| {
        format!(
            "extreme ratio: only {:.1} % of the flash is spare; write amplification, wear and the time of a run grow with \
             its inverse",
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

/// Of drives so small that reserve and open blocks take more than a quarter of their spare space: which ratio the figures are
/// of, and what takes less. A trace is held by a drive of its own size, so there the blocks have to be smaller.
pub(crate) fn small_drive<'r>(results: impl IntoIterator<Item = &'r RunResult>) -> Option<String> {
    let mut small: Vec<&RunResult> = results.into_iter().filter(|r| !has_log_blocks(r)).collect();
    small.sort_by(|a, b| a.geometry.effective_ratio.total_cmp(&b.geometry.effective_ratio));
    let (least, fullest) = (small.first()?, small.last()?);
    let g = &fullest.geometry;
    let taken = 1.0 - (1.0 - g.effective_ratio) / (1.0 - g.ratio);
    let times = 2f64.powf((taken / SMALL).log2().ceil());
    (taken > SMALL).then(|| {
        let of = |r: &RunResult| r.geometry.effective_ratio;
        let ratios = match of(fullest) - of(least) {
            gap if gap < RATIOS_ALIKE => {
                format!("its figures are a large drive's at ratio {:.4}, not {:.4}", of(fullest), g.ratio)
            }
            _ if least.ftl == fullest.ftl => format!("in effect at ratio {:.4} to {:.4}", of(least), of(fullest)),
            _ => {
                let (least_is, fullest_is) = (&least.ftl, &fullest.ftl);
                format!("in effect at ratio {:.4} ({least_is}) to {:.4} ({fullest_is})", of(least), of(fullest))
            }
        };
        let pages = (f64::from(g.pages_per_block) / times) as u32;
        let helps = match fullest.fold {
            Some(_) if pages < 4 => "a drive with fewer blocks set aside".to_string(),
            Some(_) => format!("--pages-per-block {pages}"),
            None => format!("--capacity {}MiB", (g.capacity_bytes as f64 * times / f64::from(1 << 20)).ceil()),
        };
        format!("small drive: {ratios}; {helps} helps")
    })
}

/// So much of the spare space may be set aside without a remark.
const SMALL: f64 = 0.25;
/// Effective ratios that differ by less are said once.
const RATIOS_ALIKE: f64 = 0.001;

/// Which share of the logical space is written while counted, if that is so little that figures depend on where it begins: a
/// collection comes only now and then.
pub(crate) fn short(result: &RunResult) -> Option<f64> {
    let pages = result.geometry.logical_bytes / u64::from(result.geometry.page_bytes);
    let written = result.host.write_pages as f64 / pages.max(1) as f64;
    (written > 0.0 && written < SHORT && result.drift.is_some()).then_some(written)
}

/// Less of the logical space than this is little.
const SHORT: f64 = 0.5;

/// What to do about a [short](short) run.
pub(crate) fn longer_input(result: &RunResult) -> &'static str {
    match result.fold {
        Some(_) => "take a longer trace",
        None if ends(result) => "take more rounds=N",
        None => "take --passes 1",
    }
}

/// Of requests that arrive faster than they are served: what waits at the end has done so for a good part of the run.
pub(crate) fn overloaded(result: &RunResult) -> bool {
    result.backlog_seconds.is_some_and(|backlog| backlog > 0.1 * result.simulated_seconds)
}
