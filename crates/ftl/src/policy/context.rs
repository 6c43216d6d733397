//! The context that a policy is made for.

use crate::spec::{Param, Values};

/// The drive that a policy is made for, and the values of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Blocks of the drive.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Dies of the drive: a stream has a block open on each.
    pub dies: u32,
    /// Logical pages that the host sees.
    pub logical_pages: u32,
    /// The seed of everything random in the FTL.
    pub seed: u64,
    pub(crate) values: Values,
}

impl Context {
    /// The values of its parameters.
    pub fn values(&self) -> Values {
        self.values
    }

    /// A parameter that is a number; its default where the part's statement has no such parameter.
    pub fn number(&self, param: &Param) -> u32 {
        self.values.number(param)
    }

    /// Whether a parameter that is a word is this one.
    pub fn is(&self, param: &Param, word: &str) -> bool {
        self.values.is(param, word)
    }
}
