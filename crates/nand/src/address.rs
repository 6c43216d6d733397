//! Typed addresses: a block number is not a page number is not a logical page number.

use core::fmt;

/// A physical block of the flash, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Block(pub u32);

/// A physical page: the block's number in the high bits, the page's index in its block in the low ones.
///
/// How many bits the index takes is the geometry's business
/// ([`Geometry::page`](crate::Geometry::page), [`Geometry::block_of`](crate::Geometry::block_of),
/// [`Geometry::index_of`](crate::Geometry::index_of)): a shift instead of a division wherever an address is taken
/// apart. Where a block's pages are no power of two some numbers name no page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Page(pub u32);

/// A logical page: the host's address, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LogicalPage(pub u32);

impl Block {
    /// The block's number as an index of an array.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Page {
    /// The page's number as an index of an array.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LogicalPage {
    /// The page's number as an index of an array.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.0)
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {:#x}", self.0)
    }
}

impl fmt::Display for LogicalPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "logical page {}", self.0)
    }
}
