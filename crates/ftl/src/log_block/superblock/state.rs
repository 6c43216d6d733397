//! The state of a superblock in RAM: which blocks it has, and how full they are.

use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// A physical block of a superblock.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Member {
    pub(super) block: Block,
    /// Pages programmed in it.
    pub(super) next: u32,
    /// The first of them that is younger than the superblock's map page.
    pub(super) from: u32,
    /// Those that are the newest of their logical page, as of when the superblock's map was in RAM last.
    pub(super) live: u32,
    /// Nothing more is written to it: a program failed, or a power cut may have met its last page.
    pub(super) closed: bool,
    /// The logical block whose pages it holds, each at its own offset; none where it holds any other.
    pub(super) in_place: Option<u32>,
}

impl Member {
    pub(super) fn new(block: Block) -> Self {
        Self { block, next: 0, from: 0, live: 0, closed: false, in_place: None }
    }
}

#[derive(Clone, Debug, Preserve)]
pub(super) struct Superblock {
    /// By slot: the blocks in the page map's numbers.
    pub(super) members: Vec<Option<Member>>,
    /// The slot that the host's pages go to.
    pub(super) hot: Option<usize>,
    /// The slot that pages go to which a collection has found live.
    pub(super) cold: Option<usize>,
    pages_per_block: u32,
}

impl Superblock {
    pub(super) fn new(slots: u32, pages_per_block: u32) -> Self {
        Self { members: vec![None; slots as usize], hot: None, cold: None, pages_per_block }
    }

    /// Slots in use, with their blocks.
    pub(super) fn members(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter_map(|(slot, member)| Some((slot, member.as_ref()?)))
    }

    /// How many blocks it has.
    pub(super) fn len(&self) -> u32 {
        self.members().count() as u32
    }

    pub(super) fn free_slot(&self) -> Option<usize> {
        self.members.iter().position(Option::is_none)
    }

    pub(super) fn get(&self, slot: usize) -> &Member {
        match &self.members[slot] {
            Some(member) => member,
            None => unreachable!("slot {slot} is not in use"),
        }
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> &mut Member {
        match &mut self.members[slot] {
            Some(member) => member,
            None => unreachable!("slot {slot} is not in use"),
        }
    }

    /// Pages that can still be written to a slot.
    pub(super) fn room(&self, slot: usize) -> u32 {
        let member = self.get(slot);
        if member.closed { 0 } else { self.pages_per_block - member.next }
    }

    /// A slot that has no room left is no longer written.
    pub(super) fn close_full(&mut self) {
        self.hot = self.hot.filter(|slot| self.room(*slot) > 0);
        self.cold = self.cold.filter(|slot| self.room(*slot) > 0);
    }

    /// Whether a slot is being written, and can be.
    pub(super) fn is_open(&self, slot: usize) -> bool {
        (self.hot == Some(slot) || self.cold == Some(slot)) && self.room(slot) > 0
    }

    /// Whether a block holds nothing live, and will not any more.
    pub(super) fn is_dead(&self, slot: usize) -> bool {
        self.members[slot].as_ref().is_some_and(|member| member.live == 0) && !self.is_open(slot)
    }

    pub(super) fn has_dead(&self) -> bool {
        (0..self.members.len()).any(|slot| self.is_dead(slot))
    }

    /// How many of those there are.
    pub(super) fn dead(&self) -> u64 {
        (0..self.members.len()).filter(|slot| self.is_dead(*slot)).count() as u64
    }

    /// The block with the fewest live pages of those that are not being written.
    pub(super) fn emptiest(&self) -> Option<(usize, u32)> {
        let closed = self.members().filter(|(slot, _)| !self.is_open(*slot));
        closed.min_by_key(|(_, member)| member.live).map(|(slot, member)| (slot, member.live))
    }

    /// The cost of collecting a superblock until it has a block less: the slot that live pages go to first, of the open
    /// ones, and pages to copy. None where that cannot be.
    pub(super) fn cost_of_a_block(&self) -> Option<(Option<usize>, u32)> {
        let open = self.cold.into_iter().chain(self.hot).filter(|slot| self.is_open(*slot));
        let target = open.max_by_key(|slot| self.get(*slot).live);
        // Where it takes the stale pages of that one as well, that one is collected like any other.
        let of = |target| Some((target, self.copies_for_a_block(target)?));
        target.and_then(|slot| of(Some(slot))).or_else(|| of(None))
    }

    fn copies_for_a_block(&self, target: Option<usize>) -> Option<u32> {
        let pages = self.pages_per_block;
        let (mut gained, mut copied) = (target.map_or(0, |slot| self.room(slot)), 0);
        let mut live: Vec<u32> = Vec::with_capacity(self.members.len());
        live.extend(self.members().filter(|(slot, _)| target != Some(*slot)).map(|(_, member)| member.live));
        live.sort_unstable();
        for live in live {
            gained += pages - live.min(pages);
            copied += live;
            if gained >= pages {
                return Some(copied);
            }
        }
        None
    }
}
