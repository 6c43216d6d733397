//! Which files the bytes of a request belong to; on ext4 alone.
//!
//! It looks at the drive as it was at the cut, with its journal repeated, and at the drive after the unmounting.

use super::debugfs::{Ext4, Place};
use crate::config::Config;
use crate::error::Outcome;
use crate::filesystem::Filesystem;
use crate::model::{Cursor, Event, Lost, Run, State};
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Blocks that are looked up. `debugfs` compares each with all blocks of the file system.
const BLOCKS_MAX: usize = 1 << 14;

/// Bytes of a request that follow each other in one place too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where in the request.
    pub(crate) range: Range<u64>,
    /// A file, or what else is there.
    pub(crate) name: String,
    /// Where in the file they begin.
    pub(crate) file_offset: Option<u64>,
}

/// What blocks of the file system belong to.
#[derive(Debug, Default)]
pub(crate) struct Names {
    block_bytes: u64,
    places: BTreeMap<u64, Place>,
}

impl Names {
    /// Of these requests. Those that come first are preferred where there are too many.
    pub(crate) fn new(
        view: &View<'_>,
        cursor: &mut Cursor<'_>,
        run: &Run,
        cut: u32,
        requests: impl Iterator<Item = u32>,
        stop: &AtomicBool,
    ) -> Outcome<Self> {
        let mut names = Self::default();
        let requests: Vec<(u64, u64)> =
            requests.filter_map(|number| run.event(number).and_then(Event::range)).filter(|(_, l)| *l > 0).collect();
        if requests.is_empty() || view.filesystem() != Filesystem::Ext4 {
            return Ok(names);
        }
        for (cut, is_unmounted) in [(cut, false), (run.events.len() as u32, true)] {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            cursor.set(&State { cut, lost: Lost::new() });
            view.put(cursor)?;
            if !is_unmounted && !view.replay_journal()? {
                continue;
            }
            let Some(ext4) = Ext4::new(view.image(), stop)? else { continue };
            names.block_bytes = ext4.block_bytes;
            let mut wanted = wanted(&requests, ext4.block_bytes);
            wanted.retain(|block| names.places.get(block).is_none_or(|place| place.file_offset.is_none()));
            for (block, place) in ext4.places(&wanted)? {
                // A block of a file that came later than the cut says more than one of metadata.
                if place.file_offset.is_some() || !names.places.contains_key(&block) {
                    names.places.insert(block, place);
                }
            }
        }
        Ok(names)
    }

    /// What the bytes of a request belong to, in order. Bytes of which nothing is known are left out.
    pub(crate) fn of(&self, offset: u64, length: u64) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        for (block, place) in self.places.range(blocks(offset, length, self.block_bytes.max(1))) {
            let begin = (block * self.block_bytes).max(offset);
            let end = ((block + 1) * self.block_bytes).min(offset + length);
            let range = begin - offset..end - offset;
            let file_offset = place.file_offset.map(|at| at + begin - block * self.block_bytes);
            match pieces.last_mut() {
                Some(last) if last.is_followed_by(&place.name, range.start, file_offset) => last.range.end = range.end,
                _ => pieces.push(Piece { range, name: place.name.clone(), file_offset }),
            }
        }
        pieces
    }

    #[cfg(test)]
    pub(super) fn of_places(block_bytes: u64, places: impl IntoIterator<Item = (u64, &'static str, u64)>) -> Self {
        let place =
            |(block, name, at): (u64, &str, u64)| (block, Place { name: name.to_string(), file_offset: Some(at) });
        Self { block_bytes, places: places.into_iter().map(place).collect() }
    }
}

impl Piece {
    fn is_followed_by(&self, name: &str, begin: u64, file_offset: Option<u64>) -> bool {
        let follows = self.file_offset.map(|at| at + self.range.end - self.range.start);
        self.range.end == begin && self.name == name && follows == file_offset
    }
}

fn blocks(offset: u64, length: u64, block_bytes: u64) -> Range<u64> {
    offset / block_bytes..(offset + length).div_ceil(block_bytes)
}

/// Blocks to look up: the first ones of all requests, then the others.
fn wanted(requests: &[(u64, u64)], block_bytes: u64) -> BTreeSet<u64> {
    let mut wanted = BTreeSet::new();
    let all = || requests.iter().map(|(offset, length)| blocks(*offset, *length, block_bytes));
    for block in all().map(|blocks| blocks.start).chain(all().flatten()) {
        if wanted.len() >= BLOCKS_MAX {
            break;
        }
        wanted.insert(block);
    }
    wanted
}

/// For a state: what it has lost, and the request that comes next. With `kept`, all that was pending too.
///
/// A cursor of its own: that of a worker stays where it is.
pub(crate) fn of_state(
    view: &View<'_>,
    run: &Run,
    config: &Config,
    state: &State,
    with_kept: bool,
    stop: &AtomicBool,
) -> Outcome<Names> {
    let mut cursor = Cursor::new(run, config.policy);
    let next = run.requests(state.cut, run.end as u32).next();
    let pending = run.requests(config.policy.durable(run, state.cut), state.cut).filter(|_| with_kept);
    let requests = state.lost.keys().copied().chain(next).chain(pending);
    Names::new(view, &mut cursor, run, state.cut, requests, stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_request_are_split_by_file() {
        let names = Names::of_places(4096, [(1, "a", 0), (2, "a", 4096), (3, "b", 0), (5, "b", 4096)]);
        let pieces = names.of(4096 + 512, 5 * 4096);
        let of = |range, name: &str, at| Piece { range, name: name.to_string(), file_offset: Some(at) };
        assert_eq!(pieces, [of(0..7680, "a", 512), of(7680..11_776, "b", 0), of(15_872..19_968, "b", 4096)]);
        assert_eq!(Names::default().of(0, 4096), []);
    }

    #[test]
    fn where_blocks_are_too_many_each_request_keeps_its_first() {
        let wanted = wanted(&[(0, 1 << 40), (1 << 41, 4096)], 4096);
        assert!(wanted.len() == BLOCKS_MAX && wanted.contains(&(1 << 29)));
    }
}
