//! What a cache of mapping entries lets go, and what it fetches.

use crate::spec::values;

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
