//! The way to a trace by commands: what a shell does to reach the bytes that a layer holds.

/// A layer that was taken off, or has to be.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A filter of bytes, which takes a file as well: `gzip -dc`.
    Filter(&'static str),
    /// A member of a tar archive.
    Tar(String),
    /// A member of one of several tar archives that were joined.
    #[cfg(feature = "archives")]
    JoinedTar(String),
    /// A member of a zip archive that unzip reads.
    Zip(String),
    /// A member of one that 7z alone reads.
    #[cfg(feature = "archives")]
    SevenZip(String),
}

impl Step {
    fn is_tar(&self) -> bool {
        match self {
            Step::Tar(_) => true,
            #[cfg(feature = "archives")]
            Step::JoinedTar(_) => true,
            _ => false,
        }
    }
}

/// A file, and the layers that were taken off so far.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    file: String,
    steps: Vec<Step>,
}

impl Way {
    /// From a file. `F` stands for one whose name is not known.
    pub(crate) fn from(path: Option<&str>) -> Self {
        // A name that begins with a dash is an option.
        let file = |path: &str| quoted(&if path.starts_with('-') { format!("./{path}") } else { path.to_owned() });
        Way { file: path.map_or_else(|| "F".into(), file), steps: Vec::new() }
    }

    /// How many layers are off.
    pub(super) fn layers(&self) -> usize {
        self.steps.len()
    }

    /// With one layer more taken off.
    pub(crate) fn then(&self, step: Step) -> Self {
        let mut way = self.clone();
        way.steps.push(step);
        way
    }

    /// The commands that convert what this way leads to.
    pub(crate) fn commands(&self) -> String {
        let steps = match self.steps.as_slice() {
            // tar finds these out by itself.
            [Step::Filter("gzip -dc" | "bzip2 -dc" | "xz -dc" | "zstd -dc"), rest @ ..]
                if rest.first().is_some_and(Step::is_tar) =>
            {
                rest
            }
            steps => steps,
        };
        let command = |(at, step): (usize, &Step)| {
            let from = if at == 0 { self.file.as_str() } else { "-" };
            match step {
                Step::Filter(filter) if at == 0 => format!("{filter} {from} | "),
                Step::Filter(filter) => format!("{filter} | "),
                Step::Tar(member) => format!("tar -xOf {from} {}{} | ", options_end(member), quoted(member)),
                #[cfg(feature = "archives")]
                Step::JoinedTar(member) => {
                    format!("tar --ignore-zeros -xOf {from} {}{} | ", options_end(member), quoted(member))
                }
                Step::Zip(member) => format!("unzip -p {from} {} | ", quoted(&as_pattern(member))),
                #[cfg(feature = "archives")]
                Step::SevenZip(member) => {
                    let plainly = if member.contains(['*', '?']) { " -spd" } else { "" };
                    format!("7z x -so{plainly} {from} {}{} | ", options_end(member), quoted(member))
                }
            }
        };
        let commands: String = steps.iter().enumerate().map(command).collect();
        format!("`{commands}phelsuma trace convert - OUT.csv.zst --to csv`")
    }
}

/// A word as a shell takes it.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "._/+-,:@=%".contains(char);
    let is_plain = !word.is_empty() && word.chars().all(plain);
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// What tells a member's name from an option.
fn options_end(member: &str) -> &'static str {
    if member.starts_with('-') { "-- " } else { "" }
}

/// A pattern of unzip's that this name alone fits. One that begins with a dash would be an option.
fn as_pattern(member: &str) -> String {
    let mut pattern = String::new();
    for (at, char) in member.chars().enumerate() {
        match char {
            '-' if at == 0 => pattern.push_str("[-]"),
            '*' | '?' | '[' | ']' | '\\' => pattern.extend(['\\', char]),
            _ => pattern.push(char),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::{Step, Way};

    #[test]
    fn names_are_quoted_where_a_shell_takes_them_apart() {
        let commands = |path: &str, member: &str| Way::from(Some(path)).then(Step::Zip(member.into())).commands();
        assert_eq!(
            commands("it's.zip", "a b.csv"),
            r"`unzip -p 'it'\''s.zip' 'a b.csv' | phelsuma trace convert - OUT.csv.zst --to csv`"
        );
        assert!(commands("-a.zip", "été.csv").starts_with("`unzip -p ./-a.zip été.csv | "));
    }

    #[test]
    fn a_member_is_named_so_that_no_command_takes_it_for_a_pattern_or_an_option() {
        let zip = |member: &str| Way::from(None).then(Step::Zip(member.into())).commands();
        assert!(zip("x[1].txt").starts_with(r"`unzip -p F 'x\[1\].txt' | "), "{}", zip("x[1].txt"));
        assert!(zip("a*b?").starts_with(r"`unzip -p F 'a\*b\?' | "));
        assert!(zip("-x/y").starts_with("`unzip -p F '[-]x/y' | "));
        let tar = |member: &str| Way::from(None).then(Step::Tar(member.into())).commands();
        assert!(tar("-x.txt").starts_with("`tar -xOf F -- -x.txt | "));
        assert!(tar("x[1].txt").starts_with("`tar -xOf F 'x[1].txt' | "));
    }

    #[test]
    fn tar_takes_off_by_itself_what_it_can() {
        let commands = |filter| Way::from(None).then(Step::Filter(filter)).then(Step::Tar("a".into())).commands();
        assert!(commands("xz -dc").starts_with("`tar -xOf F a | phelsuma "));
        assert!(commands("lz4 -dc").starts_with("`lz4 -dc F | tar -xOf - a | phelsuma "));
    }
}
