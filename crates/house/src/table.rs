//! The table: each count, its former value, its value, its goal.

use crate::graph::circles;
use crate::house::House;
use crate::{measure, walls};

/// A limit on a count. All are upper ones.
pub(crate) struct Limit {
    what: &'static str,
    measure: fn(&House) -> usize,
    /// Before the house was opened.
    before: &'static str,
    target: usize,
    /// Where the target is not met yet: its limit until then. It only ever goes down.
    ratchet: Option<usize>,
}

impl Limit {
    pub(crate) fn measured(&self, house: &House) -> usize {
        (self.measure)(house)
    }

    /// The same where the target is not met yet.
    const fn until(mut self, ratchet: usize) -> Self {
        self.ratchet = Some(ratchet);
        self
    }

    /// The limit that a test holds.
    pub(crate) fn held(&self) -> usize {
        self.ratchet.unwrap_or(self.target)
    }
}

const fn limit(what: &'static str, measure: fn(&House) -> usize, before: &'static str, target: usize) -> Limit {
    Limit { what, measure, before, target, ratchet: None }
}

/// All of them, in the order of printing.
pub(crate) const LIMITS: &[Limit] = &[
    limit("Rust files edited for a new victim", measure::files_of_a_victim, "8", 2),
    limit("literals of its name", measure::literals_of_a_victim, "6 to 13", 1),
    limit("lines of config + image text", measure::lines_of_config, "2520", 1200).until(2156),
    limit("fields of `PageMapped`", |house| measure::fields_of(house, "PageMapped"), "24", 15),
    limit("fields of `Blocks`", |house| measure::fields_of(house, "Blocks"), "29", 18),
    limit("calls of a scheme that `write_pages` names", measure::hooks_of_a_write, "9", 3),
    limit("lines that name variants of mapping or validity outside their folders", measure::variants_outside, "84", 15),
    limit("functions that carry ftl, nand and steps", measure::functions_with_trio, "45", 0),
    limit("largest circle of files in `ftl`", |house| house.largest_circle("ftl"), "28", 4),
    limit("largest circle of files elsewhere", House::largest_circle_elsewhere, "15", 2),
    limit("longest file of `ftl`, lines", |house| measure::longest_file(house).0, "840", 500),
    limit("longest function of `ftl`, lines", |house| measure::longest_function(house).0, "167", 80),
    limit("functions that hand a page to a host", measure::host_reads, "3", 1),
    limit("map scans", measure::map_scans, "2", 1),
    limit("free pools", measure::free_pools, "3", 1),
    limit("code lines of `ftl` for each assertion", measure::lines_per_assertion, "596", 120),
    limit(
        "names of types in `ftl`, but for those private to a file, that mean more than one thing",
        |house| measure::names_given_twice(house.ftl()).len(),
        "28",
        0,
    ),
];

/// The table, and below it the places that the numbers are of.
pub(crate) fn print(house: &House) -> String {
    let mut text =
        String::from("| what is counted | before | today | limit | target |\n| --- | --- | --- | --- | --- |\n");
    for limit in LIMITS {
        let (today, held, target) = (limit.measured(house), limit.held(), limit.target);
        text += &format!("| {} | {} | {today} | {held} | {target} |\n", limit.what, limit.before);
    }
    let (file, function) = (measure::longest_file(house).1, measure::longest_function(house).1);
    text += &format!("\nlongest file: {file}\nlongest function: {function}\n");
    for (name, all) in &house.crates {
        for circle in circles(all.files.len(), &all.references()).iter().filter(|circle| circle.len() > 2) {
            let files: Vec<&str> = circle.iter().map(|file| all.files[*file].path.as_str()).collect();
            text += &format!("\ncircle in {name}: {}\n", files.join(" "));
        }
    }
    for (name, files) in measure::names_given_twice(house.ftl()) {
        text += &format!("\n{name}: {}\n", files.join(" "));
    }
    for broken in walls::broken(house.ftl()) {
        text += &format!("\n{broken}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_is_above_its_limit() {
        let house = House::read().unwrap();
        let above = LIMITS.iter().filter(|limit| limit.measured(&house) > limit.held());
        let above: Vec<String> = above
            .map(|limit| format!("{}: {}, and {} is held", limit.what, limit.measured(&house), limit.held()))
            .collect();
        assert!(above.is_empty(), "{}\n\n{}", above.join("\n"), print(&house));
    }

    /// All but today's counts.
    #[test]
    fn the_limits_in_the_documentation_are_those_that_are_held() {
        let document = include_str!("../../../CONTRIBUTING.md");
        for limit in LIMITS {
            let (begin, end) = (
                format!("| {} | {} | ", limit.what, limit.before),
                format!(" | {} | {} |", limit.held(), limit.target),
            );
            let is_there = document.lines().any(|line| line.starts_with(&begin) && line.ends_with(&end));
            assert!(is_there, "CONTRIBUTING.md has no line {begin}…{end}: `make house` prints it");
        }
    }

    #[test]
    fn no_folder_imports_from_behind_a_wall() {
        let broken = walls::broken(House::read().unwrap().ftl());
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }
}
