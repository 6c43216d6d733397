//! What a write cache changes of an FTL's promises.

use super::WriteCache;
use crate::Config;

impl<C> Config<C> {
    /// The same FTL behind a write cache, or without one.
    #[must_use]
    pub fn cached(mut self, write_cache: Option<WriteCache>) -> Self {
        self.write_cache = write_cache;
        self
    }
}

impl Config {
    /// Whether RAM is saved on battery or capacitors when the power fails: the FTL's own, or that of a write cache.
    pub fn has_battery(&self) -> bool {
        self.composition.has_battery() || self.write_cache.is_some_and(|cache| !cache.is_volatile())
    }

    /// Whether a power cut may take back acknowledged writes that were not flushed.
    pub fn may_lose_what_is_not_flushed(&self) -> bool {
        match self.write_cache {
            None => self.composition.may_lose_what_is_not_flushed(),
            // What is written out on capacitors is flushed.
            Some(cache) => cache.is_volatile(),
        }
    }

    /// Whether there is a write cache that a power cut empties.
    pub fn has_volatile_cache(&self) -> bool {
        self.write_cache.is_some_and(|cache| cache.is_volatile())
    }
}
