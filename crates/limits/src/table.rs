//! The sweep tables: every model over the ratios that matter, computed on demand.

use std::fmt;

use crate::limits::{ZIPF_EXPONENTS, ZIPF_PAGES};
use crate::{
    Gecko, HotCold, LimitError, Merge, best_quota, d_choices, gecko, greedy, lru, mixed_greedy, random, zipf_best_split,
};

/// The ratios of the sweep.
pub const RATIOS: [f64; 5] = [0.70, 0.80, 0.90, 0.95, 0.98];

/// A table of text: a title, a heading per column, rows. Prints with aligned columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What the table shows.
    pub title: String,
    /// One per column.
    pub headings: Vec<String>,
    /// As many cells each as there are headings.
    pub rows: Vec<Vec<String>>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let lines = || std::iter::once(&self.headings).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        for line in lines() {
            for (column, cell) in line.iter().enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                write!(f, "{gap}{cell:>width$}", width = width(column))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// All tables of the sweep, in order.
///
/// # Errors
/// None for the fixed ratios above, as all of them are in range.
pub fn sweep() -> Result<Vec<Table>, LimitError> {
    Ok(vec![uniform()?, hot_and_cold()?, zipf()?, logarithmic_gecko()?])
}

/// Uniform random writes, one row per ratio.
///
/// # Errors
/// As [`sweep`].
pub fn uniform() -> Result<Table, LimitError> {
    let row = |rho| {
        let mut cells = vec![ratio(rho), figure(lru(rho)?)];
        for b in [64, 128, 256] {
            cells.push(figure(greedy(rho, b)?));
        }
        for d in [10, 2] {
            cells.push(figure(d_choices(rho, 128, d)?));
        }
        cells.push(figure(random(rho)?));
        Ok(cells)
    };
    table(
        "Uniform random writes: write amplification",
        &["ratio", "LRU", "greedy b=64", "greedy b=128", "greedy b=256", "d=10 b=128", "d=2 b=128", "random"],
        RATIOS.into_iter().map(row),
    )
}

/// Hot and cold classes at 128 pages per block, one row per ratio.
///
/// # Errors
/// As [`sweep`].
pub fn hot_and_cold() -> Result<Table, LimitError> {
    let classes = [HotCold::new(0.8, 0.2)?, HotCold::new(0.9, 0.1)?];
    let row = |rho| {
        let mut cells = vec![ratio(rho)];
        for hot in classes {
            cells.push(figure(best_quota(rho, 128, hot)?.write_amplification));
            cells.push(figure(mixed_greedy(rho, 128, hot)?));
        }
        Ok(cells)
    };
    table(
        "Hot and cold, 128 pages per block: write amplification",
        &["ratio", "80/20 best quota", "80/20 mixed greedy", "90/10 best quota", "90/10 mixed greedy"],
        RATIOS.into_iter().map(row),
    )
}

/// Zipf's law over 2^20 pages, one row per exponent.
///
/// # Errors
/// As [`sweep`].
pub fn zipf() -> Result<Table, LimitError> {
    let mut headings = vec!["exponent".to_owned()];
    headings.extend(RATIOS.map(ratio));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let row = |exponent| {
        let mut cells = vec![ratio(exponent)];
        for rho in RATIOS {
            cells.push(figure(zipf_best_split(rho, exponent, ZIPF_PAGES)?));
        }
        Ok(cells)
    };
    table(
        "Zipf, 2^20 pages, each its own class, best static split, large blocks: write amplification",
        &headings,
        ZIPF_EXPONENTS.into_iter().map(row),
    )
}

/// Logarithmic Gecko on the paper's drive of 2 TB, one row per tuning.
///
/// # Errors
/// As [`sweep`].
pub fn logarithmic_gecko() -> Result<Table, LimitError> {
    let tunings =
        [("S=1 two-way", 1, Merge::TwoWay), ("S=4 two-way", 4, Merge::TwoWay), ("S=4 multi-way", 4, Merge::MultiWay)];
    let row = |(name, partitions, merge): (&str, u32, Merge)| {
        let costs = gecko(&Gecko::paper(partitions, merge))?;
        Ok(vec![
            name.to_owned(),
            costs.entries_per_page.to_string(),
            format!("{:.2}", costs.levels),
            format!("{:.4}", costs.programs_per_update),
            format!("{:.4}", costs.write_amplification),
            format!("{:.3}", costs.bitmap_write_amplification),
            format!("{:.1}%", -100.0 * costs.saved),
            format!("{:.1}%", -100.0 * costs.saved_on_updates),
        ])
    };
    table(
        "Logarithmic Gecko, 2 TB, 128 pages per block, ratio 0.70, delta 10: cost of page validity",
        &["tuning", "V", "L", "programs", "WA", "bitmap WA", "against it", "updates alone"],
        tunings.into_iter().map(row),
    )
}

fn table(
    title: &str,
    headings: &[&str],
    rows: impl Iterator<Item = Result<Vec<String>, LimitError>>,
) -> Result<Table, LimitError> {
    Ok(Table {
        title: title.to_owned(),
        headings: headings.iter().map(|&heading| heading.to_owned()).collect(),
        rows: rows.collect::<Result<_, _>>()?,
    })
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// Four decimals below ten, three above: five or more digits, like the sources.
fn figure(value: f64) -> String {
    if value < 10.0 { format!("{value:.4}") } else { format!("{value:.3}") }
}
