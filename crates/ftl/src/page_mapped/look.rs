//! An onlooker's view of a page-mapped FTL's blocks.

use super::mapping::Mapping;
use super::parts::PageMapped;
use super::validity::Validity;
use crate::blocks::BlockUse;
use crate::{BlockLook, BlockState};
use phelsuma_nand::{Block, Kind};

impl PageMapped {
    /// The blocks from `first` on.
    pub(super) fn blocks_seen(&self, first: Block, out: &mut [BlockLook]) {
        let blocks = self.blocks.geometry().blocks();
        let written = |kind| BlockLook { state: BlockState::Written, kind: Some(kind), ..BlockLook::default() };
        for (block, seen) in (first.0..blocks).map(Block).zip(out) {
            let state = match self.blocks.use_of(block) {
                BlockUse::Free => BlockState::Free,
                BlockUse::Held => BlockState::Held,
                BlockUse::Open => BlockState::Open,
                BlockUse::Closed | BlockUse::Victim => BlockState::Written,
                BlockUse::Fixed if self.anchors.contains(&block) => {
                    *seen = written(Kind::Anchor);
                    continue;
                }
                BlockUse::Fixed if self.blocks.log_pages().is_some() && self.blocks.is_of_log(block) => {
                    *seen = written(Kind::BlockLog);
                    continue;
                }
                BlockUse::Fixed => BlockState::Bad,
            };
            let in_use = matches!(state, BlockState::Open | BlockState::Written);
            *seen = match in_use {
                true => BlockLook {
                    state,
                    kind: Some(self.kind_of_stream(self.blocks.stream_of(block))),
                    live_pages: self.blocks.counters.known(block),
                    log: None,
                },
                false => BlockLook { state, ..BlockLook::default() },
            };
        }
    }

    /// The kind of a stream's pages.
    fn kind_of_stream(&self, stream: u8) -> Kind {
        if stream < self.streams.mapping {
            return Kind::User;
        }
        if stream == self.streams.mapping { self.mapping.kind() } else { self.validity.kind() }
    }
}
