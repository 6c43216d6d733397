//! The common part of the commands of `claims`: which paper and which scale, and how many of its claims hold.

use crate::errors::Outcome;
use clap::ValueEnum;
use phelsuma_claims::{Finding, Kind, Scale, Store, Verdict};
use std::path::PathBuf;

/// Which paper, and how the output looks.
#[derive(clap::Args)]
pub(super) struct PaperArgs {
    /// The paper: name of a folder that has a claims.toml
    #[arg(value_name = "PAPER")]
    pub(super) paper: String,
    /// The folder that has the folders of the papers
    #[arg(long, value_name = "FOLDER", default_value = "papers")]
    pub(super) papers: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

impl PaperArgs {
    pub(super) fn store(&self) -> Outcome<Store> {
        Ok(Store::open(&self.papers, &self.paper)?)
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ScaleArg {
    /// Small drives; minutes for all claims
    Quick,
    /// Larger drives; minutes for each run
    Large,
    /// The paper's own configuration; hours
    Full,
}

impl From<ScaleArg> for Scale {
    fn from(arg: ScaleArg) -> Self {
        match arg {
            ScaleArg::Quick => Self::Quick,
            ScaleArg::Large => Self::Large,
            ScaleArg::Full => Self::Full,
        }
    }
}

/// How many of these have which verdict, and how many of them nothing was run for.
pub(super) fn summary<'f>(findings: impl Iterator<Item = &'f Finding> + Clone) -> String {
    let count = |verdict| findings.clone().filter(|finding| finding.verdict == verdict).count();
    let [holds, does_not, cannot] = [Verdict::Holds, Verdict::DoesNotHold, Verdict::CannotBeRun].map(count);
    let of_kind = |kind| findings.clone().filter(|finding| finding.kind == Some(kind)).count();
    let not_run = match [Kind::Formula, Kind::Constant].map(of_kind) {
        [0, 0] => String::new(),
        [formulas, constants] => format!("; {formulas} of them are formulas, {constants} constants"),
    };
    let claims = findings.count();
    format!("{claims} claims: {holds} hold, {does_not} do not hold here, {cannot} cannot be run here{not_run}")
}
