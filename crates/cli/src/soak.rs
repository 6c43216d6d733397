//! `phelsuma soak`: drives live through random requests, power cuts, decay and blocks that grow bad, as many as one likes.

use crate::errors::{Failure, Outcome};
use crate::lab_args::{LabArgs, room};
use crate::progress::Bars;
use crate::table::number;
use crate::{output, remarks, table};
use phelsuma_drive::does_not_fit;
use phelsuma_drive::lab::{LabError, SoakConfig, SoakFound, SoakState};
use phelsuma_ftl::FtlError;
use phelsuma_options::{check_cache_is_used, count, ratio, size};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Of the largest drive that fits, how much is used where nothing else is asked for: the rest bears bad blocks.
const SHARE: f64 = 0.75;

/// Options of `soak`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lab: LabArgs,
    /// Go on until there are so many cycles of each FTL: each is some requests, a power cut and a look at everything
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        conflicts_with = "life",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    cycles: u64,
    /// A page decays in one cycle of N; 0: never
    #[arg(long, value_name = "N", default_value_t = 0)]
    decay: u32,
    /// A block grows bad in one cycle of N; 0: never
    #[arg(long, value_name = "N", default_value_t = 0)]
    bad: u32,
    /// Keep how far it is in this file, and go on where a soak of the same has left it
    #[arg(long, value_name = "FILE", conflicts_with = "life")]
    state: Option<PathBuf>,
    /// Live this life alone once more
    #[arg(long, value_name = "N")]
    life: Option<u64>,
    /// Blocks of the flash
    #[arg(long, value_name = "N", default_value_t = 64)]
    blocks: u64,
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
    let mut kept = args.state.as_deref().map_or(Ok(Vec::new()), read)?;
    let bars = Bars::new();
    let mut states = Vec::new();
    for config in &configs {
        let fresh = SoakState::new(config);
        let known = kept.iter().position(|state| state.of == fresh.of);
        let mut state = known.map_or(fresh, |at| kept.remove(at));
        let bar = bars.add(&config.ftl.name);
        let mut not_written = Ok(());
        let others: Vec<SoakState> = states.iter().chain(&kept).cloned().collect();
        config
            .soak(&mut state, args.cycles, &mut |state| {
                bar.count("cycles", state.cycles);
                if let Some(path) = &args.state {
                    not_written = write(path, others.iter().chain([state]));
                }
                not_written.is_ok()
            })
            .map_err(|error| refused(config, error))?;
        bar.done();
        not_written?;
        states.push(state);
    }
    let failed = states.iter().any(|state| state.failed > 0);
    if args.lab.json {
        not_set.iter().for_each(|remark| output::remark(remark));
        output::json(&states)?;
    } else {
        output::print(&(args.heading(&configs, &not_set) + &as_text(&configs, &states)))?;
    }
    if failed { Err(Failure::Shown) } else { Ok(()) }
}

fn refused(config: &SoakConfig, error: LabError) -> Failure {
    match error {
        LabError::Workload(error @ FtlError::DoesNotFit { .. }) => {
            let text = does_not_fit(&config.geometry, &config.ftl, &error);
            Failure::Input(format!("{}: {text}", config.ftl.name))
        }
        error => error.into(),
    }
}

/// What earlier soaks have left.
fn read(path: &Path) -> Outcome<Vec<SoakState>> {
    let about = |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| about(&format!("no state of a soak: {error}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(about(&error)),
    }
}

/// Beside it first, so that it is whole whenever this ends.
fn write<'s>(path: &Path, states: impl Iterator<Item = &'s SoakState>) -> Outcome {
    let about = |error: &dyn std::fmt::Display| Failure::Failed(format!("{}: {error}", path.display()));
    let states: Vec<&SoakState> = states.collect();
    let text = serde_json::to_string_pretty(&states).map_err(|error| about(&error))?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, text + "\n").and_then(|()| std::fs::rename(&beside, path)).map_err(|error| about(&error))
}

fn relive(args: &Args, configs: &[SoakConfig], life: u64) -> Outcome {
    let mut found = Vec::new();
    for config in configs {
        found.push((config.ftl.name.clone(), config.relive(life).map_err(|error| refused(config, error))?));
    }
    if args.lab.json {
        let found: Vec<&SoakFound> = found.iter().filter_map(|(_, found)| found.as_ref()).collect();
        output::json(&found)?;
    } else {
        let mut text = String::new();
        for (name, found) in &found {
            match found {
                Some(found) if found.promised => text += &about(name, found),
                Some(found) => text += &format!("{name}: what is not promised\n{}", about(name, found)),
                None => _ = writeln!(text, "{name}: life {life} holds what is promised"),
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
    fn configs(&self) -> Outcome<(Vec<SoakConfig>, Vec<String>)> {
        let geometry = self.lab.geometry(self.blocks, self.pages_per_block)?;
        let timing = self.lab.timing.times;
        let made = self.lab.each(|name| {
            let logical_pages = |ratio: f64| (geometry.pages() as f64 * ratio) as u32;
            let ratio = match self.ratio {
                Some(ratio) => ratio,
                None => {
                    let (ftl, _) = self.lab.ftl(name, &geometry, logical_pages(0.99))?;
                    SHARE * room(&geometry, &ftl).map_or_else(|largest| largest, |()| 0.99)
                }
            };
            phelsuma_options::check_logical_pages(&geometry, ratio)?;
            let (ftl, lacking) = self.lab.ftl(name, &geometry, logical_pages(ratio))?;
            let (seed, threads) = (self.lab.seed, self.lab.threads());
            Ok((SoakConfig { geometry, timing, ftl, seed, decay: self.decay, bad: self.bad, threads }, lacking))
        })?;
        check_cache_is_used(self.lab.cache, made.0.iter().map(|config| &config.ftl.composition))?;
        Ok(made)
    }

    fn heading(&self, configs: &[SoakConfig], not_set: &[String]) -> String {
        let page = size::show(self.lab.page.into());
        let every = |what: &str, n: u32| match n {
            0 => format!("no {what}"),
            n => format!("{what} in one cycle of {n}"),
        };
        let mut text = format!(
            "{} blocks of {} pages of {page}, seed {}; {}, {}\n",
            self.blocks,
            self.pages_per_block,
            self.lab.seed,
            every("decay", self.decay),
            every("bad blocks", self.bad)
        );
        let changed = configs.iter().filter_map(|c| remarks::changed_of(&c.ftl.name, &c.ftl.composition));
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

fn as_text(configs: &[SoakConfig], states: &[SoakState]) -> String {
    let headings = [
        "FTL",
        "logical pages",
        "lives",
        "cycles",
        "cuts",
        "cuts of recoveries",
        "decayed",
        "bad blocks",
        "failed",
        "not promised",
        "cycles/s",
    ];
    let mut table = table::numbers(&headings);
    for (config, s) in configs.iter().zip(states) {
        table.add_row([
            remarks::named(&config.ftl.name, config.ftl.composition.knowledge().is_some()),
            count(config.ftl.logical_pages.into()),
            count(s.lives),
            count(s.cycles),
            count(s.cuts),
            count(s.recovery_cuts),
            count(s.decayed),
            count(s.grown_bad),
            count(s.failed),
            count(s.not_promised),
            number(s.cycles as f64 / s.seconds.max(1e-9)),
        ]);
    }
    let mut text = format!("{table}\n");
    for (config, state) in configs.iter().zip(states) {
        state.found.iter().for_each(|found| text += &in_short(&config.ftl.name, found));
    }
    if states.iter().any(|state| state.oracle) {
        text += &(table::wrapped(remarks::ABOUT_ORACLES, table::PROSE_WIDTH_MAX) + "\n");
    }
    if states.iter().any(|state| !state.found.is_empty()) {
        text += "--life N lives a life once more, and shows the shortest way to what is wrong with it\n";
    }
    text
}
