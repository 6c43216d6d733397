//! Which node is the coldest: a heap of them, by the mean of when their entries were used last.

use super::TwoLevelCache;

impl TwoLevelCache {
    /// Whether a node is colder than another.
    #[inline]
    pub(super) fn is_colder(&self, node: u32, other: u32) -> bool {
        let (of, other) = (&self.nodes[node as usize], &self.nodes[other as usize]);
        u128::from(of.used) * u128::from(other.entries) < u128::from(other.used) * u128::from(of.entries)
    }

    /// The node at a place of the heap has become hotter or colder.
    pub(super) fn reorder(&mut self, at: usize) {
        self.sink(at);
        self.rise(at);
    }

    /// The node at a place of the heap has become hotter.
    pub(super) fn sink(&mut self, mut at: usize) {
        loop {
            let children = (2 * at + 1..2 * at + 3).filter(|child| *child < self.heap.len());
            let colder = |a: usize, b: usize| if self.is_colder(self.heap[b], self.heap[a]) { b } else { a };
            let Some(child) = children.reduce(colder) else { return };
            if !self.is_colder(self.heap[child], self.heap[at]) {
                return;
            }
            self.swap(at, child);
            at = child;
        }
    }

    /// The node at a place of the heap has become colder.
    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_colder(self.heap[at], self.heap[(at - 1) / 2]) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn swap(&mut self, at: usize, with: usize) {
        self.heap.swap(at, with);
        for at in [at, with] {
            self.nodes[self.heap[at] as usize].at = at as u32;
        }
    }
}
