//! A demand-paged mapping with a log.

use super::super::{PagedMapping, entries_per_page, translation_pages};
use super::{LogShape, MappingLog};
use crate::page_mapped::needs::Needs;
use crate::{MappingPart, OnMiss, PageParts, PowerPart};
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
        let MappingPart::Paged { log: log @ 1.., on_miss, .. } = self.mapping else { return None };
        let is_right = on_miss == OnMiss::Lazy && matches!(self.power, PowerPart::GeckoRec { .. } | PowerPart::Nothing);
        let right = "it needs mapping.on-miss=lazy and power=gecko-rec; with others 0 is right";
        (!is_right).then(|| ("mapping.log", log.to_string(), right.into()))
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
