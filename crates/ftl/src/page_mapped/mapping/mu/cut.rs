//! Putting an extent into the tree: extents that it makes stale there are cut away (µ-FTL section 4.2.3).

use super::{EXTENT_PAGES_MAX, Extent, MuMapping};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::mapping::Place;
use crate::page_mapped::meta_io::MetaIo;
use phelsuma_nand::{LogicalPage, Nand};

/// What of an extent stays where another one takes the place of a part of it: in front of it, and behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rest {
    /// 0 to 3, as the paper counts.
    pub(super) case: usize,
    pub(super) before: Option<Extent>,
    pub(super) behind: Option<Extent>,
}

impl Extent {
    /// What stays of it beside `new`, which overlaps it.
    pub(super) fn beside(&self, new: &Self) -> Rest {
        debug_assert!(self.first < new.end() && new.first < self.end(), "an extent is cut that does not overlap");
        let before = self.cut(self.first, new.first);
        let behind = self.cut(new.end(), self.end());
        let case = match (before, behind) {
            (None, None) => 0,
            (Some(_), Some(_)) => 1,
            (Some(_), None) => 2,
            (None, Some(_)) => 3,
        };
        Rest { case, before, behind }
    }
}

impl MuMapping {
    fn insert<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, extent: &Extent) -> Result<(), FtlError> {
        let (key, record) = (extent.first, self.records.record(extent));
        let before = self.ask(io, |tree, io| tree.insert(io, key, record))?;
        self.tally.lengths.replaced(before.and_then(|record| self.records.extent((key, record))), Some(*extent));
        Ok(())
    }

    fn remove<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> Result<(), FtlError> {
        let before = self.ask(io, |tree, io| tree.remove(io, key))?;
        self.tally.lengths.replaced(before.and_then(|record| self.records.extent((key, record))), None);
        Ok(())
    }

    /// Puts an extent into the tree. If it fails in the middle, the extent is put once more later. The part that was
    /// done already does no harm, because what is cut away is stale.
    pub(super) fn put<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, new: Extent) -> Result<(), FtlError> {
        debug_assert!(new.end() <= self.logical_pages, "an extent reaches beyond the drive");
        debug_assert!(self.is_in_one_place(&new), "an extent is in two partitions, or in two blocks");
        let mut from = self.floor(io, new.first)?;
        if from.is_none_or(|extent| extent.end() <= new.first) {
            from = self.ceiling(io, new.first)?;
        }
        while let Some(old) = from.filter(|old| old.first < new.end()) {
            let rest = old.beside(&new);
            self.tally.cases[rest.case] += 1;
            if let Some(behind) = rest.behind.filter(|_| io.keeps(Barrier::RestBehindKept)) {
                self.insert(io, &behind)?;
            }
            match rest.before {
                Some(before) => self.insert(io, &before)?,
                // It is going to be another one's key.
                None if old.first == new.first => {}
                None => self.remove(io, old.first)?,
            }
            if old.end() >= new.end() {
                break;
            }
            from = self.ceiling(io, old.first + 1)?;
        }
        self.tally.put += 1;
        match self.in_front_of(io, &new)? {
            Some(front) => {
                self.tally.merged += 1;
                // Nothing, unless it takes another one's place. It goes first: behind an extent that reaches over it,
                // stale places would be found.
                self.remove(io, new.first)?;
                self.insert(io, &Extent { pages: front.pages + new.pages, ..front })
            }
            None => self.insert(io, &new),
        }
    }

    /// Whether all of it is in one partition and in one block.
    fn is_in_one_place(&self, extent: &Extent) -> bool {
        let last = extent.end() - 1;
        let block_of = |key: u32| match extent.place_of(key) {
            Some(Place::At(page)) => Some(self.geometry.block_of(page)),
            _ => None,
        };
        extent.first / self.partition == last / self.partition && block_of(extent.first) == block_of(last)
    }

    /// The extent that this one goes on with, if both fit one.
    fn in_front_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, new: &Extent) -> Result<Option<Extent>, FtlError> {
        let Some(before) = new.first.checked_sub(1) else { return Ok(None) };
        let (geometry, partition) = (self.geometry, self.partition);
        let front = self.floor(io, before)?.filter(|front| {
            front.pages + new.pages <= EXTENT_PAGES_MAX
                && front.goes_on(&geometry, partition, LogicalPage(new.first), new.place)
        });
        Ok(front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_mapped::mapping::Place;
    use phelsuma_nand::Page;

    fn at(first: u32, page: u32, pages: u32) -> Extent {
        Extent { first, place: Place::At(Page(page)), pages }
    }

    #[test]
    fn case_0_what_is_covered_goes() {
        for new in [at(5, 0, 2), at(4, 0, 3), at(5, 0, 9), at(1, 0, 20)] {
            assert_eq!(at(5, 104, 2).beside(&new), Rest { case: 0, before: None, behind: None });
        }
    }

    #[test]
    fn case_1_what_is_written_over_in_the_middle_falls_into_two() {
        // Figure 4(a).
        let rest = at(0, 100, 4).beside(&at(1, 0, 2));
        assert_eq!(rest, Rest { case: 1, before: Some(at(0, 100, 1)), behind: Some(at(3, 103, 1)) });
    }

    #[test]
    fn case_2_what_is_written_over_on_the_right_is_shortened() {
        for new in [at(6, 0, 2), at(6, 0, 5)] {
            let rest = at(4, 100, 4).beside(&new);
            assert_eq!(rest, Rest { case: 2, before: Some(at(4, 100, 2)), behind: None });
        }
    }

    #[test]
    fn case_3_what_is_written_over_on_the_left_begins_later() {
        // Figure 4(b).
        for new in [at(5, 0, 2), at(6, 0, 1)] {
            let rest = at(6, 106, 2).beside(&new);
            assert_eq!(rest, Rest { case: 3, before: None, behind: Some(at(7, 107, 1)) });
        }
    }
}
