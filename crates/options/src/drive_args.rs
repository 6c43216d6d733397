//! Options that `run`, `compare` and `search` have in common: the drive, the input, the protocol.

use crate::failure::{Failure, Outcome, named};
use crate::format_args::FormatArgs;
use crate::settings::{Setting, check_cache_is_used, set_parts};
use crate::shape_args::ShapeArgs;
use crate::timing::{TimingArg, timing};
use crate::write_cache_args::WriteCacheArgs;
use crate::{memory, size};
use clap::{ArgGroup, Args, ValueEnum};
use phelsuma_drive::{Arrival, DriveShape, Fill, FoldChoice, Input, RunConfig};
use phelsuma_ftl::{CachePolicy, Composition, ConfigError, PolicyAndSeed};
use phelsuma_nand::Geometry;
use phelsuma_trace::{Requests, TraceOrigin, Workload};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The drive, the input, the protocol.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("input").required(true).args(["workload", "trace"])))]
pub struct DriveArgs {
    /// Synthetic workload, such as uniform, zipf:0.99, desktop or media:mov (see `phelsuma list`)
    #[arg(long, value_name = "SPEC", value_parser = workload)]
    workload: Option<Workload>,
    /// Block trace, plain or packed (gz, zst, xz, bz2, lz4, tar, zip), or a name that `phelsuma trace get` lists; the format
    /// is detected. Several are merged by time
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// Physical bytes [default: 4GiB; with a trace that is not wrapped the smallest power of two that holds it, at least
    /// 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    capacity: Option<u64>,
    #[command(flatten)]
    shape: ShapeArgs,
    /// What is written before anything is counted
    #[arg(long, value_enum, default_value = "sequential")]
    fill: FillArg,
    /// Logical capacities written by a workload before anything is counted [default: 2; 0 for one that ends]
    #[arg(long, value_name = "N", conflicts_with = "trace", value_parser = passes)]
    warmup: Option<f64>,
    /// Logical capacities written by a workload while counted [default: 1; to the end for one that ends]
    #[arg(long, value_name = "N", conflicts_with = "trace", value_parser = passes)]
    passes: Option<f64>,
    /// How often a trace is replayed; the last time is counted [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "workload", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    loops: Option<u64>,
    /// How a trace's addresses become logical pages [default: compact]
    #[arg(long, value_enum, conflicts_with = "workload")]
    fold: Option<FoldArg>,
    /// Requests in progress at all times [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "open_loop", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    queue_depth: Option<u32>,
    /// Requests of a trace, or of a workload that knows time, arrive at their timestamps
    #[arg(long)]
    open_loop: bool,
    /// How long operations take: a name (see `phelsuma list`), or a .toml file of constants
    #[arg(long, value_name = "NAME|FILE", default_value = "gecko", value_parser = timing)]
    timing: TimingArg,
    #[command(flatten)]
    cache: WriteCacheArgs,
    /// A point of the series after every N host pages written
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,
    /// Observe how long pages live and how long blocks are dormant, as figures 3 and 5 of Dual Greedy's paper do
    #[arg(long)]
    distributions: bool,
    /// Cut the power at the end and recover
    #[arg(long)]
    cut_at_end: bool,
    /// What `--trace` stands for where its requests are in memory.
    #[arg(skip)]
    requests: Option<Arc<Requests>>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FillArg {
    /// Every logical page once, ascending
    Sequential,
    /// Every logical page once, in a random order
    Random,
    /// Nothing
    None,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FoldArg {
    /// The pages that the trace touches, in the order of their addresses
    Compact,
    /// Page numbers modulo the logical pages
    Wrap,
}

impl DriveArgs {
    /// A drive alone, for a test with requests of its own.
    pub(crate) fn of_drive(
        capacity: Option<u64>,
        shape: ShapeArgs,
        timing: TimingArg,
        cache: WriteCacheArgs,
        queue_depth: u32,
    ) -> Self {
        Self {
            workload: Some(Workload::Uniform),
            trace: Vec::new(),
            format: FormatArgs::default(),
            capacity,
            shape,
            fill: FillArg::None,
            warmup: None,
            passes: None,
            loops: None,
            fold: None,
            queue_depth: Some(queue_depth),
            open_loop: false,
            timing,
            cache,
            interval: None,
            distributions: false,
            cut_at_end: false,
            requests: None,
        }
    }

    /// The same with these requests for those of the trace: a `--trace` that stands for what is in memory.
    #[must_use]
    pub fn with_requests(self, requests: Arc<Requests>) -> Self {
        Self { requests: Some(requests), ..self }
    }

    /// The run that this asks of the FTL called `ftl`, alone.
    ///
    /// # Errors
    /// As [`config_among_others`](Self::config_among_others), and a parameter that the FTL lacks.
    pub fn config(&self, ftl: &str) -> Outcome<RunConfig> {
        let (config, lacking) = self.config_among_others(ftl)?;
        lacking.into_iter().next().map_or(Ok(config), |error| Err(error.into()))
    }

    /// The run that this asks of the FTL called `ftl`, and the parameters that it lacks: others may have them.
    ///
    /// # Errors
    /// An FTL, a value or an input that cannot be.
    pub fn config_among_others(&self, ftl: &str) -> Outcome<(RunConfig, Vec<ConfigError>)> {
        // A name that is nearly right is answered with the right one, a part's with an FTL that has it.
        named(ftl)?;
        let mut config = RunConfig::new(ftl, self.input()?)?;
        let lacking = set_parts(&mut config.composition, &self.shape.set, self.shape.cache)?;
        if self.cut_at_end
            && let Some(why) = config.composition.why_not_survivable()
        {
            return Err(Failure::Input(format!("--cut-at-end: {ftl} does not survive power cuts: {why}")));
        }
        config.shape = self.shape();
        config.timing_name.clone_from(&self.timing.name);
        let times = self.timing.on_blocks(config.shape.page_bytes, config.shape.pages_per_block)?;
        (config.timing, config.link) = (times.chip, times.link);
        config.write_cache = self.cache.cache(PolicyAndSeed(CachePolicy::Fifo, 1));
        config.fill = match self.fill {
            FillArg::Sequential => Fill::Sequential,
            FillArg::Random => Fill::Random,
            FillArg::None => Fill::None,
        };
        config.warmup = self.warmup.unwrap_or(config.warmup);
        config.passes = self.passes.unwrap_or(config.passes);
        config.arrival =
            if self.open_loop { Arrival::Timestamps } else { Arrival::QueueDepth(self.queue_depth.unwrap_or(1)) };
        config.seed = self.shape.seed;
        config.interval = self.interval;
        config.distributions = self.distributions;
        config.cut_at_end = self.cut_at_end;
        Ok((config, lacking))
    }

    /// What `--set` says.
    pub fn settings(&self) -> &[Setting] {
        &self.shape.set
    }

    /// The same with other settings.
    pub fn with_settings(&self, set: Vec<Setting>) -> Self {
        Self { shape: ShapeArgs { set, ..self.shape.clone() }, ..self.clone() }
    }

    /// Gives all of `configs` their capacity; the drive's geometry, checked against the machine's memory.
    ///
    /// # Errors
    /// A drive that cannot be, that is too large for the machine, or that the FTLs do not fit.
    pub fn settle(&self, configs: &mut [RunConfig]) -> Outcome<Geometry> {
        check_cache_is_used(self.shape.cache, configs.iter().map(|config| &config.composition))?;
        if let Some(capacity) = self.capacity {
            // Before drives are formatted on so much.
            self.checked_geometry(capacity, configs)?;
        }
        // A drive is tried only if its parts can be on it.
        let compositions: Vec<Composition> = configs.iter().map(|config| config.composition).collect();
        let shape = self.shape();
        let capacity = phelsuma_drive::settle_capacity(configs, |geometry| {
            memory::affordable(geometry)?;
            let check = |parts: &Composition| parts.check_on(geometry, shape.logical_pages(geometry));
            Ok(compositions.iter().try_for_each(check)?)
        })?;
        self.checked_geometry(capacity, configs)
    }

    /// What is said of a capacity that nobody gave.
    pub fn chosen(&self) -> &'static str {
        if self.capacity.is_some() { "" } else { " (chosen here, --capacity gives another)" }
    }

    fn checked_geometry(&self, capacity: u64, configs: &[RunConfig]) -> Outcome<Geometry> {
        let geometry = self.shape().geometry(capacity)?;
        check_logical_pages(&geometry, self.shape.ratio)?;
        memory::affordable(&geometry)?;
        for config in configs {
            config.composition.check_on(&geometry, config.shape.logical_pages(&geometry))?;
        }
        Ok(geometry)
    }

    fn shape(&self) -> DriveShape {
        self.shape.drive(self.capacity, self.timing.dies())
    }

    fn input(&self) -> Outcome<Input> {
        match (&self.workload, self.trace.as_slice()) {
            (Some(workload), _) => {
                self.format.refuse_for_workload()?;
                Ok(Input::Workload(workload.clone()))
            }
            (None, []) => Err(Failure::Input("--workload SPEC or --trace FILE is needed".to_string())),
            (None, paths) => {
                let trace = match &self.requests {
                    Some(requests) => {
                        TraceOrigin::Memory { requests: requests.clone(), options: self.format.in_memory()? }
                    }
                    None => {
                        let (paths, options) = self.format.files(paths)?;
                        paths.iter().try_for_each(|path| check_readable_twice(path))?;
                        TraceOrigin::Files { paths, options }
                    }
                };
                Ok(Input::Trace {
                    trace,
                    fold: match self.fold {
                        Some(FoldArg::Wrap) => FoldChoice::Wrap,
                        Some(FoldArg::Compact) | None => FoldChoice::Compact,
                    },
                    loops: self.loops.unwrap_or(1),
                })
            }
        }
    }
}

/// A pipe gives its bytes once; a run reads its trace twice and more.
fn check_readable_twice(path: &Path) -> Outcome {
    if path.as_os_str() == "-" {
        return Err(Failure::Input(
            "standard input gives a trace once and a run reads it twice and more; a file would be right".to_string(),
        ));
    }
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() && !meta.is_dir() => Err(Failure::Input(format!(
            "{}: a trace is read more than once, so a regular file would be right",
            path.display()
        ))),
        // What else is wrong with it is said by who opens it.
        _ => Ok(()),
    }
}

/// A ratio so small that the host sees no page at all.
///
/// # Errors
/// It is, and which would be right.
pub fn check_logical_pages(geometry: &Geometry, ratio: f64) -> Outcome {
    let pages = geometry.pages() as f64;
    if pages * ratio >= 1.0 {
        return Ok(());
    }
    // Rounded up, so that it can be taken at its word.
    let digits = 10f64.powf(1.0 - pages.recip().log10().floor());
    let least = (digits / pages).ceil() / digits;
    Err(Failure::Input(format!(
        "ratio {ratio} leaves not one logical page of {pages}; at least {least:.1e} would be right"
    )))
}

/// Logical over physical pages, strictly between 0 and 1.
///
/// # Errors
/// It is not.
pub fn ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if ratio > 0.0 && ratio < 1.0 => Ok(ratio),
        _ => Err(format!("logical over physical pages must lie between 0 and 1, both excluded, not '{text}'")),
    }
}

/// A number of logical capacities.
fn passes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(passes) if (0.0..=1e6).contains(&passes) => Ok(passes),
        _ => Err("a number of logical capacities from 0 to 1000000 would be right".to_string()),
    }
}

/// A synthetic workload.
///
/// # Errors
/// There is none of that description.
pub fn workload(spec: &str) -> Result<Workload, String> {
    Workload::parse(spec).map_err(|error| error.what)
}

#[cfg(test)]
mod tests {
    use crate::failure::Failure;
    use crate::{RunArgs, parsed};
    use phelsuma_drive::Input;
    use phelsuma_trace::{Columns, Requests};
    use std::sync::Arc;

    /// How many requests of four in memory a run with these words has.
    fn requests(words: &str) -> Result<usize, Failure> {
        let columns = Columns {
            op: vec![1, 2, 1, 0],
            offset_bytes: vec![0, 4096, 8192, 0],
            size_bytes: vec![4096; 4],
            time_ns: Some(vec![0, 1_000_000_000, 2_000_000_000, 1_500_000_000]),
            device: None,
            handle: None,
        };
        // Its name is that of a trace of the list.
        let words = format!("--ftl page --capacity 64MiB --trace vm/cloudphysics {words}");
        let mut args: RunArgs = parsed(words.split_whitespace().map(Into::into))?;
        args.drive = args.drive.with_requests(Arc::new(Requests::new("vm/cloudphysics", columns).unwrap()));
        let Input::Trace { trace, .. } = args.config()?.0.input else { panic!("no trace") };
        let requests = trace.open().unwrap().collect::<Result<Vec<_>, _>>().map_err(Failure::from)?;
        Ok(requests.len())
    }

    #[test]
    fn options_go_for_requests_in_memory_or_are_refused() {
        assert_eq!(requests(""), Ok(4));
        assert_eq!(requests("--first 2"), Ok(2));
        assert_eq!(requests("--drop-trims"), Ok(3));
        assert_eq!(requests("--span 0..1"), Ok(1));
        assert_eq!(requests("--sort --strict"), Ok(4));
        let Err(Failure::Input(error)) = requests("--strict") else { panic!("a request is back in time") };
        assert!(error.contains("--strict takes no warning"), "{error}");
        for option in
            ["--format msr", "--columns time,op,offset,size", "--time-unit us", "--sector 512", "--event queued"]
        {
            let Err(Failure::Input(error)) = requests(option) else { panic!("{option}") };
            assert!(option.starts_with(error.split(' ').next().unwrap()) && error.contains("in memory"), "{error}");
        }
    }
}
