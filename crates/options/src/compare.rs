//! The same input for several FTLs.

use crate::drive_args::DriveArgs;
use crate::failure::{Failure, Outcome};
use crate::settings;
use phelsuma_drive::{RunConfig, RunResult};
use phelsuma_nand::Geometry;
use std::cmp::Ordering;

/// Options of a comparison.
#[derive(clap::Args)]
pub struct CompareArgs {
    /// The FTLs, separated by commas (see `phelsuma list`)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    ftl: Vec<String>,
    /// Everything else.
    #[command(flatten)]
    pub drive: DriveArgs,
    /// How many run at a time [default: as many as there are cores, and as fit the memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}

/// What a comparison runs.
pub struct Comparison {
    /// The runs, each with its FTL's name.
    pub runs: Vec<(String, RunConfig)>,
    /// The drive, the same for all of them.
    pub geometry: Geometry,
    /// Remarks on parameters that some of the FTLs have no part for.
    pub not_set: Vec<String>,
}

impl CompareArgs {
    /// The runs that are asked for.
    ///
    /// # Errors
    /// FTLs, a drive or an input that cannot be; a parameter that all of the FTLs lack.
    pub fn comparison(&self) -> Outcome<Comparison> {
        let names = distinct(&self.ftl)?;
        let made = each(&names, |name| self.drive.config_among_others(name))?;
        let (mut configs, lacking): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        let not_set = settings::remarks(names.iter().map(String::as_str).zip(lacking.iter().map(Vec::as_slice)))?;
        let geometry = self.drive.settle(&mut configs)?;
        Ok(Comparison { runs: names.into_iter().zip(configs).collect(), geometry, not_set })
    }
}

/// What may say that the input is wrong.
pub trait Blames: From<Failure> {
    /// What it says of the input, if that is what is wrong.
    fn input(&self) -> Option<&str>;
}

impl Blames for Failure {
    fn input(&self) -> Option<&str> {
        match self {
            Self::Input(text) => Some(text),
            Self::Failed(_) => None,
        }
    }
}

/// The names as given, each once.
///
/// # Errors
/// One that is there twice.
pub fn distinct(names: &[String]) -> Outcome<Vec<String>> {
    let names: Vec<String> = names.iter().map(|name| name.trim().to_string()).collect();
    match names.iter().enumerate().find(|(n, name)| names.iter().take(*n).any(|earlier| earlier == *name)) {
        Some((_, twice)) => Err(Failure::Input(format!("FTL '{twice}' is there twice; once would be right"))),
        None => Ok(names),
    }
}

/// What `make` makes of each FTL.
///
/// # Errors
/// The first of `make`. What is wrong with one of several is said to be about that one.
pub fn each<T, E: Blames>(names: &[String], make: impl Fn(&str) -> Result<T, E>) -> Result<Vec<T>, E> {
    let made: Vec<(&String, Result<T, E>)> = names.iter().map(|name| (name, make(name))).collect();
    let one_of_them = made.iter().any(|(_, outcome)| outcome.is_ok());
    let names_it = |text: &str, name: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '='))).any(|word| word == name)
    };
    let about = |(name, outcome): (&String, Result<T, E>)| {
        outcome.map_err(|error| match error.input() {
            Some(text) if one_of_them && !names_it(text, name) => Failure::Input(format!("{name}: {text}")).into(),
            _ => error,
        })
    };
    made.into_iter().map(about).collect()
}

/// Least first; in a tie as given.
pub fn by_write_amplification(a: &RunResult, b: &RunResult) -> Ordering {
    let wa = |r: &RunResult| r.write_amplification.map_or(0.0, |wa| wa.total);
    wa(a).total_cmp(&wa(b))
}
