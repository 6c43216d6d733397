//! Tables for people: UTF-8 borders, no colour, numbers to the right.

use comfy_table::presets::{UTF8_FULL_CONDENSED, UTF8_HORIZONTAL_ONLY};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, Width};
use phelsuma_options::count;

/// A table with these headings; the first column is text, the others are numbers.
pub(crate) fn numbers(headings: &[&str]) -> Table {
    let mut table = plain(headings);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The widest that a table of text is, in columns.
const TEXT_WIDTH_MAX: u16 = 100;

/// The widest that lines of prose are, in columns.
pub(crate) const PROSE_WIDTH_MAX: usize = 120;

/// A table with these headings whose columns are all text, wrapped at spaces where it would be too wide. No word is
/// broken, since it may be a name that somebody has to type: rather is the table wider.
pub(crate) fn texts<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = plain(&headings);
    let terminal = table.width().unwrap_or(TEXT_WIDTH_MAX);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(terminal.min(TEXT_WIDTH_MAX));
    let mut longest = headings.map(longest_word);
    for row in rows {
        for (longest, cell) in longest.iter_mut().zip(&row) {
            *longest = longest_word(cell).max(*longest);
        }
        table.add_row(row);
    }
    for (column, longest) in table.column_iter_mut().zip(longest) {
        let width = longest.saturating_add(column.padding_width());
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
    table
}

/// The columns that the longest word takes.
fn longest_word(text: &str) -> u16 {
    let longest = text.split_whitespace().map(|word| word.chars().count()).max();
    longest.unwrap_or(0).try_into().unwrap_or(u16::MAX)
}

/// A table with these headings and many columns: no lines between them.
pub(crate) fn narrow(headings: &[&str]) -> Table {
    let mut table = numbers(headings);
    for column in table.column_iter_mut() {
        column.set_padding((1, 0));
    }
    table.load_preset(UTF8_HORIZONTAL_ONLY);
    for style in [TableComponent::HorizontalLines, TableComponent::MiddleIntersections] {
        table.remove_style(style);
    }
    table
}

/// `text` in lines of at most so many characters, broken at spaces.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}

/// An item of a list, in lines of at most so many characters. A star, which a row has as well, is its bullet.
pub(crate) fn item(text: &str, width: usize) -> String {
    let (bullet, text) = text.strip_prefix("* ").map_or(("-", text), |text| ("*", text));
    format!("{bullet} {}\n", wrapped(text, width - 2).replace('\n', "\n  "))
}

fn plain(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_FULL_CONDENSED).set_header(headings.iter().copied());
    table
}

/// A number to three significant digits, whole numbers in full.
pub(crate) fn number(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => "-".to_string(),
        0.0 => "0".to_string(),
        a if a >= 99.95 => count(x.round().max(0.0) as u64),
        a if a >= 9.995 => format!("{x:.1}"),
        a if a >= 0.001 => format!("{x:.2}").trim_start_matches('+').to_string(),
        _ => format!("{x:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("µµµ aaaa bbb", 8), "µµµ aaaa\nbbb");
        assert_eq!(wrapped("overlong a", 3), "overlong\na");
    }

    #[test]
    fn no_word_of_a_table_is_broken_however_narrow_it_is() {
        let rows = [
            ["a-name-of-thirty-two-characters", "short", "prose that may well be broken at its spaces, and is"],
            ["short", "another-long-name(with=argument)", "prose that does not mind"],
        ];
        let words: Vec<&str> = rows.iter().flatten().flat_map(|cell| cell.split(' ')).collect();
        for width in [1, 20, 40, 60, 80, 100, 200] {
            let mut table = texts(["name", "another", "prose"], rows.map(|row| row.map(str::to_string)));
            let text = table.set_width(width).to_string();
            for word in &words {
                assert!(text.split([' ', '\n', '│', '┆']).any(|shown| shown == *word), "{width}: {word}\n{text}");
            }
            // What can give way does.
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(width).max(32 + 32 + 7 + 10), "{width}: {widest}\n{text}");
        }
    }

    #[test]
    fn numbers_are_short_and_counts_are_exact() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!([number(1.2345), number(12.345), number(1234.5), number(0.0)], ["1.23", "12.3", "1,235", "0"]);
        assert_eq!(number(f64::NAN), "-");
    }
}
