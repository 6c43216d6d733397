//! Group: the stream whose blocks have the fewest live pages on average, and of its blocks the emptiest.
//!
//! With `collection=groups` the block stands for all of its stream's (LearnedFTL, HPCA '24). A block of metadata stands
//! for itself, and so does one without live pages, which comes first. Every choice looks at all blocks twice.

use crate::RamLedger;
use crate::blocks::View;
use crate::policy::{Choice, STREAMS_MAX, State, Victim, VictimSpec};
use alloc::boxed::Box;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

pub(crate) static SPEC: VictimSpec = VictimSpec::new(
    "group",
    "the stream whose blocks have the fewest live pages on average; of it the emptiest, or all with collection=groups",
    |_| Box::new(Group),
);

/// The emptiest block of the emptiest stream.
#[derive(Clone, Preserve)]
struct Group;

/// Written blocks, and their live pages.
#[derive(Clone, Copy, Default)]
struct Written {
    blocks: u32,
    live: u32,
}

impl Written {
    /// Whether fewer pages are live in a block of them than in one of `other`.
    fn is_emptier_than(self, other: Self) -> bool {
        let times = |a: u32, b: u32| u64::from(a) * u64::from(b);
        self.blocks > 0 && (other.blocks == 0 || times(self.live, other.blocks) < times(other.live, self.blocks))
    }
}

const STREAMS: usize = STREAMS_MAX as usize;

impl Victim for Group {
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let stream_of = |block| usize::from(view.stream_of(block)).min(STREAMS - 1);
        let mut streams = [Written::default(); STREAMS];
        let mut of_metadata: Option<(u32, Block)> = None;
        for (block, live) in view.candidates() {
            if live == 0 {
                return Some(Choice { block, examined: block.0 + 1 });
            }
            if !view.is_metadata(block) {
                let stream = &mut streams[stream_of(block)];
                *stream = Written { blocks: stream.blocks + 1, live: stream.live + live };
            } else if of_metadata.is_none_or(|(least, _)| live < least) {
                of_metadata = Some((live, block));
            }
        }
        let mut emptiest = 0;
        for stream in 1..STREAMS {
            if streams[stream].is_emptier_than(streams[emptiest]) {
                emptiest = stream;
            }
        }
        let alone = of_metadata.map_or(Written::default(), |(live, _)| Written { blocks: 1, live });
        let block = if streams[emptiest].is_emptier_than(alone) {
            let of_users = view.candidates().filter(|(block, _)| !view.is_metadata(*block));
            let of_stream = of_users.filter(|(block, _)| stream_of(*block) == emptiest);
            of_stream.min_by_key(|(_, live)| *live).map(|(block, _)| block)
        } else {
            of_metadata.map(|(_, block)| block)
        };
        block.map(|block| Choice { block, examined: 2 * view.blocks() })
    }
}

impl State for Group {
    fn enter(&self, ledger: &mut RamLedger) {
        ledger.structure("policy.values", size_of::<[Written; STREAMS]>() as u64);
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
        assert_eq!(Group.choose(&scene.view()), Some(Choice::new(Block(3), 16)));
        scene.lose(&[2, 2]);
        assert_eq!(Group.choose(&scene.view()), Some(Choice::new(Block(0), 16)));
        scene.lose(&[3]);
        assert_eq!(Group.choose(&scene.view()), Some(Choice::new(Block(3), 4)));
    }
}
