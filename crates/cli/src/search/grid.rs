//! The grid of a search: every combination of the values that `--set` lists.

use crate::errors::{Failure, Outcome};
use phelsuma_options::Setting;
use phelsuma_options::count;

/// The most combinations of one search.
pub(super) const COMBINATIONS_MAX: u64 = 4_096;

/// A parameter and what is tried of it.
#[derive(Debug, PartialEq, Eq)]
struct Axis {
    key: String,
    values: Vec<String>,
}

/// Every combination of these settings, each of which lists values; the last one changes fastest.
///
/// # Errors
/// A list that is none; a grid of one combination, or of more than [`COMBINATIONS_MAX`].
pub(super) fn combinations(settings: &[Setting]) -> Outcome<Vec<Vec<Setting>>> {
    let axes = settings.iter().map(axis).collect::<Outcome<Vec<Axis>>>()?;
    let size = axes.iter().fold(1, |size: u64, axis| size.saturating_mul(axis.values.len() as u64));
    if size <= 1 {
        return Err(Failure::Input(
            "there is nothing to choose from; use --set KEY=VALUE,VALUE or --set KEY=FROM..TO, such as \
             --set dac.regions=2..5"
                .to_string(),
        ));
    }
    if size > COMBINATIONS_MAX {
        return Err(too_many(size));
    }
    let mut all = vec![Vec::new()];
    for axis in &axes {
        let with = |chosen: &Vec<Setting>| {
            let chosen = chosen.clone();
            axis.values.iter().map(move |value| {
                let setting = Setting { key: axis.key.clone(), value: value.clone() };
                chosen.iter().cloned().chain([setting]).collect::<Vec<Setting>>()
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

fn too_many(size: u64) -> Failure {
    Failure::Input(format!(
        "a grid of {} combinations; at most {} are tried: use fewer values, or several searches",
        count(size),
        count(COMBINATIONS_MAX)
    ))
}

/// `KEY=VALUE,VALUE,FROM..TO,FROM..TO:STEP`.
fn axis(setting: &Setting) -> Outcome<Axis> {
    let key = &setting.key;
    let wrong = |what: String| Failure::Input(format!("--set {key}: {what}"));
    let mut values: Vec<String> = Vec::new();
    for part in setting.value.split(',').map(str::trim) {
        match part.split_once("..") {
            _ if part.is_empty() => {
                return Err(wrong("a value is missing; use VALUE,VALUE or FROM..TO".to_string()));
            }
            Some((from, rest)) => {
                let (to, step) = rest.split_once(':').unwrap_or((rest, "1"));
                let number = |text: &str| text.trim().parse::<u32>().ok();
                let (Some(from), Some(to), Some(step @ 1..)) = (number(from), number(to), number(step)) else {
                    return Err(wrong(format!(
                        "'{part}' is not a range; use FROM..TO or FROM..TO:STEP in whole numbers"
                    )));
                };
                if from > to {
                    return Err(wrong(format!("'{part}' is an empty range; use {to}..{from}")));
                }
                let size = u64::from((to - from) / step) + 1;
                if size > COMBINATIONS_MAX {
                    return Err(too_many(size));
                }
                values.extend((from..=to).step_by(step as usize).map(|value| value.to_string()));
            }
            None => values.push(part.to_string()),
        }
    }
    let twice = values.iter().enumerate().find(|(n, value)| values.iter().take(*n).any(|earlier| earlier == *value));
    match twice {
        Some((_, twice)) => Err(wrong(format!("the value '{twice}' is given twice; give it once"))),
        None => Ok(Axis { key: key.clone(), values }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use phelsuma_options::setting;

    fn grid(settings: &[&str]) -> Result<Vec<String>, String> {
        let settings: Vec<Setting> = settings.iter().map(|text| setting(text).unwrap()).collect();
        let show = |chosen: Vec<Setting>| {
            chosen.iter().map(|s| format!("{}={}", s.key, s.value)).collect::<Vec<_>>().join(" ")
        };
        match combinations(&settings) {
            Ok(all) => Ok(all.into_iter().map(show).collect()),
            Err(Failure::Input(what)) => Err(what),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_combination_is_there_once_and_the_last_setting_changes_fastest() {
        let all = grid(&["a=1,2", "b=x", "c=8..10, 20"]).unwrap();
        let right = ["1 c=8", "1 c=9", "1 c=10", "1 c=20", "2 c=8", "2 c=9", "2 c=10", "2 c=20"];
        assert_eq!(all, right.map(|text| format!("a={}", text.replacen(' ', " b=x ", 1))));
        assert_eq!(grid(&["a=10..35:10"]).unwrap(), ["a=10", "a=20", "a=30"]);
        assert_eq!(grid(&["a=1..1,5/6"]).unwrap(), ["a=1", "a=5/6"]);
    }

    #[test]
    fn what_is_no_grid_is_said() {
        for (settings, says) in [
            (&[][..], "there is nothing to choose from"),
            (&["a=1", "b=2"], "there is nothing to choose from"),
            (&["a=1,,2"], "--set a: a value is missing"),
            (&["a="], "--set a: a value is missing"),
            (&["a=1,2,1"], "--set a: the value '1' is given twice; give it once"),
            (&["a=1..3,2"], "--set a: the value '2' is given twice; give it once"),
            (&["a=5..2"], "'5..2' is an empty range; use 2..5"),
            (&["a=1..x"], "'1..x' is not a range; use FROM..TO or FROM..TO:STEP in whole numbers"),
            (&["a=1..9:0"], "in whole numbers"),
            (&["a=..9"], "in whole numbers"),
            (&["a=-1..9"], "in whole numbers"),
            (&["a=0..4294967295"], "a grid of 4,294,967,296 combinations; at most 4,096"),
            (&["a=1..100", "b=1..100"], "a grid of 10,000 combinations; at most 4,096"),
        ] {
            let error = grid(settings).unwrap_err();
            assert!(error.contains(says), "{settings:?}: {error}");
        }
        // As many as there may be, and one more.
        assert_eq!(grid(&["a=1..64", "b=1..64"]).unwrap().len(), 4_096);
        assert!(grid(&["a=1..64", "b=0..64"]).is_err());
        // More than can be counted.
        assert!(grid(&["a=0..4095"; 6]).is_err());
    }
}
