//! The blocks of a drive, and their changes since the look before.

use phelsuma_ftl::BlockState;
use phelsuma_nand::Kind;
use phelsuma_serve::device::{BlockSeen, Served};
use phelsuma_serve::image::Wear;

/// Bars of the wear histogram at the most.
const BARS_MAX: u32 = 32;
/// Looks for which a block that was emptied is shown as such.
pub(crate) const RECENT_LOOKS: u8 = 4;

/// The state that a block is shown in. The numbers are those of the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Shown {
    /// Free.
    Free,
    /// Nothing in it is live, and it must not be erased yet.
    Held,
    /// Pages of the host.
    User,
    /// Translation pages.
    Translation,
    /// Tombstones of trims.
    Tombstone,
    /// A bitmap of live pages.
    Bitmap,
    /// Runs of Logarithmic Gecko.
    Gecko,
    /// A page validity log.
    ValidityLog,
    /// The map of data blocks.
    Map,
    /// The drive's description.
    Anchor,
    /// Not used any more.
    Bad,
}

impl Shown {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 11] = [
        Self::Free,
        Self::Held,
        Self::User,
        Self::Translation,
        Self::Tombstone,
        Self::Bitmap,
        Self::Gecko,
        Self::ValidityLog,
        Self::Map,
        Self::Anchor,
        Self::Bad,
    ];

    /// Its name; those of kinds are `phelsuma inspect`'s.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Held => "held",
            Self::User => "user",
            Self::Translation => "translation",
            Self::Tombstone => "tombstone",
            Self::Bitmap => "bitmap",
            Self::Gecko => "gecko",
            Self::ValidityLog => "validity-log",
            Self::Map => "map",
            Self::Anchor => "anchor",
            Self::Bad => "bad",
        }
    }

    pub(crate) fn of(seen: &BlockSeen) -> Self {
        match (seen.look.state, seen.look.kind) {
            (BlockState::Free, _) => Self::Free,
            (BlockState::Held, _) => Self::Held,
            (BlockState::Bad, _) | (_, None) => Self::Bad,
            // No block begins with a summary.
            (_, Some(Kind::User | Kind::Summary)) => Self::User,
            (_, Some(Kind::Translation | Kind::Tree | Kind::MappingLog)) => Self::Translation,
            (_, Some(Kind::Tombstone)) => Self::Tombstone,
            (_, Some(Kind::Bitmap)) => Self::Bitmap,
            (_, Some(Kind::Gecko)) => Self::Gecko,
            (_, Some(Kind::ValidityLog)) => Self::ValidityLog,
            (_, Some(Kind::Map)) => Self::Map,
            // The block log is the drive's description of itself that changes.
            (_, Some(Kind::Anchor | Kind::BlockLog)) => Self::Anchor,
        }
    }
}

/// Blocks that are shown alike.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct OfKind {
    pub(crate) blocks: u32,
    /// Those of them that are being written.
    pub(crate) open: u32,
    /// Those of them whose live pages are counted.
    pub(crate) counted: u32,
    /// Live pages of those.
    pub(crate) live_pages: u64,
}

/// A bar of the wear histogram: blocks that were erased from so many to so many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) blocks: u32,
}

/// The blocks of a drive at a moment.
pub(crate) struct Blocks {
    pub(crate) seen: Vec<BlockSeen>,
    /// For how many looks each is still shown as emptied.
    pub(crate) recent: Vec<u8>,
    /// Those that were emptied since they were looked at before.
    pub(crate) emptied: u32,
    /// By the number of their state.
    pub(crate) of_kind: [OfKind; Shown::ALL.len()],
    pub(crate) wear: Wear,
    pub(crate) bars: Vec<Bar>,
}

impl Blocks {
    /// Looks at them. None where there is nothing to be seen.
    pub(crate) fn look(served: &Served, before: Option<&Self>) -> Option<Self> {
        let mut seen = Vec::new();
        served.look_at_blocks(&mut seen).then(|| Self::of(seen, before))
    }

    fn of(seen: Vec<BlockSeen>, before: Option<&Self>) -> Self {
        let mut recent = vec![0; seen.len()];
        let mut emptied = 0;
        if let Some(before) = before.filter(|before| before.seen.len() == seen.len()) {
            for (at, (now, then)) in seen.iter().zip(&before.seen).enumerate() {
                let was_emptied = was_emptied(then, now);
                emptied += u32::from(was_emptied);
                recent[at] = if was_emptied { RECENT_LOOKS } else { before.recent[at].saturating_sub(1) };
            }
        }
        let mut of_kind = [OfKind::default(); Shown::ALL.len()];
        for block in &seen {
            let of = &mut of_kind[Shown::of(block) as usize];
            of.blocks += 1;
            of.open += u32::from(block.look.state == BlockState::Open);
            if let Some(live) = block.look.live_pages {
                (of.counted, of.live_pages) = (of.counted + 1, of.live_pages + u64::from(live));
            }
        }
        let wear = Wear::of(seen.iter().map(|block| block.erases));
        let bars = bars(&seen, &wear);
        Self { seen, recent, emptied, of_kind, wear, bars }
    }
}

/// Whether the content of a block is gone: it was in use and is not, or it was erased for something else.
fn was_emptied(then: &BlockSeen, now: &BlockSeen) -> bool {
    let in_use = |block: &BlockSeen| matches!(block.look.state, BlockState::Open | BlockState::Written);
    let erases = now.erases.saturating_sub(then.erases);
    // A free block is erased when it is opened; a second time only after it was emptied.
    if in_use(then) { !in_use(now) || erases > 0 } else { erases > 1 }
}

fn bars(seen: &[BlockSeen], wear: &Wear) -> Vec<Bar> {
    let width = (wear.max - wear.min) / BARS_MAX + 1;
    let count = (wear.max - wear.min) / width + 1;
    let from = |n: u32| wear.min + n * width;
    let mut bars: Vec<Bar> =
        (0..count).map(|n| Bar { from: from(n), to: from(n).saturating_add(width - 1), blocks: 0 }).collect();
    for block in seen {
        bars[((block.erases - wear.min) / width) as usize].blocks += 1;
    }
    bars
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use phelsuma_ftl::BlockLook;

    fn block(state: BlockState, erases: u32) -> BlockSeen {
        BlockSeen { look: BlockLook { state, kind: Some(Kind::User), live_pages: Some(3), log: None }, erases }
    }

    #[test]
    fn a_block_was_emptied_if_what_it_held_is_gone() {
        use BlockState::{Free, Held, Open, Written};
        for (then, now, emptied) in [
            ((Written, 1), (Written, 1), false),
            ((Open, 1), (Written, 1), false),
            ((Written, 1), (Free, 1), true),
            ((Written, 1), (Held, 1), true),
            ((Written, 1), (Open, 2), true),
            ((Written, 1), (Written, 2), true),
            ((Free, 1), (Open, 2), false),
            ((Held, 1), (Free, 1), false),
            ((Free, 1), (Written, 3), true),
            ((Free, 1), (Free, 2), false),
        ] {
            let (then, now) = (block(then.0, then.1), block(now.0, now.1));
            assert_eq!(was_emptied(&then, &now), emptied, "{then:?} {now:?}");
        }
    }

    #[test]
    fn what_was_emptied_is_shown_for_some_looks() {
        let mut blocks = Blocks::of(vec![block(BlockState::Written, 1)], None);
        assert_eq!((blocks.emptied, blocks.recent[0]), (0, 0));
        for left in [RECENT_LOOKS, 3, 2, 1, 0, 0] {
            blocks = Blocks::of(vec![block(BlockState::Free, 1)], Some(&blocks));
            assert_eq!(blocks.recent, [left]);
            assert_eq!(blocks.emptied, u32::from(left == RECENT_LOOKS));
        }
    }

    #[test]
    fn every_block_is_in_one_bar() {
        for erases in [vec![7; 5], (0..1000).collect(), vec![0, 31], vec![0, 32], vec![5, u32::MAX]] {
            let seen: Vec<BlockSeen> = erases.iter().map(|n| block(BlockState::Written, *n)).collect();
            let blocks = Blocks::of(seen, None);
            assert!(blocks.bars.len() <= BARS_MAX as usize + 1, "{}", blocks.bars.len());
            for bar in &blocks.bars {
                let inside = erases.iter().filter(|n| (bar.from..=bar.to).contains(n)).count();
                assert_eq!(bar.blocks as usize, inside, "{bar:?}");
            }
            assert_eq!(blocks.bars.iter().map(|bar| bar.blocks as usize).sum::<usize>(), erases.len());
        }
    }
}
