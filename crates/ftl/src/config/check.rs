//! Whether a drive has room for the parameters.

use super::parts::CACHE_MIN;
use super::{Composition, ConfigError, MappingPart, ValidityPart};

impl Composition {
    /// Refuses parameters that a drive of this shape cannot have.
    ///
    /// # Errors
    /// [`ConfigError::Partitions`] and [`ConfigError::Cache`].
    pub fn check_on(&self, pages_per_block: u32, logical_pages: u32) -> Result<(), ConfigError> {
        match (self.validity, self.mapping) {
            (ValidityPart::Gecko { partitions, .. }, _) if partitions > pages_per_block => {
                Err(ConfigError::Partitions { partitions, pages_per_block })
            }
            (_, MappingPart::Paged { cache_entries: entries, .. }) if entries > logical_pages.max(CACHE_MIN) => {
                Err(ConfigError::Cache { entries, logical_pages })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::with;

    #[test]
    fn what_a_drive_has_no_room_for_is_refused() {
        let parts = with("geckoftl", &[("gecko.partitions", "128"), ("mapping.cache", "1000")]).unwrap();
        assert!(parts.check_on(128, 1000).is_ok());
        assert!(parts.check_on(64, 1000).is_err());
        assert!(parts.check_on(128, 999).is_err());
    }
}
