//! Group: the stream whose blocks have the fewest live pages on average, and of its blocks the emptiest.
//!
//! With `collection=groups` the block stands for all of its stream's (LearnedFTL, HPCA '24). A block of metadata stands
//! for itself. Every choice looks at all blocks, as cost-benefit's does.

use crate::blocks::View;
use crate::policy::{Choice, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec =
    VictimSpec::new("group", "the emptiest of the stream with the fewest live pages a block", |_| Box::new(Group));

/// The emptiest block of the emptiest stream.
#[derive(Clone, Copy, Preserve)]
struct Group;

/// The written blocks of a stream.
#[derive(Clone, Copy, Default)]
struct Written {
    blocks: u64,
    live: u64,
    emptiest: Option<(u32, Block)>,
}

impl Written {
    fn add(&mut self, block: Block, live: u32) {
        self.blocks += 1;
        self.live += u64::from(live);
        if self.emptiest.is_none_or(|(least, _)| live < least) {
            self.emptiest = Some((live, block));
        }
    }

    /// Whether fewer pages are live in a block of it than in one of `other`.
    fn is_emptier_than(&self, other: &Self) -> bool {
        self.blocks > 0 && (other.blocks == 0 || self.live * other.blocks < other.live * self.blocks)
    }
}

impl Victim for Group {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let mut streams = [Written::default(); u8::MAX as usize + 1];
        let mut best = Written::default();
        for (block, live) in view.candidates() {
            if view.is_metadata(block) {
                let mut alone = Written::default();
                alone.add(block, live);
                if alone.is_emptier_than(&best) {
                    best = alone;
                }
            } else {
                streams[usize::from(view.stream_of(block))].add(block, live);
            }
        }
        for stream in &streams {
            if stream.is_emptier_than(&best) {
                best = *stream;
            }
        }
        best.emptiest.map(|(_, block)| Choice { block, examined: view.blocks() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Wants;
    use crate::blocks::scene::Scene;

    #[test]
    fn the_emptiest_block_of_the_emptiest_stream() {
        let mut scene = Scene::new(8, 4, 3, Wants::NOTHING);
        assert_eq!(Group.choose(&scene.view()), None);
        for (block, stream) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 1)] {
            scene.write(block, stream);
        }
        // Stream 0 has the emptiest block, and stream 1 fewer live pages a block.
        scene.lose(&[0, 0, 0, 1, 1, 3, 3, 3, 4]);
        assert_eq!(Group.choose(&scene.view()), Some(Choice::new(Block(3), 8)));
        scene.lose(&[2, 2]);
        assert_eq!(Group.choose(&scene.view()), Some(Choice::new(Block(0), 8)));
    }
}
