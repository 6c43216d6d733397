//! What a part says of itself, once: its name, what it is, its parameters with what they can be.
//!
//! From this one statement come `--set` and what it refuses, the list of parameters, names in results and the text that
//! an image keeps. A part that was chosen is a value: a [`Spec`] and the numbers of its parameters ([`Chosen`]).

mod chosen;
mod param;
mod words;

pub use chosen::{Chosen, Spec, Values};
pub use param::{Domain, PARAM_NUMBERS_MAX, Param};
pub(crate) use param::{Shown, either};
pub(crate) use words::{Number, words};
