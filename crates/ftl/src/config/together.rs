//! Which parts cannot be together.

use super::{MappingPart, PageParts, ValidityPart};
use alloc::format;
use alloc::string::{String, ToString};

impl PageParts {
    /// The part that stands in the way of the others, if any does, and what is the matter with it.
    pub(super) fn why_not_together(&self) -> Option<(&'static str, String)> {
        let samples = self.victim.sample().is_some();
        if matches!(self.validity, ValidityPart::MuTree { .. }) {
            let why = match self.mapping {
                MappingPart::MuTree { .. } if samples => {
                    "victim=sampled counts a part of the blocks, and a block without a live page would not be noticed"
                }
                MappingPart::MuTree { .. } => "",
                _ => "validity=mu-tree needs mapping=mu-tree, whose tree it is",
            };
            if !why.is_empty() {
                return Some(("validity", why.to_string()));
            }
        }
        if samples && self.placement.counts_all() {
            let why = "it needs the live pages of all blocks, and victim=sampled counts a part of them";
            return Some(("placement", why.to_string()));
        }
        let (placement, why) = self.victim.part().pairs_with?;
        let needs = || format!("victim={} needs placement={placement}, {why}", self.victim.name());
        (self.placement.name() != placement).then(|| ("placement", needs()))
    }
}
