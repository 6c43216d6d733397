//! An onlooker's view of a log-block FTL's blocks.

use super::hybrid::Hybrid;
use super::pool::{Role, Use};
use super::scheme::Scheme;
use crate::{BlockLook, BlockState, LogLook};
use phelsuma_nand::{Block, Kind};

impl<S: Scheme> Hybrid<S> {
    /// A look at each block from `first` on. Live pages of data blocks are not counted: which pages are stale is known,
    /// but not which were never written.
    pub(super) fn blocks_seen(&self, first: Block, out: &mut [BlockLook]) {
        for (block, look) in (first.0..self.ground.geometry.blocks()).map(Block).zip(out) {
            *look = self.block_seen(block);
        }
    }

    fn block_seen(&self, block: Block) -> BlockLook {
        let ground = &self.ground;
        let seen = |state, kind, live_pages: Option<u32>| BlockLook {
            state,
            kind: Some(kind),
            live_pages: live_pages.and_then(|pages| pages.try_into().ok()),
            log: None,
        };
        let written = |is_open| if is_open { BlockState::Open } else { BlockState::Written };
        match ground.pool.use_of(block) {
            Use::Free => BlockLook { state: BlockState::Free, ..BlockLook::default() },
            Use::Fixed if self.anchors.contains(&block) => seen(BlockState::Written, Kind::Anchor, None),
            Use::Fixed => BlockLook::default(),
            Use::Data => seen(BlockState::Written, Kind::User, None),
            Use::Map => {
                let (is_open, live) = ground.map.look(block);
                seen(written(is_open), Kind::Map, Some(live))
            }
            Use::Log => match ground.log.slot_of(block) {
                Some(slot) => {
                    let state = ground.log.get(slot);
                    let is_full = state.next == ground.geometry.pages_per_block();
                    let log = match state.role {
                        Role::Hot => LogLook::Hot,
                        Role::Sequential => LogLook::Sequential,
                        _ => LogLook::Log,
                    };
                    let look = seen(written(!state.closed && !is_full), Kind::User, Some(state.live));
                    BlockLook { log: Some(log), ..look }
                }
                // Being opened.
                None => seen(BlockState::Open, Kind::User, None),
            },
        }
    }
}
