//! What an FTL has to be told that no real one could know.

use super::{Composition, PageParts};
use crate::policy::Knowledge;

impl PageParts {
    /// What it has to be told; none for all FTLs that could be built.
    pub fn knowledge(&self) -> Option<Knowledge> {
        self.placement.knowledge()
    }
}

impl Composition {
    /// What it has to be told; none for all FTLs that could be built.
    pub fn knowledge(&self) -> Option<Knowledge> {
        self.page_mapped().and_then(|parts| parts.knowledge())
    }

    /// Why it is not to hold anybody's data, in a few words; none for all FTLs that could be built.
    pub fn why_oracle(&self) -> Option<&'static str> {
        self.knowledge().map(|knowledge| match knowledge {
            Knowledge::Classes(_) => {
                "it is an oracle: it has to be told the class of each page, which no real host knows"
            }
            Knowledge::Deaths => "it is an oracle: it has to be told when each page dies, which no real host knows",
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::PRESETS;
    use alloc::vec::Vec;

    #[test]
    fn two_presets_are_oracles() {
        let oracles: Vec<&str> = PRESETS
            .iter()
            .filter(|preset| preset.composition.why_oracle().is_some())
            .map(|preset| preset.name)
            .collect();
        assert_eq!(oracles, ["static-quota", "oracle"]);
    }
}
