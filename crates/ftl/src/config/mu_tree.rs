//! Parameters of µ-FTL's parts.

use super::set::refusals;
use super::{ConfigError, MappingPart, PageParts, PlacementPart, ValidityPart, VictimPart};

impl PageParts {
    pub(super) fn set_mu_tree(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (bad, lacks) = refusals(name, value);
        let number = value.parse::<u32>().ok();
        let within = |least: u32, most: u32| number.filter(|number| (least..=most).contains(number));
        match (name.replace('_', "-").as_str(), &mut self.mapping, &mut self.validity, &mut self.placement) {
            ("mapping.read-pages", MappingPart::MuTree { read_pages, .. }, ..) => {
                *read_pages = within(1, 65_536).ok_or_else(|| bad("it can be a whole number from 1 to 65536"))?;
            }
            ("mapping.write-pages", MappingPart::MuTree { write_pages, .. }, ..) => {
                *write_pages = within(0, 65_536).ok_or_else(|| bad("it can be a whole number from 0 to 65536"))?;
            }
            ("mapping.record-bits", MappingPart::MuTree { record_bits, .. }, ..) => {
                let bits = number.filter(|bits| [0, 32, 40].contains(bits));
                *record_bits = bits.ok_or_else(|| bad("it can be 32, 40 or 0"))?;
            }
            ("validity.bitmap-cache", _, ValidityPart::MuTree { bitmap_cache }, _) => {
                *bitmap_cache = within(0, 1 << 24).ok_or_else(|| bad("it can be a whole number from 0 to 16777216"))?;
            }
            ("partitions.pages", .., PlacementPart::Partitions { pages }) => {
                *pages = within(1, 1 << 31).ok_or_else(|| bad("it can be a whole number from 1 to 2147483648"))?;
            }
            ("partitions.pages", ..) => return Err(lacks("only the placement part partitions has it")),
            ("validity.bitmap-cache", ..) => return Err(lacks("only the validity part mu-tree has it")),
            _ => return Err(lacks("only the mapping part mu-tree has it")),
        }
        Ok(())
    }

    /// Why its validity cannot be in a µ-Tree, in a few words.
    pub(super) fn why_no_mu_tree(&self) -> Option<&'static str> {
        let tree = matches!(self.mapping, MappingPart::MuTree { .. });
        let bitmaps = matches!(self.validity, ValidityPart::MuTree { .. });
        if bitmaps && !tree {
            Some("validity=mu-tree needs mapping=mu-tree, whose tree it is")
        } else if bitmaps && matches!(self.victim, VictimPart::Sampled { .. }) {
            Some("victim=sampled counts a part of the blocks, and a block without a live page would not be noticed")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;
    use crate::{MappingPart, PlacementPart, ValidityPart};
    use alloc::string::ToString;

    #[test]
    fn parameters_of_mu_ftl_are_those_of_its_parts_alone() {
        let settings = [
            ("mapping.read-pages", "3"),
            ("mapping.write_pages", "0"),
            ("mapping.record-bits", "40"),
            ("validity.bitmap-cache", "0"),
            ("partitions.pages", "100"),
        ];
        let parts = with("mu-ftl", &settings).unwrap();
        assert_eq!(parts.mapping, MappingPart::MuTree { read_pages: 3, write_pages: 0, record_bits: 40 });
        assert_eq!(parts.validity, ValidityPart::MuTree { bitmap_cache: 0 });
        assert_eq!(parts.placement, PlacementPart::Partitions { pages: 100 });
        assert!(parts.survives_power_cuts());
        for setting in settings {
            assert!(with("page", &[setting]).is_err(), "{setting:?}");
        }
        let wrong = [
            ("mapping.read-pages", "0"),
            ("mapping.record-bits", "33"),
            ("partitions.pages", "0"),
            ("validity.bitmap-cache", "-1"),
        ];
        for wrong in wrong {
            assert!(with("mu-ftl", &[wrong]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn bitmap_entries_need_the_tree_of_the_mapping() {
        let error = with("page", &[("validity", "mu-tree")]).unwrap_err().to_string();
        assert!(error.ends_with("validity=mu-tree needs mapping=mu-tree, whose tree it is"), "{error}");
        assert!(with("mu-ftl", &[("victim", "sampled")]).is_err());
        assert!(with("page", &[("mapping", "mu-tree")]).unwrap().survives_power_cuts());
    }
}
