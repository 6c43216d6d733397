//! An onlooker's view of a SUPERBLOCK FTL's blocks.

use super::super::pool::Use;
use super::superblocks::Superblocks;
use crate::{BlockLook, BlockState};
use phelsuma_nand::{Block, Kind};

impl Superblocks {
    /// A look at each block from `first` on. Live pages of a superblock's blocks are as of when its map was in RAM
    /// last.
    pub(super) fn blocks_seen(&self, first: Block, out: &mut [BlockLook]) {
        let all = self.geometry.blocks();
        let seen = |state, kind, live_pages: Option<u32>| BlockLook {
            state,
            kind: Some(kind),
            live_pages: live_pages.and_then(|pages| pages.try_into().ok()),
            log: None,
        };
        let written = |is_open| if is_open { BlockState::Open } else { BlockState::Written };
        for (block, look) in (first.0..all).map(Block).zip(out.iter_mut()) {
            *look = match self.pool.use_of(block) {
                Use::Free => BlockLook { state: BlockState::Free, ..BlockLook::default() },
                Use::Fixed if self.anchors.contains(&block) => seen(BlockState::Written, Kind::Anchor, None),
                Use::Fixed => BlockLook::default(),
                Use::Map => {
                    let (is_open, live) = self.map.look(block);
                    seen(written(is_open), Kind::Map, Some(live))
                }
                Use::Log | Use::Data => seen(BlockState::Open, Kind::User, None),
            };
        }
        for superblock in &self.superblocks {
            for (slot, member) in superblock.members() {
                let at = member.block.0.checked_sub(first.0);
                if let Some(look) = at.and_then(|at| out.get_mut(at as usize)) {
                    *look = seen(written(superblock.is_open(slot)), Kind::User, Some(member.live));
                }
            }
        }
    }
}
