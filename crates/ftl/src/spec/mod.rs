//! What a part says of itself, once: its name, what it is, its parameters with what they can be.
//!
//! From this one statement come `--set` and what it refuses, the list of parameters, names in results and the text that
//! an image keeps. A part that anybody may bring along and that was chosen is a value: the statement and the numbers of its
//! parameters ([`Chosen`]). Any other part is an enum, which is stated together with its rows (`part!`).

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
