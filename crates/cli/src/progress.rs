//! Progress on stderr, only where that is a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use phelsuma_drive::Progress;
use std::io::IsTerminal;

/// The bars of one command.
pub(crate) struct Bars(MultiProgress);

impl Bars {
    /// None yet, and none ever where it shall be quiet.
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self(MultiProgress::with_draw_target(target))
    }

    /// One more, called `name`.
    pub(crate) fn add(&self, name: &str) -> Bar {
        let bar = self.0.add(ProgressBar::no_length());
        bar.set_style(style("{prefix:12} {msg:9} {human_pos} {elapsed}"));
        bar.set_prefix(name.to_string());
        Bar(bar)
    }
}

/// The progress of one run.
#[derive(Clone)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Shows how far a run is.
    pub(crate) fn show(&self, progress: &Progress) {
        if self.0.message() != progress.phase {
            self.0.set_message(progress.phase);
            match progress.of {
                Some(_) => self.0.set_style(style("{prefix:12} {msg:9} {wide_bar} {percent:>3} % {eta}")),
                None => self.0.set_style(style("{prefix:12} {msg:9} {human_pos} {elapsed}")),
            }
        }
        if let Some(of) = progress.of {
            self.0.set_length(of);
        }
        self.0.set_position(progress.done);
    }

    /// Shows a count of what nobody knows the end of.
    pub(crate) fn count(&self, what: &'static str, done: u64) {
        if self.0.message() != what {
            self.0.set_message(what);
        }
        self.0.set_position(done);
    }

    /// Removes it.
    pub(crate) fn done(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
