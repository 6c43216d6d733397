//! `claims.toml`: the statements of a paper, and how they are tried.
//!
//! | table | what it holds |
//! | --- | --- |
//! | `words` | parts of commands; `{NAME}` in a command stands for them |
//! | `lists` | names that runs and expressions go through: `each.w = "NAME"`, `mean(NAME | …{NAME}…)` |
//! | `runs` | commands of `phelsuma` that print JSON: `run …` and `limits …`, by name; `each` makes one of each value |
//! | `values` | expressions with a name |
//! | `claims` | what the paper says, its number, and the expression that measures it |
//! | `figures` | series for a CSV file, a line for each run or point of the runs' series, and how it is drawn |
//!
//! Words, commands and expressions may differ from scale to scale (`{ quick = "…", large = "…", full = "…" }`). One
//! without a value at a scale cannot be run there. But one without a value at the large scale has that of the full one.

use crate::drawing::Draw;
use crate::error::ClaimsError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// How large the drives are on which claims are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Minutes for all claims.
    Quick,
    /// Between the two: minutes for each run, for claims of which some take longer than a day at the full scale.
    Large,
    /// The paper's own configuration.
    Full,
}

impl Scale {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Large, Self::Full];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Large => "large",
            Self::Full => "full",
        }
    }
}

/// A text, the same at every scale or one for each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ByScale {
    /// The same at every scale.
    Same(String),
    /// One for each, or none.
    #[serde(rename_all = "lowercase")]
    Each {
        /// At the quick scale.
        quick: Option<String>,
        /// At the large scale; none: as at the full one.
        #[serde(skip_serializing_if = "Option::is_none")]
        large: Option<String>,
        /// At the full scale.
        full: Option<String>,
    },
}

impl ByScale {
    /// The text at a scale.
    pub fn at(&self, scale: Scale) -> Option<&str> {
        match (self, scale) {
            (Self::Same(text), _) => Some(text),
            (Self::Each { quick, .. }, Scale::Quick) => quick.as_deref(),
            (Self::Each { large, full, .. }, Scale::Large) => large.as_ref().or(full.as_ref()).map(String::as_str),
            (Self::Each { full, .. }, Scale::Full) => full.as_deref(),
        }
    }

    /// The text that is of that scale alone.
    pub fn of_scale_alone(&self, scale: Scale) -> Option<&str> {
        match (self, scale) {
            (Self::Each { quick, .. }, Scale::Quick) => quick.as_deref(),
            (Self::Each { large, .. }, Scale::Large) => large.as_deref(),
            (Self::Each { full, .. }, Scale::Full) => full.as_deref(),
            (Self::Same(_), _) => None,
        }
    }
}

/// A run, or several that differ in a word.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Runs {
    /// One for each value of each word: `NAME_VALUE_VALUE`, in the order of the words.
    #[serde(rename_all = "lowercase")]
    Each {
        /// The command, with `{WORD}` in it.
        command: ByScale,
        /// The words and their values.
        each: BTreeMap<String, Values>,
    },
    /// One.
    One(ByScale),
}

/// The values of a word of `each`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// These.
    These(Vec<String>),
    /// Those of a list.
    List(String),
}

/// How the paper's number and the measured one are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operator {
    /// Differs from it by at most `tolerance`, a share of it.
    #[serde(rename = "about")]
    About,
    /// Equals it.
    #[serde(rename = "=")]
    Equal,
    /// Is less.
    #[serde(rename = "<")]
    Less,
    /// Is at most that, or above it by at most `tolerance`, a share of it.
    #[serde(rename = "<=")]
    AtMost,
    /// Is greater.
    #[serde(rename = ">")]
    Greater,
    /// Is at least that, or below it by at most `tolerance`, a share of it.
    #[serde(rename = ">=")]
    AtLeast,
    /// Lies between `value` and `most`.
    #[serde(rename = "between")]
    Between,
}

/// The kind of the number that tries a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What an FTL did on a drive, or declared there.
    Measured,
    /// Arithmetic: nothing of it was run.
    Formula,
    /// A setting of the drive, such as the time of a read: it comes out as it went in.
    Constant,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Formula => "formula",
            Self::Constant => "constant",
        }
    }
}

/// A statement of a paper, and how it is tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name here.
    pub id: String,
    /// Where in the paper.
    pub at: String,
    /// The paper's statement, in our words.
    pub says: String,
    /// How the measured value comes out of results.
    pub measure: ByScale,
    /// The kind of the measured value. None: a formula where all that it stands on are formulas, and else measured.
    pub kind: Option<Kind>,
    /// How it is compared with the paper's number.
    pub operator: Operator,
    /// The paper's number.
    pub value: f64,
    /// The upper end of `between`.
    pub most: Option<f64>,
    /// By what share of the paper's number `about` may be off, and `>=` and `<=` on their one side.
    pub tolerance: Option<f64>,
    /// The unit of both numbers; none for counts, ratios and shares.
    #[serde(default)]
    pub unit: String,
    /// Other remarks.
    #[serde(default)]
    pub note: String,
    /// Why it does not hold here, where it does not, with numbers that come out of results as `{{EXPRESSION; DIGITS}}`.
    pub why_not: Option<ByScale>,
}

/// A series for a CSV file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The file's name, without its ending.
    pub id: String,
    /// Where in the paper.
    pub at: String,
    /// The runs, a line each; an entry with `each` stands for all of its runs.
    pub runs: Vec<String>,
    /// Whether each point of the runs' series has a line (`point.…` in columns).
    #[serde(default)]
    pub points: bool,
    /// Headings and what stands below them (`run.…` is the line's run).
    pub columns: Vec<(String, String)>,
    /// How it is drawn in the report of `python/phelsuma`, as all that follows, which nothing else looks at.
    pub draw: Option<Draw>,
    /// The column on the x axis; with `groups` its values are the groups, with `stacked` they stand beside the bars.
    pub x: Option<String>,
    /// What that axis says, where it is not the name of the column.
    pub x_label: Option<String>,
    /// Whether it is logarithmic, to base 2.
    #[serde(default)]
    pub log_x: bool,
    /// The columns that are drawn; none: all but `x`.
    #[serde(default)]
    pub y: Vec<String>,
    /// The label of the axis of values, with its unit, where that is not the name of one column.
    pub unit: Option<String>,
    /// Whether that axis is logarithmic.
    #[serde(default)]
    pub log_y: bool,
    /// From where to where it goes.
    pub range: Option<[f64; 2]>,
    /// What runs' names are made of, as `r_{series}_{group}`: words between `_`, of which `{series}` may be several,
    /// and any other in braces is one. The first pattern that fits counts.
    #[serde(default)]
    pub pattern: Vec<String>,
    /// The series by whose values those of the others are divided.
    pub relative_to: Option<String>,
    /// The text that a reader sees for a run, a part of its name, or a column.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

/// A whole `claims.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Authors, title, where it appeared.
    pub title: String,
    /// Parts of commands.
    #[serde(default)]
    pub words: BTreeMap<String, ByScale>,
    /// What runs and expressions go through, by name.
    #[serde(default)]
    pub lists: BTreeMap<String, Vec<String>>,
    /// Commands by name.
    #[serde(default)]
    pub runs: BTreeMap<String, Runs>,
    /// Expressions by name.
    #[serde(default)]
    pub values: BTreeMap<String, ByScale>,
    /// The paper's statement.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Series.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// What of a paper was requested.
#[derive(Clone, Debug)]
pub struct Chosen<'d> {
    /// In the order of the document.
    pub claims: Vec<&'d Claim>,
    /// As well.
    pub figures: Vec<&'d Figure>,
}

impl Document {
    /// Reads a document and looks whether everything that it names is there.
    ///
    /// # Errors
    /// [`ClaimsError::File`] and [`ClaimsError::Malformed`].
    pub fn load(path: &Path) -> Result<Self, ClaimsError> {
        let text = std::fs::read_to_string(path).map_err(|error| ClaimsError::file(path, &error))?;
        let document: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text.get(..span.start).map_or(1, |t| t.lines().count().max(1)));
            ClaimsError::malformed(path, format!("line {line}: {}", error.message()))
        })?;
        document.check().map_err(|what| ClaimsError::malformed(path, what))?;
        Ok(document)
    }

    /// The claims and the figures with these ids, or all of them where none is given.
    ///
    /// # Errors
    /// [`ClaimsError::Unknown`].
    pub fn chosen(&self, ids: &[String]) -> Result<Chosen<'_>, ClaimsError> {
        let claims = self.claims.iter().map(|claim| claim.id.as_str());
        let figures = self.figures.iter().map(|figure| figure.id.as_str());
        let known: Vec<&str> = claims.chain(figures).collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(&id.as_str())) {
            return Err(ClaimsError::Unknown { id: id.clone(), known: known.join(", ") });
        }
        let is_chosen = |id: &String| ids.is_empty() || ids.contains(id);
        Ok(Chosen {
            claims: self.claims.iter().filter(|claim| is_chosen(&claim.id)).collect(),
            figures: self.figures.iter().filter(|figure| is_chosen(&figure.id)).collect(),
        })
    }

    fn check(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for claim in &self.claims {
            let id = &claim.id;
            if !seen.insert(id) {
                return Err(format!("claim '{id}' is there twice"));
            }
            match claim.operator {
                Operator::About if claim.tolerance.is_none() => {
                    return Err(format!("claim '{id}': 'about' needs a tolerance"));
                }
                Operator::Between if claim.most.is_none_or(|most| most < claim.value) => {
                    return Err(format!("claim '{id}': 'between' needs a most that is not below its value"));
                }
                Operator::About | Operator::AtLeast | Operator::AtMost if claim.most.is_none() => {}
                Operator::Between if claim.tolerance.is_none() => {}
                _ if claim.tolerance.is_some() || claim.most.is_some() => {
                    return Err(format!(
                        "claim '{id}': tolerance goes with 'about', '>=' and '<=', most with 'between'"
                    ));
                }
                _ => {}
            }
        }
        if let Some(name) = self.values.keys().find(|name| self.runs.contains_key(*name) || name.contains('.')) {
            return Err(format!("value '{name}' is a run's name or has a dot"));
        }
        for figure in &self.figures {
            if !is_file_name(&figure.id) {
                return Err(format!("figure '{}': letters, digits and '-' would be right", figure.id.escape_debug()));
            }
            if !seen.insert(&figure.id) {
                return Err(format!("figure '{}' is there twice, or is a claim's name", figure.id));
            }
        }
        // Errors at either scale are reported at once.
        Scale::ALL.iter().try_for_each(|scale| {
            let plan = self.plan(*scale)?;
            self.figures.iter().try_for_each(|figure| {
                let runs = plan.lines.get(&figure.id).map_or(&[][..], Vec::as_slice);
                figure.check_drawing(runs).map_err(|what| format!("figure '{}': {what}", figure.id))
            })
        })
    }
}

/// Whether a name can be a file's, here and everywhere.
pub(crate) fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl fmt::Display for Claim {
    /// The paper's statement, as a number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = (self.value, if self.unit.is_empty() { "" } else { " " });
        match (self.operator, self.tolerance, self.most) {
            (Operator::About, Some(off), _) => write!(f, "{value} ± {:.3} %", Rounded(off * 100.0))?,
            (Operator::Between, _, Some(most)) => write!(f, "{value} to {most}")?,
            (Operator::Equal, ..) => write!(f, "{value}")?,
            (Operator::Less, ..) => write!(f, "< {value}")?,
            (Operator::AtMost, Some(off), _) => write!(f, "≤ {value} + {:.3} %", Rounded(off * 100.0))?,
            (Operator::AtMost, ..) => write!(f, "≤ {value}")?,
            (Operator::Greater, ..) => write!(f, "> {value}")?,
            (Operator::AtLeast, Some(off), _) => write!(f, "≥ {value} − {:.3} %", Rounded(off * 100.0))?,
            (Operator::AtLeast, ..) => write!(f, "≥ {value}")?,
            (Operator::About | Operator::Between, ..) => write!(f, "{value}")?,
        }
        write!(f, "{unit}{}", self.unit)
    }
}

/// A number without zeros at its end.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.*}", f.precision().unwrap_or(3), self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}
