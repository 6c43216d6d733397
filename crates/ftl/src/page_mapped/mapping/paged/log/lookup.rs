//! Queries of the log: the entry of a logical page, and those of all pages of a victim at once.

use super::MappingLog;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Rule, RunPage, SortedRuns, read_page};
use alloc::vec::Vec;
use phelsuma_nand::Nand;

/// What the runs say of a logical page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum InLog {
    /// Nothing: its translation page does.
    Nothing,
    /// This entry.
    Entry(u32),
    /// A page of a run that may have had an entry of it could not be read.
    Lost,
}

impl MappingLog {
    /// What the runs say of a logical page. Reads a page of each run whose filter has it, the newest run first.
    pub(in super::super) fn look_up<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: u32) -> InLog {
        self.tally.looks += 1;
        let SortedRuns { runs, page, kind, tuning, damaged, damage_untold, .. } = &mut self.sorted;
        for run in runs {
            let may_have = run.filter.as_ref().is_none_or(|filter| filter.may_have(key));
            if !may_have || !self.rule.counts(key, &run.header) {
                continue;
            }
            let Some(place) = run.place_for(key) else { continue };
            self.tally.look_reads += 1;
            if !read_page(io, (*kind, tuning.layout), run, place, page) {
                *damage_untold |= !*damaged;
                *damaged = true;
                return InLog::Lost;
            }
            let view = RunPage::new(&tuning.layout, page);
            let at = view.lower_bound(key);
            if at < view.entries() && view.key(at) == key {
                return InLog::Entry(view.word(at, 0));
            }
        }
        InLog::Nothing
    }

    /// Looks up logical pages, so that [`judged`](Self::judged) knows what the runs say of them. A page of a run is read
    /// once for all of them.
    pub(in super::super) fn look_up_all<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, keys: impl Iterator<Item = u32>) {
        let asked = &mut self.asked;
        asked.clear();
        asked.extend(keys);
        asked.sort_unstable();
        asked.dedup();
        self.judged.clear();
        self.judged.extend(asked.iter().map(|key| (*key, None)));
        let SortedRuns { runs, page, kind, tuning, damaged, damage_untold, .. } = &mut self.sorted;
        for run in runs {
            let mut in_hand = None;
            asked.retain(|key| {
                let may_have = run.filter.as_ref().is_none_or(|filter| filter.may_have(*key));
                if !may_have || !self.rule.counts(*key, &run.header) {
                    return true;
                }
                let Some(place) = run.place_for(*key) else { return true };
                if in_hand != Some(place) {
                    self.tally.look_reads += 1;
                    if !read_page(io, (*kind, tuning.layout), run, place, page) {
                        *damage_untold |= !*damaged;
                        *damaged = true;
                    }
                    in_hand = Some(place);
                }
                let view = RunPage::new(&tuning.layout, page);
                let at = view.lower_bound(*key);
                let is_there = at < view.entries() && view.key(at) == *key;
                if is_there {
                    judge(&mut self.judged, *key, view.word(at, 0));
                }
                !is_there
            });
        }
    }

    pub(in super::super) fn forget_looked_up(&mut self) {
        (self.asked, self.judged) = (Vec::new(), Vec::new());
    }

    /// An entry that is spilled: it is newer than what the runs said.
    pub(super) fn judge_spilled(&mut self, key: u32, word: u32) {
        judge(&mut self.judged, key, word);
    }

    /// What the runs say of a logical page that was looked up last.
    pub(in super::super) fn judged(&self, key: u32) -> Option<u32> {
        let at = self.judged.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        self.judged[at].1
    }
}

fn judge(judged: &mut [(u32, Option<u32>)], key: u32, word: u32) {
    if let Ok(at) = judged.binary_search_by_key(&key, |(key, _)| *key) {
        judged[at].1 = Some(word);
    }
}
