//! Findings: the measured values and the verdicts, as in `results-quick.json` and `results-full.json`.

use crate::document::{Claim, Kind, Operator, Scale};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether a claim holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It does.
    #[serde(rename = "holds")]
    Holds,
    /// It does not.
    #[serde(rename = "does not hold here")]
    DoesNotHold,
    /// There is nothing to judge by.
    #[serde(rename = "cannot be run here")]
    CannotBeRun,
}

impl Verdict {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold here",
            Self::CannotBeRun => "cannot be run here",
        }
    }
}

/// A run that a finding stands on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunOf {
    /// Its command.
    pub command: String,
    /// Its key among the stored runs; none for formulas, and where it could not be run.
    pub key: Option<String>,
    /// Whether the drive was in its steady state at the end, if that was looked at.
    #[serde(default)]
    pub steady: Option<bool>,
    /// Of a figure: why the run could not be, so that the series has no line of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl RunOf {
    /// A run whose result is known, or is not.
    pub fn new(command: String, result: Option<&(Value, Option<String>)>) -> Self {
        let key = result.and_then(|(_, key)| key.clone());
        let steady = result.and_then(|(result, _)| result.get("steady")?.as_bool());
        Self { command, key, steady, why: None }
    }

    /// A run that could not be.
    pub fn without_result(command: String, why: String) -> Self {
        Self { command, key: None, steady: None, why: Some(why) }
    }
}

/// The findings about a claim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// The claim.
    pub id: String,
    /// Where in the paper.
    pub at: String,
    /// The paper's statement, in our words.
    pub says: String,
    /// How its number and the measured one are compared.
    pub operator: Operator,
    /// The paper's number.
    pub value: f64,
    /// The upper end of `between`.
    pub most: Option<f64>,
    /// By what share of the paper's number `about` may be off, and `>=` and `<=` on their one side.
    pub tolerance: Option<f64>,
    /// The unit of both numbers.
    pub unit: String,
    /// The measured number.
    pub measured: Option<f64>,
    /// What that number is; none where there is none, and in results from before this was stored.
    #[serde(default)]
    pub kind: Option<Kind>,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// Why it does not, or cannot be run.
    pub why: Option<String>,
    /// The results that it stands on, by name.
    pub runs: BTreeMap<String, RunOf>,
}

/// The findings at one scale.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Findings {
    /// `phelsuma.claims/1`.
    pub schema: String,
    /// The paper's folder.
    pub paper: String,
    /// The scale.
    pub scale: Scale,
    /// The findings about each claim, in the order of the document.
    pub claims: Vec<Finding>,
    /// What each figure stands on, by name, and the runs of it that could not be.
    #[serde(default)]
    pub figures: BTreeMap<String, BTreeMap<String, RunOf>>,
}

impl Findings {
    /// The schema's name.
    pub const SCHEMA: &'static str = "phelsuma.claims/1";

    /// None yet.
    pub fn new(paper: &str, scale: Scale) -> Self {
        Self {
            schema: Self::SCHEMA.to_string(),
            paper: paper.to_string(),
            scale,
            claims: Vec::new(),
            figures: BTreeMap::new(),
        }
    }

    /// The findings about a claim.
    pub fn of(&self, id: &str) -> Option<&Finding> {
        self.claims.iter().find(|finding| finding.id == id)
    }

    /// Every run that something here stands on, with its name.
    pub fn runs(&self) -> impl Iterator<Item = (&str, &RunOf)> {
        let of_claims = self.claims.iter().map(|finding| &finding.runs);
        of_claims.chain(self.figures.values()).flatten().map(|(name, run)| (name.as_str(), run))
    }

    /// Replaces the findings about the claims of `newer`, in the order of `claims`. Findings about other claims go.
    pub fn update(&mut self, newer: &[Finding], claims: &[Claim]) {
        let found = claims.iter().filter_map(|claim| {
            let newer = newer.iter().find(|finding| finding.id == claim.id);
            newer.or_else(|| self.of(&claim.id)).cloned()
        });
        self.claims = found.collect();
    }

    /// How many have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|finding| finding.verdict == verdict).count()
    }
}
