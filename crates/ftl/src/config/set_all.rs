//! Changing several parts and parameters by name, whatever their order.

use super::{ConfigError, PageParts, PowerPart};
use alloc::string::ToString;
use alloc::vec::Vec;

impl PageParts {
    /// Changes all of these, whatever their order: what names a part comes before what changes it. Where the parts are
    /// such that power cuts are not survived in the way that was, and no other was asked for, they are not at all.
    ///
    /// # Errors
    /// [`ConfigError`]: as [`set`](Self::set); a parameter that is there twice; `power` that cannot be with these parts.
    pub fn set_all(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        let same = |a: &str, b: &str| a.replace('_', "-") == b.replace('_', "-");
        for (n, (name, _)) in settings.iter().enumerate() {
            if settings.iter().take(n).any(|(earlier, _)| same(earlier, name)) {
                return Err(ConfigError::Repeated(name.to_string()));
            }
        }
        // A part of the mapping has parameters of its own, and its entries are written by a method.
        let rank = |name: &str| match name {
            "mapping.directory" | "integrity" => 1,
            _ => 2 * usize::from(name.contains('.')),
        };
        for wanted in 0..3 {
            for (name, value) in settings.iter().filter(|(name, _)| rank(name) == wanted) {
                self.set(name, value)?;
            }
        }
        if let Some(right) = self.why_not_together() {
            let [_, validity, _, placement] = self.names();
            let (name, value) = match self.why_no_mu_tree() {
                Some(_) => ("validity", validity),
                None => ("placement", placement),
            };
            return Err(ConfigError::BadValue { name: name.into(), value, right });
        }
        let Some(why) = self.why_not_survivable().filter(|_| self.power != PowerPart::Nothing) else { return Ok(()) };
        match settings.iter().find(|(name, _)| *name == "power") {
            Some((name, value)) => {
                Err(ConfigError::BadValue { name: name.to_string(), value: value.to_string(), right: why })
            }
            None => {
                self.power = PowerPart::Nothing;
                Ok(())
            }
        }
    }

    /// As [`set_all`](Self::set_all), but for parameters of parts that are not there: what is wrong with each of those
    /// ([`ConfigError::NoSuchPart`]). For settings that several FTLs are to have, as far as they can.
    ///
    /// # Errors
    /// As [`set_all`](Self::set_all).
    pub fn set_what_is_there(&mut self, settings: &[(&str, &str)]) -> Result<Vec<ConfigError>, ConfigError> {
        let (mut settings, mut lacking) = (settings.to_vec(), Vec::new());
        loop {
            let mut changed = *self;
            match changed.set_all(&settings) {
                Ok(()) => {
                    *self = changed;
                    return Ok(lacking);
                }
                // One fewer each time.
                Err(ConfigError::NoSuchPart { name, value, only }) => {
                    settings.retain(|(other, _)| *other != name);
                    lacking.push(ConfigError::NoSuchPart { name, value, only });
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::presets::with;
    use crate::{ConfigError, PowerPart, Preset};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn the_order_of_settings_does_not_matter() {
        let settings =
            [("mapping", "paged"), ("mapping.cache", "64"), ("power", "battery"), ("mapping.on-miss", "fetch")];
        let forth = with("page", &settings).unwrap();
        let back: Vec<_> = settings.iter().rev().copied().collect();
        assert_eq!(with("page", &back).unwrap(), forth);
        assert_eq!(forth.power, PowerPart::Battery);
        assert!(forth.survives_power_cuts());
    }

    #[test]
    fn a_parameter_is_set_once() {
        let twice = with("page", &[("victim", "fifo"), ("victim", "greedy")]);
        assert_eq!(twice, Err(ConfigError::Repeated("victim".into())));
        assert!(with("geckoftl", &[("gecko.size-ratio", "4"), ("gecko.size_ratio", "4")]).is_err());
    }

    #[test]
    fn what_is_there_is_set_and_the_rest_is_told() {
        let settings = [("gecko.size_ratio", "4"), ("wear.looks", "4"), ("victim.d", "3"), ("victim", "d-choices")];
        let set = |ftl: &str| {
            let mut parts = Preset::named(ftl).unwrap().composition.page_mapped().unwrap();
            let lacking = parts.set_what_is_there(&settings).unwrap();
            assert!(lacking.iter().all(|error| matches!(error, ConfigError::NoSuchPart { .. })));
            (parts, lacking.iter().map(|error| error.to_string()).collect::<Vec<_>>())
        };
        let levelling = "'wear.looks' cannot be '4': only wear=levelling has it";
        let (parts, lacking) = set("geckoftl");
        assert_eq!(lacking, [levelling]);
        let right = with("geckoftl", &[("gecko.size-ratio", "4"), ("victim", "d-choices"), ("victim.d", "3")]);
        assert_eq!(Ok(parts), right);
        let (parts, lacking) = set("page");
        assert_eq!(lacking, ["'gecko.size_ratio' cannot be '4': only the validity part gecko has it", levelling]);
        assert_eq!(Ok(parts), with("page", &[("victim", "d-choices"), ("victim.d", "3")]));
        // What is wrong for another reason is an error, and changes nothing.
        let mut parts = Preset::named("page").unwrap().composition;
        for wrong in [("victim", "none"), ("nonsense", "1"), ("power", "battery"), ("gecko.merge", "multi-way")] {
            let outcome = parts.set_what_is_there(&[("placement", "host-gc"), ("gecko.merge", "two-way"), wrong]);
            assert!(outcome.is_err(), "{wrong:?}");
            assert_eq!(parts, Preset::named("page").unwrap().composition);
        }
    }
}
