//! Which parts cannot be together.

use super::by_name::Parts;
use super::parts::PAGED;
use super::{PageParts, ValidityPart};
use crate::spec::{Requirement, either};
use alloc::format;
use alloc::string::{String, ToString};

/// Needs of parts, in the order in which they are checked; each by its name, with the parts that fulfil it. A victim
/// policy states its needs itself.
const NEEDS: &[(&str, &str, &[Requirement])] = &[
    ("validity", "mu-tree", &[("mapping", &["mu-tree"])]),
    ("collection", "slices", &[("mapping", &["ram-table", "paged"]), RAM_OR_GECKO]),
    ("collection", "groups", &[PAGED, ("mapping.log", &["0"]), RAM_OR_GECKO, ("placement", &["groups"])]),
    ("power", "scan", &[("mapping", &["ram-table", "mu-tree"]), ("validity", &["ram-bitmap", "mu-tree"])]),
    ("power", "battery", &[PAGED, ("validity", &["ram-bitmap", "flash-bitmap"])]),
    ("power", "gecko-rec", &[PAGED, ("validity", &["gecko"]), FLAT, ("metadata", &["left"])]),
    ("power", "synchronize", &[PAGED, ("validity", &["ram-bitmap", "page-validity-log"])]),
    (
        "slc",
        "cache",
        &[("mapping", &["ram-table", "paged"]), ("placement", &["one-stream", "host-gc"]), ("wear", &["none"])],
    ),
    ("power", "fast", &[PAGED, ("validity", &["ram-bitmap"]), FLAT, ("wear", &["none"])]),
];

const RAM_OR_GECKO: Requirement = ("validity", &["ram-bitmap", "gecko"]);
const FLAT: Requirement = ("mapping.directory", &["flat"]);

/// A need of a part.
pub(super) fn needs(part: &str, word: &str) -> &'static [Requirement] {
    NEEDS.iter().find(|(of, name, _)| (*of, *name) == (part, word)).map_or(&[], |(.., needs)| needs)
}

impl PageParts {
    /// A part's first need that is not fulfilled, in a few words.
    pub(super) fn lacks(&self, part: &str, word: &str) -> Option<String> {
        let lacking = needs(part, word).iter().find(|(part, words)| !words.contains(&self.value(part).as_str()));
        lacking.map(|(part, words)| format!("needs {part}={}", either(words, "or")))
    }

    /// The part that stands in the way of the others, if any does: its name and its error.
    pub(super) fn why_not_together(&self) -> Option<(&'static str, String, String)> {
        let of = [("collection", self.collection.word()), ("validity", self.validity.word()), ("slc", self.slc.word())];
        for (part, word) in of {
            if let Some(lacks) = self.lacks(part, word) {
                return Some((part, word.to_string(), format!("{part}={word} {lacks}")));
            }
        }
        let in_tree = matches!(self.validity, ValidityPart::MuTree { .. });
        let (part, why) = match (self.victim.sample().is_some(), in_tree) {
            (true, true) => {
                ("validity", "victim=sampled counts a part of the blocks: an empty one would not be noticed")
            }
            (true, _) if self.slc.name().is_some() => ("slc", "victim=sampled may choose a block of an SLC cache"),
            (true, _) if self.placement.counts_all() => {
                ("placement", "it needs the live pages of all blocks, and victim=sampled counts a part of them")
            }
            _ => {
                let (placement, why) = self.victim.part().pairs_with?;
                let why = format!("victim={} needs placement={placement}, {why}", self.victim.name());
                return (self.placement.name() != placement).then(|| ("placement", self.placement.shown(), why));
            }
        };
        Some((part, self.value(part), why.to_string()))
    }
}
