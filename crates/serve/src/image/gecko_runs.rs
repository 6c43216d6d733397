//! The runs of Logarithmic Gecko, as their pages on flash say (`gecko/page.rs` and `gecko/restore.rs` of the FTLs have
//! the bytes and the rule): those that together cover every flush once, newest first.

use super::record::u64_at;
use phelsuma_nand::Spare;
use std::collections::BTreeMap;

/// In the key of a run's last page.
const LAST: u32 = 1 << 31;

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
        let mut runs = Vec::new();
        let mut expected: Option<u64> = None;
        for pages in self.pages.values().rev() {
            let in_order = pages.keys().zip(0..).all(|(place, n)| *place == n);
            let Some((first, _)) = pages.get(&0).zip(pages.values().last().filter(|last| last.last && in_order)) else {
                continue;
            };
            let (from, to) = first.flushes;
            if from == 0 || from > to || expected.is_some_and(|expected| to > expected) {
                continue;
            }
            expected = Some(from - 1);
            let entries = pages.values().map(|page| u64::from(page.entries)).sum();
            runs.push(Run { level: first.level, pages: pages.len() as u32, entries, flushes: (from, to) });
            if from == 1 {
                break;
            }
        }
        runs
    }
}
