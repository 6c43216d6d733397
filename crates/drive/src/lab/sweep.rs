//! The sweep over all cuts: branching, merging of equal branches, nesting, threads.

use super::beside;
use super::cut_nand::{CutNand, CutPoint, Watcher};
use super::model::{Expectation, InProgress, Model, tag};
use super::path::{Cut, Fault, Path};
use super::report::{CrashReport, Failed};
use super::script::{Request, script};
use super::verify::{Failure, FailureKind, bring_up, verify};
use phelsuma_ftl::{Config, FtlError, Hint, HostData, WriteRequest, format};
use phelsuma_nand::sim::{EraseFault, ProgramFault, SimConfig};
use phelsuma_nand::{Geometry, LogicalPage, SimNand, Time, Timing};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

/// Where the power is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Points {
    /// At every program and erase.
    Every,
    /// At so many of them, spread evenly.
    Some(u32),
    /// In this branch alone.
    Replay(Path),
}

/// A crash experiment.
#[derive(Clone, Debug)]
pub struct LabConfig {
    /// The chip set's shape.
    pub geometry: Geometry,
    /// How long its operations take.
    pub timing: Timing,
    /// The FTL.
    pub ftl: Config,
    /// Write requests of the workload.
    pub writes: u32,
    /// Where the power is cut.
    pub points: Points,
    /// Which faults are tried.
    pub faults: Vec<Fault>,
    /// How deep cuts are nested: 1 cuts the workload alone, 2 the recoveries from that as well, and so on to 3.
    pub depth: u32,
    /// Seed of the workload and of faults that leave a choice.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// Why an experiment could not be done.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum LabError {
    /// The FTL does not do the workload even with the power on.
    #[error("without any power cut: {0}")]
    Workload(#[from] FtlError),
    /// The id names a cut that does not happen with this configuration.
    #[error("no branch {0} in this experiment (another seed, FTL, geometry or number of writes?)")]
    NoSuchBranch(Path),
    /// Nothing to try.
    #[error("depth {0}: must be from 1 to 3")]
    Depth(u32),
}

/// A key under which equal branches meet: of flash and expectations.
type Key = u128;
/// A path in 128 bits, ordered as the cuts are.
type Packed = u128;

const SHARDS: usize = 64;

#[derive(Default)]
struct Seen {
    /// Branches with the first path that led there.
    checked: FxHashMap<Key, Packed>,
    expanded: FxHashSet<(Key, u32)>,
    failed: FxHashMap<Key, Failure>,
    /// Branches that came up, by flash and pages shown.
    settled: FxHashSet<Key>,
}

struct Shared {
    config: LabConfig,
    fault_names: Vec<&'static str>,
    seen: Vec<Mutex<Seen>>,
    cuts: AtomicU64,
    nested: AtomicU64,
    covered: AtomicU64,
    joined: AtomicU64,
    worst_recovery: AtomicU64,
    progress: Box<dyn Fn(u64) + Send + Sync>,
}

/// Runs a crash experiment. `progress` is told after each cut point of the workload how many branches there were.
///
/// # Errors
/// [`LabError`]: the workload does not run even without cuts, or the id replays nothing.
pub fn sweep(config: &LabConfig, progress: impl Fn(u64) + Send + Sync + 'static) -> Result<CrashReport, LabError> {
    if !(1..=3).contains(&config.depth) {
        return Err(LabError::Depth(config.depth));
    }
    quiet_panics_of_branches();
    let mut fault_names: Vec<&'static str> = config.faults.iter().map(|f| f.name()).collect();
    fault_names.dedup();
    let shared = Arc::new(Shared {
        config: config.clone(),
        fault_names,
        seen: (0..SHARDS).map(|_| Mutex::new(Seen::default())).collect(),
        cuts: AtomicU64::new(0),
        nested: AtomicU64::new(0),
        covered: AtomicU64::new(0),
        joined: AtomicU64::new(0),
        worst_recovery: AtomicU64::new(0),
        progress: Box::new(progress),
    });
    // Once without cuts: how many operations there are.
    let operations = run_workload(&shared, None)?;
    let threads = if let Points::Replay(_) = config.points { 1 } else { config.threads.max(1) as u32 };
    let result: Result<Vec<u32>, LabError> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || run_workload(shared, Some(Share { thread, threads, operations })))
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    result?;
    if let Points::Replay(path) = &config.points
        && shared.cuts.load(Ordering::Relaxed) == 0
    {
        return Err(LabError::NoSuchBranch(path.clone()));
    }
    Ok(report(&shared, operations))
}

/// What part of the cut points a thread takes.
#[derive(Clone, Copy)]
struct Share {
    thread: u32,
    threads: u32,
    operations: u32,
}

impl Share {
    fn takes(&self, points: &Points, operation: u32) -> bool {
        match points {
            Points::Every => operation % self.threads == self.thread,
            Points::Some(n) => {
                let (op, all, n) = (u64::from(operation), u64::from(self.operations.max(1)), u64::from(*n));
                // The operation at which the count of points taken goes up.
                let taken = |op: u64| (op * n).div_ceil(all);
                taken(op + 1) > taken(op) && taken(op) % u64::from(self.threads) == u64::from(self.thread)
            }
            Points::Replay(path) => path.0.first().is_some_and(|c| c.operation == operation),
        }
    }
}

/// Runs the workload from a blank drive, cutting where `share` says; how many programs and erases it had.
fn run_workload(shared: &Arc<Shared>, share: Option<Share>) -> Result<u32, LabError> {
    let config = &shared.config;
    let sim =
        SimNand::new(&SimConfig { tagged: true, fingerprint: true, ..SimConfig::new(config.geometry, config.timing) });
    let mut model = Model::new(config.ftl.logical_pages);
    let expectation = Expectation { model: Arc::new(model.clone()), in_progress: None };
    let mut nand = CutNand::new(sim, expectation);
    let (mut ftl, mut at) = format(&mut nand, &config.ftl, Time::ZERO)?;
    nand.operations = 0;
    if let Some(share) = share {
        nand.watch(workload_watcher(Arc::clone(shared), share));
    }
    for (number, request) in script(config.ftl.logical_pages, config.writes, config.seed).iter().enumerate() {
        let number = number as u32;
        let in_progress = InProgress { request: *request, tag: tag(number, 0) };
        nand.expectation = Expectation { model: Arc::new(model.clone()), in_progress: Some(in_progress) };
        at = match *request {
            Request::Write { first, pages } => {
                // Each page has its own tag, so each is a request to the FTL; the host sees one.
                let mut done = at;
                for page in first..first + pages {
                    let data = HostData::Hollow(tag(number, page));
                    let request = WriteRequest { first: LogicalPage(page), pages: 1, data, hint: Hint::None };
                    done = done.max(ftl.write(&mut nand, &request, at)?);
                }
                done
            }
            Request::Trim { first, pages } => ftl.trim(&mut nand, LogicalPage(first), pages, at)?,
            Request::Flush => ftl.flush(&mut nand, at)?,
        };
        model.acknowledged(request, number);
    }
    nand.stop_watching();
    Ok(nand.operations)
}

fn workload_watcher(shared: Arc<Shared>, share: Share) -> Watcher {
    Box::new(move |point| {
        if share.takes(&shared.config.points, point.operation) {
            let depth = shared.config.depth;
            let cuts = branch_all(&shared, point, &Path::default(), depth);
            shared.cuts.fetch_add(cuts, Ordering::Relaxed);
            (shared.progress)(shared.cuts.load(Ordering::Relaxed) + shared.nested.load(Ordering::Relaxed));
        }
    })
}

fn recovery_watcher(shared: Arc<Shared>, path: Path, depth: u32) -> Watcher {
    Box::new(move |point| {
        let cuts = branch_all(&shared, point, &path, depth);
        shared.nested.fetch_add(cuts, Ordering::Relaxed);
    })
}

/// Every fault at one cut point; how many branches that made. `depth` counts this cut.
fn branch_all(shared: &Arc<Shared>, point: &CutPoint<'_>, path: &Path, depth: u32) -> u64 {
    let config = &shared.config;
    let wanted = match &config.points {
        Points::Replay(replay) => match replay.0.get(path.0.len()) {
            Some(cut) if cut.operation == point.operation => Some(cut),
            _ => return 0,
        },
        _ => None,
    };
    let mut cuts = 0;
    for fault in &config.faults {
        let (program, erase) = match (fault, point.change.is_program()) {
            (Fault::Program(f), true) => (*f, EraseFault::NotStarted),
            (Fault::Erase(f), false) => (ProgramFault::NotStarted, *f),
            _ => continue,
        };
        for choice in 0..beside::choices(point.beside) {
            let cut = Cut { operation: point.operation, fault: fault.name(), beside: choice };
            if wanted.is_some_and(|w| *w != cut) {
                continue;
            }
            let seed = config.seed ^ u64::from(point.operation) << 8 ^ u64::from(choice);
            let mut flash = point.flash.clone();
            // What an earlier cut left unstable lets go now; what this one leaves lasts until the next.
            flash.power_cycle();
            if !beside::apply(&mut flash, point.beside, choice, seed) {
                continue;
            }
            point.change.cut(&mut flash, program, erase, seed);
            cuts += 1;
            branch(shared, flash, point.expectation, path.with(cut), depth - 1);
        }
    }
    cuts
}

/// One branch: the flash as the cut left it. `depth` more cuts may be nested in its recovery.
fn branch(shared: &Arc<Shared>, flash: SimNand, expectation: &Expectation, path: Path, depth: u32) {
    let key = flash.fingerprint().unwrap_or_default() ^ expectation.hash();
    let depth = match &shared.config.points {
        Points::Replay(replay) => (replay.0.len() - path.0.len()) as u32,
        _ => depth,
    };
    let packed = pack(shared, &path);
    let (check, expand) = {
        let mut seen = shared.shard(key);
        let first = !seen.checked.contains_key(&key);
        let slot = seen.checked.entry(key).or_insert(packed);
        *slot = packed.min(*slot);
        (first, depth > 0 && seen.expanded.insert((key, depth)))
    };
    if !check {
        shared.covered.fetch_add(1, Ordering::Relaxed);
    }
    if !check && !expand {
        return;
    }
    let config = &shared.config.ftl;
    let mut nand = CutNand::new(flash, expectation.clone());
    if expand {
        nand.watch(recovery_watcher(Arc::clone(shared), path, depth));
    }
    let outcome = in_branch(|| {
        let (ftl, took) = bring_up(&mut nand, config)?;
        nand.stop_watching();
        shared.worst_recovery.fetch_max(took.0, Ordering::Relaxed);
        if !check {
            return Ok(());
        }
        verify(&mut nand, ftl, config, expectation, &mut |settled| {
            let seen = !shared.shard(settled).settled.insert(settled);
            shared.joined.fetch_add(u64::from(seen), Ordering::Relaxed);
            seen
        })
    });
    if let (Err(failure), true) = (outcome, check) {
        shared.shard(key).failed.insert(key, failure);
    }
}

thread_local! {
    /// How many branches this thread is in: a panic there is a finding, not news for the terminal.
    static BRANCHES: Cell<u32> = const { Cell::new(0) };
}

fn quiet_panics_of_branches() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if BRANCHES.with(Cell::get) == 0 {
                before(info);
            }
        }));
    });
}

/// Runs a branch; a panic becomes a failure.
fn in_branch(run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    BRANCHES.with(|b| b.set(b.get() + 1));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    BRANCHES.with(|b| b.set(b.get() - 1));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
        Err(Failure { kind: FailureKind::Panic, message: format!("panic: {text}") })
    })
}

impl Shared {
    fn shard(&self, key: Key) -> std::sync::MutexGuard<'_, Seen> {
        self.seen[(key >> 64) as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 40 bits a cut, first cut first: operation (28), fault (6), beside (6).
fn pack(shared: &Shared, path: &Path) -> Packed {
    let mut packed = 0;
    for level in 0..3 {
        let bits = path.0.get(level).map_or(0, |cut| {
            let fault = shared.fault_names.iter().position(|n| *n == cut.fault).unwrap_or(0) as u128 + 1;
            u128::from(cut.operation) << 12 | fault << 6 | u128::from(cut.beside)
        });
        packed = packed << 40 | bits;
    }
    packed
}

fn unpack(shared: &Shared, packed: Packed) -> Path {
    let mut cuts = Vec::new();
    for level in (0..3).rev() {
        let bits = packed >> (40 * level) & ((1 << 40) - 1);
        let Some(fault) = (bits >> 6 & 63).checked_sub(1) else { continue };
        let fault = shared.fault_names.get(fault as usize).copied().unwrap_or("?");
        cuts.push(Cut { operation: (bits >> 12) as u32, fault, beside: (bits & 63) as u16 });
    }
    Path(cuts)
}

fn report(shared: &Shared, operations: u32) -> CrashReport {
    let config = &shared.config;
    let mut failures: Vec<(Packed, Failure)> = Vec::new();
    for shard in &shared.seen {
        let seen = shard.lock().unwrap_or_else(PoisonError::into_inner);
        failures.extend(seen.failed.iter().map(|(key, f)| (seen.checked.get(key).copied().unwrap_or(0), f.clone())));
    }
    // Fewest cuts first, then the earliest.
    failures.sort_by_key(|(packed, _)| (unpack(shared, *packed).0.len(), *packed));
    let count = |kind| failures.iter().filter(|(_, f)| f.kind == kind).count() as u64;
    let failed: Vec<Failed> = failures
        .iter()
        .take(10)
        .map(|(packed, f)| Failed {
            id: unpack(shared, *packed).to_string(),
            kind: match f.kind {
                FailureKind::Lost => "lost",
                FailureKind::Corrupt => "corrupt",
                FailureKind::Stuck => "stuck",
                FailureKind::Panic => "panic",
            },
            message: f.message.clone(),
        })
        .collect();
    let mut faults: Vec<&'static str> = shared.fault_names.clone();
    faults.sort_unstable();
    faults.dedup();
    CrashReport {
        schema: "phelsuma.crash/1",
        ftl: config.ftl.name.clone(),
        seed: config.seed,
        writes: config.writes,
        operations,
        cuts: shared.cuts.load(Ordering::Relaxed),
        nested_cuts: shared.nested.load(Ordering::Relaxed),
        covered_by_equality: shared.covered.load(Ordering::Relaxed),
        joined_after_recovery: shared.joined.load(Ordering::Relaxed),
        lost: count(FailureKind::Lost),
        corrupt: count(FailureKind::Corrupt),
        stuck: count(FailureKind::Stuck),
        panics: count(FailureKind::Panic),
        not_promised: 0,
        worst_recovery_us: Time(shared.worst_recovery.load(Ordering::Relaxed)).micros(),
        replay: failed.first().map(|f| f.id.clone()),
        depth: config.depth,
        faults,
        failures: failed,
    }
}
