//! A part's statement of itself, made once: its name, a description, and its parameters with their ranges.
//!
//! `--set` and its refusals come from this one statement. So do the list of parameters, names in results and the text
//! that an image keeps. A policy, which may come from another crate, is a value once it is chosen: the statement and
//! the numbers of its parameters ([`Chosen`]). Any other part is an enum, which is stated together with its rows
//! (`part!`).

mod chosen;
mod param;
mod rows;
mod value;

pub use chosen::{Chosen, Values};
pub(crate) use chosen::{Spec, with};
pub(crate) use param::either;
pub use param::{PARAM_NUMBERS_MAX, Param, Parameter};
pub(crate) use rows::{Open, Own, Refused, Row};
pub(crate) use value::{Part, Requirement, Stated, Value, group, param, part, value_of, values};
