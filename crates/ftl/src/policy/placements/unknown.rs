//! The treatment of a page whose old copy is not in a lazy mapping: a parameter that several placements have.

use crate::spec::Param;

pub(super) const UNKNOWN: Param = Param::words(
    "placement.unknown",
    &["class", "fetch"],
    "what becomes of a page whose old copy a lazy mapping does not know: a class, or its translation page is read",
)
.does("ask for old copies");
