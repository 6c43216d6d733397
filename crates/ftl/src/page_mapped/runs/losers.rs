//! A tournament of the inputs of a merge (Knuth, The Art of Computer Programming, volume 3, section 5.4.1, a tree of
//! losers): when one input has moved on, it plays against as many others as the tree is high.

use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// The key of an input of which everything is taken.
pub(crate) const DONE: u32 = u32::MAX;

/// A key above the rank of its input. The least key wins, and of equal ones that of the least rank: of the newest input.
type Head = u64;

/// The winner, and at each node the one that lost there.
#[derive(Clone, Preserve)]
pub(super) struct Losers {
    tree: Vec<Head>,
}

impl Losers {
    /// A tournament of so many inputs, before anyone has played.
    pub(super) fn of(inputs: usize) -> Self {
        Self { tree: vec![0; inputs] }
    }

    /// Before anyone has played.
    pub(super) fn clear(&mut self) {
        self.tree.fill(0);
    }

    /// An input plays with its next key: the winner, or each of them once in the beginning.
    #[inline]
    pub(super) fn play(&mut self, rank: usize, key: u32) {
        let mut head = Head::from(key) << 32 | rank as Head;
        let mut node = (rank + self.tree.len()) / 2;
        while node > 0 {
            // Who has not played yet wins.
            let other = self.tree[node];
            (self.tree[node], head) = if other <= head { (head, other) } else { (other, head) };
            node /= 2;
        }
        self.tree[0] = head;
    }

    /// The winner's key; [`DONE`] where all inputs are.
    #[inline]
    pub(super) fn key(&self) -> u32 {
        self.tree.first().map_or(DONE, |head| (head >> 32) as u32)
    }

    /// The winner.
    #[inline]
    pub(super) fn rank(&self) -> usize {
        self.tree.first().map_or(0, |head| *head as u32 as usize)
    }

    pub(super) fn bytes(&self) -> usize {
        self.tree.capacity() * size_of::<Head>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn inputs_come_in_the_order_of_their_keys_and_ranks(
            mut inputs in prop::collection::vec(prop::collection::vec(0u32..40, 0..12), 0..20),
        ) {
            inputs.iter_mut().for_each(|input| input.sort_unstable());
            let mut expected: Vec<(u32, usize)> = Vec::new();
            for (rank, input) in inputs.iter().enumerate() {
                expected.extend(input.iter().map(|key| (*key, rank)));
            }
            expected.sort_unstable();
            let mut losers = Losers::of(inputs.len());
            // The second time after it was played to its end.
            for _ in 0..2 {
                losers.clear();
                let mut at = vec![0; inputs.len()];
                let key = |at: &[usize], rank: usize| inputs[rank].get(at[rank]).copied().unwrap_or(DONE);
                (0..inputs.len()).for_each(|rank| losers.play(rank, key(&at, rank)));
                let mut order = Vec::new();
                while losers.key() != DONE {
                    let rank = losers.rank();
                    order.push((losers.key(), rank));
                    at[rank] += 1;
                    losers.play(rank, key(&at, rank));
                }
                prop_assert_eq!(&order, &expected);
            }
        }
    }
}
