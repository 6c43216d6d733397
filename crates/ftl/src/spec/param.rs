//! A parameter: its name, what it can be, its default, what it means, and how names in results show it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The most numbers that the parameters of one part may have together: a list has as many as it has items, any other
/// parameter one.
pub const PARAM_NUMBERS_MAX: usize = 12;

/// What a parameter can be. Its value is a number in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// One of these words; the number is the word's place among them.
    Words(&'static [&'static str]),
    /// A whole number from `least` to `most`.
    Number {
        /// The least.
        least: u32,
        /// The most; [`u32::MAX`] where there is no limit.
        most: u32,
        /// 0 is possible as well and stands for the default, whatever the least is.
        or_zero: bool,
    },
    /// Up to `items` whole numbers with a slash between them; the last one given holds for all that follow.
    List {
        /// How many.
        items: usize,
        /// The least that each can be.
        least: u32,
        /// The most that each can be.
        most: u32,
    },
}

/// When the name of a part shows a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Always.
    Always,
    /// Where it is not the default.
    Changed,
    /// Where any of its part's parameters is not the default.
    Together,
}

/// A parameter of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) domain: Domain,
    pub(crate) default: u32,
    pub(crate) shown: Shown,
    unit: &'static str,
    default_means: &'static str,
    said: &'static str,
    no_number: &'static str,
    lacks: &'static str,
    label: &'static str,
}

impl Param {
    /// A whole number from `least` to `most`, called FAMILY.NAME or PART.NAME.
    pub const fn number(name: &'static str, least: u32, most: u32, default: u32, about: &'static str) -> Self {
        Self::new(name, Domain::Number { least, most, or_zero: false }, default, about)
    }

    /// A whole number from `least` to `most`, or 0, which is the default and stands for what `means` says.
    pub const fn number_or_default(
        name: &'static str,
        least: u32,
        most: u32,
        means: &'static str,
        about: &'static str,
    ) -> Self {
        Self::new(name, Domain::Number { least, most, or_zero: true }, 0, about).default_means(means)
    }

    /// One of these words, the first of which is the default.
    pub const fn words(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Domain::Words(words), 0, about)
    }

    /// Up to `items` whole numbers from `least` to `most`, all of them the default if none is given.
    pub const fn list(
        name: &'static str,
        items: usize,
        least: u32,
        most: u32,
        default: u32,
        about: &'static str,
    ) -> Self {
        Self::new(name, Domain::List { items, least, most }, default, about)
    }

    const fn new(name: &'static str, domain: Domain, default: u32, about: &'static str) -> Self {
        let (shown, unit, default_means, said, no_number, lacks, label) = (Shown::Changed, "", "", "", "", "", "");
        Self { name, about, domain, default, shown, unit, default_means, said, no_number, lacks, label }
    }

    /// What is counted, in the plural: "percent", "milliseconds".
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// What the default stands for, where the number does not say that.
    pub const fn default_means(self, default_means: &'static str) -> Self {
        Self { default_means, ..self }
    }

    /// The default is another word than the first, and stands for this.
    pub(crate) const fn default_word(self, default: u32, default_means: &'static str) -> Self {
        Self { default, default_means, ..self }
    }

    /// Names in results show it whatever its value is.
    pub const fn always_shown(self) -> Self {
        Self { shown: Shown::Always, ..self }
    }

    /// Names in results show it where any parameter of its part is not the default.
    pub const fn shown_together(self) -> Self {
        Self { shown: Shown::Together, ..self }
    }

    /// What names in results call it, where that is not what its name ends with.
    pub const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    /// What parts do that have it: "draws blocks".
    pub const fn lacks(self, lacks: &'static str) -> Self {
        Self { lacks, ..self }
    }

    /// What would be right, where a value is not; `{least}` and `{most}` stand for numbers.
    pub(crate) const fn said(self, said: &'static str) -> Self {
        Self { said, ..self }
    }

    /// What would be right, where a value is no number that can be read.
    pub(crate) const fn no_number(self, no_number: &'static str) -> Self {
        Self { no_number, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How many numbers its value is.
    pub(crate) const fn width(&self) -> usize {
        match self.domain {
            Domain::List { items, .. } => items,
            _ => 1,
        }
    }

    /// Whether a number is one that it can be.
    pub(crate) fn takes(&self, number: u32) -> bool {
        match self.domain {
            Domain::Words(words) => (number as usize) < words.len(),
            Domain::Number { least, most, or_zero } => (least..=most).contains(&number) || or_zero && number == 0,
            Domain::List { least, most, .. } => (least..=most).contains(&number),
        }
    }

    /// Reads a value into its numbers; whether it is one.
    pub(crate) fn read(&self, text: &str, numbers: &mut [u32]) -> bool {
        let one = |text: &str| match self.domain {
            Domain::Words(words) => words.iter().position(|word| *word == text).map(|place| place as u32),
            _ => text.parse().ok().filter(|number| self.takes(*number)),
        };
        let mut given = match self.domain {
            Domain::List { .. } => text.split('/').map(one).collect::<Vec<_>>(),
            _ => alloc::vec![one(text)],
        }
        .into_iter();
        if given.len() > numbers.len() || given.clone().any(|number| number.is_none()) {
            return false;
        }
        let mut last = self.default;
        for number in numbers {
            last = given.next().flatten().unwrap_or(last);
            *number = last;
        }
        true
    }

    /// The value that these numbers are.
    pub(crate) fn written(&self, numbers: &[u32]) -> String {
        match self.domain {
            Domain::Words(words) => words.get(numbers[0] as usize).copied().unwrap_or_default().to_string(),
            Domain::Number { .. } => numbers[0].to_string(),
            Domain::List { .. } => {
                let mut used = numbers;
                while let [before @ .., last] = used
                    && before.last() == Some(last)
                {
                    used = before;
                }
                used.iter().map(u32::to_string).collect::<Vec<_>>().join("/")
            }
        }
    }

    /// Whether these numbers are the default.
    pub(crate) fn is_default(&self, numbers: &[u32]) -> bool {
        numbers.iter().all(|number| *number == self.default)
    }

    /// As names in results have it: `looks=4`.
    pub(crate) fn shown(&self, numbers: &[u32]) -> String {
        let last = self.name.rsplit('.').next().unwrap_or(self.name);
        let label = if self.label.is_empty() { last } else { self.label };
        format!("{label}={}", self.written(numbers))
    }

    /// What would be right instead of this value.
    pub(crate) fn right_for(&self, value: &str) -> String {
        let unread = !self.no_number.is_empty() && value.parse::<u32>().is_err();
        if unread { self.no_number.to_string() } else { self.right() }
    }

    /// What would be right, where a value is not.
    fn right(&self) -> String {
        let of = |numbers: &str| match self.unit {
            "" => numbers.to_string(),
            unit => format!("{numbers} of {unit}"),
        };
        match self.domain {
            _ if !self.said.is_empty() => self.fill(self.said),
            Domain::Words(words) => format!("it can be {}", either(words, "or")),
            Domain::Number { or_zero: false, .. } => {
                self.fill(&format!("it can be {} from {{least}} to {{most}}", of("a whole number")))
            }
            Domain::Number { most: u32::MAX, .. } => {
                let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
                self.fill(&format!("it can be 0 for the default, or {{least}}{unit} or more"))
            }
            Domain::Number { .. } => self.fill("it can be 0 for the default, or {least} to {most}"),
            Domain::List { items, .. } => self.fill(&format!(
                "it can be up to {items} {} from {{least}} to {{most}}, with / between them",
                of("whole numbers")
            )),
        }
    }

    fn fill(&self, text: &str) -> String {
        let (Domain::Number { least, most, .. } | Domain::List { least, most, .. }) = self.domain else {
            return text.to_string();
        };
        text.replace("{least}", &least.to_string()).replace("{most}", &most.to_string())
    }

    /// What it can be, as lists of parameters have it.
    pub(crate) fn values(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let values = match self.domain {
            Domain::Words(words) if self.default_means.is_empty() => return words.join(" | "),
            Domain::Words(words) => words.join(" | "),
            Domain::Number { or_zero: false, .. } => self.fill("{least} to {most}") + &unit,
            Domain::Number { most: u32::MAX, .. } => self.fill("0, or {least}") + &unit + " and more",
            Domain::Number { .. } => self.fill("0, or {least} to {most}") + &unit,
            Domain::List { items, .. } => {
                self.fill(&format!("up to {items} of {{least}} to {{most}}{unit}, with / between them"))
            }
        };
        let default = self.written(&alloc::vec![self.default; self.width()]);
        match self.default_means {
            "" => format!("{values} (default {default})"),
            means => format!("{values} ({default}: {means})"),
        }
    }

    /// What is said where no part has it that is there: `owners` are those that would, of this family.
    pub(crate) fn only(&self, family: &str, owners: &[&str]) -> String {
        let (parts, has) = if owners.len() == 1 { ("part", "has it") } else { ("parts", "have it") };
        let does = if self.lacks.is_empty() { has } else { self.lacks };
        format!("only the {family} {parts} {} {does}", either(owners, "and"))
    }
}

/// Words in a row, the last one behind `last`.
pub(crate) fn either(words: &[&str], last: &str) -> String {
    match words {
        [before @ .., end] if !before.is_empty() => format!("{} {last} {end}", before.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Param = Param::list("mine.levels", 4, 1, 100, 50, "levels").unit("percent");

    #[test]
    fn the_last_number_of_a_list_holds_for_all_that_follow() {
        let mut numbers = [0; 4];
        for (text, read, written) in
            [("10/20", [10, 20, 20, 20], "10/20"), ("7", [7; 4], "7"), ("7/7/7/9", [7, 7, 7, 9], "7/7/7/9")]
        {
            assert!(LEVELS.read(text, &mut numbers));
            assert_eq!((numbers, LEVELS.written(&numbers).as_str()), (read, written));
        }
        for wrong in ["", "0", "101", "1/2/3/4/5", "10/", "x"] {
            assert!(!LEVELS.read(wrong, &mut numbers), "{wrong}");
        }
        assert_eq!(LEVELS.right(), "it can be up to 4 whole numbers of percent from 1 to 100, with / between them");
        assert_eq!(LEVELS.values(), "up to 4 of 1 to 100 percent, with / between them (default 50)");
    }

    #[test]
    fn texts_follow_from_what_a_parameter_can_be() {
        let number = Param::number("mine.depth", 1, 9, 3, "how deep").unit("pages");
        assert_eq!(
            (number.right().as_str(), number.values().as_str()),
            ("it can be a whole number of pages from 1 to 9", "1 to 9 pages (default 3)")
        );
        let sample = Param::number_or_default("mine.sample", 16, u32::MAX, "a 16th", "sample").unit("blocks");
        assert_eq!(sample.right(), "it can be 0 for the default, or 16 blocks or more");
        assert_eq!(sample.values(), "0, or 16 blocks and more (0: a 16th)");
        let switch = Param::words("mine.wear", &["on", "off"], "wear");
        assert_eq!((switch.right().as_str(), switch.values().as_str()), ("it can be on or off", "on | off"));
        assert_eq!(switch.only("victim", &["mine"]), "only the victim part mine has it");
        assert_eq!(switch.lacks("look").only("victim", &["a", "b", "c"]), "only the victim parts a, b and c look");
    }
}
