//! An SLC cache as it is asked for.

use crate::spec::{Stated, part, values, with};
use alloc::string::String;
use phelsuma_nand::Geometry;

part! { "slc" "whether the host's writes go to blocks in one-bit mode first".younger("only page-mapped FTLs have an SLC cache");
    SlcPart "Whether the host's writes go to blocks in one-bit mode first." {
        Nothing "none" "No block is in one-bit mode."
        Static "static" "So many blocks at the most are an SLC cache: fast, with a bit a cell, and folded into the others." {
            blocks: u32 "blocks of the SLC cache, at least two a die" ["slc.blocks", number(0, 1 << 24, 0)
                .default_means("a sixteenth of the drive, or a quarter with slc=dynamic").younger("only an SLC cache has them").always_shown()];
            bits: u32 "bits a cell of the other blocks: an SLC block has so many times less room" ["slc.bits",
                number(2, 5, 3).younger("only an SLC cache has them").always_shown()];
            full: WhenFull "what a write does that finds the SLC cache full" ["slc.full",
                each_of(WhenFull::EACH).younger("only an SLC cache has it").always_shown()];
        }
        Dynamic "dynamic" "Free blocks are an SLC cache, as long as there are more than the reserve: it shrinks as the drive fills." {
            blocks: u32 "blocks of the SLC cache, at least two a die" ["slc.blocks", number(0, 1 << 24, 0)
                .default_means("a sixteenth of the drive, or a quarter with slc=dynamic").younger("only an SLC cache has them").always_shown()];
            bits: u32 "bits a cell of the other blocks: an SLC block has so many times less room" ["slc.bits",
                number(2, 5, 3).younger("only an SLC cache has them").always_shown()];
            full: WhenFull "what a write does that finds the SLC cache full" ["slc.full",
                each_of(WhenFull::EACH).younger("only an SLC cache has it").always_shown()];
        }
    }
}

values! { WhenFull "What a write does that finds an SLC cache full." {
    Fold "fold" "It waits until the oldest block is folded."
    Bypass "bypass" "It goes to the other blocks."
} }

impl SlcPart {
    /// Blocks of the cache at the most.
    pub(crate) fn most(self, geometry: &Geometry) -> u32 {
        let (blocks, default) = match self {
            Self::Nothing => return 0,
            Self::Static { blocks, .. } => (blocks, geometry.blocks() / 16),
            Self::Dynamic { blocks, .. } => (blocks, geometry.blocks() / 4),
        };
        (if blocks == 0 { default } else { blocks }).max(2 * geometry.dies())
    }

    /// Blocks that the capacity does without.
    pub(crate) fn set_aside(self, geometry: &Geometry) -> u32 {
        if self.is_dynamic() { 0 } else { self.most(geometry) }
    }

    /// Whether it gives its blocks up where space is needed.
    pub(crate) fn is_dynamic(self) -> bool {
        matches!(self, Self::Dynamic { .. })
    }

    /// Bits a cell of the other blocks, and what a write does that finds it full; none where there is no cache.
    pub(crate) fn rule(self) -> Option<(u32, WhenFull)> {
        match self {
            Self::Nothing => None,
            Self::Static { bits, full, .. } | Self::Dynamic { bits, full, .. } => Some((bits, full)),
        }
    }

    /// As results have it; none where there is none.
    pub fn name(&self) -> Option<String> {
        (*self != Self::Nothing).then(|| with(self.word(), self.shown()))
    }
}
