//! Arithmetic over the numbers in results: `1 - gecko.flash.validity.programs / pvb.flash.validity.programs`.
//!
//! Numbers, names, `+ - * / ^`, parentheses and a few functions. A name is a path into a result ([`crate::lookup`]), or
//! a value of the document. `mean(w | a_{w}.x / b_{w}.x)` is a call with an argument for each entry of the list `w`
//! ([`spread`]). There is nothing else on purpose: what needs more belongs into a result.

use std::collections::{BTreeMap, BTreeSet};

/// The most characters that an expression may come to.
const SPREAD_MAX: usize = 1 << 16;

/// How deep parentheses may stand in each other.
const DEPTH_MAX: u32 = 32;

/// A parsed expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression(Node);

#[derive(Clone, PartialEq, Debug)]
enum Node {
    Number(f64),
    Name(String),
    Negated(Box<Node>),
    Pair(char, Box<Node>, Box<Node>),
    Call(&'static Function, Vec<Node>),
}

/// A function's name, and its value where it takes so many numbers.
type Function = (&'static str, fn(&[f64]) -> Option<f64>);

const FUNCTIONS: &[Function] = &[
    ("min", |x| x.iter().copied().reduce(f64::min)),
    ("max", |x| x.iter().copied().reduce(f64::max)),
    ("sum", |x| Some(x.iter().sum())),
    ("mean", |x| Some(x.iter().sum::<f64>() / x.len() as f64)),
    ("gmean", geometric_mean),
    // Of those that are a number: a share of nothing (0 / 0) is left out.
    ("mean_defined", |x| defined(x, |x| Some(x.iter().sum::<f64>() / x.len() as f64))),
    ("gmean_defined", |x| defined(x, geometric_mean)),
    ("abs", |x| one(x).map(f64::abs)),
    ("ceil", |x| one(x).map(f64::ceil)),
    ("log2", |x| one(x).map(f64::log2)),
];

fn geometric_mean(x: &[f64]) -> Option<f64> {
    Some((x.iter().map(|x| x.ln()).sum::<f64>() / x.len() as f64).exp())
}

fn defined(x: &[f64], mean: fn(&[f64]) -> Option<f64>) -> Option<f64> {
    let numbers: Vec<f64> = x.iter().copied().filter(|x| !x.is_nan()).collect();
    mean(&numbers)
}

fn one(x: &[f64]) -> Option<f64> {
    if let [x] = x { Some(*x) } else { None }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// The expression's error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = Rest { text, at: 0 };
        let node = rest.sum(0).map_err(|what| format!("'{text}': {what}"))?;
        match rest.peek() {
            None => Ok(Self(node)),
            Some(c) => Err(format!("'{text}': '{c}' is not expected at character {}", rest.at + 1)),
        }
    }

    /// Every name in it.
    pub fn names(&self) -> BTreeSet<&str> {
        fn gather<'n>(node: &'n Node, names: &mut BTreeSet<&'n str>) {
            match node {
                Node::Number(_) => {}
                Node::Name(name) => _ = names.insert(name),
                Node::Negated(inner) => gather(inner, names),
                Node::Pair(_, a, b) => [a, b].iter().for_each(|n| gather(n, names)),
                Node::Call(_, arguments) => arguments.iter().for_each(|n| gather(n, names)),
            }
        }
        let mut names = BTreeSet::new();
        gather(&self.0, &mut names);
        names
    }

    /// Its value, given that of each name.
    ///
    /// # Errors
    /// That of `value_of`, and a result that is no number, such as a quotient by zero.
    pub fn evaluate(&self, value_of: &dyn Fn(&str) -> Result<f64, String>) -> Result<f64, String> {
        fn of(node: &Node, value_of: &dyn Fn(&str) -> Result<f64, String>) -> Result<f64, String> {
            Ok(match node {
                Node::Number(number) => *number,
                Node::Name(name) => value_of(name)?,
                Node::Negated(inner) => -of(inner, value_of)?,
                Node::Pair(operator, a, b) => {
                    let (a, b) = (of(a, value_of)?, of(b, value_of)?);
                    match operator {
                        '+' => a + b,
                        '-' => a - b,
                        '*' => a * b,
                        '/' => a / b,
                        _ => a.powf(b),
                    }
                }
                Node::Call((name, function), arguments) => {
                    let values: Result<Vec<f64>, String> = arguments.iter().map(|a| of(a, value_of)).collect();
                    function(&values?).ok_or_else(|| format!("{name} does not take so many numbers"))?
                }
            })
        }
        let value = of(&self.0, value_of)?;
        if value.is_finite() { Ok(value) } else { Err(format!("its value is no number ({value})")) }
    }
}

/// An expression with its arguments over lists in full: `mean(w | f_{w}.x)` is `mean(f_a.x, f_b.x)` where `w` is the
/// list of `a` and `b`. Such calls may stand in each other.
///
/// # Errors
/// A list that is not there or is empty, a parenthesis that is not closed, more than 64 KiB.
pub(crate) fn spread(text: &str, lists: &BTreeMap<String, Vec<String>>) -> Result<String, String> {
    let Some(bar) = text.find('|') else { return Ok(text.to_string()) };
    let (before, body) = (&text[..bar], &text[bar + 1..]);
    let open = before.rfind('(').ok_or_else(|| format!("'{text}': there is no '(' in front of '|'"))?;
    let word = before[open + 1..].trim();
    let list = lists.get(word).filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| format!("'{text}': no list is called '{word}'"))?;
    let mut depth = 1_u32;
    let close = body.char_indices().find(|(_, c)| {
        depth = depth + u32::from(*c == '(') - u32::from(*c == ')');
        depth == 0
    });
    let close = close.ok_or_else(|| format!("'{text}': a ')' is missing"))?.0;
    let each: Vec<String> = list.iter().map(|entry| body[..close].replace(&format!("{{{word}}}"), entry)).collect();
    let whole = format!("{}{}{}", &before[..=open], each.join(","), &body[close..]);
    if whole.len() > SPREAD_MAX {
        return Err(format!("'{text}': it is too long with all that is in its lists"));
    }
    spread(&whole, lists)
}

struct Rest<'t> {
    text: &'t str,
    at: usize,
}

impl Rest<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = self.text.get(self.at..)?;
        self.at += rest.len() - rest.trim_start().len();
        rest.trim_start().chars().next()
    }

    fn take(&mut self, any_of: &str) -> Option<char> {
        let c = self.peek().filter(|c| any_of.contains(*c))?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// As many characters as `belongs` takes, each given with the one in front of it.
    fn word(&mut self, belongs: impl Fn(char, char) -> bool) -> &str {
        let begin = self.at;
        let mut last = ' ';
        while let Some(c) = self.text.get(self.at..).and_then(|rest| rest.chars().next())
            && belongs(last, c)
        {
            self.at += c.len_utf8();
            last = c;
        }
        &self.text[begin..self.at]
    }

    fn sum(&mut self, depth: u32) -> Result<Node, String> {
        let mut node = self.product(depth)?;
        while let Some(operator) = self.take("+-") {
            node = Node::Pair(operator, Box::new(node), Box::new(self.product(depth)?));
        }
        Ok(node)
    }

    fn product(&mut self, depth: u32) -> Result<Node, String> {
        let mut node = self.power(depth)?;
        while let Some(operator) = self.take("*/") {
            node = Node::Pair(operator, Box::new(node), Box::new(self.power(depth)?));
        }
        Ok(node)
    }

    /// `a ^ b ^ c` is refused rather than guessed at.
    fn power(&mut self, depth: u32) -> Result<Node, String> {
        let node = self.atom(depth)?;
        match self.take("^") {
            Some(operator) => Ok(Node::Pair(operator, Box::new(node), Box::new(self.atom(depth)?))),
            None => Ok(node),
        }
    }

    fn atom(&mut self, depth: u32) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} parentheses in each other"));
        }
        if self.take("-").is_some() {
            return Ok(Node::Negated(Box::new(self.atom(depth + 1)?)));
        }
        if self.take("(").is_some() {
            let node = self.sum(depth + 1)?;
            return self.take(")").map(|_| node).ok_or_else(|| "a ')' is missing".into());
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {
                let exponent = |last: char, c: char| matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
                let word = self.word(|last, c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || exponent(last, c));
                word.parse().map(Node::Number).map_err(|_| format!("'{word}' is no number"))
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                let name = self.word(|_, c| c.is_alphanumeric() || matches!(c, '_' | '.')).to_string();
                if self.take("(").is_none() {
                    return Ok(Node::Name(name));
                }
                let function = FUNCTIONS.iter().find(|(known, _)| *known == name).ok_or_else(|| {
                    let known: Vec<&str> = FUNCTIONS.iter().map(|(known, _)| *known).collect();
                    format!("unknown function '{name}'; known are {}", known.join(", "))
                })?;
                let mut arguments = vec![self.sum(depth + 1)?];
                while self.take(",").is_some() {
                    arguments.push(self.sum(depth + 1)?);
                }
                self.take(")").map(|_| Node::Call(function, arguments)).ok_or_else(|| "a ')' is missing".into())
            }
            Some(c) => Err(format!("'{c}' is not expected at character {}", self.at + 1)),
            None => Err("it ends too early".into()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let of = |name: &str| match name {
            "a.b" => Ok(6.0),
            "c" => Ok(2.0),
            _ => Err(format!("no {name}")),
        };
        Expression::parse(text)?.evaluate(&of)
    }

    #[test]
    fn arithmetic_is_what_it_is_elsewhere() {
        for (text, right) in [
            ("1 - a.b / c", -2.0),
            ("2 * (c + 1)^2", 18.0),
            ("-c^2 - -1", 5.0),
            ("10 - 3 - 2", 5.0),
            ("1.5e-3 * 1e+3", 1.5),
            ("gmean(c, 4, 1)", 2.0),
            ("gmean(c, 0)", 0.0),
            ("mean_defined(c, 0 / 0, 4) + gmean_defined(0 / 0, 1, 4)", 5.0),
            ("min(c, a.b, 7) + max(1, log2(8)) + ceil(0.2) + abs(-1)", 7.0),
        ] {
            assert!((value(text).unwrap() - right).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_nothing_panics() {
        let deep = "(".repeat(100);
        for (text, says) in [
            ("", "ends too early"),
            ("1 +", "ends too early"),
            ("(1", "')' is missing"),
            ("1 2", "not expected at character 3"),
            ("2^3^4", "not expected"),
            ("1..2", "no number"),
            ("sin(1)", "known are min"),
            ("abs(1, 2)", "so many numbers"),
            ("d", "no d"),
            ("1 / 0", "no number"),
            ("mean(1, 0 / 0)", "no number"),
            ("mean_defined(0 / 0)", "no number"),
            ("mean_defined(1 / 0)", "no number"),
            ("gmean(-1, 2)", "no number"),
            ("µ§", "not expected"),
            (&deep, "parentheses"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn arguments_over_a_list_are_one_for_each_of_its_entries() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let lists = BTreeMap::from([("w".into(), list(&["a", "b"])), ("n".into(), list(&["1", "2"]))]);
        let whole = |text: &str| spread(text, &lists);
        assert_eq!(whole("1 + mean(w | (r_{w}.x)) - max(n|{n})").unwrap(), "1 + mean( (r_a.x), (r_b.x)) - max(1,2)");
        assert_eq!(
            whole("max(n | sum(w | r_{w}_{n}.x))").unwrap().replace(' ', ""),
            "max(sum(r_a_1.x,r_b_1.x),sum(r_a_2.x,r_b_2.x))"
        );
        assert_eq!(whole("a.b + c").unwrap(), "a.b + c");
        for (text, says) in [("w | 1", "no '('"), ("mean(v | 1)", "no list"), ("mean(w | (1)", "')' is missing")] {
            assert!(whole(text).unwrap_err().contains(says), "{text}");
        }
        assert!((value("mean(1, 2, 6) + sum(1, 2)").unwrap() - 6.0).abs() < 1e-12);
    }

    #[test]
    fn names_are_found_wherever_they_are() {
        let expression = Expression::parse("max(a.b, -(c / 2)) + a.b").unwrap();
        assert_eq!(expression.names().into_iter().collect::<Vec<_>>(), ["a.b", "c"]);
    }
}
