//! An SLC cache as it is asked for.

use crate::spec::{Stated, part, values, with};
use alloc::string::String;

part! { "slc" "whether the host's writes go to blocks in one-bit mode first".younger("only page-mapped FTLs have an SLC cache");
    SlcPart "Whether the host's writes go to blocks in one-bit mode first." {
        Nothing "none" "No block is in one-bit mode."
        Static "static" "So many blocks at the most are an SLC cache: fast, with a bit a cell, and folded into the others." {
            blocks: u32 "blocks of the SLC cache, at least two a die" ["slc.blocks", number(0, 1 << 24, 0)
                .default_means("a sixteenth of the drive").younger("only slc=static has them").always_shown()];
            bits: u32 "bits a cell of the other blocks: an SLC block has so many times less room" ["slc.bits",
                number(2, 5, 3).younger("only slc=static has them").always_shown()];
            full: WhenFull "what a write does that finds the SLC cache full" ["slc.full",
                each_of(WhenFull::EACH).younger("only slc=static has it").always_shown()];
        }
    }
}

values! { WhenFull "What a write does that finds an SLC cache full." {
    Fold "fold" "It waits until the oldest block is folded."
    Bypass "bypass" "It goes to the other blocks."
} }

impl SlcPart {
    /// As results have it; none where there is none.
    pub fn name(&self) -> Option<String> {
        (*self != Self::Nothing).then(|| with(self.word(), self.shown()))
    }
}
