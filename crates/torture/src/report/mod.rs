//! What came of a run: as text, as JSON, as JUnit.

mod junit;
mod outcome;
mod text;

pub use junit::junit_of_error;
pub use outcome::{Recorded, Report};
