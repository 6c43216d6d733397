//! What cannot be asked of condensed pages.

use crate::cache_part::{CONDENSE_SHARE, Condense};
use crate::config::{MappingPart, PageParts};
use alloc::string::{String, ToString};

impl PageParts {
    /// Why a share cannot be as was asked for: its name, its value, and what would be right.
    pub(crate) fn why_no_share(&self) -> Option<(&'static str, String, String)> {
        let MappingPart::Paged { condense: Condense::Nothing, share, .. } = self.mapping else { return None };
        let right = "it needs mapping.condense=runs, segments or models".to_string();
        (share != CONDENSE_SHARE).then(|| ("mapping.condense-share", share.to_string(), right))
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;

    #[test]
    fn a_share_is_refused_where_it_is_of_nothing() {
        let share = ("mapping.condense-share", "25");
        let refused = |preset, settings: &[(&str, &str)]| with(preset, settings).err().map(|error| error.to_string());
        assert!(refused("dftl", &[share]).unwrap().contains("mapping.condense=runs"));
        assert!(refused("dftl", &[share, ("mapping.condense", "runs")]).is_none());
    }
}
