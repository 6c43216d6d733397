//! The shape of the B+-tree of translation pages: which node is whose child, by number alone.
//!
//! Keys are dense, and as many as the drive has logical pages, so the tree never grows, splits or merges. It is as full
//! as it can be from the beginning, and a node's place in it is its number. Translation pages are the leaves and have
//! the first numbers. Then come the nodes of each level, and the root is the last.

use phelsuma_nand::Geometry;
use phelsuma_nand::state::Preserve;

/// Which node is whose child.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct TreeShape {
    fanout: u32,
    /// By level, leaves first: the number of its first node. The last one is the root.
    first: Vec<u32>,
}

use alloc::vec;
use alloc::vec::Vec;

impl TreeShape {
    /// Of so many leaves, with nodes of `fanout` children; 0 for as many as a page has room for.
    pub(crate) fn new(geometry: &Geometry, leaves: u32, fanout: u32) -> Self {
        let room = geometry.page_bytes() / 4;
        let fanout = if fanout == 0 { room } else { fanout.clamp(2, room) };
        let (mut first, mut nodes) = (vec![0], leaves);
        loop {
            first.push(first.last().copied().unwrap_or(0) + nodes);
            if nodes <= fanout {
                return Self { fanout, first };
            }
            nodes = nodes.div_ceil(fanout);
            if nodes == 1 {
                return Self { fanout, first };
            }
        }
    }

    /// How many leaves there are.
    pub(crate) fn leaves(&self) -> u32 {
        self.first[1]
    }

    /// The root's number: one behind all others.
    pub(crate) fn root(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    /// How many nodes there are between leaves and root.
    pub(crate) fn inner(&self) -> u32 {
        self.root() - self.leaves()
    }

    /// Nodes right above the leaves, the root not counted.
    pub(crate) fn lowest_inner(&self) -> u32 {
        self.first.get(2).map_or(0, |next| next - self.first[1])
    }

    /// On how many levels there are nodes between leaves and root.
    pub(crate) fn inner_levels(&self) -> u32 {
        self.first.len() as u32 - 2
    }

    fn level_of(&self, number: u32) -> usize {
        self.first.partition_point(|first| *first <= number) - 1
    }

    /// The parent of a node, and which of its children the node is.
    #[inline]
    pub(crate) fn parent(&self, number: u32) -> (u32, u32) {
        let level = self.level_of(number);
        debug_assert!(number < self.root(), "the root has no parent");
        let place = number - self.first[level];
        (self.first[level + 1] + place / self.fanout, place % self.fanout)
    }

    /// A node's children, by number.
    pub(crate) fn children(&self, number: u32) -> core::ops::Range<u32> {
        let level = self.level_of(number);
        let first = self.first[level - 1] + (number - self.first[level]) * self.fanout;
        first..(first + self.fanout).min(self.first[level])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_its_parents_child_and_no_other_s() {
        let geometry = Geometry::new(512, 32, 64, 1, 1).unwrap();
        for (leaves, fanout, levels) in
            [(1, 0, 0), (128, 0, 0), (129, 0, 1), (16, 4, 1), (17, 4, 2), (5, 2, 2), (1000, 3, 6), (1000, 0, 1)]
        {
            let shape = TreeShape::new(&geometry, leaves, fanout);
            assert_eq!((shape.leaves(), shape.inner_levels()), (leaves, levels), "{leaves} leaves of {fanout}");
            let mut seen = 0;
            for number in shape.leaves()..=shape.root() {
                for (index, child) in shape.children(number).enumerate() {
                    assert_eq!(child, seen);
                    assert_eq!(shape.parent(child), (number, index as u32));
                    seen += 1;
                }
                assert!(shape.children(number).len() <= if fanout == 0 { 128 } else { fanout as usize });
            }
            assert_eq!(seen, shape.root());
            assert_eq!(shape.inner(), shape.root() - leaves);
        }
    }
}
