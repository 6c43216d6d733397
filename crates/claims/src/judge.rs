//! From results to a verdict.

use crate::document::{Claim, Kind, Operator};
use crate::expression::Expression;
use crate::findings::{Finding, RunOf, Verdict};
use crate::lookup;
use crate::plan::Plan;
use serde_json::Value;
use std::collections::BTreeMap;

/// The results of runs, by name: each with its key if it is a stored one, or why there is none.
pub type Results = BTreeMap<String, Result<(Value, Option<String>), String>>;

/// Measures a claim and says whether it holds.
pub fn judge(claim: &Claim, plan: &Plan, results: &Results) -> Finding {
    let runs = plan.runs_of(&claim.id).into_iter().map(|name| {
        let command = plan.commands.get(name).cloned().flatten().unwrap_or_default();
        let result = results.get(name).and_then(|result| result.as_ref().ok());
        (name.to_string(), RunOf::new(command, result))
    });
    let measure = plan.measures.get(&claim.id).and_then(Option::as_ref);
    let measured = match measure {
        Some(measure) => evaluate(measure, plan, results, &[]),
        None => Err(format!("nothing measures it at the {} scale", plan.scale.name())),
    };
    let (measured, verdict, why) = match measured {
        Ok(measured) if holds(claim, measured) => (Some(measured), Verdict::Holds, None),
        Ok(measured) => {
            let why = plan.reasons.get(&claim.id).map(|reason| {
                let filled = reason.fill(&|expression| evaluate(expression, plan, results, &[]));
                filled.unwrap_or_else(|what| format!("the reason has a number that is not there: {what}"))
            });
            (Some(measured), Verdict::DoesNotHold, why)
        }
        Err(why) => (None, Verdict::CannotBeRun, Some(why)),
    };
    let runs: BTreeMap<String, RunOf> = runs.collect();
    // Formulas are computed at once, so only runs have a file.
    let measuring = plan.runs_measuring(&claim.id);
    let is_formula = measuring.iter().all(|name| runs.get(*name).is_none_or(|run| run.key.is_none()));
    let derived = if is_formula { Kind::Formula } else { Kind::Measured };
    Finding {
        id: claim.id.clone(),
        at: claim.at.clone(),
        says: claim.says.clone(),
        operator: claim.operator,
        value: claim.value,
        most: claim.most,
        tolerance: claim.tolerance,
        unit: claim.unit.clone(),
        measured,
        kind: measured.map(|_| claim.kind.unwrap_or(derived)),
        verdict,
        why,
        runs,
    }
}

fn holds(claim: &Claim, measured: f64) -> bool {
    let (value, off) = (claim.value, claim.value.abs() * claim.tolerance.unwrap_or(0.0));
    match claim.operator {
        Operator::About => (measured - value).abs() <= off,
        #[allow(clippy::float_cmp)] // Equal is for counts.
        Operator::Equal => measured == value,
        Operator::Less => measured < value,
        Operator::AtMost => measured <= value + off,
        Operator::Greater => measured > value,
        Operator::AtLeast => measured >= value - off,
        Operator::Between => (value..=claim.most.unwrap_or(value)).contains(&measured),
    }
}

/// The value of an expression over results; `also` are further names with their values.
pub(crate) fn evaluate(
    expression: &Expression,
    plan: &Plan,
    results: &Results,
    also: &[(&str, &Value)],
) -> Result<f64, String> {
    expression.evaluate(&|name| {
        if let Some(value) = plan.values.get(name) {
            let value = value.as_ref().ok_or_else(|| format!("'{name}' is nothing at this scale"))?;
            return evaluate(value, plan, results, also);
        }
        let (run, path) = name.split_once('.').unwrap_or((name, ""));
        let about = |what: String| format!("{run}: {what}");
        if let Some((_, value)) = also.iter().find(|(known, _)| *known == run) {
            return lookup::number(value, path).map_err(about);
        }
        match results.get(run) {
            Some(Ok((value, _))) => lookup::number(value, path).map_err(about),
            Some(Err(why)) => Err(why.clone()),
            None => Err(about("it has not been run".to_string())),
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::document::ByScale;

    #[test]
    fn numbers_are_compared_as_the_paper_has_them() {
        let claim = |operator, value| Claim {
            id: "a".into(),
            at: String::new(),
            says: String::new(),
            kind: None,
            measure: ByScale::Same("1".into()),
            operator,
            value,
            most: Some(3.0),
            tolerance: Some(0.1),
            unit: String::new(),
            note: String::new(),
            why_not: None,
        };
        for (operator, in_it, beside) in [
            (Operator::About, [1.81, 2.19], [1.79, 2.21]),
            (Operator::Equal, [2.0, 2.0], [1.99, 2.01]),
            (Operator::Less, [1.99, -5.0], [2.0, 2.01]),
            (Operator::AtMost, [2.19, -5.0], [2.21, 3.0]),
            (Operator::Greater, [2.01, 5.0], [2.0, 1.99]),
            (Operator::AtLeast, [1.81, 5.0], [1.79, 0.0]),
            (Operator::Between, [2.0, 3.0], [1.99, 3.01]),
        ] {
            let claim = claim(operator, 2.0);
            assert!(in_it.iter().all(|x| holds(&claim, *x)), "{operator:?}");
            assert!(!beside.iter().any(|x| holds(&claim, *x)), "{operator:?}");
        }
        assert!(holds(&claim(Operator::About, -2.0), -2.1) && holds(&claim(Operator::AtLeast, -2.0), -2.1));
        for (operator, beside) in [(Operator::AtMost, 2.01), (Operator::AtLeast, 1.99)] {
            let exact = Claim { tolerance: None, ..claim(operator, 2.0) };
            assert!(holds(&exact, 2.0) && !holds(&exact, beside), "{operator:?}");
        }
    }
}
