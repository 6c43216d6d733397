//! A figure's series as comma-separated values, and the runs that it stands on.
//!
//! A run that could not be has no line. It is among the runs of the figure all the same, with the reason: a point that
//! an FTL refuses is a result.

use crate::document::Figure;
use crate::findings::RunOf;
use crate::judge::{Results, evaluate};
use crate::plan::Plan;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every run of a figure's lines that has a command at the scale of the plan, by name; none where one that the figure is
/// made of is still to be done.
pub fn runs_of(figure: &Figure, plan: &Plan, results: &Results) -> Option<BTreeMap<String, RunOf>> {
    let is_there = |run: &&str| plan.commands[*run].is_none() || results.contains_key(*run);
    if !plan.runs_of_figure(&figure.id).iter().all(is_there) {
        return None;
    }
    let commands =
        plan.lines.get(&figure.id)?.iter().filter_map(|name| Some((name, plan.commands.get(name)?.clone()?)));
    commands
        .map(|(name, command)| {
            let run = match results.get(name)? {
                Ok(result) => RunOf::new(command, Some(result)),
                Err(why) => RunOf::without_result(command, why.clone()),
            };
            Some((name.clone(), run))
        })
        .collect()
}

/// The file's text, from the runs that there are; none where there is none of them.
pub fn csv(figure: &Figure, plan: &Plan, results: &Results) -> Option<String> {
    let columns = plan.columns.get(&figure.id)?;
    let headings: Vec<&str> = columns.iter().map(|(heading, _)| heading.as_str()).collect();
    let mut text = format!("run,{}\n", headings.join(","));
    let mut lines = 0;
    for run in plan.lines.get(&figure.id)? {
        let Some(Ok((result, _))) = results.get(run) else { continue };
        let none = Value::Null;
        let points = match (figure.points, result.get("series").and_then(Value::as_array)) {
            (true, Some(points)) => points.iter().collect(),
            (true, None) => Vec::new(),
            (false, _) => vec![&none],
        };
        for point in points {
            let also = [("run", result), ("point", point)];
            let cells = columns.iter().map(|(_, column)| match evaluate(column, plan, results, &also) {
                // To seven digits: more than a figure shows, and the same on every machine.
                Ok(number) => format!("{}", format!("{number:.6e}").parse::<f64>().unwrap_or(number)),
                Err(_) => String::new(),
            });
            text += &format!("{run},{}\n", cells.collect::<Vec<_>>().join(","));
            lines += 1;
        }
    }
    (lines > 0).then_some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::document::{Document, Scale};
    use serde_json::json;

    const OF_THREE: &str = r#"
title = "t"
[runs]
a = "run --ftl page"
b = "run --ftl mu-ftl"
large = { full = "run --ftl dac" }
[[figures]]
id = "f"
at = "figure 8"
runs = ["a", "b", "large"]
columns = [["wa", "run.wa"]]
"#;

    #[test]
    fn a_run_that_could_not_be_has_no_line_and_is_listed_with_its_reason() {
        let document: Document = toml::from_str(OF_THREE).unwrap();
        let (plan, figure) = (document.plan(Scale::Quick).unwrap(), &document.figures[0]);
        let mut results = Results::from([("a".into(), Ok((json!({"wa": 1.5}), Some("k".into()))))]);
        assert_eq!(runs_of(figure, &plan, &results), None, "b is still to be done");
        results.insert("b".into(), Err("b: 541 reserve blocks".into()));
        assert_eq!(csv(figure, &plan, &results).unwrap(), "run,wa\na,1.5\n");
        let runs = runs_of(figure, &plan, &results).unwrap();
        assert_eq!(runs.keys().collect::<Vec<_>>(), ["a", "b"], "there is nothing to run for the third at this scale");
        assert_eq!((runs["a"].key.as_deref(), runs["a"].why.as_deref()), (Some("k"), None));
        assert_eq!((runs["b"].key.as_deref(), runs["b"].why.as_deref()), (None, Some("b: 541 reserve blocks")));
        results.insert("a".into(), Err("a: no".into()));
        assert_eq!(csv(figure, &plan, &results), None);
        assert!(runs_of(figure, &plan, &results).unwrap().values().all(|run| run.why.is_some()));
    }
}
