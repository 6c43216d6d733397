//! Progress on stderr: bars where that is a terminal, elsewhere a line now and then of what takes long.

use crate::table;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use phelsuma_drive::Progress;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long it is silent where there are no bars.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

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
        self.line(|| format!("{} {what}", table::count(done)));
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
