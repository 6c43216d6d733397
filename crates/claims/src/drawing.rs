//! How a figure is drawn: fields of its entry that the report of `python/phelsuma` follows.
//!
//! Nothing here draws. A misspelt field is refused, so that no kind of picture is guessed.

use crate::document::Figure;
use serde::Deserialize;

/// The kinds of pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// A bar for each run, a panel for each column; of one run a bar for each column.
    Bars,
    /// A bar for each run, of its columns on top of each other.
    Stacked,
    /// Bars side by side, one for each series, over groups; points where the axis is logarithmic or values are ratios.
    Groups,
    /// Lines over a column `x`, or over the numbers that the columns' headings end with.
    Lines,
    /// Steps: entry k is from 2^k to 2^(k+1).
    Histogram,
    /// Shares that grow to 1, over the numbers that the columns' headings end with.
    Cumulative,
    /// A square of columns for each run.
    Map,
}

impl Figure {
    /// The error of how it is drawn, being of these runs.
    pub(crate) fn check_drawing(&self, runs: &[String]) -> Result<(), String> {
        let is_column = |name: &String| self.columns.iter().any(|(heading, _)| heading == name);
        if let Some(name) = self.x.iter().chain(&self.y).find(|name| !is_column(name)) {
            return Err(format!("it is drawn with '{name}', which is no column of it"));
        }
        let fits_none = |run: &&String| !self.pattern.is_empty() && !self.pattern.iter().any(|p| fits(p, run));
        if let Some(run) = runs.iter().find(fits_none) {
            return Err(format!("run '{run}' fits none of its patterns"));
        }
        let is_part = |word: &String| runs.iter().any(|run| format!("_{run}_").contains(&format!("_{word}_")));
        if let Some(word) = self.relative_to.iter().find(|word| !is_part(word)) {
            return Err(format!("it is relative to '{word}', which is part of no run's name"));
        }
        match self.names.keys().find(|name| !is_column(name) && !is_part(name)) {
            Some(name) => Err(format!("it names '{name}', which is neither a column nor part of a run's name")),
            None => Ok(()),
        }
    }
}

/// Whether a run's name is as a pattern has it.
fn fits(pattern: &str, run: &str) -> bool {
    let (pattern, run): (Vec<&str>, Vec<&str>) = (pattern.split('_').collect(), run.split('_').collect());
    let same = |of: &[&str], words: &[&str]| {
        of.len() == words.len() && of.iter().zip(words).all(|(of, word)| of == word || of.starts_with('{'))
    };
    let Some(at) = pattern.iter().position(|word| *word == "{series}") else { return same(&pattern, &run) };
    let after = pattern.len() - at - 1;
    run.len() >= pattern.len()
        && same(&pattern[..at], &run[..at])
        && same(&pattern[at + 1..], &run[run.len() - after..])
}

#[cfg(test)]
mod tests {
    use super::{Figure, fits};
    use crate::document::Document;
    use std::path::Path;

    #[test]
    fn a_series_may_have_several_words() {
        assert!(fits("r_{series}_{group}", "r_last_vm") && fits("pc_{series}_{n}", "pc_dac_pc_125"));
        assert!(fits("large_{series}", "large_pl") && fits("{group}_size_{n}", "gecko_size_1"));
        assert!(!fits("r_{series}_{group}", "r_last") && !fits("r_{series}", "s_last") && !fits("{group}_size", "a_b"));
    }

    /// The error of a figure with these lines about its drawing.
    fn said_of(lines: &str) -> String {
        let of = "id = 'f'\nat = 'figure 1'\nruns = ['r']\ncolumns = [['blocks', 'run.b'], ['us', 'run.u']]\n";
        match toml::from_str::<Figure>(&format!("{of}{lines}")) {
            Ok(figure) => figure.check_drawing(&["r_last_vm".into(), "r_fast_vm".into()]).err().unwrap_or_default(),
            Err(error) => error.message().to_string(),
        }
    }

    #[test]
    fn what_is_misspelt_is_refused() {
        assert_eq!(said_of("draw = 'lines'\nx = 'blocks'\nnames = { last = 'LAST++', us = 'time (µs)' }"), "");
        assert_eq!(
            said_of("draw = 'groups'\npattern = ['r_{series}_{group}']\nrelative_to = 'last'\nrange = [0, 1]"),
            ""
        );
        for (lines, says) in [
            ("draw = 'pie'", "pie"),
            ("logy = true", "logy"),
            ("x = 'block'", "'block', which is no column"),
            ("y = ['ms']", "'ms', which is no column"),
            ("pattern = ['s_{series}_{group}']", "'r_last_vm' fits none"),
            ("relative_to = 'lost'", "'lost', which is part of no run's name"),
            ("names = { las = 'LAST++' }", "'las', which is neither"),
        ] {
            assert!(said_of(lines).contains(says), "{lines}: {}", said_of(lines));
        }
    }

    #[test]
    fn every_figure_of_the_papers_says_how_it_is_drawn() {
        let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        let mut figures = 0;
        for paper in std::fs::read_dir(papers).unwrap() {
            for figure in Document::load(&paper.unwrap().path().join("claims.toml")).unwrap().figures {
                assert!(figure.draw.is_some(), "{}", figure.id);
                figures += 1;
            }
        }
        assert!(figures > 40);
    }
}
