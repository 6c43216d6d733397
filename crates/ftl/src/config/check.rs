//! Whether a drive has room for the parameters.

use super::parts::CACHE_MIN;
use super::{ConfigError, MappingPart, PageParts, ValidityPart};
use crate::policy::SampleOf;
use phelsuma_nand::Geometry;

impl PageParts {
    /// Refuses parameters that a drive of this shape cannot have.
    ///
    /// # Errors
    /// [`ConfigError::Partitions`], [`ConfigError::Cache`] and [`ConfigError::Sample`].
    pub fn check_on(&self, geometry: &Geometry, logical_pages: u32) -> Result<(), ConfigError> {
        let (blocks, pages_per_block) = (geometry.blocks(), geometry.pages_per_block());
        match (self.validity, self.mapping, self.victim.sample()) {
            (ValidityPart::Gecko { partitions, .. }, ..) if partitions > pages_per_block => {
                Err(ConfigError::Partitions { partitions, pages_per_block })
            }
            (_, MappingPart::Paged { cache_entries: entries, .. }, _) if entries > logical_pages.max(CACHE_MIN) => {
                Err(ConfigError::Cache { entries, logical_pages })
            }
            (.., Some(SampleOf { blocks: sample, .. })) if sample > blocks => {
                Err(ConfigError::Sample { sample, blocks })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ConfigError;
    use crate::presets::with;
    use phelsuma_nand::Geometry;

    #[test]
    fn what_a_drive_has_no_room_for_is_refused() {
        let parts = with("geckoftl", &[("gecko.partitions", "128"), ("mapping.cache", "1000")]).unwrap();
        let drive = |pages_per_block, blocks| Geometry::new(512, pages_per_block, blocks, 1, 1).unwrap();
        assert!(parts.check_on(&drive(128, 16), 1000).is_ok());
        assert!(parts.check_on(&drive(64, 32), 1000).is_err());
        assert!(parts.check_on(&drive(128, 16), 999).is_err());
        let parts = with("page", &[("victim", "sampled"), ("victim.sample", "32")]).unwrap();
        assert!(parts.check_on(&drive(64, 32), 1000).is_ok());
        assert_eq!(parts.check_on(&drive(64, 31), 1000), Err(ConfigError::Sample { sample: 32, blocks: 31 }));
        assert!(with("page", &[("victim", "sampled")]).unwrap().check_on(&drive(64, 4), 100).is_ok());
    }
}
