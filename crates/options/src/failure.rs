//! The message of a refusal: one line with the error, where it is, and what would be right.

use phelsuma_drive::RunError;
use phelsuma_ftl::{ConfigError, Preset, parameters};
use phelsuma_nand::GeometryError;
use phelsuma_trace::{TraceError, WorkloadError};
use std::fmt::Write as _;

/// Why what was asked for was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Wrong usage or input.
    Input(String),
    /// It was begun and not completed.
    Failed(String),
}

/// How what is asked for ends.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A line of its own for what clap says in several.
pub fn usage(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim);
    let said = lines.take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"));
    let words: Vec<&str> = said.filter(|l| !l.is_empty()).collect();
    let line = words.join(" ").replace(" tip:", ";");
    Failure::Input(with_what_is_right(line.strip_prefix("error: ").unwrap_or(&line)))
}

/// What clap says of numbers, with what would be right.
fn with_what_is_right(line: &str) -> String {
    let whole = "a whole number would be right";
    for (said, right) in [
        ("invalid digit found in string", whole),
        ("cannot parse integer from empty string", whole),
        ("number too large to fit in target type", "a smaller number would be right"),
    ] {
        if let Some(begin) = line.strip_suffix(said) {
            return format!("{begin}{right}");
        }
    }
    // "0 is not in 1..=1024", with whatever is behind the dots.
    let range = line.rsplit_once(": ").and_then(|(begin, said)| Some((begin, said.split_once(" is not in ")?.1)));
    match range.and_then(|(begin, range)| Some((begin, range.split_once("..")?))) {
        Some((begin, (least, most))) => {
            let right = match (most.strip_prefix('='), most) {
                (Some(most), _) => format!("from {least} to {most}"),
                (None, "" | "18446744073709551615") => format!("from {least}"),
                (None, most) => format!("from {least} to below {most}"),
            };
            format!("{begin}: a whole number {right} would be right")
        }
        None => line.to_string(),
    }
}

/// The text with control characters escaped: whatever a file name or a value holds, it stays one line.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' => line.push(' '),
            c if c.is_control() => {
                let _ = write!(line, "{}", c.escape_default());
            }
            c => line.push(c),
        }
    }
    line
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Input(text) => Self::Input(text),
            RunError::Failed(text) => Self::Failed(text),
            RunError::Stopped => Self::Failed("stopped before it was done".to_string()),
        }
    }
}

macro_rules! input_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Input(error.to_string())
            }
        })*
    };
}

input_errors!(GeometryError, TraceError, WorkloadError);

/// Where a name is not known, the one that is most like it is enough.
impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let text = error.to_string();
        let like = match &error {
            ConfigError::UnknownPreset { name, .. } => like(name, Preset::all().map(|preset| preset.name)),
            ConfigError::UnknownParameter { name, .. } => {
                like(name, parameters().iter().map(|parameter| parameter.name))
            }
            _ => None,
        };
        Self::Input(match like {
            Some(like) => hinted(&text, &format!("'{like}' is most like it")),
            None => text,
        })
    }
}

/// A hint instead of every known name.
fn hinted(text: &str, hint: &str) -> String {
    let unknown = text.split("; known are").next().unwrap_or(text);
    format!("{unknown}; {hint}, and `phelsuma list` shows all")
}

/// The preset called `name`.
///
/// # Errors
/// There is none. What is the name of a part is said to be one, with an FTL that has it.
pub(crate) fn named(name: &str) -> Outcome<&'static Preset> {
    Preset::named(name).map_err(|error| match (of_a_part(name), Failure::from(error)) {
        (Some(hint), Failure::Input(text)) => Failure::Input(hinted(&text, &hint)),
        (_, failure) => failure,
    })
}

/// Which part has this name, and an FTL with it: a preset, or `page` with the part set.
fn of_a_part(name: &str) -> Option<String> {
    let is_part = |of: &str| ["mapping", "validity", "victim", "placement"].contains(&of);
    let part = parameters()
        .into_iter()
        .find(|parameter| is_part(parameter.name) && parameter.words.iter().any(|(word, ..)| *word == name))?;
    let has_it = |preset: &&Preset| {
        let names = preset.composition.names();
        names.iter().any(|of| of.split(['(', ' ']).next() == Some(name))
    };
    Some(match Preset::all().find(has_it) {
        Some(preset) => format!("{name} is a {}, FTL '{}' has it", part.name, preset.name),
        None => format!("{name} is a {}, --set {}={name}", part.name, part.name),
    })
}

/// The name that differs least, if it differs by little.
pub(crate) fn like<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let best = names.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    (best.0 <= wrong.chars().count().div_ceil(4)).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_is_in_it() {
        assert_eq!(one_line("a\nb\u{1b}[31m\r"), "a b\\u{1b}[31m");
    }

    #[test]
    fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
        let said = |name| Failure::from(Preset::named(name).err().unwrap());
        let Failure::Input(text) = said("dual-greed") else { panic!() };
        assert_eq!(text, "unknown FTL 'dual-greed'; 'dual-greedy' is most like it, and `phelsuma list` shows all");
        let Failure::Input(text) = said("nonsense") else { panic!() };
        assert!(text.starts_with("unknown FTL 'nonsense'; known are"), "{text}");
    }

    #[test]
    fn the_name_of_a_part_is_answered_with_an_ftl_that_has_it() {
        let said = |name| match named(name) {
            Err(Failure::Input(text)) => text,
            _ => panic!("{name}"),
        };
        let text = said("greedy");
        assert_eq!(text, "unknown FTL 'greedy'; greedy is a victim, FTL 'page' has it, and `phelsuma list` shows all");
        assert!(
            said("host-gc").contains("; host-gc is a placement, FTL 'pl-greedy' has it, and"),
            "{}",
            said("host-gc")
        );
        assert!(said("sampled").contains("; sampled is a victim, --set victim=sampled, and"), "{}", said("sampled"));
        assert!(!said("nonsense").contains(" is a "));
    }

    #[test]
    fn a_number_that_is_wrong_is_told_what_would_be_right() {
        let right = |said: &str| with_what_is_right(&format!("invalid value '0' for '--n <N>': {said}"));
        let begin = "invalid value '0' for '--n <N>': ";
        assert_eq!(right("0 is not in 1..=9"), format!("{begin}a whole number from 1 to 9 would be right"));
        assert_eq!(right("0 is not in 1.."), format!("{begin}a whole number from 1 would be right"));
        assert_eq!(right("invalid digit found in string"), format!("{begin}a whole number would be right"));
        assert_eq!(right("else"), format!("{begin}else"));
    }
}
