//! `phelsuma torture`: a program's writes are recorded once, and every drive that a power cut may leave is checked.

use crate::errors::{Failure, Outcome};
use crate::output;
use crate::progress::Bars;
use phelsuma_torture::args::TortureArgs;
use phelsuma_torture::{Progress, TortureError, junit_of_error, torture};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of `torture`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    torture: TortureArgs,
}

/// Whoever asks it to stop.
const SIGNALS: [i32; 3] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP];

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let args = &args.torture;
    let (config, files) = args.asked()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // All that it has started is removed first, so a second signal does not end it sooner.
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::Input(format!("the signal handler cannot be installed: {error}")))?;
    }
    let bars = Bars::new();
    let bar = bars.add("torture");
    let done = torture(&config, &files, &stop, &|progress| match progress {
        Progress::Recording => bar.count("recording", 0),
        Progress::Checking { checked, .. } => bar.count("states", checked),
    });
    bar.done();
    let report = done.inspect_err(|error| {
        if let Some(path) = &args.junit {
            // The error itself is what is said.
            let _ = std::fs::write(path, junit_of_error(args.name(), &error.to_string()));
        }
    })?;
    if args.json {
        output::json(&report)?;
    } else {
        output::print(&report.text())?;
    }
    if let Some(path) = &args.junit {
        let name = args.name();
        std::fs::write(path, report.junit(name))
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
    }
    match (report.is_stopped, report.error(), report.has_failed()) {
        (true, ..) => Err(Failure::Interrupted),
        (_, Some(text), _) => Err(Failure::Input(text)),
        (.., true) => Err(Failure::Shown),
        _ => Ok(()),
    }
}

impl From<TortureError> for Failure {
    fn from(error: TortureError) -> Self {
        match error {
            TortureError::Stopped => Self::Interrupted,
            TortureError::Input(text) => Self::Input(text),
        }
    }
}
