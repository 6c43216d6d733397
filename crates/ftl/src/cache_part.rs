//! What a cache of mapping entries lets go, what it fetches, and what it keeps of translation pages besides.

use crate::config::{CACHE_MIN, ENTRY_BYTES, MappingPart, PageParts};
use crate::spec::values;
use alloc::format;
use alloc::string::{String, ToString};

/// Why a mapping without a cache has none of its parameters.
pub(crate) const NO_CACHE: &str = "only the mapping part paged has a cache";

/// The share of a cache's RAM that is for condensed translation pages, in percent, where none is asked for.
pub(crate) const CONDENSE_SHARE: u32 = 75;

values! { Evict "Which cached entry goes first." {
    Lru "lru" "The one used longest ago (GeckoFTL section 2)."
    CleanFirst "clean-first" "One that a synchronization has written along: a host that writes has no use for it."
    Fullest "fullest" "Of those used longest ago a clean one, or one whose translation page has the most dirty entries."
    TwoLevel "two-level" "A clean one, if there is any, of the translation page whose entries are coldest on average (TPFTL)."
} }

values! { Prefetch "Which entries are cached with one that was missed (TPFTL)." {
    Nothing "none" "None."
    Request "request" "The others of its request that stand in the same translation page."
    Selective "selective" "Those, and as many more as are cached before it, where accesses are sequential."
} }

values! { Condense "In which form RAM keeps the translation pages used last, beside cached entries." {
    Nothing "none" "In none."
    Runs "runs" "As runs of pages that follow each other (S-FTL)."
    Segments "segments" "As learned segments (LeaFTL, with an error bound of 0)."
    Models "models" "As lines through their entries, and a bit for each entry that a line names exactly (LearnedFTL)."
} }

/// The RAM of a cache, packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRoom {
    /// For entries, at [`ENTRY_BYTES`] each.
    pub(crate) entries: u32,
    /// For condensed translation pages.
    pub(crate) condensed_bytes: u64,
}

impl PageParts {
    /// Why a share cannot be as was asked for: its name, its value, and what would be right.
    pub(crate) fn why_no_share(&self) -> Option<(&'static str, String, String)> {
        let MappingPart::Paged { condense: Condense::Nothing, share, .. } = self.mapping else { return None };
        let right = "it needs mapping.condense=runs, segments or models".to_string();
        (share != CONDENSE_SHARE).then(|| ("mapping.condense-share", share.to_string(), right))
    }
}

impl PageParts {
    /// Why a cache has no room for a translation page in fewer bytes on a drive with pages of `page_bytes`: even one that
    /// takes least has a bit an entry in runs and models, and a segment for each group in segments.
    pub(crate) fn why_nothing_condensed(&self, page_bytes: u32, logical_pages: u32) -> Option<String> {
        let MappingPart::Paged { condense, .. } = self.mapping else { return None };
        let entries = page_bytes / 4;
        let least = match condense {
            Condense::Nothing => return None,
            Condense::Runs | Condense::Models => 28 + entries.div_ceil(64) * 8,
            Condense::Segments => 16 + entries.div_ceil(256) * 12,
        };
        let room = self.mapping.cache_room(logical_pages).condensed_bytes;
        (room < least.into()).then(|| {
            format!("a cache with {room} bytes for condensed translation pages: at least {least} bytes would hold one")
        })
    }
}

impl MappingPart {
    /// The RAM of its cache on a drive of so many logical pages: as much as was requested, or 1/512 of the table (of four
    /// bytes an entry), at least 8 KiB.
    pub(crate) fn cache_room(&self, logical_pages: u32) -> CacheRoom {
        let Self::Paged { cache_entries, condense, share, .. } = *self else {
            return CacheRoom { entries: 0, condensed_bytes: 0 };
        };
        let asked = if cache_entries == 0 { (logical_pages / 1024).max(1024) } else { cache_entries };
        let share = if condense == Condense::Nothing { 0 } else { share };
        let condensed = (u64::from(asked) * u64::from(share) / 100).min(u64::from(asked.saturating_sub(CACHE_MIN)));
        CacheRoom { entries: asked - condensed as u32, condensed_bytes: condensed * ENTRY_BYTES }
    }
}
