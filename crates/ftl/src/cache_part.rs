//! What a cache of mapping entries lets go, what it fetches, and what it keeps of translation pages besides.

use crate::config::{CACHE_MIN, ENTRY_BYTES, MappingPart};
use crate::spec::values;

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
