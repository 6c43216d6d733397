//! The view that a policy has of a drive: the state of its blocks in RAM, and never the flash.

use super::notes::Notes;
use super::{Blocks, Counters, MultiLri};
use core::any::Any;
use phelsuma_nand::Block;

/// A policy's view of the drive: the state of blocks in RAM, and never the flash. Notes on blocks are there for a
/// policy that [wants](super::Wants) them. Of a block that the drive does not have everything is 0.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) counters: &'a Counters,
    notes: &'a Notes,
    streams: &'a [u8],
    metadata_from: u8,
    pages_per_block: u32,
    version: u64,
    of_placement: Option<&'a dyn Any>,
}

impl<'a> View<'a> {
    /// The same, with the notes of the placement part for a victim part that is made for it.
    #[inline]
    pub(crate) fn with_notes(self, of_placement: Option<&'a dyn Any>) -> Self {
        Self { of_placement, ..self }
    }

    /// Live pages, and which blocks may be collected.
    #[inline]
    pub fn counters(&self) -> &'a Counters {
        self.counters
    }

    /// Candidates with their live pages, by number: all of the blocks are looked at.
    #[inline]
    pub fn candidates(&self) -> impl Iterator<Item = (Block, u32)> + use<'a> {
        self.candidates_from(Block(0), self.blocks())
    }

    /// The candidates among the `count` blocks from `first` on, with their live pages, by number.
    #[inline]
    pub fn candidates_from(&self, first: Block, count: u32) -> impl Iterator<Item = (Block, u32)> + use<'a> {
        let keys = self.counters.keys();
        let end = first.index().saturating_add(count as usize).min(keys.len());
        let numbered = (first.0..).map(Block).zip(keys.get(first.index()..end).unwrap_or_default());
        numbered.filter(|(_, key)| Counters::is_candidate_key(**key)).map(|(block, live)| (block, u32::from(*live)))
    }

    /// Blocks of the drive.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.streams.len() as u32
    }

    /// Pages of a block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Logical time: pages that the host has written. It stands still at 0 unless a part of the FTL wants it
    /// ([`Wants::clock`](super::Wants::clock)).
    #[inline]
    pub fn now(&self) -> u64 {
        self.notes.now
    }

    /// How long ago the host wrote a page of this version, in logical time. (Versions go on faster than that where
    /// validity is on flash: its pages have some, too. They skip 2^16 ahead at a recovery.)
    #[inline]
    pub fn age_of_version(&self, version: u64) -> u64 {
        self.version.saturating_sub(version)
    }

    /// How long ago the first page of a block was written, in logical time: below 2^31 exact, otherwise at least that.
    #[inline]
    pub fn since_first_write(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.since_first_write(block, self.notes.now))
    }

    /// How long ago a block was closed, for a policy that wants that or [ages](super::Wants::ages).
    #[inline]
    pub fn since_closed(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.since_closed(block, self.notes.now))
    }

    /// The dormant period of a block: how long ago it lost a page, or was begun if it has lost none.
    #[inline]
    pub fn dormant(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.dormant(block, self.notes.now))
    }

    /// [`dormant`](Self::dormant) of consecutive blocks from `first` on; where `closed`,
    /// [`since_closed`](Self::since_closed). They are those that `ages` has room for and the drive has.
    #[inline]
    pub(crate) fn ages(&self, closed: bool, first: Block, ages: &mut [u32]) {
        if let Some(times) = &self.notes.times {
            times.ages(closed, first, self.notes.now, ages);
        }
    }

    /// The largest lifetime of a page of the block: from its first write to its last loss.
    #[inline]
    pub fn largest_lifetime(&self, block: Block) -> u32 {
        self.notes.times.as_ref().map_or(0, |times| times.largest_lifetime(block, self.notes.now))
    }

    /// The multi-LRI lists, for a policy that wants them.
    #[inline]
    pub fn lists(&self) -> Option<&'a MultiLri> {
        self.notes.lists.as_ref()
    }

    /// How often a block was erased, as far as is known; a written block was at least once.
    #[inline]
    pub fn erases(&self, block: Block) -> u32 {
        self.notes.erases.as_ref().and_then(|erases| erases.get(block.index())).map_or(1, |erases| (*erases).max(1))
    }

    /// [`erases`](Self::erases) of consecutive blocks from `first` on.
    #[inline]
    pub(crate) fn erases_from(&self, first: Block) -> impl Iterator<Item = u32> + use<'a> {
        let erases = self.notes.erases.as_ref().and_then(|erases| erases.get(first.index()..)).unwrap_or_default();
        erases.iter().map(|erases| (*erases).max(1))
    }

    /// The stream that began a block.
    #[inline]
    pub fn stream_of(&self, block: Block) -> u8 {
        self.streams.get(block.index()).copied().unwrap_or_default()
    }

    /// Whether a block holds metadata.
    #[inline]
    pub fn is_metadata(&self, block: Block) -> bool {
        self.stream_of(block) >= self.metadata_from
    }

    /// The notes of the placement part for a victim part that is made for it, if they are of this type.
    pub fn of_placement<T: 'static>(&self) -> Option<&'a T> {
        self.of_placement?.downcast_ref()
    }
}

impl Blocks {
    /// What policies see.
    #[inline]
    pub(crate) fn view(&self) -> View<'_> {
        View {
            counters: &self.counters,
            notes: &self.notes,
            streams: &self.streams,
            metadata_from: self.metadata.from,
            pages_per_block: self.geometry.pages_per_block(),
            version: self.clock.version(),
            of_placement: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::blocks::Wants;
    use crate::blocks::scene::Scene;
    use alloc::vec::Vec;
    use phelsuma_nand::Block;

    #[test]
    fn candidates_are_those_of_a_part_of_the_drive() {
        let mut scene = Scene::new(8, 4, 1, Wants::NOTHING);
        [0, 1, 3, 6, 7].into_iter().for_each(|block| {
            scene.write(block, 0);
        });
        let from = |first, count| scene.view().candidates_from(Block(first), count).map(|(block, _)| block.0).collect();
        let all: Vec<u32> = from(0, 8);
        assert_eq!(all, [0, 1, 3, 6, 7]);
        assert_eq!(all, scene.view().candidates().map(|(block, _)| block.0).collect::<Vec<_>>());
        for (first, count, found) in
            [(6, 4, &[6, 7][..]), (2, 3, &[3]), (2, u32::MAX, &[3, 6, 7]), (8, 2, &[]), (9, 2, &[])]
        {
            assert_eq!(from(first, count), found, "{count} from {first}");
        }
    }
}
