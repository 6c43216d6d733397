//! `phelsuma soak`: drives live through random requests, power cuts, decay and blocks that grow bad, as many as one
//! likes.

use crate::errors::{Failure, Outcome};
use crate::lab_args::{BLOCKS, BLOCKS_MAX, LabArgs, fits, room, why_not};
use crate::progress::Bars;
use crate::table::number;
use crate::tried::Tried;
use crate::{output, remarks, table};
use phelsuma_claims::SOURCES;
use phelsuma_drive::lab::{LabError, SoakConfig, SoakFound, SoakState, Subject};
use phelsuma_ftl::FtlError;
use phelsuma_options::{count, ratio, size};
use phelsuma_plugin::{Plugin, Unsuited};
use std::fmt::Write;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of the largest drive that fits, how much is used where nothing else is asked for: the rest bears bad blocks.
const SHARE: f64 = 0.75;

/// Whoever asks it to stop.
const SIGNALS: [i32; 3] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

/// Options of `soak`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lab: LabArgs,
    /// Stop after N cycles of each FTL, including those in --state. A cycle is some requests, a power cut and a check of
    /// all data
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        conflicts_with = "life",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    cycles: u64,
    /// One cycle in N makes a page decay; 0 is never
    #[arg(long, value_name = "N", default_value_t = 0)]
    decay: u32,
    /// One cycle in N makes a block bad; 0 is never
    #[arg(long, value_name = "N", default_value_t = 0)]
    bad: u32,
    /// Save the progress to this file every few lives. The same command continues from there
    #[arg(long, value_name = "FILE", conflicts_with = "life")]
    state: Option<PathBuf>,
    /// Repeat only life N: a drive is filled, then lives through 1,000 write requests in cycles
    #[arg(long, value_name = "N")]
    life: Option<u64>,
    /// Blocks of the flash [default: 64, or as many more as an FTL needs]
    #[arg(long, value_name = "N")]
    blocks: Option<u64>,
    /// Pages of a block
    #[arg(long, value_name = "N", default_value_t = 4)]
    pages_per_block: u32,
    /// Logical over physical pages [default: three quarters of the largest that fits]
    #[arg(long, value_parser = ratio)]
    ratio: Option<f64>,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let (configs, not_set) = args.configs()?;
    if let Some(life) = args.life {
        return relive(args, &configs, life);
    }
    let lock = args.state.as_deref().map(locked).transpose()?;
    let mut kept = args.state.as_deref().map_or(Ok(Vec::new()), read)?;
    let stop = stop_when_told()?;
    let bars = Bars::new();
    let mut states = Vec::new();
    for config in &configs {
        let fresh = SoakState::new(config);
        let known = kept.iter().position(|state| state.of == fresh.of);
        let mut state = known.map_or(fresh, |at| kept.remove(at));
        let bar = bars.add(config.ftl.name());
        let mut not_written = Ok(());
        let others: Vec<SoakState> = states.iter().chain(&kept).cloned().collect();
        if state.cycles < args.cycles && !state.builds.iter().any(|build| build == SOURCES) {
            state.builds.push(SOURCES.into());
        }
        config
            .soak(&mut state, args.cycles, &mut |state| {
                bar.count("cycles", state.cycles);
                if let Some(path) = &args.state {
                    not_written = write(path, others.iter().chain([state]));
                }
                not_written.is_ok() && !stop.load(Ordering::Relaxed)
            })
            .map_err(|error| refused(config, error))?;
        bar.done();
        not_written?;
        states.push(state);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    drop(lock);
    let failed = states.iter().any(|state| state.failed > 0);
    let all = states.len() == configs.len() && states.iter().all(|state| state.cycles >= args.cycles);
    if args.lab.json {
        not_set.iter().for_each(|remark| output::remark(remark));
        output::json(&states)?;
    } else {
        output::print(&(args.heading(&configs, &not_set) + &as_text(&configs, &states)))?;
    }
    if !all {
        let asked = count(args.cycles);
        return Err(Failure::Failed(match &args.state {
            Some(path) => {
                format!("stopped before {asked} cycles; the same command continues from {}", path.display())
            }
            None => format!("stopped before {asked} cycles; with --state FILE the same command would continue"),
        }));
    }
    if failed { Err(Failure::Shown) } else { Ok(()) }
}

/// Set when a signal asks to stop. At the second one it stops at once.
fn stop_when_told() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // In this order: the first one finds the flag not set.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::Failed(format!("the signal handler cannot be installed: {error}")))?;
    }
    Ok(stop)
}

fn refused(config: &SoakConfig<Tried>, error: LabError) -> Failure {
    match error {
        LabError::Workload(error @ FtlError::DoesNotFit { .. }) => {
            let text = why_not(&config.geometry, &config.ftl, &error);
            Failure::Input(format!("{}: {text}", config.ftl.name()))
        }
        error => error.into(),
    }
}

/// What earlier soaks have left.
fn read(path: &Path) -> Outcome<Vec<SoakState>> {
    let about = |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let states: Vec<SoakState> =
                serde_json::from_str(&text).map_err(|error| about(&format!("not a state of a soak: {error}")))?;
            match states.iter().find_map(SoakState::what_is_wrong) {
                Some(wrong) => Err(about(&format!("not a state of a soak: {wrong}"))),
                None => Ok(states),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(about(&error)),
    }
}

/// Beside the state, for as long as a soak writes it: two would count what the other one has not done.
fn locked(path: &Path) -> Outcome<File> {
    let beside = with_end(path, ".lock");
    let about = |error: std::io::Error| Failure::Input(format!("{}: {error}", beside.display()));
    let file = File::options().create(true).append(true).open(&beside).map_err(about)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Input(format!(
            "{}: another soak is writing it; wait until that has ended, or use another --state",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(about(error)),
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(end);
    beside.into()
}

/// Beside it first, so that it is whole whenever this ends.
fn write<'s>(path: &Path, states: impl Iterator<Item = &'s SoakState>) -> Outcome {
    let about = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
    let states: Vec<&SoakState> = states.collect();
    let text = serde_json::to_string_pretty(&states).map_err(|error| about(&error))?;
    let beside = with_end(path, ".new");
    std::fs::write(&beside, text + "\n").and_then(|()| std::fs::rename(&beside, path)).map_err(|error| about(&error))
}

fn relive(args: &Args, configs: &[SoakConfig<Tried>], life: u64) -> Outcome {
    let mut found = Vec::new();
    for config in configs {
        found.push((config.ftl.name().to_string(), config.relive(life).map_err(|error| refused(config, error))?));
    }
    if args.lab.json {
        let found: Vec<&SoakFound> = found.iter().filter_map(|(_, found)| found.as_ref()).collect();
        output::json(&found)?;
    } else {
        let mut text = String::new();
        for (name, found) in &found {
            match found {
                Some(found) if found.promised => text += &about(name, found),
                Some(found) => text += &format!("{name}: a failure that breaks no promise\n{}", about(name, found)),
                None => _ = writeln!(text, "{name}: life {life} has no failure"),
            }
        }
        output::print(&text)?;
    }
    if found.iter().any(|(_, found)| found.as_ref().is_some_and(|found| found.promised)) {
        Err(Failure::Shown)
    } else {
        Ok(())
    }
}

impl Args {
    /// The experiments, and what is set for some of their FTLs alone.
    fn configs(&self) -> Outcome<(Vec<SoakConfig<Tried>>, Vec<String>)> {
        let mut blocks = self.blocks.unwrap_or(BLOCKS);
        loop {
            let made = self.configs_with(blocks);
            let is_too_small = match &made {
                Ok((configs, _)) => configs.iter().any(|config| !fits(&config.geometry, &config.ftl)),
                Err(_) => true,
            };
            if self.blocks.is_some() || !is_too_small || blocks >= BLOCKS_MAX {
                return made;
            }
            blocks *= 2;
        }
    }

    fn configs_with(&self, blocks: u64) -> Outcome<(Vec<SoakConfig<Tried>>, Vec<String>)> {
        let geometry = self.lab.geometry(blocks, self.pages_per_block)?;
        let timing = self.lab.timing.on_blocks(self.lab.page, geometry.pages_per_block())?.chip;
        let (seed, threads) = (self.lab.seed, self.lab.threads());
        let soak = |ftl| SoakConfig { geometry, timing, ftl, seed, decay: self.decay, bad: self.bad, threads };
        let logical_pages = |ratio: f64| (geometry.pages() as f64 * ratio) as u32;
        let own = |name: &str| {
            let ratio = match self.ratio {
                Some(ratio) => ratio,
                None => {
                    let (ftl, _) = self.lab.ftl(name, &geometry, logical_pages(0.99))?;
                    let ratio = SHARE * room(&geometry, &ftl).map_or_else(|largest| largest, |()| 0.99);
                    if logical_pages(ratio) == 0 {
                        return Err(Failure::Input(format!(
                            "{name} has too little room for logical pages on {} blocks of {} pages; more --blocks would be right",
                            geometry.blocks(),
                            geometry.pages_per_block()
                        )));
                    }
                    ratio
                }
            };
            phelsuma_options::check_logical_pages(&geometry, ratio)?;
            let (ftl, lacking) = self.lab.ftl(name, &geometry, logical_pages(ratio))?;
            Ok((soak(Tried::Own(ftl)), lacking))
        };
        let plugin = |plugin: &Plugin| {
            let unsuited = |error: Unsuited| Failure::Input(error.to_string());
            let most = plugin.most_logical_pages(&geometry).map_err(unsuited)?;
            let pages = self.ratio.map_or((f64::from(most) * SHARE) as u32, logical_pages);
            Ok(soak(Tried::Plugin(plugin.on(&geometry, pages.max(1)).map_err(unsuited)?)))
        };
        self.lab.each(own, plugin, |config| &config.ftl)
    }

    fn heading(&self, configs: &[SoakConfig<Tried>], not_set: &[String]) -> String {
        let page = size::show(self.lab.page.into());
        let every = |what: &str, n: u32| match n {
            0 => format!("no {what}"),
            n => format!("{what} in one cycle out of {n}"),
        };
        let mut text = format!(
            "{} blocks of {} pages of {page}, seed {}; {}, {}\n",
            configs.first().map_or(BLOCKS, |config| config.geometry.blocks().into()),
            self.pages_per_block,
            self.lab.seed,
            every("decay", self.decay),
            every("bad blocks", self.bad)
        );
        let changed =
            configs.iter().filter_map(|c| c.ftl.own()).filter_map(|c| remarks::changed_of(&c.name, &c.composition));
        for remark in changed.chain(not_set.iter().cloned()) {
            text += &(table::wrapped(&remark, table::PROSE_WIDTH_MAX) + "\n");
        }
        text
    }
}

/// What is wrong, in a line.
fn in_short(name: &str, found: &SoakFound) -> String {
    format!("{name}: life {}, cycle {}: {}: {}\n", found.life, found.cycle, found.kind, found.message)
}

/// And how one gets there from a drive that was filled.
fn about(name: &str, found: &SoakFound) -> String {
    let mut text = in_short(name, found);
    for step in &found.script {
        text += &format!("    {step}\n");
    }
    text
}

fn as_text(configs: &[SoakConfig<Tried>], states: &[SoakState]) -> String {
    let headings = [
        "FTL",
        "logical pages",
        "lives",
        "cycles",
        "cuts",
        "cuts of recoveries",
        "decayed",
        "bad blocks",
        "worn out",
        "failed",
        "not promised",
        "cycles/s",
    ];
    let mut table = table::numbers(&headings);
    for (config, s) in configs.iter().zip(states) {
        table.add_row([
            remarks::named(config.ftl.name(), config.ftl.is_oracle()),
            count(config.ftl.logical_pages().into()),
            count(s.lives),
            count(s.cycles),
            count(s.cuts),
            count(s.recovery_cuts),
            count(s.decayed),
            count(s.grown_bad),
            count(s.worn_out),
            count(s.failed),
            count(s.not_promised),
            number(s.cycles as f64 / s.seconds.max(1e-9)),
        ]);
    }
    let mut text = format!("{table}\n");
    for state in states.iter().filter(|state| state.builds.len() > 1) {
        let builds = count(state.builds.len() as u64);
        text += &format!("{}: {builds} builds of phelsuma, from different sources, ran these cycles\n", state.ftl);
    }
    for state in states {
        let Some(first) = state.lives_not_promised.first() else { continue };
        text += &format!("{}: --life {first} is the first with a failure that breaks no promise\n", state.ftl);
    }
    for (config, state) in configs.iter().zip(states) {
        state.found.iter().for_each(|found| text += &in_short(config.ftl.name(), found));
    }
    if states.iter().any(|state| state.oracle) {
        text += &(table::wrapped(remarks::ABOUT_ORACLES, table::PROSE_WIDTH_MAX) + "\n");
    }
    if states.iter().any(|state| !state.found.is_empty()) {
        text += "--life N repeats a life and prints the shortest script to its failure\n";
    }
    text
}
