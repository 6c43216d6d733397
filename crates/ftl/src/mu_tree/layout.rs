//! The layout of a µ-Tree's page: nodes of decreasing size, one for each level of a path (µ-FTL figure 1(b)).
//!
//! The first 24 bytes of a page are the header. It has a magic number (two bytes), the height of the tree when the page
//! was written, and how many levels the page holds. Then comes a count of entries for each of up to ten levels (two
//! bytes each). The others are slots of an entry each. In a leaf an entry is a key of 32 bits with a record of 32 or
//! 40. In an inner node it is the lowest key below a child and where the child is. That is a page's number, or [`HERE`]
//! for the node of the level below in the same page. With S slots the leaf, level 1, is in the first S / 2, level 2 in
//! the next S / 4 and so on. The root takes the rest behind the level below it.

use phelsuma_nand::state::Preserve;

/// The highest tree there can be.
pub const HEIGHT_MAX: usize = 10;

/// Instead of a page's number: the child is in the same page.
pub(super) const HERE: u64 = u32::MAX as u64;
/// Instead of a page's number: in this slot of the write cache. No such number is ever on flash.
pub(super) const CACHED: u32 = 1 << 31;

const HEADER: usize = 24;
const KEY: usize = 4;
const MAGIC: u16 = 0xb57e;
/// Another one where records have 40 bits.
const MAGIC_WIDE: u16 = 0xb57f;
/// A node of fewer entries is not worth a level.
const ROOT_LEAST: usize = 7;

/// A key with its record, or with where a child is.
pub(super) type Entry = (u32, u64);

/// How many entries nodes have on pages of a given size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub struct Layout {
    slots: usize,
    /// Bytes of one.
    slot: usize,
    page_bytes: usize,
}

impl Layout {
    /// Records of 32 bits, on pages of so many bytes; none if they have no room for a node.
    pub fn new(page_bytes: usize) -> Option<Self> {
        Self::with_slots(page_bytes, KEY + 4)
    }

    /// The same with records of 40 bits.
    pub fn wide(page_bytes: usize) -> Option<Self> {
        Self::with_slots(page_bytes, KEY + 5)
    }

    fn with_slots(page_bytes: usize, slot: usize) -> Option<Self> {
        let slots = page_bytes.checked_sub(HEADER)? / slot;
        // Counts of entries have 16 bits.
        (slots >= ROOT_LEAST && slots <= usize::from(u16::MAX)).then_some(Self { slots, slot, page_bytes })
    }

    /// Bits of a record.
    pub fn record_bits(&self) -> u32 {
        8 * (self.slot - KEY) as u32
    }

    fn magic(&self) -> u16 {
        if self.slot == KEY + 4 { MAGIC } else { MAGIC_WIDE }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// How high a tree can be.
    pub fn height_max(&self) -> usize {
        (1..=HEIGHT_MAX).rev().find(|height| self.slots >> (height - 1) >= ROOT_LEAST).unwrap_or(1)
    }

    /// Entries of a node at most; level 1 is the leaf, `height` the root.
    pub fn entries_max(&self, level: usize, height: usize) -> usize {
        debug_assert!((1..=height).contains(&level), "a node is above the root");
        match level {
            _ if level < height => self.slots >> level,
            _ if level >= self.height_max() => self.slots >> (level - 1),
            // One more than it holds is two full nodes of the level that it becomes.
            _ => (self.slots >> (level - 1)).min(2 * (self.slots >> level) - 1),
        }
    }

    /// Entries of a node that is not the root at least.
    pub fn entries_min(&self, level: usize) -> usize {
        (self.slots >> level) / 2
    }

    /// Entries for which there is room however they came. All nodes are half full, but for the root and the last of
    /// each level.
    pub fn capacity(&self) -> u64 {
        let height = self.height_max();
        let below: u64 = (1..height).map(|level| self.entries_min(level) as u64).product();
        below.saturating_mul(self.entries_max(height, height) as u64 - u64::from(height > 1))
    }

    /// Entries of a tree all of whose nodes are full, as they are where keys come in order.
    pub fn capacity_in_order(&self) -> u64 {
        let height = self.height_max();
        (1..=height).map(|level| self.entries_max(level, height) as u64).product()
    }

    /// Pages of a tree of so many entries at most: each has a leaf of its own that is half full, but for the last one.
    pub fn pages_max(&self, entries: u64) -> u64 {
        entries.div_ceil(self.entries_min(1).max(1) as u64) + 1
    }

    /// The first byte of a node. It does not depend on the height.
    fn first(&self, level: usize) -> usize {
        HEADER + (self.slots - (self.slots >> (level - 1))) * self.slot
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// A record of four or five bytes.
fn record(bytes: &[u8]) -> u64 {
    let low = u64::from(word(bytes, 0));
    bytes.get(4).map_or(low, |high| low | u64::from(*high) << 32)
}

fn put_record(bytes: &mut [u8], record: u64) {
    let taken = bytes.len().min(8);
    bytes[..taken].copy_from_slice(&record.to_le_bytes()[..taken]);
}

fn half(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).map_or(0, |half| usize::from(u16::from_le_bytes([half[0], half[1]])))
}

/// A node in a page.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    entries: &'a [u8],
    slot: usize,
}

impl<'a> Node<'a> {
    pub(super) fn len(&self) -> usize {
        self.entries.len() / self.slot
    }

    #[inline]
    fn key(&self, index: usize) -> u32 {
        word(self.entries, index * self.slot)
    }

    #[inline]
    pub(super) fn entry(&self, index: usize) -> Option<Entry> {
        let slot = self.entries.get(index * self.slot..(index + 1) * self.slot)?;
        Some((word(slot, 0), record(&slot[KEY..])))
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Entry> + 'a {
        self.entries.chunks_exact(self.slot).map(|slot| (word(slot, 0), record(&slot[KEY..])))
    }

    /// How many of its keys are not above `key`.
    #[inline]
    pub(super) fn up_to(&self, key: u32) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) <= key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The child under which `key` is.
    #[inline]
    pub(super) fn child_of(&self, key: u32) -> usize {
        self.up_to(key).saturating_sub(1)
    }
}

/// As [`Node::child_of`], of entries.
pub(super) fn child_of(entries: &[Entry], key: u32) -> usize {
    entries.partition_point(|(lowest, _)| *lowest <= key).saturating_sub(1)
}

impl Layout {
    /// Whether a page that was read from flash is one of a tree: the header fits, keys ascend, and children are pages.
    pub(super) fn is_page(&self, bytes: &[u8]) -> bool {
        let height = bytes.get(2).copied().map_or(0, usize::from);
        if bytes.len() != self.page_bytes || half(bytes, 0) != usize::from(self.magic()) || height > self.height_max() {
            return false;
        }
        let levels = self.levels(bytes);
        if levels == 0 || levels > height {
            return false;
        }
        (1..=levels).all(|level| {
            let count = half(bytes, 4 + 2 * (level - 1));
            if count > self.entries_max(level, height) || level > 1 && count == 0 {
                return false;
            }
            let node = self.node(bytes, level);
            let ascending = node.iter().zip(node.iter().skip(1)).all(|((one, _), (next, _))| one < next);
            ascending && (level == 1 || node.iter().all(|(_, child)| child < u64::from(CACHED) || child == HERE))
        })
    }

    /// How many levels of a path a page holds.
    pub(super) fn levels(&self, bytes: &[u8]) -> usize {
        bytes.get(3).copied().map_or(0, usize::from)
    }

    /// The height of the tree when the page was written.
    pub(super) fn height(&self, bytes: &[u8]) -> usize {
        bytes.get(2).copied().map_or(0, usize::from)
    }

    /// The node of a level.
    #[inline]
    pub(super) fn node<'a>(&self, bytes: &'a [u8], level: usize) -> Node<'a> {
        let first = self.first(level);
        let count = half(bytes, 4 + 2 * (level - 1));
        Node { entries: bytes.get(first..first + count * self.slot).unwrap_or(&[]), slot: self.slot }
    }

    /// Begins a page.
    pub(super) fn begin(&self, page: &mut [u8], height: usize, levels: usize) {
        debug_assert!(levels <= height && height <= self.height_max(), "a tree is higher than its pages let it be");
        page.fill(0);
        page[..2].copy_from_slice(&self.magic().to_le_bytes());
        page[2] = height as u8;
        page[3] = levels as u8;
    }

    /// Puts a node into a page; `here` is the index of the child that is in the page as well.
    pub(super) fn put(&self, page: &mut [u8], level: usize, entries: &[Entry], here: Option<usize>) {
        debug_assert!(here.is_none_or(|here| here < entries.len()), "the child in the same page is none of the node's");
        page[4 + 2 * (level - 1)..][..2].copy_from_slice(&(entries.len() as u16).to_le_bytes());
        let first = self.first(level);
        for (index, (key, record)) in entries.iter().enumerate() {
            let slot = &mut page[first + index * self.slot..][..self.slot];
            slot[..KEY].copy_from_slice(&key.to_le_bytes());
            put_record(&mut slot[KEY..], if here == Some(index) { HERE } else { *record });
        }
    }

    /// Copies the nodes below `level` as they stand.
    pub(super) fn copy_below(&self, page: &mut [u8], from: &[u8], level: usize) {
        for below in 1..level {
            let at = 4 + 2 * (below - 1);
            page[at..at + 2].copy_from_slice(&from[at..at + 2]);
            let first = self.first(below);
            let bytes = half(from, at) * self.slot;
            page[first..first + bytes].copy_from_slice(&from[first..first + bytes]);
        }
    }

    /// Names another page for a child.
    pub(super) fn set_child(&self, page: &mut [u8], level: usize, index: usize, child: u32) {
        debug_assert!(child & CACHED == 0, "a page on flash names one of the write cache");
        let at = self.first(level) + index * self.slot;
        put_record(&mut page[at + KEY..at + self.slot], child.into());
    }

    /// Takes away the nodes above `level`.
    pub(super) fn truncate(&self, page: &mut [u8], level: usize) {
        debug_assert!(level <= self.levels(page), "a page is to keep levels that it has not");
        for above in level + 1..=HEIGHT_MAX {
            page[4 + 2 * (above - 1)..][..2].fill(0);
        }
        page[3] = level as u8;
    }

    /// The lowest key in a page's leaf.
    pub(super) fn lowest(&self, bytes: &[u8]) -> u32 {
        self.node(bytes, 1).entry(0).map_or(0, |(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn nodes_halve_with_each_level_and_the_root_is_as_large_as_the_level_below_it() {
        let layout = Layout::new(4096).expect("a page");
        let sizes =
            |height: usize| (1..=height).map(|level| layout.entries_max(level, height)).collect::<vec::Vec<_>>();
        assert_eq!(sizes(1), [507]);
        assert_eq!(sizes(2), [254, 253]);
        assert_eq!(sizes(3), [254, 127, 125]);
        assert_eq!(sizes(4), [254, 127, 63, 61]);
    }

    #[test]
    fn nodes_of_a_page_do_not_overlap() {
        let layouts = (80..=16384).step_by(8).flat_map(|bytes| [Layout::new(bytes), Layout::wide(bytes)]);
        for layout in layouts.flatten() {
            let bytes = layout.page_bytes;
            for height in 1..=layout.height_max() {
                let mut end = HEADER;
                for level in 1..=height {
                    assert!(layout.first(level) >= end, "{bytes} bytes, level {level} of {height}");
                    end = layout.first(level) + layout.entries_max(level, height) * layout.slot;
                }
                assert!(end <= bytes, "{bytes} bytes, height {height}");
                // A root that is split fits two nodes.
                let halves = 2 * (layout.slots >> height);
                assert!(height == layout.height_max() || layout.entries_max(height, height) < halves);
            }
        }
        assert!(Layout::new(64).is_none() && Layout::wide(80).is_none() && Layout::new(8).is_none());
    }

    #[test]
    fn records_of_40_bits_come_back() {
        let layout = Layout::wide(4096).expect("a page");
        assert_eq!((layout.record_bits(), layout.entries_max(1, 1)), (40, 451));
        let mut page = vec![0; 4096];
        layout.begin(&mut page, 1, 1);
        let entries = [(1, (1 << 40) - 1), (7, 1 << 32), (u32::MAX, 5)];
        layout.put(&mut page, 1, &entries, None);
        assert!(layout.is_page(&page));
        assert!(!Layout::new(4096).expect("a page").is_page(&page), "it is none of the other kind");
        assert!(layout.node(&page, 1).iter().eq(entries));
    }
}
