//! An SLC cache as it is asked for.

use crate::spec::{Stated, part, values, with};
use alloc::string::String;
use phelsuma_nand::Geometry;

part! { "slc" "whether the host's writes go to blocks in one-bit mode first".younger("only page-mapped FTLs have an SLC cache");
    SlcPart "Whether the host's writes go to blocks in one-bit mode first." {
        Nothing "none" "No block is in one-bit mode."
        Cache "cache" "So many blocks at the most are an SLC cache: fast, with a bit a cell, and folded into the others." {
            room: SlcRoom "whether these blocks are set aside" ["slc.room",
                each_of(SlcRoom::EACH).younger("only slc=cache has it").always_shown()];
            blocks: u32 "blocks of the SLC cache, as many on each die, at least two" ["slc.blocks", number(0, 1 << 24, 0)
                .default_means("a sixteenth of the drive, or a quarter with slc.room=dynamic")
                .younger("only slc=cache has them").always_shown()];
            bits: u32 "bits a cell of the other blocks: an SLC block has so many times less room" ["slc.bits",
                number(2, 5, 3).younger("only slc=cache has them").always_shown()];
            full: WhenFull "what a write does that finds the SLC cache full" ["slc.full",
                each_of(WhenFull::EACH).younger("only slc=cache has it").always_shown()];
        }
    }
}

values! { SlcRoom "Whether the blocks of an SLC cache are set aside." {
    Static "static" "They are: the capacity does without them."
    Dynamic "dynamic" "They are free blocks, as long as there are more than the reserve: the cache shrinks as the drive fills."
} }

values! { WhenFull "What a write does that finds an SLC cache full." {
    Fold "fold" "It waits until the oldest block is folded."
    Bypass "bypass" "It goes to the other blocks."
} }

impl SlcPart {
    /// Blocks of the cache at the most: as many on each die.
    pub(crate) fn most(self, geometry: &Geometry) -> u32 {
        let Self::Cache { room, blocks, .. } = self else { return 0 };
        let default = geometry.blocks() / if room == SlcRoom::Dynamic { 4 } else { 16 };
        let a_die = if blocks == 0 { default } else { blocks } / geometry.dies();
        a_die.max(2) * geometry.dies()
    }

    /// Blocks that the capacity does without.
    pub(crate) fn set_aside(self, geometry: &Geometry) -> u32 {
        if self.is_dynamic() { 0 } else { self.most(geometry) }
    }

    /// Whether it gives its blocks up where space is needed.
    pub(crate) fn is_dynamic(self) -> bool {
        matches!(self, Self::Cache { room: SlcRoom::Dynamic, .. })
    }

    /// Bits a cell of the other blocks, and what a write does that finds it full; none where there is no cache.
    pub(crate) fn rule(self) -> Option<(u32, WhenFull)> {
        match self {
            Self::Nothing => None,
            Self::Cache { bits, full, .. } => Some((bits, full)),
        }
    }

    /// As results have it; none where there is none.
    pub fn name(&self) -> Option<String> {
        (*self != Self::Nothing).then(|| with(self.word(), self.shown()))
    }
}
