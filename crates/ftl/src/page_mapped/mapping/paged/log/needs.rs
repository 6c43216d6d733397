//! A demand-paged mapping with a log.

use super::super::{PagedMapping, entries_per_page, translation_pages};
use super::{LogShape, MappingLog};
use crate::page_mapped::needs::Needs;
use crate::{MappingPart, OnMiss, PageParts, PowerPart};
use alloc::boxed::Box;
use phelsuma_nand::Geometry;

impl PagedMapping {
    /// Whether such parts have a log.
    pub(crate) fn has_log_in(parts: &PageParts) -> bool {
        matches!(parts.mapping, MappingPart::Paged { log: 1.., .. })
    }

    /// What stands in the way of a log that such parts have.
    pub(crate) fn why_no_log(parts: &PageParts) -> Option<&'static str> {
        let is_lazy = matches!(parts.mapping, MappingPart::Paged { on_miss: OnMiss::Lazy, .. });
        let is_right = is_lazy && matches!(parts.power, PowerPart::GeckoRec { .. } | PowerPart::Nothing);
        (Self::has_log_in(parts) && !is_right).then_some("mapping.log needs mapping.on-miss=lazy and power=gecko-rec")
    }

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

    /// Entries that may wait in such a log: each may name a page that is not known to be stale.
    pub(crate) fn log_entries(logical_pages: u32, permille: u32) -> u64 {
        u64::from(logical_pages) * u64::from(permille) / 1000
    }

    /// What such a log needs of the flash.
    pub(crate) fn log_needs(geometry: &Geometry, logical_pages: u32, entries: u32, permille: u32) -> Needs {
        let parts = translation_pages(geometry, logical_pages);
        let entries_per_page = entries_per_page(geometry);
        let shape = LogShape { logical_pages, parts, entries_per_page, entries, permille };
        shape.needs(geometry, geometry.pages_per_block().into())
    }
}
