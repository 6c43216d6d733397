//! The parameters by name, of both families.

use super::rows::Parts;
use super::{LogParts, PageParts, Parameter};
use alloc::vec::Vec;

/// Every part and parameter that can be set by name, of page-mapped FTLs and of log-block ones.
pub fn parameters() -> Vec<Parameter> {
    let pages = PageParts::rows().iter().flat_map(|row| row.parameters());
    pages.chain(LogParts::rows().iter().flat_map(|row| row.parameters())).collect()
}
