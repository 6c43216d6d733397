//! A number in a result, by its path, as in `flash.validity.programs` and `series.max.validity_programs`.
//!
//! Another one is `recovery.steps.4_Gecko_s_buffer.us`. Keys may have dots of their own
//! (`ram_bytes.papers.mapping.gmd`). In an array, an entry goes by its `name` or by its number from 0. In a name `_`
//! stands for each sign that is neither letter nor digit. `min`, `max`, `mean` and `sum` are over all of them. `sum` is
//! over all that is in an object as well: `flash.sum.programs`. True is 1, false 0.

use serde_json::Value;

/// How many names are offered where one is wrong.
const OFFERED_MAX: usize = 12;

/// The number at `path` in `value`.
///
/// # Errors
/// How far the path goes, and what there is.
pub(crate) fn number(value: &Value, path: &str) -> Result<f64, String> {
    match find(value, path) {
        Some(number) => Ok(number),
        None => Err(why_not(value, path)),
    }
}

fn find(value: &Value, path: &str) -> Option<f64> {
    match value {
        Value::Number(number) if path.is_empty() => number.as_f64(),
        Value::Bool(truth) if path.is_empty() => Some(f64::from(u8::from(*truth))),
        Value::Object(object) => splits(path).find_map(|(key, rest)| find(object.get(key)?, rest)).or_else(|| {
            let rest = path.strip_prefix("sum.")?;
            object.values().map(|value| find(value, rest)).sum()
        }),
        Value::Array(entries) => {
            let (step, rest) = path.split_once('.').unwrap_or((path, ""));
            let all = || entries.iter().map(|entry| find(entry, rest)).collect::<Option<Vec<f64>>>();
            match step {
                "min" => all()?.into_iter().reduce(f64::min),
                "max" => all()?.into_iter().reduce(f64::max),
                "sum" => Some(all()?.into_iter().sum()),
                "mean" => all().filter(|n| !n.is_empty()).map(|n| n.iter().sum::<f64>() / n.len() as f64),
                _ => find(entry(entries, step)?, rest),
            }
        }
        _ => None,
    }
}

fn entry<'v>(entries: &'v [Value], step: &str) -> Option<&'v Value> {
    let named = entries.iter().find(|entry| name_of(entry).is_some_and(|name| name == step));
    named.or_else(|| entries.get(step.parse::<usize>().ok()?))
}

fn name_of(entry: &Value) -> Option<String> {
    let name = entry.get("name")?.as_str()?;
    Some(name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect())
}

/// Every way to take a key off the front of a path.
fn splits(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let dots = path.match_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
    dots.chain(std::iter::once((path, "")))
}

fn why_not(value: &Value, path: &str) -> String {
    let (mut value, mut rest, mut at) = (value, path, String::new());
    loop {
        let next = match value {
            Value::Object(object) => splits(rest).find_map(|(key, rest)| Some((key, object.get(key)?, rest))),
            Value::Array(entries) => {
                let (step, rest) = rest.split_once('.').unwrap_or((rest, ""));
                entry(entries, step).map(|entry| (step, entry, rest))
            }
            _ => None,
        };
        match next {
            Some((key, inner, left)) => {
                at = if at.is_empty() { key.to_string() } else { format!("{at}.{key}") };
                (value, rest) = (inner, left);
            }
            None => break,
        }
    }
    let names: Vec<String> = match value {
        Value::Object(object) => object.keys().take(OFFERED_MAX).cloned().collect(),
        Value::Array(entries) => entries.iter().filter_map(name_of).take(OFFERED_MAX).collect(),
        Value::Null => return format!("'{at}' is null, so there is no '{path}'"),
        _ => Vec::new(),
    };
    let whose = if at.is_empty() { "the result".to_string() } else { format!("'{at}'") };
    match names.is_empty() {
        true => format!("{whose} has no number '{rest}'"),
        false => format!("{whose} has no number '{rest}'; it has {}", names.join(", ")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_go_through_dotted_keys_names_and_series() {
        let value = json!({
            "ram": {"mapping.gmd": 4, "mapping": {"x": 1}, "total": 9},
            "steps": [{"name": "4 Gecko's buffer", "us": 7}, {"name": "other", "us": 1}],
            "series": [{"n": 1}, {"n": 5}],
            "flash": {"host": {"programs": 2}, "gc": {"programs": 3}},
            "steady": true,
            "recovery": null,
        });
        let of = |path: &str| number(&value, path);
        let right = [
            ("ram.mapping.gmd", 4.0),
            ("ram.mapping.x", 1.0),
            ("steps.4_Gecko_s_buffer.us", 7.0),
            ("steps.1.us", 1.0),
            ("steps.sum.us", 8.0),
            ("flash.sum.programs", 5.0),
            ("series.min.n", 1.0),
            ("series.max.n", 5.0),
            ("series.mean.n", 3.0),
            ("steady", 1.0),
        ];
        for (path, right) in right {
            assert_eq!(of(path), Ok(right), "{path}");
        }
        assert_eq!(of("ram.nothing").unwrap_err(), "'ram' has no number 'nothing'; it has mapping, mapping.gmd, total");
        assert_eq!(of("recovery.us").unwrap_err(), "'recovery' is null, so there is no 'recovery.us'");
        assert!(of("flash.sum.erases").is_err() && of("ram.sum.x").is_err());
        assert!(of("steps.3.us").unwrap_err().contains("4_Gecko_s_buffer, other"));
        assert!(of("series.max.m").is_err() && of("").is_err() && of("ram").is_err());
    }
}
