//! The parts and parameters of a family, in rows: the operations on them by name.

use super::chosen::{Numbers, Spec};
use super::param::{Param, Parameter, either};
use super::value::{Part, Requirement, Stated, Value};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A part or parameter of a family of parts.
pub(crate) enum Row<P: 'static> {
    /// One of this crate alone.
    Own(Own<P>),
    /// A part that may come from another crate, with its own parameters.
    Open(Open<P>),
}

/// A part or parameter of this crate alone.
pub(crate) struct Own<P> {
    /// Its statement of itself.
    pub(crate) param: Param,
    /// Where its value is; nowhere without the part that it needs.
    at: At<P>,
    /// The part that it needs.
    pub(crate) needs: Option<Requirement>,
}

/// Where the value of the parameter of this name is.
type At<P> = for<'a> fn(&'a mut P, &str) -> Option<&'a mut dyn Value>;

/// A part that may come from another crate.
pub(crate) struct Open<P> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Those that there are.
    pub(crate) all: fn() -> Vec<&'static Spec>,
    /// Puts in the one of this number.
    pub(crate) choose: fn(&mut P, usize),
    /// The one that is there, with its parameters.
    pub(crate) settings: fn(&P) -> Vec<(&'static str, String)>,
    /// Its parameter of this name, and where the numbers are.
    pub(crate) find: for<'a> fn(&'a mut P, &str) -> Option<Numbers<'a>>,
}

/// Why a value is refused.
pub(crate) enum Refused {
    /// What would be right.
    Value(String),
    /// Which part has the parameter.
    Part(String),
    /// The parts that it needs are not there.
    Needs,
}

impl<P: Copy> Row<P> {
    /// One of this crate alone.
    pub(crate) fn own(param: Param, needs: Option<Requirement>, at: At<P>) -> Self {
        Self::Own(Own { param, at, needs })
    }

    /// A part and its parameters.
    pub(crate) fn part<T: Part>(at: At<P>) -> impl Iterator<Item = Self> {
        let of_form = move |(forms, param): &(_, Param)| Self::own(*param, Some((T::ITSELF.name, *forms)), at);
        [Self::own(T::ITSELF, T::NEEDS, at)].into_iter().chain(T::PARAMS.iter().map(of_form))
    }

    /// The parameters of a group, all of which need a part.
    pub(crate) fn group<T: Stated>(needs: Requirement, at: At<P>) -> impl Iterator<Item = Self> {
        T::PARAMS.iter().map(move |(_, param)| Self::own(*param, Some(needs), at))
    }

    /// Its entry in lists.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let open = match self {
            Self::Own(Own { param, needs, .. }) => {
                let (family, owners) = needs.unwrap_or_default();
                return [param.listed(family, owners)].into();
            }
            Self::Open(open) => open,
        };
        let specs = (open.all)();
        let range = specs.iter().map(|spec| spec.name).collect::<Vec<_>>().join(" | ");
        let mut all = alloc::vec![Parameter {
            name: open.name,
            about: open.about,
            values: range.clone(),
            range,
            default: specs.first().map(|spec| spec.name.to_string()).unwrap_or_default(),
            of: Vec::new(),
            words: specs.iter().map(|spec| (spec.name, spec.about, Vec::new())).collect(),
        }];
        for param in specs.iter().flat_map(|spec| spec.params) {
            if all.iter().all(|other| other.name != param.name) {
                all.push(param.listed(open.name, &open.owners(param.name).0));
            }
        }
        all
    }

    /// Whether a name is its own.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Own(own) => own.param.name == name,
            Self::Open(open) => open.name == name || open.owners(name).1.is_some(),
        }
    }

    /// Whether the parts that it needs are there.
    pub(crate) fn is_there(&self, mut parts: P) -> bool {
        match self {
            Self::Own(own) => (own.at)(&mut parts, own.param.name).is_some(),
            Self::Open(_) => true,
        }
    }

    /// It with its value, and its parameters where it has some; nothing where it is not there.
    pub(crate) fn settings(&self, mut parts: P) -> Vec<(&'static str, String)> {
        match self {
            Self::Own(Own { param, at, .. }) => {
                let number = at(&mut parts, param.name).map(|value| value.number());
                let number = number.filter(|number| param.younger.is_none() || *number != param.default);
                number.map(|number| (param.name, param.written(&[number]))).into_iter().collect()
            }
            Self::Open(open) => (open.settings)(&parts),
        }
    }

    /// Changes it, and then what `follows`.
    pub(crate) fn set(&self, parts: &mut P, name: &str, text: &str, follows: fn(&mut P)) -> Result<(), Refused> {
        match self {
            Self::Own(Own { param, at, .. }) => {
                // Which part has it is reported before an error of the value.
                let value = at(parts, name).ok_or(Refused::Needs)?;
                let mut number = [0];
                param.read(text, &mut number).map_err(Refused::Value)?;
                value.set(number[0]);
                follows(parts);
                let kept = at(parts, name).is_some_and(|value| value.number() == number[0]);
                if kept {
                    Ok(())
                } else {
                    Err(param.younger.map_or(Refused::Needs, |only| Refused::Part(only.to_string())))
                }
            }
            Self::Open(open) if open.name == name => {
                let names: Vec<&str> = (open.all)().iter().map(|spec| spec.name).collect();
                let place = names.iter().position(|name| *name == text);
                let right = || Refused::Value(format!("it can be {}", either(&names, "or")));
                place.map(|place| (open.choose)(parts, place)).ok_or_else(right)
            }
            Self::Open(open) => match ((open.find)(parts, name), open.owners(name)) {
                (Some((param, numbers)), _) => param.read(text, numbers).map_err(Refused::Value),
                (None, (owners, Some(param))) => Err(Refused::Part(param.only(open.name, &owners))),
                (None, (_, None)) => Err(Refused::Needs),
            },
        }
    }
}

impl<P> Open<P> {
    /// The parts that have a parameter of this name, and its description.
    fn owners(&self, name: &str) -> (Vec<&'static str>, Option<&'static Param>) {
        let all = (self.all)();
        let has = |spec: &&'static Spec| Some((spec.name, spec.params.iter().find(|param| param.name == name)?));
        let owners: Vec<_> = all.iter().filter_map(has).collect();
        (owners.iter().map(|(owner, _)| *owner).collect(), owners.first().map(|(_, param)| *param))
    }
}
