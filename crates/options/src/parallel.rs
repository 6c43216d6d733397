//! Several runs on the same drive at a time, on all cores.

use crate::failure::{Failure, Outcome};
use crate::memory;
use phelsuma_drive::{Progress, RunConfig, RunError, RunResult};
use phelsuma_nand::Geometry;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Does all of these, each with a name for its progress and its errors. As many run at a time as were requested, or as
/// there are cores and as fit the memory. The results are in the same order. `reporter` gets the progress of the run of
/// a number in `runs`; with false all are stopped. `ended` gets the number of each run that has ended.
///
/// # Errors
/// The error of the first of them that has one; the others are stopped then.
pub fn run_all(
    runs: &[(String, RunConfig)],
    geometry: &Geometry,
    jobs: Option<u32>,
    reporter: &(dyn Fn(usize, Progress) -> bool + Sync),
    ended: &(dyn Fn(usize) + Sync),
) -> Outcome<Vec<RunResult>> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let fitting = memory::at_a_time(geometry);
    let jobs = jobs.map_or(cores, |n| n as usize).min(fitting).min(runs.len()).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|error| Failure::Failed(format!("no threads: {error}")))?;
    let failed = AtomicBool::new(false);
    let outcomes: Vec<Result<RunResult, RunError>> = pool.install(|| {
        // One by one: those that take long need not be neighbours.
        let runs_at_work = runs.par_iter().enumerate().with_max_len(1).map(|(n, (_, config))| {
            let result = phelsuma_drive::run(config, &|progress| reporter(n, progress) && !failed.load(Relaxed));
            failed.fetch_or(result.is_err(), Relaxed);
            ended(n);
            result
        });
        runs_at_work.collect()
    });
    // What is wrong with the input is wrong for all; what is not is about one of them.
    let one_of_them = outcomes.iter().any(|o| !matches!(o, Err(RunError::Input(_))));
    let mut results = Vec::with_capacity(outcomes.len());
    let mut stopped = None;
    for (outcome, (name, _)) in outcomes.into_iter().zip(runs) {
        match outcome {
            Ok(result) => results.push(result),
            Err(RunError::Stopped) => stopped = Some(RunError::Stopped),
            Err(RunError::Input(text)) => return Err(wrong_for_one_or_all(runs, name, text, one_of_them)),
            Err(RunError::Failed(text)) => return Err(Failure::Failed(format!("{name}: {text}"))),
        }
    }
    match stopped {
        Some(error) => Err(error.into()),
        None => Ok(results),
    }
}

/// What is wrong with the input of one run, or of all. Where the drive is too small for the trace, all of them are asked
/// which would be large enough: each alone names one that may be too small for another.
fn wrong_for_one_or_all(runs: &[(String, RunConfig)], name: &str, text: String, one_of_them: bool) -> Failure {
    let configs: Vec<RunConfig> = runs.iter().map(|(_, config)| config.clone()).collect();
    match phelsuma_drive::check_holds_trace(&configs) {
        Err(RunError::Input(of_all)) if configs.len() > 1 => Failure::Input(of_all),
        _ if one_of_them => Failure::Input(format!("{name}: {text}")),
        _ => Failure::Input(text),
    }
}
