//! Parts by name: the list of them, the one that is set, and changing it.

use super::together::needs;
use super::{ConfigError, LogParts, PageParts};
use crate::policy::registered::victims;
use crate::spec::{Own, Parameter, Refused, Row, either};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Names may be written with either.
fn canonical(name: &str) -> String {
    name.replace('_', "-")
}

/// Every part and parameter that can be set by name, of page-mapped FTLs and of log-block ones.
pub fn parameters() -> Vec<Parameter> {
    let pages = PageParts::rows().flat_map(|row| row.parameters());
    let mut all: Vec<Parameter> = pages.chain(LogParts::rows().flat_map(|row| row.parameters())).collect();
    for parameter in &mut all {
        for (word, _, needed) in &mut parameter.words {
            let stated = needs(parameter.name, word).iter();
            *needed = stated.map(|(part, words)| format!("{part}={}", either(words, "or"))).collect();
            let victim = victims().find(|victim| (parameter.name, victim.spec.name) == ("victim", *word));
            let pair = victim.and_then(|victim| victim.pairs_with);
            needed.extend(pair.map(|(placement, _)| format!("placement={placement}")));
        }
    }
    all
}

/// The parts of a family, by name.
pub(super) trait Parts: Copy + 'static {
    /// What there is; a part stands before what changes it.
    fn rows() -> impl Iterator<Item = Row<Self>>;

    /// What follows for other parts when one is changed.
    fn follows(&mut self);

    /// Checks whether the settings can be together.
    fn settle(&mut self, _settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Whether a parameter is one of this family.
    fn has(name: &str) -> bool {
        Self::rows().any(|row| row.has(&canonical(name)))
    }

    /// Every part and parameter that is there with its value, a part before what changes it.
    fn all_settings(&self) -> Vec<(&'static str, String)> {
        Self::rows().flat_map(|row| row.settings(*self)).collect()
    }

    /// The value of a part or parameter; nothing where it is not there, or left out.
    fn value(&self, name: &str) -> String {
        self.all_settings().into_iter().find(|(of, _)| *of == name).map(|(_, value)| value).unwrap_or_default()
    }

    /// Changes one.
    fn set_one(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (own, name, value) = (canonical(name), name.to_string(), value.to_string());
        let Some(row) = Self::rows().find(|row| row.has(&own)) else {
            let known = parameters().iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ");
            return Err(ConfigError::UnknownParameter { name, known });
        };
        row.set(self, &own, &value, Self::follows).map_err(|refused| match refused {
            Refused::Value(right) => ConfigError::BadValue { name, value, right },
            Refused::Part(only) => ConfigError::NoSuchPart { name, value, only },
            Refused::Needs => {
                ConfigError::NoSuchPart { name, value, only: self.what_lacks(&row, &row).unwrap_or_default() }
            }
        })
    }

    /// Which part would have what this row is, if the part is not there that `of` needs.
    fn what_lacks(&self, row: &Row<Self>, of: &Row<Self>) -> Option<String> {
        let (Row::Own(Own { param, .. }), Row::Own(Own { needs: Some((part, words)), .. })) = (row, of) else {
            return None;
        };
        let lacking = Self::rows().find(|row| row.has(part) && !row.is_there(*self));
        let is_one = words.contains(&self.value(part).as_str());
        lacking.and_then(|of| self.what_lacks(row, &of)).or_else(|| (!is_one).then(|| param.only(part, words)))
    }

    /// Changes all of these, whatever their order; nothing where one is refused.
    fn set_each(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        for (n, (name, _)) in settings.iter().enumerate() {
            if settings.iter().take(n).any(|(earlier, _)| canonical(earlier) == canonical(name)) {
                return Err(ConfigError::Repeated(name.to_string()));
            }
        }
        let place = |name: &str| Self::rows().position(|row| row.has(name)).map(|row| (row, name.contains('.')));
        let mut in_order = settings.to_vec();
        in_order.sort_by_key(|(name, _)| place(&canonical(name)).unwrap_or((usize::MAX, false)));
        let mut changed = *self;
        in_order.iter().try_for_each(|(name, value)| changed.set_one(name, value))?;
        changed.settle(settings)?;
        *self = changed;
        Ok(())
    }

    /// As [`set_each`](Self::set_each), but for parameters of parts that are not there: the errors of those.
    fn set_those_there(&mut self, settings: &[(&str, &str)]) -> Result<Vec<ConfigError>, ConfigError> {
        let (mut settings, mut lacking) = (settings.to_vec(), Vec::new());
        loop {
            match self.set_each(&settings) {
                Ok(()) => return Ok(lacking),
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
