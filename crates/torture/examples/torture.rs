//! The crate as a command of its own: `torture`, `mark` and `unsynced`, without the rest of phelsuma.

use clap::Parser;
use phelsuma_torture::args::TortureArgs;
use phelsuma_torture::{Progress, TortureError, junit_of_error, mark, torture, unsynced};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Parser)]
enum Command {
    /// Every crash state of a program
    Torture(Box<TortureArgs>),
    /// A mark
    Mark {
        /// Its text
        text: String,
    },
    /// What was acknowledged without a flush
    Unsynced {
        /// A saved run
        run: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Torture(args) => tortured(&args),
        Command::Mark { text } => {
            let socket = std::env::var_os("PHELSUMA_MARK_SOCKET").map(PathBuf::from);
            mark(socket.as_deref(), &text).map(|()| ExitCode::SUCCESS)
        }
        Command::Unsynced { run } => unsynced(&run, 1 << 30).map(|found| {
            print!("{}", found.text());
            ExitCode::SUCCESS
        }),
    };
    done.unwrap_or_else(|error| {
        eprintln!("torture: {error}");
        ExitCode::from(if error == TortureError::Stopped { 130 } else { 2 })
    })
}

fn tortured(args: &TortureArgs) -> Result<ExitCode, TortureError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let set = signal_hook::flag::register(signal, Arc::clone(&stop));
        set.map_err(|error| TortureError::Input(error.to_string()))?;
    }
    let (config, files) = args.asked()?;
    let report = torture(&config, &files, &stop, &|progress| {
        if progress == Progress::Recording {
            eprintln!("recording");
        }
    })
    .inspect_err(|error| {
        if let Some(path) = &args.junit {
            let _ = std::fs::write(path, junit_of_error("torture", &error.to_string()));
        }
    })?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        print!("{}", report.text());
    }
    if let Some(path) = &args.junit {
        std::fs::write(path, report.junit("torture"))
            .map_err(|error| TortureError::Input(format!("{}: {error}", path.display())))?;
    }
    match (report.is_stopped, report.error(), report.has_failed()) {
        (true, ..) => Ok(ExitCode::from(130)),
        (_, Some(text), _) => Err(TortureError::Input(text)),
        (.., has_failed) => Ok(ExitCode::from(u8::from(has_failed))),
    }
}
