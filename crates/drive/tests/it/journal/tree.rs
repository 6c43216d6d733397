//! The mapping: a radix tree over the bits of logical page numbers.
//!
//! It has no nodes of its own. At each bit of its number, a page in the log says where the other side is, as of when it
//! was written. So the page written last is the root.

use super::JournalFtl;
use super::layout::{Group, Meta, NOBODY, NOWHERE};
use phelsuma_ftl::FtlError;
use phelsuma_nand::{Nand, Purpose};

/// The way from the root to a logical page.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Where its newest page is.
    pub(super) place: Option<u32>,
    /// The metadata of a new page of it.
    pub(super) meta: Meta,
}

impl JournalFtl {
    fn bit(&self, id: u32, depth: usize) -> u32 {
        id >> (self.layout.depth - 1 - depth) & 1
    }

    /// The log's record of the page at this place: in RAM while its group is open, in its checkpoint page afterwards.
    fn meta<N: Nand>(&mut self, nand: &mut N, place: u32) -> Result<Meta, FtlError> {
        let slot = (place - self.layout.group_of(place)) as usize;
        let metas = match &self.held {
            Some((group, metas)) if *group == self.layout.group_of(place) => Some(metas),
            _ if !self.open.is_empty() && self.layout.group_of(place) == self.layout.group_of(self.head) => {
                Some(&self.open)
            }
            _ => None,
        };
        match metas {
            Some(metas) => metas.get(slot).copied(),
            None => match self.read_group(nand, place, Purpose::Translation) {
                Group::Complete(checkpoint) => checkpoint.metas.get(slot).copied(),
                _ => None,
            },
        }
        .filter(|meta| meta.id != NOBODY)
        .ok_or(FtlError::Lost)
    }

    /// Goes from the root to a logical page, bit by bit.
    pub(super) fn way_to<N: Nand>(&mut self, nand: &mut N, id: u32) -> Result<Way, FtlError> {
        let mut meta = Meta { id, ..Meta::NONE };
        let (mut place, mut at) = (NOWHERE, Meta::NONE);
        let mut next = self.root;
        for depth in 0..self.layout.depth {
            if place != next {
                place = next;
                at = self.meta(nand, place)?;
            }
            if self.bit(at.id, depth) == self.bit(id, depth) {
                meta.others[depth] = at.others[depth];
            } else {
                meta.others[depth] = place;
                next = at.others[depth];
            }
            if next == NOWHERE {
                return Ok(Way { place: None, meta });
            }
        }
        Ok(Way { place: Some(next), meta })
    }

    /// The page that is to be written anew, and its metadata, so that the logical page at the end of `way` leaves the
    /// tree. It is its nearest neighbour. None where it has none, and the tree is empty without it.
    pub(super) fn without<N: Nand>(&mut self, nand: &mut N, way: &Way) -> Result<Option<(u32, Meta)>, FtlError> {
        let Some(depth) = (0..self.layout.depth).rev().find(|depth| way.meta.others[*depth] != NOWHERE) else {
            return Ok(None);
        };
        let neighbour = way.meta.others[depth];
        let mut meta = self.meta(nand, neighbour)?;
        // Up to where they part the neighbour sees what this page saw; there it sees nothing from now on.
        meta.others[..depth].copy_from_slice(&way.meta.others[..depth]);
        meta.others[depth] = NOWHERE;
        Ok(Some((neighbour, meta)))
    }
}
