//! The runs of Logarithmic Gecko, as their pages on flash say (`runs/page.rs` and `runs/restore.rs` of the FTLs have
//! the bytes and the rule): those that together cover every flush once, newest first.

use super::record::u64_at;
use phelsuma_nand::Spare;
use std::collections::BTreeMap;

/// In the key of a run's last page.
const LAST: u32 = 1 << 31;

/// Among the flags of a page.
const BEHIND: u8 = 4;

/// A run of Logarithmic Gecko.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Its level.
    pub level: u8,
    /// Its pages.
    pub pages: u32,
    /// The entries on them.
    pub entries: u64,
    /// The flushes of the buffer that it covers: the first and the last.
    pub flushes: (u64, u64),
}

/// A page of a run.
struct Page {
    seq: u64,
    last: bool,
    entries: u16,
    level: u8,
    /// There were newer runs when it was begun.
    behind: bool,
    flushes: (u64, u64),
}

/// All pages of runs, those included that were merged away.
#[derive(Default)]
pub(super) struct Runs {
    /// By run, then by place in it.
    pages: BTreeMap<u64, BTreeMap<u32, Page>>,
}

impl Runs {
    /// Takes a page's bytes.
    pub(super) fn page(&mut self, spare: &Spare, bytes: &[u8]) {
        let page = Page {
            seq: spare.seq,
            last: spare.key & LAST != 0,
            entries: u16::from_le_bytes([bytes[0], bytes[1]]),
            level: bytes[2],
            behind: bytes[3] & BEHIND != 0,
            flushes: (u64_at(bytes, 8), u64_at(bytes, 16)),
        };
        let run = self.pages.entry(spare.version).or_default();
        // Of two copies the later one.
        if run.get(&(spare.key & !LAST)).is_none_or(|other| other.seq < page.seq) {
            run.insert(spare.key & !LAST, page);
        }
    }

    /// The runs that are complete and not merged away.
    pub(super) fn that_count(&self) -> Vec<Run> {
        let complete = |pages: &&BTreeMap<u32, Page>| {
            let in_order = pages.keys().zip(0..).all(|(place, n)| *place == n);
            in_order && pages.values().last().is_some_and(|last| last.last)
        };
        // The newest first of those that end with the same flush, which covers most.
        let runs_of = |pages: &BTreeMap<u32, Page>| {
            let first = pages.get(&0)?;
            let entries = pages.values().map(|page| u64::from(page.entries)).sum();
            let run = Run { level: first.level, pages: pages.len() as u32, entries, flushes: first.flushes };
            (0 < run.flushes.0 && run.flushes.0 <= run.flushes.1).then_some((first.behind, run))
        };
        let found: Vec<(bool, Run)> = self.pages.values().rev().filter(complete).filter_map(runs_of).collect();
        let mut next = found.iter().find(|(behind, _)| !behind).map(|(_, run)| *run);
        let mut runs = Vec::new();
        while let Some(run) = next {
            runs.push(run);
            let older = found.iter().map(|(_, run)| *run).filter(|other| other.flushes.1 < run.flushes.0);
            let last = older.clone().map(|other| other.flushes.1).max();
            next = older.into_iter().find(|other| Some(other.flushes.1) == last);
        }
        runs
    }
}
