//! A part by its statement, and a part that was chosen: the statement and the numbers of its parameters.

use super::{PARAM_NUMBERS_MAX, Param, Shown};
#[cfg(feature = "std")]
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// What every part that can be chosen says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) params: &'static [Param],
}

impl Spec {
    pub(crate) const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, params: &[] }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in a line.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Its parameters.
    pub fn params(&self) -> &'static [Param] {
        self.params
    }

    /// Whether it can be, or what would be right.
    #[cfg(feature = "std")]
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+".contains(c))
        };
        if !is_name(self.name) {
            return Err("a name of small letters, digits and '-' would be right".into());
        }
        let width: usize = self.params.iter().map(Param::width).sum();
        if width > PARAM_NUMBERS_MAX {
            return Err(format!("parameters of {width} numbers; {PARAM_NUMBERS_MAX} or fewer would be right"));
        }
        for (n, param) in self.params.iter().enumerate() {
            if !param.name.split_once('.').is_some_and(|(of, name)| is_name(of) && is_name(name)) {
                return Err(format!(
                    "its parameter '{}'; a name such as {}.depth would be right",
                    param.name, self.name
                ));
            }
            if self.params.iter().take(n).any(|other| other.name == param.name) {
                return Err(format!("its parameter '{}' is there twice", param.name));
            }
            if !param.takes(param.default) {
                return Err(format!("the default of its parameter '{}' is no value of it", param.name));
            }
        }
        Ok(())
    }

    /// The numbers of its parameters, all at their defaults.
    pub(crate) const fn defaults(&self) -> [u32; PARAM_NUMBERS_MAX] {
        let mut numbers = [0; PARAM_NUMBERS_MAX];
        let (mut param, mut at) = (0, 0);
        while param < self.params.len() {
            let mut item = 0;
            while item < self.params[param].width() {
                numbers[at] = self.params[param].default;
                at += 1;
                item += 1;
            }
            param += 1;
        }
        numbers
    }

    /// Its parameters, each with where its numbers are.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static Param, Range<usize>)> + use<> {
        self.params.iter().scan(0, |next, param| {
            let from = *next;
            *next += param.width();
            Some((param, from..*next))
        })
    }
}

/// A part that was chosen, with its parameters: `P` is how such a part is built.
pub struct Chosen<P: 'static> {
    part: &'static P,
    spec: &'static Spec,
    numbers: [u32; PARAM_NUMBERS_MAX],
}

impl<P> Chosen<P> {
    pub(crate) const fn new(part: &'static P, spec: &'static Spec) -> Self {
        Self { part, spec, numbers: spec.defaults() }
    }

    /// The same with another number at the place of a parameter among those of its part, for presets.
    pub const fn with(mut self, place: usize, number: u32) -> Self {
        self.numbers[place] = number;
        self
    }

    /// The statement of how it is built.
    pub fn part(&self) -> &'static P {
        self.part
    }

    /// Its name, without parameters.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// The value of its parameter of this name, as it is set; none where it has no such parameter.
    pub fn value(&self, name: &str) -> Option<String> {
        self.places().find(|(param, _)| param.name == name).map(|(param, numbers)| param.written(numbers))
    }

    /// The values of its parameters.
    pub fn values(&self) -> Values {
        Values { spec: self.spec, numbers: self.numbers }
    }

    /// Its name with the parameters that are shown, as in results.
    pub fn shown(&self) -> String {
        let changed = self.places().any(|(param, numbers)| !param.is_default(numbers));
        let is_shown = |(param, numbers): &(&Param, &[u32])| match param.shown {
            Shown::Always => true,
            Shown::Changed => !param.is_default(numbers),
            Shown::Together => changed,
        };
        let shown: Vec<String> = self.places().filter(is_shown).map(|(param, numbers)| param.shown(numbers)).collect();
        let name = String::from(self.spec.name);
        if shown.is_empty() { name } else { name + "(" + &shown.join(", ") + ")" }
    }

    fn places(&self) -> impl Iterator<Item = (&'static Param, &[u32])> {
        self.spec.places().map(|(param, place)| (param, &self.numbers[place]))
    }

    /// Its parameters with their values, those that it has in common with others of its family first.
    pub(crate) fn settings(&self, family: &str) -> Vec<(&'static str, String)> {
        let mut settings: Vec<_> = self.places().map(|(param, numbers)| (param.name, param.written(numbers))).collect();
        let is_own = |name: &str| name.split_once('.').is_none_or(|(of, _)| of != family);
        settings.sort_by_key(|(name, _)| is_own(name));
        settings
    }

    /// Its parameter called `name`, and where its numbers are.
    pub(crate) fn find(&mut self, name: &str) -> Option<(&'static Param, &mut [u32])> {
        let (param, place) = self.spec.places().find(|(param, _)| param.name == name)?;
        Some((param, &mut self.numbers[place]))
    }
}

impl<P> Clone for Chosen<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Chosen<P> {}

impl<P> PartialEq for Chosen<P> {
    fn eq(&self, other: &Self) -> bool {
        self.spec.name == other.spec.name && self.numbers == other.numbers
    }
}

impl<P> Eq for Chosen<P> {}

impl<P> core::fmt::Debug for Chosen<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// The values of a part's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Values {
    spec: &'static Spec,
    numbers: [u32; PARAM_NUMBERS_MAX],
}

impl Values {
    fn of(&self, param: &Param) -> Option<&[u32]> {
        let (_, place) = self.spec.places().find(|(of, _)| of.name == param.name)?;
        Some(&self.numbers[place])
    }

    /// A parameter that is a number; its default where the part has no such parameter.
    pub fn number(&self, param: &Param) -> u32 {
        self.of(param).map_or(param.default, |numbers| numbers[0])
    }

    /// Whether a parameter that is a word is this one.
    pub fn is(&self, param: &Param, word: &str) -> bool {
        self.of(param).is_some_and(|numbers| param.written(numbers) == word)
    }

    /// A parameter that is a list.
    pub fn list(&self, param: &Param) -> &[u32] {
        self.of(param).unwrap_or_default()
    }
}
