//! What each text format has: a parser of its lines, and what stands between its columns.

use super::Item;
use crate::noted::Note;
use crate::number::Flaw;

/// Reads one line of a text format. The line is not blank.
pub(crate) trait LineParser: Send {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw>;

    /// What is odd about the records so far.
    fn notes(&self) -> Vec<(Note, u64)> {
        Vec::new()
    }

    /// What a person should see of the records since it was last asked for.
    fn take_remark(&mut self) -> Option<String> {
        None
    }

    /// Whether junk may precede the first record. Formats with a header say no.
    fn allows_junk(&self) -> bool {
        true
    }

    /// A blank line, or one that names the separator.
    fn blank(&mut self) {}

    /// What separates columns.
    fn separator(&self) -> Separator {
        Separator::Blank
    }

    /// How many columns there are; files may have more after these. None where the format leaves it open.
    fn columns(&self) -> Option<usize> {
        None
    }
}

impl LineParser for Box<dyn LineParser> {
    fn parse(&mut self, line: &[u8]) -> Result<Item, Flaw> {
        (**self).parse(line)
    }

    fn notes(&self) -> Vec<(Note, u64)> {
        (**self).notes()
    }

    fn take_remark(&mut self) -> Option<String> {
        (**self).take_remark()
    }

    fn allows_junk(&self) -> bool {
        (**self).allows_junk()
    }

    fn separator(&self) -> Separator {
        (**self).separator()
    }

    fn columns(&self) -> Option<usize> {
        (**self).columns()
    }
}

/// What stands between the columns of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    Comma,
    Blank,
}

impl Separator {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Separator::Comma => b',',
            Separator::Blank => b' ',
        }
    }
}
