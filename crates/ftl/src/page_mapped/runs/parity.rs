//! Parity pages: of each few pages of a run one may go bad, and is made again from the others.
//!
//! ```text
//!  pages of a run   0 … 15  parity   16 … 31  parity   32 33 parity
//! ```
//!
//! Runs of a mapping log have them: nothing else on flash has what their entries say. A lost page would let older entries
//! answer. Logarithmic Gecko's runs have none, because the table can tell what they said. GeckoFTL's paper has neither a
//! mapping log nor pages that go bad.

use super::page::{RunHeader, RunLayout, RunPage};
use super::run::{DirectoryEntry, LAST, LOST_PAGE, Run};
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::{Kind, Nand, Page};

/// Pages that share a parity page.
pub(crate) const GROUP: usize = 16;
/// The key of a parity page carries this bit, and [`LAST`] in a run's last group.
const PARITY: u32 = 1 << 30;
/// Then come the pages in the group, less one, and the number of the group.
const COUNT_AT: u32 = 24;
const GROUPS_MAX: u32 = 1 << COUNT_AT;

/// What the key of a page of a run says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    /// The page has this place, and may be the last.
    Data { place: usize, is_last: bool },
    /// It is the parity of a group of so many pages, and may be the last.
    Parity { group: usize, count: usize, is_last: bool },
}

impl Named {
    pub(crate) fn of(key: u32) -> Self {
        let is_last = key & LAST != 0;
        if key & PARITY == 0 {
            return Self::Data { place: (key & !LAST) as usize, is_last };
        }
        let count = (key >> COUNT_AT) as usize % GROUP + 1;
        Self::Parity { group: (key % GROUPS_MAX) as usize, count, is_last }
    }

    pub(crate) fn key(self) -> u32 {
        let last = |is_last| if is_last { LAST } else { 0 };
        match self {
            Self::Data { place, is_last } => place as u32 | last(is_last),
            Self::Parity { group, count, is_last } => {
                PARITY | (count as u32 - 1) << COUNT_AT | group as u32 | last(is_last)
            }
        }
    }

    /// Pages of the run, if this one says it.
    fn pages(self) -> Option<usize> {
        match self {
            Self::Data { place, is_last: true } => Some(place + 1),
            Self::Parity { group, count, is_last: true } => Some(group * GROUP + count),
            _ => None,
        }
    }
}

/// Pages with parity pages, of so many runs.
pub(crate) fn with_parity(pages: u64, runs: u64) -> u64 {
    pages + pages / GROUP as u64 + runs
}

/// Pages that were found of a run, by place and by group: [`LOST_PAGE`] where one is missing that can be made again.
pub(crate) type FoundPages = (Vec<Page>, Vec<Page>);

/// A run of which these pages were found, each by its key; none if one is missing that cannot be made again.
pub(crate) fn assemble(found: &[(u32, Page)]) -> Option<FoundPages> {
    let count = found.iter().find_map(|(key, _)| Named::of(*key).pages())?;
    // Of each page that is missing there is a parity page.
    let groups = count.div_ceil(GROUP);
    (count <= 2 * found.len()).then_some(())?;
    let (mut pages, mut parity) = (alloc::vec![LOST_PAGE; count], alloc::vec![LOST_PAGE; groups]);
    for (key, page) in found {
        match Named::of(*key) {
            Named::Data { place, .. } => *pages.get_mut(place)? = *page,
            Named::Parity { group, .. } => *parity.get_mut(group)? = *page,
        }
    }
    let is_there = |(pages, parity): (&[Page], &Page)| {
        let missing = pages.iter().filter(|page| **page == LOST_PAGE).count();
        missing == 0 || missing == 1 && *parity != LOST_PAGE
    };
    pages.chunks(GROUP).zip(&parity).all(is_there).then_some((pages, parity))
}

/// Makes `page` the parity of the last group of a run with this directory, of which it has the last page now. False if
/// that is not to be had.
pub(super) fn complete<N: Nand>(
    io: &mut MetaIo<'_, N>,
    kind: Kind,
    directory: &[DirectoryEntry],
    page: &mut [u8],
) -> bool {
    let last = directory.len() - 1;
    let mut others = (last / GROUP * GROUP..last).map(|place| (directory[place].page, place as u32));
    others.all(|(of, key)| add(io, kind, (of, key), page))
}

/// Adds the content of a page to `sum`.
fn add<N: Nand>(io: &mut MetaIo<'_, N>, kind: Kind, (page, key): (Page, u32), sum: &mut [u8]) -> bool {
    if page == LOST_PAGE {
        return false;
    }
    let Some(bytes) = io.read(page, kind, key) else { return false };
    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
    true
}

/// Programs a page that a run can do without, if there is a block for it.
///
/// # Errors
/// The flash is gone.
pub(super) fn program<N: Nand>(
    io: &mut MetaIo<'_, N>,
    kind: Kind,
    key: u32,
    version: u64,
    bytes: &[u8],
) -> Result<Page, FtlError> {
    match io.append(kind, key, version, bytes) {
        Err(FtlError::Full { .. }) => Ok(LOST_PAGE),
        written => written,
    }
}

impl Run {
    /// Programs the pages that are nowhere, and that can be made again.
    ///
    /// # Errors
    /// The flash is gone.
    pub(super) fn program_made_again<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        (kind, layout): (Kind, RunLayout),
        page: &mut Vec<u8>,
    ) -> Result<(), FtlError> {
        for place in 0..self.directory.len() {
            if self.directory[place].page != LOST_PAGE {
                continue;
            }
            page.resize(io.geometry().page_bytes() as usize, 0);
            let is_again = self.make_again(io, (kind, layout), place, page);
            if let Some(version) = self.version_of(io).filter(|_| is_again) {
                self.directory[place].page = program(io, kind, self.key_at(place), version, page)?;
            }
        }
        Ok(())
    }

    /// The groups whose parity pages cannot be read. Those are to be missing from now on, as those that a cut has torn:
    /// another page of their group may go bad next.
    pub(crate) fn bad_parity<N: Nand>(&self, io: &mut MetaIo<'_, N>, kind: Kind) -> Vec<usize> {
        let is_bad = |group: &usize| {
            let (page, key) = (self.parity[*group], self.parity_key(*group));
            page != LOST_PAGE && io.read(page, kind, key).is_none()
        };
        (0..self.parity.len()).filter(is_bad).collect()
    }

    /// Programs the parity pages that are missing, of groups that are whole.
    ///
    /// # Errors
    /// The flash is gone.
    pub(super) fn program_missing_parity<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        kind: Kind,
        page: &mut Vec<u8>,
    ) -> Result<(), FtlError> {
        for group in 0..self.parity.len() {
            if self.parity[group] != LOST_PAGE || !io.keeps(Barrier::TornParityAgain) {
                continue;
            }
            page.clear();
            page.resize(io.geometry().page_bytes() as usize, 0);
            let mut places = group * GROUP..(group * GROUP + GROUP).min(self.directory.len());
            let is_whole = places.all(|place| add(io, kind, (self.directory[place].page, self.key_at(place)), page));
            if let Some(version) = self.version_of(io).filter(|_| is_whole) {
                self.parity[group] = program(io, kind, self.parity_key(group), version, page)?;
            }
        }
        Ok(())
    }

    /// The key of one of its pages.
    pub(super) fn key_at(&self, place: usize) -> u32 {
        Named::Data { place, is_last: place + 1 == self.directory.len() }.key()
    }

    /// The key of one of its parity pages.
    pub(super) fn parity_key(&self, group: usize) -> u32 {
        let count = (self.directory.len() - group * GROUP).min(GROUP);
        Named::Parity { group, count, is_last: group + 1 == self.directory.len().div_ceil(GROUP) }.key()
    }

    /// Reads the page at `place` of a run that has parity, or makes it again: its version. None if neither can be, or the
    /// run has none.
    pub(super) fn sound_page<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        (kind, layout): (Kind, RunLayout),
        place: usize,
        page: &mut Vec<u8>,
    ) -> Option<u64> {
        if self.parity.is_empty() {
            return None;
        }
        if let Some((bytes, version)) = io.read_version(self.directory[place].page, kind, self.key_at(place)) {
            page.clear();
            page.extend_from_slice(bytes);
            return Some(version);
        }
        self.make_again(io, (kind, layout), place, page).then(|| self.version_of(io)).flatten()
    }

    /// Makes the page at `place` again from its group. If that has lost another one, the page is empty, and the answer false.
    pub(crate) fn make_again<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        (kind, layout): (Kind, RunLayout),
        place: usize,
        page: &mut [u8],
    ) -> bool {
        page.fill(0);
        let group = place / GROUP;
        let Some(parity) = self.parity.get(group).copied().filter(|_| io.keeps(Barrier::LostPagesMadeAgain)) else {
            return false;
        };
        let end = (group * GROUP + GROUP).min(self.directory.len());
        let mut others = (group * GROUP..end).filter(|other| *other != place);
        let is_whole = add(io, kind, (parity, self.parity_key(group)), page)
            && others.all(|other| add(io, kind, (self.directory[other].page, self.key_at(other)), page));
        let view = RunPage::new(&layout, page);
        let says = |header: RunHeader| header.flushes == self.header.flushes && header.frozen == self.header.frozen;
        let is_again = is_whole && view.place() == place as u32 && says(view.header());
        if !is_again {
            page.fill(0);
        }
        is_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_they_were_made_of() {
        for is_last in [false, true] {
            for named in [
                Named::Data { place: 0, is_last },
                Named::Data { place: 70_000, is_last },
                Named::Parity { group: 0, count: 1, is_last },
                Named::Parity { group: 4_321, count: GROUP, is_last },
            ] {
                assert_eq!(Named::of(named.key()), named);
            }
        }
    }

    #[test]
    fn a_run_may_miss_one_page_of_each_group() {
        let data = |place| (Named::Data { place, is_last: place == 17 }.key(), Page(place as u32));
        let parity = |group: usize| {
            let count = if group == 0 { GROUP } else { 2 };
            (Named::Parity { group, count, is_last: group == 1 }.key(), Page(100 + group as u32))
        };
        let all: Vec<(u32, Page)> = (0..18).map(data).chain((0..2).map(parity)).collect();
        let without = |missing: &[usize]| {
            let left = all.iter().enumerate().filter(|(index, _)| !missing.contains(index));
            assemble(&left.map(|(_, found)| *found).collect::<Vec<_>>())
        };
        let (pages, parity) = without(&[]).unwrap();
        assert_eq!((pages.len(), parity.as_slice()), (18, [Page(100), Page(101)].as_slice()));
        for missing in [&[3][..], &[17], &[0, 16], &[18], &[18, 19], &[3, 19]] {
            let (pages, parity) = without(missing).unwrap();
            let lost = pages.iter().chain(&parity).filter(|page| **page == LOST_PAGE).count();
            assert_eq!((pages.len(), lost), (18, missing.len()), "{missing:?}");
        }
        for missing in [&[3, 4][..], &[3, 18], &[16, 17], &[17, 19]] {
            assert_eq!(without(missing), None, "{missing:?}");
        }
        let far = [(Named::Data { place: 1 << 23, is_last: true }.key(), Page(1))];
        assert_eq!(assemble(&far), None, "more pages are missing than there can be");
    }
}
