//! A family's parts and parameters in rows: each says once what it can be, what it means and where its value is. What can
//! be done with parts by name follows from them.

use super::ConfigError;
use crate::spec::{Chosen, Param, Spec, either};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A part, or a parameter of one.
pub(super) enum Row<P: 'static> {
    /// One of this crate alone.
    Own(Own<P>),
    /// A part that anybody may bring along, with its own parameters.
    Open(Open<P>),
}

/// A part or parameter of this crate alone.
pub(super) struct Own<P> {
    /// What it says of itself.
    param: Param,
    /// Its value; none where the part is not there that has it.
    get: fn(&P) -> Option<u32>,
    /// Whether it can have this value, or which part has it.
    only_if: fn(&P, u32) -> Result<(), &'static str>,
    /// Sets it, or says which part has it.
    set: fn(&mut P, u32) -> Result<(), &'static str>,
    /// What else follows when it was set.
    then: fn(&mut P),
    /// The value at which images leave it out: those do that are older than it.
    left_out: Option<u32>,
}

/// A part that anybody may bring along.
pub(super) struct Open<P> {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Those that there are.
    pub(super) all: fn() -> Vec<&'static Spec>,
    /// Puts in the one of this number.
    pub(super) choose: fn(&mut P, usize),
    /// The one that is there, with its parameters.
    pub(super) settings: fn(&P) -> Vec<(&'static str, String)>,
    /// Its parameter of this name, and where the numbers are.
    pub(super) find: for<'a> fn(&'a mut P, &str) -> Option<Numbers<'a>>,
}

/// A parameter, and the numbers of the part that has it.
pub(super) type Numbers<'a> = (&'static Param, &'a mut [u32]);

/// A part: which it can be, each with its defaults.
macro_rules! part {
    ($parts:ident, $name:literal, $about:literal, $part:ident, [$($word:literal => $value:expr),+]) => {
        own::<$parts>(
            Param::words($name, &[$($word),+], $about),
            |parts| {
                let is = |value| core::mem::discriminant(value) == core::mem::discriminant(&parts.$part);
                [$($value),+].iter().position(is).map(|place| place as u32)
            },
            |parts, number| {
                parts.$part = [$($value),+].get(number as usize).copied().unwrap_or(parts.$part);
                Ok(())
            },
        )
    };
}

/// A parameter that is a field of a part, if that is a variant of which it is said that it alone has it.
macro_rules! of {
    ($part:ident: $variant:path { $field:ident }, $only:expr, $param:expr) => {
        own(
            $param,
            |parts| match parts.$part {
                $variant { $field, .. } => Some(Number::number($field)),
                _ => None,
            },
            |parts, number| match &mut parts.$part {
                $variant { $field, .. } => {
                    *$field = Number::of(number);
                    Ok(())
                }
                _ => Err($only),
            },
        )
    };
}

pub(super) use {of, part};

/// A row of a part or parameter of this crate alone.
pub(super) const fn own<P>(
    param: Param,
    get: fn(&P) -> Option<u32>,
    set: fn(&mut P, u32) -> Result<(), &'static str>,
) -> Row<P> {
    Row::Own(Own { param, get, only_if: |_, _| Ok(()), set, then: |_| {}, left_out: None })
}

/// A parameter, as it is listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it can be.
    pub values: String,
    /// What it means.
    pub about: &'static str,
}

impl Parameter {
    fn of(param: &Param) -> Self {
        Self { name: param.name, values: param.values(), about: param.about }
    }
}

impl<P> Row<P> {
    /// Only where this says so, which says otherwise which part has it.
    pub(super) const fn only_if(self, only_if: fn(&P, u32) -> Result<(), &'static str>) -> Self {
        match self {
            Self::Own(own) => Self::Own(Own { only_if, ..own }),
            open => open,
        }
    }

    /// This follows when it was set.
    pub(super) const fn then(self, then: fn(&mut P)) -> Self {
        match self {
            Self::Own(own) => Self::Own(Own { then, ..own }),
            open => open,
        }
    }

    /// Images leave it out at this value.
    pub(super) const fn left_out(self, value: u32) -> Self {
        match self {
            Self::Own(own) => Self::Own(Own { left_out: Some(value), ..own }),
            open => open,
        }
    }

    /// What is listed of it.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Own(own) => alloc::vec![Parameter::of(&own.param)],
            Self::Open(open) => {
                let names: Vec<&str> = (open.all)().iter().map(|spec| spec.name).collect();
                let mut all = alloc::vec![Parameter { name: open.name, values: names.join(" | "), about: open.about }];
                for param in (open.all)().iter().flat_map(|spec| spec.params) {
                    if all.iter().all(|other| other.name != param.name) {
                        all.push(Parameter::of(param));
                    }
                }
                all
            }
        }
    }

    /// Whether a name is its own.
    fn has(&self, name: &str) -> bool {
        match self {
            Self::Own(own) => own.param.name == name,
            Self::Open(open) => {
                open.name == name || (open.all)().iter().any(|spec| spec.params.iter().any(|param| param.name == name))
            }
        }
    }

    fn set(&self, parts: &mut P, name: &str, value: &str) -> Result<(), Refused> {
        match self {
            Self::Own(own) => {
                let mut number = [own.param.default];
                let read = own.param.read(value, &mut number);
                // Which part has it is said before what is wrong with the value.
                if !read && (own.get)(parts).is_some() {
                    return Err(Refused::Value(own.param.right_for(value)));
                }
                let set = (own.only_if)(parts, number[0]).and_then(|()| (own.set)(parts, number[0]));
                set.map_err(|only| Refused::Part(only.to_string()))?;
                (own.then)(parts);
                Ok(())
            }
            Self::Open(open) if open.name == name => {
                let names: Vec<&str> = (open.all)().iter().map(|spec| spec.name).collect();
                match names.iter().position(|name| *name == value) {
                    Some(place) => (open.choose)(parts, place),
                    None => return Err(Refused::Value(format!("it can be {}", either(&names, "or")))),
                }
                Ok(())
            }
            Self::Open(open) => {
                if let Some((param, numbers)) = (open.find)(parts, name) {
                    return if param.read(value, numbers) {
                        Ok(())
                    } else {
                        Err(Refused::Value(param.right_for(value)))
                    };
                }
                let all = (open.all)();
                let owners = all.iter().filter(|spec| spec.params.iter().any(|param| param.name == name));
                let owners: Vec<&str> = owners.map(|spec| spec.name).collect();
                let param = all.iter().flat_map(|spec| spec.params).find(|param| param.name == name);
                Err(Refused::Part(param.map(|param| param.only(open.name, &owners)).unwrap_or_default()))
            }
        }
    }

    /// It with its value, and its parameters where it has some; nothing where it is not there.
    fn settings(&self, parts: &P) -> Vec<(&'static str, String)> {
        match self {
            Self::Own(own) => {
                let number = (own.get)(parts).filter(|number| Some(*number) != own.left_out);
                number.map(|number| (own.param.name, own.param.written(&[number]))).into_iter().collect()
            }
            Self::Open(open) => (open.settings)(parts),
        }
    }
}

/// Why a value is refused: what would be right, or which part has the parameter.
enum Refused {
    Value(String),
    Part(String),
}

/// What is set of a part that was chosen, the part itself first.
pub(super) fn settings_of<P>(family: &'static str, chosen: &Chosen<P>) -> Vec<(&'static str, String)> {
    let mut settings = alloc::vec![(family, chosen.name().to_string())];
    settings.extend(chosen.settings(family));
    settings
}

/// Names may be written with either.
fn canonical(name: &str) -> String {
    name.replace('_', "-")
}

/// There is no such parameter.
pub(super) fn unknown(name: String, all: impl Iterator<Item = Parameter>) -> ConfigError {
    let known: Vec<&str> = all.map(|parameter| parameter.name).collect();
    ConfigError::UnknownParameter { name, known: known.join(", ") }
}

/// The parts of a family, by name.
pub(super) trait Parts: Copy + 'static {
    /// What there is; a part stands before what changes it.
    fn rows() -> &'static [Row<Self>];

    /// Looks whether what was set can be together.
    fn settle(&mut self, _settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Whether a parameter is one of this family.
    fn has(name: &str) -> bool {
        Self::rows().iter().any(|row| row.has(&canonical(name)))
    }

    /// Every part and parameter that is there with its value, a part before what changes it.
    fn all_settings(&self) -> Vec<(&'static str, String)> {
        Self::rows().iter().flat_map(|row| row.settings(self)).collect()
    }

    /// The value of a part or parameter; nothing where it is not there, or left out.
    fn value(&self, name: &str) -> String {
        self.all_settings().into_iter().find(|(of, _)| *of == name).map(|(_, value)| value).unwrap_or_default()
    }

    /// Changes one.
    fn set_one(&mut self, name: &str, value: &str) -> Result<(), ConfigError> {
        let (own, name, value) = (canonical(name), name.to_string(), value.to_string());
        let Some(row) = Self::rows().iter().find(|row| row.has(&own)) else {
            return Err(unknown(name, Self::rows().iter().flat_map(|row| row.parameters())));
        };
        row.set(self, &own, &value).map_err(|refused| match refused {
            Refused::Value(right) => ConfigError::BadValue { name, value, right },
            Refused::Part(only) => ConfigError::NoSuchPart { name, value, only },
        })
    }

    /// Changes all of these, whatever their order; nothing where one is refused.
    fn set_each(&mut self, settings: &[(&str, &str)]) -> Result<(), ConfigError> {
        for (n, (name, _)) in settings.iter().enumerate() {
            if settings.iter().take(n).any(|(earlier, _)| canonical(earlier) == canonical(name)) {
                return Err(ConfigError::Repeated(name.to_string()));
            }
        }
        let place = |name: &str| Self::rows().iter().position(|row| row.has(name)).map(|row| (row, name.contains('.')));
        let mut in_order = settings.to_vec();
        in_order.sort_by_key(|(name, _)| place(&canonical(name)).unwrap_or((usize::MAX, false)));
        let mut changed = *self;
        in_order.iter().try_for_each(|(name, value)| changed.set_one(name, value))?;
        changed.settle(settings)?;
        *self = changed;
        Ok(())
    }

    /// As [`set_each`](Self::set_each), but for parameters of parts that are not there: what is wrong with those.
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
