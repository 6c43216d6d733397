//! How Logarithmic Gecko merges runs, and how entries stand on their pages.

use crate::spec::values;

values! { GeckoMerge "How the runs of Logarithmic Gecko are merged." {
    MultiWay "multi-way" "All that are going to be merged, at once (GeckoFTL appendix A)."
    TwoWay "two-way" "Two at a time, level by level (GeckoFTL section 3)."
} }

values! { GeckoPages "How entries stand on the pages of Logarithmic Gecko." {
    Listed "listed" "Each with its key (GeckoFTL section 3)."
    Dense "dense" "With the first key alone where hardly one is missing: nearly twice as many to a page. Not from the paper."
} }

impl GeckoPages {
    /// How a drive's description names it, behind what it had before there was a choice.
    pub(crate) fn on_flash(self) -> &'static str {
        match self {
            Self::Listed => "",
            Self::Dense => ", dense",
        }
    }
}
