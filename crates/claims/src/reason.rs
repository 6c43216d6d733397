//! Why a claim does not hold: prose in which numbers come out of results, as `{{EXPRESSION; FORMAT}}`. A format is how
//! many digits stand behind the point (`1`), or `%` with them (`%`, `%1`) for a share in percent.

use crate::expression::{Expression, spread};
use std::collections::BTreeMap;

/// Digits behind the point at the most.
const DIGITS_MAX: usize = 9;

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Number(Expression, Format),
}

#[derive(Clone, Copy, Debug)]
struct Format {
    percent: bool,
    digits: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Reason(Vec<Part>);

impl Reason {
    /// Reads a reason.
    ///
    /// # Errors
    /// The reason's error.
    pub(crate) fn parse(text: &str, lists: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once("{{") {
            let (number, after) = behind.split_once("}}").ok_or("'}}' is missing")?;
            let (expression, format) =
                number.rsplit_once(';').ok_or_else(|| format!("'{number}': a format is missing"))?;
            parts.push(Part::Text(before.to_string()));
            let expression = spread(expression.trim(), lists).and_then(|text| Expression::parse(&text))?;
            parts.push(Part::Number(expression, Format::parse(format.trim())?));
            rest = after;
        }
        parts.push(Part::Text(rest.to_string()));
        Ok(Self(parts))
    }

    /// What its numbers come of.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.0.iter().filter_map(|part| if let Part::Number(expression, _) = part { Some(expression) } else { None })
    }

    /// The prose with its numbers, given the value of an expression.
    ///
    /// # Errors
    /// What `value_of` says.
    pub(crate) fn fill(&self, value_of: &dyn Fn(&Expression) -> Result<f64, String>) -> Result<String, String> {
        let text = |part: &Part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Number(expression, format) => value_of(expression).map(|value| format.show(value)),
        };
        self.0.iter().map(text).collect()
    }
}

impl Format {
    fn parse(text: &str) -> Result<Self, String> {
        let (percent, digits) = text.strip_prefix('%').map_or((false, text), |digits| (true, digits));
        let digits = if digits.is_empty() && percent { Ok(0) } else { digits.parse() };
        match digits {
            Ok(digits) if digits <= DIGITS_MAX => Ok(Self { percent, digits }),
            _ => Err(format!("'{text}': 0 to {DIGITS_MAX} digits, or % and digits, would be right")),
        }
    }

    fn show(self, value: f64) -> String {
        let value = if self.percent { 100.0 * value } else { value };
        let plain = format!("{:.*}", self.digits, value.abs());
        let (whole, behind) = plain.split_once('.').map_or((plain.as_str(), None), |(a, b)| (a, Some(b)));
        // Nothing is not less than nothing.
        let is_negative = value < 0.0 && plain.contains(|c| ('1'..='9').contains(&c));
        let mut text = String::from(if is_negative { "-" } else { "" });
        for (n, digit) in whole.chars().enumerate() {
            if n > 0 && (whole.len() - n).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        if let Some(behind) = behind {
            text.push('.');
            text.push_str(behind);
        }
        if self.percent { text + " %" } else { text }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        let lists = BTreeMap::from([("w".to_string(), vec!["a".to_string(), "b".to_string()])]);
        let of = |name: &str| if name == "r_a.x" { Ok(1_234_567.25) } else { Ok(-0.125) };
        Reason::parse(text, &lists)?.fill(&|expression| expression.evaluate(&of))
    }

    #[test]
    fn numbers_come_out_of_results() {
        for (text, right) in [
            ("no number", "no number"),
            ("{{r_a.x; 0}} and {{ r_a.x;1 }}.", "1,234,567 and 1,234,567.2."),
            ("{{r_b.x; %1}}, {{-r_b.x; %}}", "-12.5 %, 12 %"),
            ("{{sum(w | r_{w}.x); 3}}", "1,234,567.125"),
            ("{{r_b.x / 1000; 2}}", "0.00"),
        ] {
            assert_eq!(filled(text).unwrap(), right);
        }
        for (text, says) in [
            ("{{r_a.x; 1", "'}}' is missing"),
            ("{{r_a.x}}", "a format is missing"),
            ("{{r_a.x; x}}", "digits"),
            ("{{r_a.x; 10}}", "digits"),
            ("{{r_a.x +; 1}}", "ends too early"),
            ("{{1 / 0; 1}}", "no number"),
        ] {
            let error = filled(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
