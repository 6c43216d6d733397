//! Walls inside `ftl`: which folder must not import from which.

use crate::modules::Crate;

/// Files that must not import from others. Paths are those inside the crate's `src`; one stands for all that begins
/// with it.
struct Wall {
    from: &'static [&'static str],
    not: &'static [&'static str],
    but: &'static [&'static str],
}

const FAMILIES: &[&str] = &["page_mapped/", "log_block/", "presets.rs"];

const WALLS: [Wall; 7] = [
    // The families stand beside each other.
    Wall { from: &["page_mapped/"], not: &["log_block/", "presets.rs"], but: &[] },
    Wall { from: &["log_block/"], not: &["page_mapped/", "presets.rs", "blocks/"], but: &[] },
    // What they stand on depends on neither.
    Wall { from: &["medium/", "blocks/"], not: FAMILIES, but: &[] },
    // What an FTL is put together from says so without the parts themselves, but for the bits of a spare area that are
    // theirs. The policies state themselves.
    Wall {
        from: &["config/", "spec/"],
        not: &["page_mapped/", "log_block/", "presets.rs", "blocks/", "medium/"],
        but: &["medium/marks.rs"],
    },
    // A statement does not depend on what is stated.
    Wall { from: &["spec/"], not: &[""], but: &["spec/"] },
    // A µ-Tree depends on `nand` alone.
    Wall { from: &["mu_tree/"], not: &[""], but: &["mu_tree/"] },
    // Policies see only a view.
    Wall { from: POLICIES, not: &["page_mapped/", "config/", "medium/"], but: POLICIES },
];

const POLICIES: &[&str] = &["policy/"];

/// The names of `nand` that policies may use: addresses, the content of a spare area, and how a state is saved. So they
/// have no flash.
const VALUES: [&str; 7] = ["Block", "Geometry", "Kind", "LogicalPage", "Page", "Spare", "state"];

/// What breaks a wall, a line each.
pub(crate) fn broken(ftl: &Crate) -> Vec<String> {
    let inside = |file: usize| ftl.files[file].path.strip_prefix("crates/ftl/src/").unwrap_or_default();
    let is_in = |path: &str, folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let mut broken = Vec::new();
    // A wall around a renamed file holds nothing.
    for prefix in WALLS.iter().flat_map(|wall| [wall.from, wall.not, wall.but]).flatten() {
        if !(0..ftl.files.len()).any(|file| inside(file).starts_with(prefix)) {
            broken.push(format!("a wall names {prefix}, which no file is in"));
        }
    }
    for (from, to) in ftl.references_and_reexports() {
        let (from, to) = (inside(from), inside(to));
        for wall in &WALLS {
            if is_in(from, wall.from) && is_in(to, wall.not) && !is_in(to, wall.but) {
                broken.push(format!("{from} imports from {to}"));
            }
        }
    }
    for folder in POLICIES {
        for (file, name) in ftl.taken_from("phelsuma_nand", &format!("crates/ftl/src/{folder}")) {
            if !VALUES.contains(&name.as_str()) {
                broken.push(format!("{file} names {name} of nand"));
            }
        }
    }
    broken
}
