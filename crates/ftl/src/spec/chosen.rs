//! A part by its statement, and a part that was chosen: the statement and the numbers of its parameters.

use super::param::{PARAM_NUMBERS_MAX, Param};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Range};

/// What every part that can be chosen says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) params: &'static [Param],
}

impl Spec {
    pub(crate) const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, params: &[] }
    }

    /// The numbers of its parameters, all at their defaults.
    const fn defaults(&self) -> [u32; PARAM_NUMBERS_MAX] {
        let mut numbers = [0; PARAM_NUMBERS_MAX];
        let (mut param, mut at, mut item) = (0, 0, 0);
        while param < self.params.len() {
            numbers[at] = self.params[param].default;
            (at, item) = (at + 1, item + 1);
            if item == self.params[param].width() {
                (param, item) = (param + 1, 0);
            }
        }
        numbers
    }

    /// Its parameters, each with where its numbers are.
    fn places(&self) -> impl Iterator<Item = (&'static Param, Range<usize>)> + use<> {
        self.params.iter().scan(0, |next, param| {
            *next += param.width();
            Some((param, *next - param.width()..*next))
        })
    }
}

/// A parameter, and the numbers of the part that has it.
pub(crate) type Numbers<'a> = (&'static Param, &'a mut [u32]);

/// The parameters of a part with their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Values {
    spec: &'static Spec,
    numbers: [u32; PARAM_NUMBERS_MAX],
}

impl Values {
    fn all(&self) -> impl Iterator<Item = (&'static Param, &[u32])> {
        self.spec.places().map(|(param, place)| (param, &self.numbers[place]))
    }

    /// Its parameter called `name`, and where its numbers are.
    pub(crate) fn find(&mut self, name: &str) -> Option<Numbers<'_>> {
        let (param, place) = self.spec.places().find(|(param, _)| param.name == name)?;
        Some((param, &mut self.numbers[place]))
    }

    /// A parameter that is a list; nothing where the part has no such parameter.
    pub fn list(&self, param: &Param) -> &[u32] {
        self.all().find(|(of, _)| of.name == param.name).map_or(&[], |(_, numbers)| numbers)
    }

    /// A parameter that is a number; its default where the part has no such parameter.
    pub fn number(&self, param: &Param) -> u32 {
        self.list(param).first().copied().unwrap_or(param.default)
    }

    /// Whether a parameter that is a word is this one.
    pub fn is(&self, param: &Param, word: &str) -> bool {
        param.written(self.list(param)) == word
    }

    /// The value of its parameter of this name, as it is set; none where it has no such parameter.
    pub fn value(&self, name: &str) -> Option<String> {
        self.all().find(|(param, _)| param.name == name).map(|(param, numbers)| param.written(numbers))
    }

    /// The part's name with the parameters that are shown, as in results.
    pub fn shown(&self) -> String {
        let changed = self.all().any(|(param, numbers)| !param.is_default(numbers));
        with(self.spec.name, self.all().filter_map(|(param, numbers)| param.shown(numbers, changed)).collect())
    }

    /// The part, then its parameters with their values; those that it shares with others of its family come first.
    pub(crate) fn settings(&self, family: &'static str) -> Vec<(&'static str, String)> {
        let mut settings: Vec<_> = self.all().map(|(param, numbers)| (param.name, param.written(numbers))).collect();
        settings.sort_by_key(|(name, _)| name.split_once('.').is_none_or(|(of, _)| of != family));
        settings.insert(0, (family, self.spec.name.to_string()));
        settings
    }
}

/// A part with the shown ones of its parameters.
pub(crate) fn with(part: &str, shown: Vec<String>) -> String {
    if shown.is_empty() { part.to_string() } else { alloc::format!("{part}({})", shown.join(", ")) }
}

/// A part that was chosen, with its parameters: `P` is how such a part is built.
#[derive(Clone, Copy)]
pub struct Chosen<P: 'static> {
    part: &'static P,
    values: Values,
}

impl<P> Chosen<P> {
    pub(crate) const fn new(part: &'static P, spec: &'static Spec) -> Self {
        Self { part, values: Values { spec, numbers: spec.defaults() } }
    }

    /// The same with another number at the place of a parameter among those of its part, for presets.
    pub const fn with(mut self, place: usize, number: u32) -> Self {
        self.values.numbers[place] = number;
        self
    }

    /// The statement of how it is built.
    pub fn part(&self) -> &'static P {
        self.part
    }

    /// Its name, without parameters.
    pub fn name(&self) -> &'static str {
        self.values.spec.name
    }
}

impl<P> Deref for Chosen<P> {
    type Target = Values;

    fn deref(&self) -> &Values {
        &self.values
    }
}

impl<P> DerefMut for Chosen<P> {
    fn deref_mut(&mut self) -> &mut Values {
        &mut self.values
    }
}

impl<P> PartialEq for Chosen<P> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<P> Eq for Chosen<P> {}

impl<P> core::fmt::Debug for Chosen<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.shown())
    }
}
