//! The block mapping table of sequential log blocks (LAST++ section 4.3 and figure 5).
//!
//! Each segment that has any has its Seq-ID here, and for each channel the log block and its page status table (PST). A
//! hash table with linear probing leads from a segment to its entry: twice as many buckets as entries (section 4.6.1).
//!
//! Against the paper a bit of a PST does not stay set for good. It says that the page is the newest of its logical
//! page, and is cleared where that is written elsewhere. With the paper's rule a sequential log block goes on answering
//! for a page that was rewritten in a random log block and merged since. (Section 4.8 looks there before it looks in
//! data blocks.) The paper takes from its PST how far a block is written. Here that is
//! [`LogBlock::next`](super::super::log::LogBlock).

use crate::RamLedger;
use crate::log_block::layout::LogicalLayout;
use crate::log_block::log_state::NONE;
use crate::log_block::probing::Probing;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Page};

#[derive(Clone, Copy, Debug, Preserve)]
struct Segment {
    number: u32,
    /// When it was allocated, among segments.
    seq_id: u64,
}

/// A segment's log block on a channel: its slot, [`NONE`] where it has none.
#[derive(Clone, Copy, Debug, Preserve)]
struct Member {
    slot: u32,
    block: Block,
}

const NO_MEMBER: Member = Member { slot: NONE, block: Block(0) };

#[derive(Clone, Debug, Preserve)]
pub(in super::super) struct Segments {
    geometry: Geometry,
    layout: LogicalLayout,
    entries: Vec<Option<Segment>>,
    /// By entry and channel.
    members: Vec<Member>,
    /// By entry and channel, so many words each.
    status: Vec<u64>,
    words: usize,
    /// By bucket: an entry.
    buckets: Vec<u32>,
    len: u32,
    next_seq_id: u64,
    probing: Probing,
}

impl Segments {
    /// With room for `most` segments.
    pub(super) fn new(geometry: &Geometry, layout: LogicalLayout, most: u32) -> Self {
        let (most, channels) = (most as usize, layout.channels() as usize);
        let words = layout.pages_per_block().div_ceil(64) as usize;
        Self {
            geometry: *geometry,
            layout,
            entries: vec![None; most],
            members: vec![NO_MEMBER; most * channels],
            status: vec![0; most * channels * words],
            words,
            buckets: vec![NONE; 2 * most],
            len: 0,
            next_seq_id: 0,
            probing: Probing::new(2 * most),
        }
    }

    #[inline]
    fn segment_in(&self, bucket: usize) -> Option<u32> {
        self.entries.get(self.buckets[bucket] as usize).copied().flatten().map(|segment| segment.number)
    }

    /// The bucket of a segment, or the empty one where it would go: no more than half of them are taken.
    #[inline]
    fn search(&self, segment: u32) -> (usize, bool) {
        self.probing.search(segment, |bucket| self.segment_in(bucket))
    }

    /// By entry and channel: the place of a logical block's member, whether it has one or not.
    #[inline]
    fn at(&self, logical_block: u32) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let channels = self.layout.channels();
        let (bucket, found) = self.search(logical_block / channels);
        found.then(|| (self.buckets[bucket] * channels + logical_block % channels) as usize)
    }

    /// The slot of a logical block's sequential log block.
    #[inline]
    pub(in super::super) fn slot(&self, logical_block: u32) -> Option<u32> {
        let at = self.at(logical_block)?;
        Some(self.members[at].slot).filter(|slot| *slot != NONE)
    }

    #[inline]
    fn bit(&self, at: usize, offset: u32) -> (usize, u64) {
        (at * self.words + offset as usize / 64, 1 << (offset % 64))
    }

    /// Where the newest version of a page is, if it is in a sequential log block.
    #[inline]
    pub(super) fn place(&self, logical_block: u32, offset: u32) -> Option<Page> {
        let at = self.at(logical_block)?;
        let (word, bit) = self.bit(at, offset);
        (self.status[word] & bit != 0).then(|| self.geometry.page(self.members[at].block, offset))
    }

    /// The page at an offset is the newest of its logical page. Whether it was already.
    pub(super) fn set(&mut self, logical_block: u32, offset: u32) -> bool {
        let Some(at) = self.at(logical_block) else { unreachable!("{logical_block} has no sequential log block") };
        let (word, bit) = self.bit(at, offset);
        let was = self.status[word] & bit != 0;
        self.status[word] |= bit;
        was
    }

    /// The page at an offset is not the newest any more; where it stands, if it was.
    pub(super) fn clear(&mut self, logical_block: u32, offset: u32) -> Option<Page> {
        let at = self.at(logical_block)?;
        let (word, bit) = self.bit(at, offset);
        let was = self.status[word] & bit != 0;
        self.status[word] &= !bit;
        was.then(|| self.geometry.page(self.members[at].block, offset))
    }

    /// Whether a logical block can be given a sequential log block: its segment has an entry, or there is room for one;
    /// and it has none yet.
    pub(in super::super) fn can_open(&self, logical_block: u32) -> bool {
        match self.at(logical_block) {
            Some(at) => self.members[at].slot == NONE,
            None => (self.len as usize) < self.entries.len(),
        }
    }

    /// A logical block has a sequential log block, of which nothing is written yet. Its segment is allocated where it
    /// has no entry.
    pub(in super::super) fn open(&mut self, logical_block: u32, slot: u32, block: Block) {
        let channels = self.layout.channels();
        let segment = logical_block / channels;
        let (bucket, found) = self.search(segment);
        if !found {
            let Some(entry) = self.entries.iter().position(Option::is_none) else {
                unreachable!("no room for segment {segment}")
            };
            self.entries[entry] = Some(Segment { number: segment, seq_id: self.next_seq_id });
            self.next_seq_id += 1;
            self.buckets[bucket] = entry as u32;
            self.len += 1;
        }
        let at = (self.buckets[bucket] * channels + logical_block % channels) as usize;
        debug_assert_eq!(self.members[at].slot, NONE);
        self.members[at] = Member { slot, block };
        self.status[at * self.words..(at + 1) * self.words].fill(0);
    }

    /// A logical block's sequential log block is one no longer. A segment without any gives up its entry.
    pub(in super::super) fn close(&mut self, logical_block: u32) {
        let channels = self.layout.channels();
        let (bucket, found) = self.search(logical_block / channels);
        debug_assert!(found);
        let entry = self.buckets[bucket] as usize;
        debug_assert_ne!(
            self.members[entry * channels as usize + (logical_block % channels) as usize].slot,
            NONE,
            "logical block {logical_block} gives up a log block that it does not have"
        );
        self.members[entry * channels as usize + (logical_block % channels) as usize] = NO_MEMBER;
        let is_left = |member: &Member| member.slot != NONE;
        if self.members[entry * channels as usize..][..channels as usize].iter().any(is_left) {
            return;
        }
        self.entries[entry] = None;
        self.len -= 1;
        self.empty(bucket);
    }

    fn empty(&mut self, bucket: usize) {
        let mut hole = bucket;
        self.buckets[hole] = NONE;
        while let Some(from) = self.probing.moves_to(hole, |bucket| self.segment_in(bucket)) {
            self.buckets[hole] = core::mem::replace(&mut self.buckets[from], NONE);
            hole = from;
        }
    }

    /// The sequential log blocks of the segment that was allocated least recently: the victim.
    pub(in super::super) fn oldest(&self) -> Vec<u32> {
        let oldest = (0..).zip(&self.entries).filter_map(|(entry, s)| s.map(|s| (s.seq_id, entry))).min();
        let Some((_, entry)) = oldest else { return Vec::new() };
        let channels = self.layout.channels() as usize;
        let members: &[Member] = &self.members[entry * channels..][..channels];
        members.iter().map(|member| member.slot).filter(|slot| *slot != NONE).collect()
    }

    /// The offsets of a logical block whose newest version is in its sequential log block, from one on.
    pub(super) fn first_live(&self, logical_block: u32, from: u32) -> Option<u32> {
        let at = self.at(logical_block)?;
        (from..self.layout.pages_per_block()).find(|offset| {
            let (word, bit) = self.bit(at, *offset);
            self.status[word] & bit != 0
        })
    }

    /// Everything that is live, in no order.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, Page)> + '_ {
        let channels = self.layout.channels();
        let live = (0..).zip(&self.entries).filter_map(|(entry, segment)| Some((entry, segment.as_ref()?.number)));
        live.flat_map(move |(entry, segment)| {
            (0..channels).flat_map(move |channel| {
                let at = (entry * channels + channel) as usize;
                let block = self.members[at].block;
                let is_live = move |offset: &u32| {
                    let (word, bit) = self.bit(at, *offset);
                    self.members[at].slot != NONE && self.status[word] & bit != 0
                };
                (0..self.layout.pages_per_block()).filter(is_live).map(move |offset| {
                    (self.layout.key(segment * channels + channel, offset), self.geometry.page(block, offset))
                })
            })
        })
    }

    pub(super) fn lookups_and_probes(&self) -> (u64, u64) {
        self.probing.lookups_and_probes()
    }

    /// As table I counts it: of an entry a Seq-ID, and of each channel a block's number in it and a PST; eight bytes a
    /// bucket.
    pub(super) fn ram(&self, block_bits: u64, ledger: &mut RamLedger) {
        let (entries, channels) = (self.entries.len() as u64, u64::from(self.layout.channels()));
        let seq_id_bits = u64::from(entries.max(2).next_power_of_two().trailing_zeros());
        let pages = u64::from(self.layout.pages_per_block());
        let table = (entries * (seq_id_bits + channels * (block_bits + pages))).div_ceil(8);
        ledger.structure("last.segments", table);
        ledger.structure("last.segment_hash", self.buckets.len() as u64 * 8);
        let held = self.entries.capacity() * size_of::<Option<Segment>>()
            + self.members.capacity() * size_of::<Member>()
            + self.status.capacity() * 8;
        ledger.index("index.last_segments", (held as u64).saturating_sub(table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(most: u32) -> Segments {
        let geometry = Geometry::new(512, 4, 2048, 4, 1).unwrap();
        Segments::new(&geometry, LogicalLayout::segments(&geometry), most)
    }

    #[test]
    fn pages_4_and_5_of_figure_5() {
        let mut table = segments(2);
        table.open(1, 7, Block(1001));
        table.set(1, 0);
        // Page 4 is at offset 1 of channel 0, which has no block yet.
        assert!(table.slot(0).is_none() && table.can_open(0));
        table.open(0, 8, Block(1002));
        table.set(0, 1);
        // Page 5 goes to the block that channel 1 has.
        assert_eq!(table.slot(1), Some(7));
        table.set(1, 1);
        let geometry = Geometry::new(512, 4, 2048, 4, 1).unwrap();
        assert_eq!(table.place(0, 1), Some(geometry.page(Block(1002), 1)));
        assert_eq!((table.place(0, 0), table.place(1, 2), table.place(2, 0)), (None, None, None));
        let mut live: Vec<u32> = table.places().map(|(key, _)| key).collect();
        live.sort_unstable();
        assert_eq!(live, [1, 4, 5]);
    }

    #[test]
    fn the_segment_allocated_least_recently_is_the_victim() {
        let mut table = segments(3);
        for (slot, logical_block) in [(0, 40), (1, 4), (2, 9), (3, 42)] {
            table.open(logical_block, slot, Block(slot));
        }
        assert!(!table.can_open(100) && table.can_open(41) && !table.can_open(4));
        // A block for another channel makes a segment no younger.
        assert_eq!(table.oldest(), [0, 3]);
        table.close(40);
        table.close(42);
        assert_eq!(table.oldest(), [1]);
        assert!(table.slot(9) == Some(2) && table.slot(40).is_none() && table.can_open(100));
    }

    #[test]
    fn entries_come_and_go() {
        let mut table = segments(8);
        let mut model: Vec<u32> = Vec::new();
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let logical_block = (random >> 40) as u32 % 31 * 4;
            if model.contains(&logical_block) {
                table.close(logical_block);
                model.retain(|other| *other != logical_block);
            } else if table.can_open(logical_block) {
                table.open(logical_block, logical_block, Block(0));
                model.push(logical_block);
            } else {
                assert_eq!(model.len(), 8);
            }
            assert_eq!(table.oldest().first(), model.first());
            assert!((0..31).all(|n| table.slot(n * 4).is_some() == model.contains(&(n * 4))));
        }
    }
}
