//! A document at one scale: every command in full, every expression parsed, every name known.

use crate::document::{Document, Runs, Scale, Values};
use crate::expression::{Expression, spread};
use crate::reason::Reason;
use std::collections::{BTreeMap, BTreeSet};

/// How often words may stand in words, and values in values.
const NESTED_MAX: u32 = 8;
/// The most runs that one `each` makes.
const EACH_MAX: usize = 1024;

/// What to run at a scale and what to make of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scale.
    pub scale: Scale,
    /// Commands by the names of their runs; none where there is none at this scale.
    pub commands: BTreeMap<String, Option<String>>,
    /// Values by name; none where there is none at this scale.
    pub(crate) values: BTreeMap<String, Option<Expression>>,
    /// What measures each claim; none where nothing does at this scale.
    pub(crate) measures: BTreeMap<String, Option<Expression>>,
    /// Why a claim does not hold, where that is said at this scale.
    pub(crate) reasons: BTreeMap<String, Reason>,
    /// The runs of each figure, by its name.
    pub lines: BTreeMap<String, Vec<String>>,
    /// The columns of each figure.
    pub(crate) columns: BTreeMap<String, Vec<(String, Expression)>>,
}

impl Document {
    /// The plan at a scale.
    ///
    /// # Errors
    /// Names that are not there, expressions that are none.
    pub fn plan(&self, scale: Scale) -> Result<Plan, String> {
        let (mut commands, mut made_of) = (BTreeMap::new(), BTreeMap::<&str, Vec<String>>::new());
        for (entry, runs) in &self.runs {
            for (name, command) in self.expand(entry, runs, scale)? {
                made_of.entry(entry).or_default().push(name.clone());
                if let Some(twice) = commands.insert(name.clone(), command) {
                    return Err(format!("run '{name}' is there twice: {}", twice.unwrap_or_default()));
                }
            }
        }
        let expression = |whose: &str, text: &str| {
            let parsed = spread(text, &self.lists).and_then(|text| Expression::parse(&text));
            parsed.map_err(|what| format!("{whose}: {what}"))
        };
        let parsed = |whose: String, text: Option<&str>| text.map(|text| expression(&whose, text)).transpose();
        let mut plan = Plan {
            scale,
            commands,
            values: BTreeMap::new(),
            measures: BTreeMap::new(),
            reasons: BTreeMap::new(),
            lines: BTreeMap::new(),
            columns: BTreeMap::new(),
        };
        for (name, value) in &self.values {
            plan.values.insert(name.clone(), parsed(format!("value '{name}'"), value.at(scale))?);
        }
        for claim in &self.claims {
            let whose = format!("claim '{}'", claim.id);
            if let Some(why) = claim.why_not.as_ref().and_then(|why| why.at(scale)) {
                let reason = Reason::parse(why, &self.lists).map_err(|what| format!("{whose}: why_not: {what}"))?;
                plan.reasons.insert(claim.id.clone(), reason);
            }
            plan.measures.insert(claim.id.clone(), parsed(whose, claim.measure.at(scale))?);
        }
        for figure in &self.figures {
            let whose = format!("figure '{}'", figure.id);
            let mut lines = Vec::new();
            for run in &figure.runs {
                match made_of.get(run.as_str()) {
                    Some(made) => lines.extend(made.iter().cloned()),
                    None if plan.commands.contains_key(run) => lines.push(run.clone()),
                    None => return Err(format!("{whose}: no run is called '{run}'")),
                }
            }
            plan.lines.insert(figure.id.clone(), lines);
            let columns = figure.columns.iter().map(|(name, text)| Ok((name.clone(), expression(&whose, text)?)));
            plan.columns.insert(figure.id.clone(), columns.collect::<Result<_, String>>()?);
        }
        plan.check()?;
        Ok(plan)
    }

    /// The runs of one entry.
    fn expand(&self, name: &str, runs: &Runs, scale: Scale) -> Result<Vec<(String, Option<String>)>, String> {
        let (command, each) = match runs {
            Runs::One(command) => (command, &BTreeMap::new()),
            Runs::Each { command, each } => (command, each),
        };
        let mut made = vec![(name.to_string(), command.at(scale).map(str::to_string))];
        for (word, values) in each {
            let values = match values {
                Values::These(values) => values,
                Values::List(list) => {
                    self.lists.get(list).ok_or_else(|| format!("run '{name}': no list is called '{list}'"))?
                }
            };
            if made.len() * values.len() > EACH_MAX {
                return Err(format!("run '{name}' is more than {EACH_MAX} runs"));
            }
            let of = |(name, command): &(String, Option<String>), value: &String| {
                (format!("{name}_{value}"), command.as_ref().map(|c| c.replace(&format!("{{{word}}}"), value)))
            };
            made = made.iter().flat_map(|run| values.iter().map(|value| of(run, value)).collect::<Vec<_>>()).collect();
        }
        made.into_iter()
            .map(|(name, command)| {
                let command = command.map_or(Ok(None), |command| self.filled_in(&name, command, scale))?;
                Ok((name, command))
            })
            .collect()
    }

    /// A command with the words in it; none where one of them has none at this scale.
    fn filled_in(&self, run: &str, mut command: String, scale: Scale) -> Result<Option<String>, String> {
        for _ in 0..=NESTED_MAX {
            let Some((before, rest)) = command.split_once('{') else {
                return Ok(Some(command.split_whitespace().collect::<Vec<_>>().join(" ")));
            };
            let (word, _) = rest.split_once('}').ok_or_else(|| format!("run '{run}': '{before}{{' is not closed"))?;
            let known = self.words.get(word).ok_or_else(|| format!("run '{run}': no word is called '{word}'"))?;
            let Some(text) = known.at(scale) else { return Ok(None) };
            command = command.replace(&format!("{{{word}}}"), text);
        }
        Err(format!("run '{run}': words that stand for each other, or too many of them"))
    }
}

impl Plan {
    /// The runs that a claim's value, or the reason why it does not hold, is made of, directly or through values.
    pub fn runs_of(&self, claim: &str) -> BTreeSet<&str> {
        let reason = self.reasons.get(claim).into_iter().flat_map(Reason::expressions);
        let mut runs = self.runs_measuring(claim);
        runs.extend(reason.flat_map(|expression| self.runs_in(expression)));
        runs
    }

    /// The runs that a figure is made of: those of its lines, and those that its columns compare them with.
    pub fn runs_of_figure(&self, figure: &str) -> BTreeSet<&str> {
        let lines = self.lines.get(figure).into_iter().flatten().map(String::as_str);
        let columns = self.columns.get(figure).into_iter().flatten();
        lines.chain(columns.flat_map(|(_, column)| self.runs_in(column))).collect()
    }

    /// Those that its value is made of.
    pub(crate) fn runs_measuring(&self, claim: &str) -> BTreeSet<&str> {
        let measure = self.measures.get(claim).and_then(Option::as_ref);
        measure.map_or_else(BTreeSet::new, |measure| self.runs_in(measure))
    }

    /// The values that a claim's value is made of, directly or through others.
    pub fn values_of(&self, claim: &str) -> BTreeSet<&str> {
        let measure = self.measures.get(claim).and_then(Option::as_ref);
        measure.map_or_else(BTreeSet::new, |measure| self.names_in(measure).1)
    }

    pub(crate) fn runs_in<'p>(&'p self, expression: &'p Expression) -> BTreeSet<&'p str> {
        self.names_in(expression).0
    }

    /// The runs, and the values.
    fn names_in<'p>(&'p self, expression: &'p Expression) -> (BTreeSet<&'p str>, BTreeSet<&'p str>) {
        let (mut runs, mut values) = (BTreeSet::new(), BTreeSet::new());
        let mut todo: Vec<&str> = expression.names().into_iter().collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = todo.pop() {
            if !seen.insert(name) {
                continue;
            }
            match self.values.get(name) {
                Some(value) => {
                    values.insert(name);
                    todo.extend(value.iter().flat_map(|value| value.names()));
                }
                None => _ = self.run_and_path(name).map(|(run, _)| runs.insert(run)),
            }
        }
        (runs, values)
    }

    /// A name as a run and a path in its result.
    pub(crate) fn run_and_path<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str)> {
        let (run, path) = name.split_once('.')?;
        self.commands.contains_key(run).then_some((run, path))
    }

    /// Every name is one, and no value stands for itself.
    fn check(&self) -> Result<(), String> {
        let values = self.values.iter().map(|(name, value)| (format!("value '{name}'"), value));
        let measures = self.measures.iter().map(|(id, measure)| (format!("claim '{id}'"), measure));
        let reasons = self.reasons.iter().flat_map(|(id, reason)| {
            reason.expressions().map(move |expression| (format!("claim '{id}': why_not"), expression))
        });
        for (whose, expression) in reasons {
            for name in expression.names() {
                self.check_name(&whose, name, 0)?;
            }
        }
        for (whose, expression) in values.chain(measures) {
            for name in expression.iter().flat_map(|expression| expression.names()) {
                self.check_name(&whose, name, 0)?;
            }
        }
        for (figure, columns) in &self.columns {
            for name in columns.iter().flat_map(|(_, column)| column.names()) {
                if !name.starts_with("run.") && !name.starts_with("point.") {
                    self.check_name(&format!("figure '{figure}'"), name, 0)?;
                }
            }
        }
        Ok(())
    }

    fn check_name(&self, whose: &str, name: &str, depth: u32) -> Result<(), String> {
        if depth > NESTED_MAX {
            return Err(format!("{whose}: '{name}' stands for itself, or for too much"));
        }
        match self.values.get(name) {
            Some(value) => {
                let names = value.iter().flat_map(|value| value.names());
                names.into_iter().try_for_each(|name| self.check_name(whose, name, depth + 1))
            }
            None if self.run_and_path(name).is_some() => Ok(()),
            None => Err(format!("{whose}: '{name}' is no value and begins with no run's name and a dot")),
        }
    }
}
