//! A parameter: its possible values, and the texts that follow from that.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The most numbers that the parameters of one part may have together: a list has as many as it has items, any other
/// parameter one.
pub const PARAM_NUMBERS_MAX: usize = 12;

/// A part or parameter, as it is listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// Its possible values, with its default where that is not the first word.
    pub values: String,
    /// Its possible values.
    pub range: String,
    /// Its default, and the meaning of that.
    pub default: String,
    /// The parts that have it, each as it is set; none where all of its family do.
    pub of: Vec<String>,
    /// Where its values are words: each with its meaning, and the parts that it needs, as they are set.
    pub words: Vec<(&'static str, &'static str, Vec<String>)>,
}

/// The possible values of a parameter. Its value is a number in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Domain {
    /// One of these words; the number is the word's place.
    Words(&'static [&'static str]),
    /// One of these numbers.
    OneOf(&'static [u32]),
    /// From the first to the second, or 0 as well where that stands for the default.
    Number(u32, u32, bool),
    /// Up to so many numbers from the second to the third, with a slash between them.
    List(usize, u32, u32),
}

/// When the name of a part shows a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shown {
    /// Always, before any other.
    First,
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
    pub(crate) default: u32,
    shown: Shown,
    domain: Domain,
    unit: &'static str,
    default_means: &'static str,
    said: &'static str,
    no_number: &'static str,
    does: &'static str,
    label: &'static str,
    meanings: &'static [&'static str],
    /// Set where images are older than it: the reason that is given where the parts that have it are missing.
    pub(super) younger: Option<&'static str>,
}

/// Methods by which a parameter states one thing more.
macro_rules! also {
    ($($(#[$doc:meta])* $vis:vis $what:ident: $type:ty;)*) => {
        $($(#[$doc])* $vis const fn $what(self, $what: $type) -> Self {
            Self { $what, ..self }
        })*
    };
}

impl Param {
    /// A whole number from `least` to `most`. Names are PART.NAME or FAMILY.NAME.
    pub const fn number(name: &'static str, least: u32, most: u32, default: u32, about: &'static str) -> Self {
        Self::new(name, Domain::Number(least, most, false), default, about)
    }

    /// A whole number from `least` to `most`, or 0, which is the default and stands for what `means` says.
    pub const fn number_or_default(
        name: &'static str,
        least: u32,
        most: u32,
        means: &'static str,
        about: &'static str,
    ) -> Self {
        Self::new(name, Domain::Number(least, most, true), 0, about).default_means(means)
    }

    /// One of these words, the first of which is the default.
    pub const fn words(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::new(name, Domain::Words(words), 0, about)
    }

    /// One of these words, each of which means something.
    pub(crate) const fn each_of(
        name: &'static str,
        (words, meanings): (&'static [&'static str], &'static [&'static str]),
        about: &'static str,
    ) -> Self {
        Self { meanings, ..Self::words(name, words, about) }
    }

    /// One of these numbers.
    pub(crate) const fn one_of(name: &'static str, all: &'static [u32], default: u32, about: &'static str) -> Self {
        Self::new(name, Domain::OneOf(all), default, about)
    }

    /// Up to `items` whole numbers with a slash between them; the last one given holds for all that follow.
    pub const fn list(
        name: &'static str,
        items: usize,
        least: u32,
        most: u32,
        default: u32,
        about: &'static str,
    ) -> Self {
        Self::new(name, Domain::List(items, least, most), default, about)
    }

    const fn new(name: &'static str, domain: Domain, default: u32, about: &'static str) -> Self {
        Self {
            name,
            about,
            domain,
            default,
            shown: Shown::Changed,
            unit: "",
            default_means: "",
            said: "",
            no_number: "",
            does: "",
            label: "",
            meanings: &[],
            younger: None,
        }
    }

    also! {
        /// The unit, in the plural: "percent", "milliseconds".
        pub unit: &'static str;
        /// The meaning of the default, where the number does not say that.
        pub default_means: &'static str;
        /// What parts do that have it: "draws blocks".
        pub does: &'static str;
        /// Its name in the names of results, where that is not how its own name ends. Or all that they have for it,
        /// with `{}` for its value.
        pub label: &'static str;
        /// What would be right, where a value is not; `{least}` and `{most}` stand for numbers.
        pub(crate) said: &'static str;
        /// What would be right, where a value is no number that can be read.
        pub(crate) no_number: &'static str;
    }

    /// Another default than the first word.
    pub(crate) const fn default_is(self, default: u32) -> Self {
        Self { default, ..self }
    }

    /// Names in results show it with any value.
    pub const fn always_shown(self) -> Self {
        Self { shown: Shown::Always, ..self }
    }

    /// As that, and before any other of its part.
    pub(crate) const fn shown_first(self) -> Self {
        Self { shown: Shown::First, ..self }
    }

    /// Names in results show it where any parameter of its part is not the default.
    pub const fn shown_together(self) -> Self {
        Self { shown: Shown::Together, ..self }
    }

    /// Images are older than it, and leave it out where it is the default. Without the parts that have it it has its
    /// default, and `only` is the error of any other value.
    pub(crate) const fn younger(self, only: &'static str) -> Self {
        Self { younger: Some(only), ..self }
    }

    /// How many numbers its value is.
    pub(crate) const fn width(&self) -> usize {
        if let Domain::List(items, ..) = self.domain { items } else { 1 }
    }

    /// Whether a number is one that it can be.
    pub(crate) fn takes(&self, number: u32) -> bool {
        match self.domain {
            Domain::Words(words) => (number as usize) < words.len(),
            Domain::OneOf(all) => all.contains(&number),
            Domain::Number(least, most, or_0) => (least..=most).contains(&number) || or_0 && number == 0,
            Domain::List(_, least, most) => (least..=most).contains(&number),
        }
    }

    /// Reads a value into its numbers, or says what would be right.
    pub(crate) fn read(&self, text: &str, numbers: &mut [u32]) -> Result<(), String> {
        let one = |text: &str| match self.domain {
            Domain::Words(words) => words.iter().position(|word| *word == text).map(|place| place as u32),
            _ => text.parse().ok().filter(|number| self.takes(*number)),
        };
        let parts = if let Domain::List(..) = self.domain { usize::MAX } else { 1 };
        let given = text.splitn(parts, '/').map(one).collect::<Option<Vec<u32>>>().unwrap_or_default();
        let Some(last) = given.last().filter(|_| given.len() <= numbers.len()) else {
            let unread = !self.no_number.is_empty() && text.parse::<u32>().is_err();
            return Err(if unread { self.no_number.to_string() } else { self.right() });
        };
        numbers.fill(*last);
        numbers[..given.len()].copy_from_slice(&given);
        Ok(())
    }

    /// The value that these numbers are.
    pub(crate) fn written(&self, mut numbers: &[u32]) -> String {
        while let [before @ .., last] = numbers
            && before.last() == Some(last)
        {
            numbers = before;
        }
        let written = |number: &u32| match self.domain {
            Domain::Words(words) => words.get(*number as usize).copied().unwrap_or_default().to_string(),
            _ => number.to_string(),
        };
        numbers.iter().map(written).collect::<Vec<_>>().join("/")
    }

    /// Whether these numbers are the default.
    pub(super) fn is_default(&self, numbers: &[u32]) -> bool {
        numbers.iter().all(|number| *number == self.default)
    }

    /// Whether names in results show it before others.
    pub(super) fn is_shown_first(&self) -> bool {
        self.shown == Shown::First
    }

    /// As names in results have it, `looks=4`; none where they do not. `changed`: some parameter of its part is.
    pub(crate) fn shown(&self, numbers: &[u32], changed: bool) -> Option<String> {
        let is_shown = match self.shown {
            Shown::First | Shown::Always => true,
            Shown::Changed => !self.is_default(numbers),
            Shown::Together => changed,
        };
        let label = if self.label.is_empty() { self.name.rsplit('.').next()? } else { self.label };
        let label = if label.contains('{') { label } else { &format!("{label}={{}}") };
        is_shown.then(|| label.replace("{}", &self.written(numbers)))
    }

    /// What would be right, where a value is not.
    fn right(&self) -> String {
        let (of, unit) = self.units();
        let right = match self.domain {
            _ if !self.said.is_empty() => self.said.to_string(),
            Domain::Words(words) => format!("it can be {}", either(words, "or")),
            Domain::OneOf(all) => {
                let all: Vec<String> = all.iter().map(u32::to_string).collect();
                format!("it can be {}", either(&all.iter().map(String::as_str).collect::<Vec<_>>(), "or"))
            }
            Domain::Number(.., false) => format!("it can be a whole number{of} from {{least}} to {{most}}"),
            Domain::Number(_, u32::MAX, _) => format!("it can be 0 for the default, or {{least}}{unit} or more"),
            Domain::Number(..) => "it can be 0 for the default, or {least} to {most}".to_string(),
            Domain::List(items, ..) => {
                format!("it can be up to {items} whole numbers{of} from {{least}} to {{most}}, with / between them")
            }
        };
        self.filled(&right)
    }

    /// Its possible values, as lists of parameters have them.
    pub(crate) fn values(&self) -> String {
        match self.domain {
            Domain::Words(_) => self.range(),
            _ if self.default_means.is_empty() => format!("{} (default {})", self.range(), self.default),
            _ => format!("{} ({}: {})", self.range(), self.default, self.default_means),
        }
    }

    /// Its possible values.
    pub(super) fn range(&self) -> String {
        let (_, unit) = self.units();
        let range = match self.domain {
            Domain::Words(words) => words.join(" | "),
            Domain::OneOf(all) => all.iter().map(u32::to_string).collect::<Vec<_>>().join(" | "),
            Domain::Number(.., false) => format!("{{least}} to {{most}}{unit}"),
            Domain::Number(_, u32::MAX, _) => format!("0, or {{least}}{unit} and more"),
            Domain::Number(..) => format!("0, or {{least}} to {{most}}{unit}"),
            Domain::List(items, ..) => format!("up to {items} of {{least}} to {{most}}{unit}, with / between them"),
        };
        self.filled(&range)
    }

    /// The unit, as it stands behind "a number" and behind a number.
    fn units(&self) -> (String, String) {
        match self.unit {
            "" => Default::default(),
            unit => (format!(" of {unit}"), format!(" {unit}")),
        }
    }

    fn filled(&self, text: &str) -> String {
        match self.domain {
            Domain::Number(least, most, _) | Domain::List(_, least, most) => {
                text.replace("{least}", &least.to_string()).replace("{most}", &most.to_string())
            }
            _ => text.to_string(),
        }
    }

    /// As it is listed, with the parts that have it.
    pub(super) fn listed(&self, family: &str, owners: &[&str]) -> Parameter {
        let means = if self.default_means.is_empty() { String::new() } else { format!(": {}", self.default_means) };
        let words = if let Domain::Words(words) = self.domain { words } else { &[] };
        let meanings = self.meanings.iter().copied().chain(core::iter::repeat(""));
        Parameter {
            name: self.name,
            about: self.about,
            values: self.values(),
            range: self.range(),
            default: self.written(&[self.default]) + &means,
            of: owners.iter().map(|owner| format!("{family}={owner}")).collect(),
            words: words.iter().zip(meanings).map(|(name, about)| (*name, about, Vec::new())).collect(),
        }
    }

    /// The error where no part has it that is there: `owners` are those that would, of this family.
    pub(crate) fn only(&self, family: &str, owners: &[&str]) -> String {
        let (parts, have) = if owners.len() == 1 { ("part", "has it") } else { ("parts", "have it") };
        let does = if self.does.is_empty() { have } else { self.does };
        match family {
            "mapping" | "validity" | "victim" | "placement" => {
                format!("only the {family} {parts} {} {does}", either(owners, "and"))
            }
            _ => {
                let owners: Vec<String> = owners.iter().map(|owner| format!("{family}={owner}")).collect();
                format!("only {} {does}", either(&owners.iter().map(String::as_str).collect::<Vec<_>>(), "and"))
            }
        }
    }
}

/// Words in a row, `last` in front of the last one.
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
            assert_eq!(LEVELS.read(text, &mut numbers), Ok(()));
            assert_eq!((numbers, LEVELS.written(&numbers).as_str()), (read, written));
        }
        for wrong in ["", "0", "101", "1/2/3/4/5", "10/", "x"] {
            assert_eq!(LEVELS.read(wrong, &mut numbers), Err(LEVELS.right()), "{wrong}");
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
        assert_eq!(switch.does("look").only("victim", &["a", "b", "c"]), "only the victim parts a, b and c look");
    }
}
