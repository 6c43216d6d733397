//! Groups of translation pages (LearnedFTL, HPCA '24): the logical pages of some consecutive translation pages are
//! written to blocks of their own.
//!
//! With `collection=groups` all of a group's blocks are collected at once, and its pages are written anew in logical
//! order. Then consecutive entries of a translation page name consecutive pages.
//!
//! Each group has a block open on each die, and a group's live pages are room that its collection needs. Both together
//! are least with about as many groups as the root of the blocks of a die. LearnedFTL's groups have as many translation
//! pages as there are dies, and share superblocks; here a stream is a group, so there are no more than [`STREAMS_MAX`].

use super::partitions::Partitions;
use crate::blocks::Wants;
use crate::policy::{Asks, Context, PlacementSpec, STREAMS_MAX};
use crate::spec::Param;
use alloc::boxed::Box;

const TRANSLATION_PAGES: Param = Param::number(
    "groups.translation-pages",
    0,
    1 << 20,
    0,
    "translation pages of a group; 0: about as many groups as the square root of a die's blocks",
);

pub(crate) static SPEC: PlacementSpec = PlacementSpec::new(
    "groups",
    "groups of translation pages, each to its own (LearnedFTL)",
    |context| of(context).count,
    |context| Box::new(of(context)),
)
.params(&[TRANSLATION_PAGES])
.asks(|_| Asks::NOTHING.pages())
.counts_all()
// After a power cut: which group each block is of.
.wants(|_| Wants::NOTHING.clock())
.partition(|context| of(context).pages);

/// Their size goes by the drive's pages, not by its logical ones: a drive of more logical pages has no smaller groups.
fn of(context: &Context) -> Partitions {
    let entries = u64::from((context.page_bytes / 4).max(1));
    let drive = u64::from(context.blocks) * u64::from(context.pages_per_block);
    let asked = match context.number(&TRANSLATION_PAGES) {
        0 => drive.div_ceil(u64::from((context.blocks / context.dies.max(1)).isqrt().max(1))),
        pages => u64::from(pages) * entries,
    };
    let pages = asked.max(drive.div_ceil(STREAMS_MAX.into())).div_ceil(entries).max(1) * entries;
    Partitions::new(context.logical_pages, u32::try_from(pages).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(blocks: u32, dies: u32, logical_pages: u32, asked: u32) -> (u8, u32) {
        let values = *SPEC.chosen().with(0, asked);
        let context = Context { blocks, pages_per_block: 256, page_bytes: 4096, dies, logical_pages, seed: 1, values };
        let groups = of(&context);
        (groups.count, groups.pages)
    }

    #[test]
    fn a_group_is_whole_translation_pages() {
        // Entries of all of its pages fill 1,024 translation pages: 64 groups, and 32 on four dies. Not all are needed.
        assert_eq!(groups(4096, 1, 820 * 1024, 0), (52, 16 * 1024));
        assert_eq!(groups(4096, 4, 820 * 1024, 0), (26, 32 * 1024));
        assert_eq!(groups(4096, 1, 820 * 1024, 10), (82, 10 * 1024));
        // More than there are streams, and less than a translation page.
        assert_eq!(groups(4096, 1, 820 * 1024, 1), (164, 5 * 1024));
        assert_eq!(groups(64, 1, 500, 0), (1, 2 * 1024));
        assert_eq!(groups(1 << 24, 1, u32::MAX, 1 << 20), (4, 1 << 30));
    }
}
