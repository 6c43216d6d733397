//! Progress on stderr: bars where that is a terminal, elsewhere a line now and then of what takes long.

use crate::errors::Outcome;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use phelsuma_drive::{Progress, RunConfig, RunResult};
use phelsuma_nand::Geometry;
use phelsuma_options::count;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long it is silent where there are no bars.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Does all of these ([`phelsuma_options::run_all`]) with a bar for each that is at work, and one called `all` for all of
/// them together where that is to be shown.
pub(crate) fn with_bars(
    runs: &[(String, RunConfig)],
    all: Option<&str>,
    geometry: &Geometry,
    jobs: Option<u32>,
) -> Outcome<Vec<RunResult>> {
    let bars = Bars::new();
    let together = all.map(|name| bars.add(name));
    let of_runs: Vec<OnceLock<Bar>> = runs.iter().map(|_| OnceLock::new()).collect();
    let done = AtomicU64::new(0);
    let show = |n: usize, progress: Progress| {
        if let (Some(bar), Some((name, _))) = (of_runs.get(n), runs.get(n)) {
            bar.get_or_init(|| bars.add(name)).show(&progress);
        }
        true
    };
    let ended = |n: usize| {
        if let Some(bar) = of_runs.get(n).and_then(OnceLock::get) {
            bar.done();
        }
        if let Some(together) = &together {
            let done = done.fetch_add(1, Relaxed) + 1;
            together.show(&Progress { phase: "runs", done, of: Some(runs.len() as u64) });
        }
    };
    let results = phelsuma_options::run_all(runs, geometry, jobs, &show, &ended);
    if let Some(together) = together {
        together.done();
    }
    Ok(results?)
}

/// The bars of one command.
pub(crate) struct Bars {
    bars: MultiProgress,
    began: Instant,
    terminal: bool,
}

impl Bars {
    /// None yet.
    pub(crate) fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self { bars: MultiProgress::with_draw_target(target), began: Instant::now(), terminal }
    }

    /// One more, called `name`.
    pub(crate) fn add(&self, name: &str) -> Bar {
        let bar = self.bars.add(ProgressBar::no_length());
        bar.set_style(style("{prefix:12} {msg:9} {human_pos} {elapsed}"));
        bar.set_prefix(name.to_string());
        let lines = (!self.terminal).then(|| Arc::new(Mutex::new(Instant::now())));
        Bar { bar, began: self.began, lines }
    }
}

/// The progress of one run.
#[derive(Clone)]
pub(crate) struct Bar {
    bar: ProgressBar,
    began: Instant,
    /// When there was a line last; none where there are bars.
    lines: Option<Arc<Mutex<Instant>>>,
}

impl Bar {
    /// Shows how far a run is.
    pub(crate) fn show(&self, progress: &Progress) {
        if self.bar.message() != progress.phase {
            self.bar.set_message(progress.phase);
            match progress.of {
                Some(_) => self.bar.set_style(style("{prefix:12} {msg:9} {wide_bar} {percent:>3} % {eta}")),
                None => self.bar.set_style(style("{prefix:12} {msg:9} {human_pos} {elapsed}")),
            }
        }
        if let Some(of) = progress.of {
            self.bar.set_length(of);
        }
        self.bar.set_position(progress.done);
        self.line(|| match progress.of {
            Some(of) => format!("{}, {:.0} %", progress.phase, progress.done as f64 * 100.0 / of.max(1) as f64),
            None => progress.phase.to_string(),
        });
    }

    /// Shows a count of what nobody knows the end of.
    pub(crate) fn count(&self, what: &'static str, done: u64) {
        if self.bar.message() != what {
            self.bar.set_message(what);
        }
        self.bar.set_position(done);
        self.line(|| format!("{} {what}", count(done)));
    }

    /// Says how far it is, where there is no bar and nothing was said for long.
    fn line(&self, how_far: impl FnOnce() -> String) {
        let Some(lines) = &self.lines else { return };
        let mut last = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= BETWEEN_LINES {
            *last = Instant::now();
            let (name, seconds) = (self.bar.prefix(), self.began.elapsed().as_secs());
            // Where stderr is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "phelsuma: {name}: {} after {seconds} s", how_far());
        }
    }

    /// Removes it.
    pub(crate) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
