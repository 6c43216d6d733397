//! A figure's series as comma-separated values.

use crate::document::Figure;
use crate::judge::{Results, evaluate};
use crate::plan::Plan;
use serde_json::Value;

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
