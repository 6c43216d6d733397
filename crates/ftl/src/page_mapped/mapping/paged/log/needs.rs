//! A demand-paged mapping with a log.

use super::super::{PagedMapping, entries_per_page, translation_pages};
use super::{LogShape, MappingLog};
use crate::page_mapped::needs::Needs;
use crate::{MappingPart, OnMiss, PageParts, PowerPart, Synchronize};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use phelsuma_nand::Geometry;

impl PageParts {
    /// Whether dirty entries of its mapping wait in a log.
    pub(crate) fn has_mapping_log(&self) -> bool {
        matches!(self.mapping, MappingPart::Paged { log: 1.., .. })
    }

    /// Why there can be no mapping log that was asked for: its name, its value, and what would be right.
    pub(crate) fn why_no_mapping_log(&self) -> Option<(&'static str, String, String)> {
        let MappingPart::Paged { log: log @ 1.., on_miss, dirty, .. } = self.mapping else { return None };
        // Entries leave the cache by spills alone: a translation page that is synchronized passes by what runs have of it.
        let right = if on_miss != OnMiss::Lazy || !matches!(self.power, PowerPart::GeckoRec { .. } | PowerPart::Nothing)
        {
            "it needs mapping.on-miss=lazy and power=gecko-rec; with others 0 is right"
        } else if dirty.percent < 100 || dirty.synchronize != Synchronize::TranslationPage {
            "it needs mapping.dirty-limit=100 and mapping.synchronize=translation-page; with others 0 is right"
        } else {
            return None;
        };
        Some(("mapping.log", log.to_string(), right.into()))
    }
}

impl PagedMapping {
    /// So many thousandths of the table wait in a mapping log.
    pub(crate) fn keep_log(&mut self, geometry: &Geometry, permille: u32) {
        let shape = LogShape {
            logical_pages: self.logical_pages,
            parts: self.table.parts(),
            entries_per_page: self.entries_per_page,
            entries: self.cache.capacity(),
            permille,
        };
        // A piece of a trim brings up to half as many; a long trim may bring more.
        self.cache.clean_together(2 * shape.spill_at(&shape.tuning(geometry)));
        self.log = Some(Box::new(MappingLog::new(geometry, shape, self.barriers)));
    }

    /// What such a log needs of the flash.
    pub(crate) fn log_needs(geometry: &Geometry, logical_pages: u32, entries: u32, permille: u32) -> Needs {
        let parts = translation_pages(geometry, logical_pages);
        let entries_per_page = entries_per_page(geometry);
        let shape = LogShape { logical_pages, parts, entries_per_page, entries, permille };
        shape.needs(geometry, geometry.pages_per_block().into())
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;
    use alloc::string::ToString;

    #[test]
    fn a_log_is_refused_beside_what_synchronizes_translation_pages() {
        let log = ("mapping.log", "20");
        for other in [
            ("mapping.on-miss", "fetch"),
            ("mapping.dirty-limit", "99"),
            ("mapping.dirty-limit", "1"),
            ("mapping.synchronize", "physical-block"),
        ] {
            assert!(with("geckoftl", &[other]).is_ok(), "{other:?}");
            for preset in ["geckoftl", "phelsuma"] {
                let error = with(preset, &[log, other]).unwrap_err().to_string();
                assert!(error.ends_with("with others 0 is right"), "{other:?}: {error}");
            }
        }
        assert!(with("geckoftl", &[log]).is_ok());
    }
}
