//! Values of parts as numbers, and the forms in which parts of this crate are stated: an enum of words, a part, and a
//! group of parameters. Each states a type; by the same words its documentation, its defaults, and its parameters.

use super::param::Param;
use alloc::string::String;
use alloc::vec::Vec;

/// A value that is a number by the words in which it is stated.
pub(crate) trait Value {
    fn number(&self) -> u32;
    fn set(&mut self, number: u32);
}

impl Value for u32 {
    fn number(&self) -> u32 {
        *self
    }

    fn set(&mut self, number: u32) {
        *self = number;
    }
}

impl Value for bool {
    fn number(&self) -> u32 {
        (*self).into()
    }

    fn set(&mut self, number: u32) {
        *self = number > 0;
    }
}

/// A thing with parameters.
pub(crate) trait Stated: Copy {
    /// Each, and which forms have it.
    const PARAMS: &'static [(&'static [&'static str], Param)];

    /// Where the value of the one called `name` is; nowhere in a form that has no such parameter.
    fn param(&mut self, name: &str) -> Option<&mut dyn Value>;

    /// What names in results show of them, those first that come first.
    fn shown(mut self) -> Vec<String> {
        let mut value = |name| self.param(name).map(|value| value.number());
        let shown = Self::PARAMS.iter().filter_map(|(_, param)| {
            let shown = param.shown(&[value(param.name)?], false)?;
            Some((!param.is_shown_first(), shown))
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort_by_key(|(later, _)| *later);
        shown.into_iter().map(|(_, shown)| shown).collect()
    }
}

/// A need of another part: its name, and the values that fulfil it.
pub(crate) type Requirement = (&'static str, &'static [&'static str]);

/// A part.
pub(crate) trait Part: Stated + Value + 'static {
    /// Which of its forms there is, as a parameter.
    const ITSELF: Param;
    /// Its own needs.
    const NEEDS: Option<Requirement>;

    /// Where its value is, or that of its parameter called `name`.
    fn at(&mut self, name: &str) -> Option<&mut dyn Value> {
        if name == Self::ITSELF.name { Some(self) } else { self.param(name) }
    }
}

/// The value of a type that a number stands for.
macro_rules! value_of {
    (u32, $number:expr) => {
        $number
    };
    (bool, $number:expr) => {
        $number > 0
    };
    ($type:ident, $number:expr) => {
        $type::ALL[$number as usize]
    };
}

/// A parameter, from how it is stated.
macro_rules! param {
    ($key:literal $about:literal $make:ident($($arg:expr),*) $($with:ident($($value:expr),*))*) => {
        $crate::spec::Param::$make($key, $($arg,)* $about)$(.$with($($value),*))*
    };
}

/// An enum: `Type "what it is" { Variant "word" "what it is" { field: Type "what it is" = (default); … } … }`. A field
/// may be a parameter instead, with `[name, how it is made]` in the place of its default. A variant may have a group of
/// them.
macro_rules! values {
    ($type:ident $about:literal { $($variant:ident $word:literal $what:literal $(($group:ident))? $({ $(
        $field:ident: $kind:ident $means:literal $(= ($default:expr))?
            $([$key:literal, $make:ident $args:tt $(.$with:ident $value:tt)*])?;
    )* })?)* }) => {
        #[doc = $about]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, phelsuma_nand::state::Preserve)]
        pub enum $type { $(#[doc = $what] $variant $(($group))? $({ $(#[doc = $means] $field: $kind),* })?),* }

        impl $type {
            /// Each of its forms, with its defaults.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant $(($group::DEFAULT))? $({ $($field:
                $($default)? $($crate::spec::value_of!($kind, $crate::spec::param!($key $means $make $args $($with $value)*).default))?
            ),* })?),*];
            /// Their words, and their descriptions.
            pub(crate) const EACH: (&'static [&'static str], &'static [&'static str]) = (&[$($word),*], &[$($what),*]);

            /// Its name.
            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$variant { .. } => $word),* }
            }
        }

        impl $crate::spec::Value for $type {
            fn number(&self) -> u32 {
                Self::EACH.0.iter().position(|word| *word == self.word()).unwrap_or_default() as u32
            }

            fn set(&mut self, number: u32) {
                *self = Self::ALL.get(number as usize).copied().unwrap_or(*self);
            }
        }

        impl $crate::spec::Stated for $type {
            const PARAMS: &'static [(&'static [&'static str], $crate::spec::Param)] = &[$($($($(
                (&[$word], $crate::spec::param!($key $means $make $args $($with $value)*)),
            )?)*)?)*];

            fn param(&mut self, name: &str) -> Option<&mut dyn $crate::spec::Value> {
                match (self, name) {
                    $($($($((Self::$variant { $field, .. }, $key) => Some($field),)?)*)?)*
                    _ => None,
                }
            }
        }
    };
}

/// A part, which is such an enum: `"name" "what it is"; Type …`. Its own needs stand in brackets behind that.
macro_rules! part {
    ($name:literal $about:literal $([$need:expr])? $(.$also:ident($text:literal))?; $type:ident $($stated:tt)*) => {
        $crate::spec::values!($type $($stated)*);

        impl $crate::spec::Part for $type {
            const ITSELF: $crate::spec::Param = $crate::spec::Param::each_of($name, $type::EACH, $about)$(.$also($text))?;
            const NEEDS: Option<$crate::spec::Requirement> = [$(Some($need),)? None][0];
        }
    };
}

/// A group of parameters: `Type "what it is" { field: Type "what it is" [name, how it is made]; … }`.
macro_rules! group {
    ($type:ident $about:literal { $(
        $field:ident: $kind:ident $means:literal [$key:literal, $make:ident $args:tt $(.$with:ident $value:tt)*];
    )* }) => {
        #[doc = $about]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, phelsuma_nand::state::Preserve)]
        pub struct $type { $(#[doc = $means] pub $field: $kind),* }

        impl $type {
            /// All as it comes.
            pub(crate) const DEFAULT: Self = Self { $($field:
                $crate::spec::value_of!($kind, $crate::spec::param!($key $means $make $args $($with $value)*).default)
            ),* };
        }

        impl $crate::spec::Stated for $type {
            const PARAMS: &'static [(&'static [&'static str], $crate::spec::Param)] =
                &[$((&[], $crate::spec::param!($key $means $make $args $($with $value)*)),)*];

            fn param(&mut self, name: &str) -> Option<&mut dyn $crate::spec::Value> {
                match name { $($key => Some(&mut self.$field),)* _ => None }
            }
        }
    };
}

pub(crate) use {group, param, part, value_of, values};
