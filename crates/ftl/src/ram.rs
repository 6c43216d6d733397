//! The RAM ledger: every byte that an FTL keeps, by structure.

use alloc::vec::Vec;

/// What an FTL keeps in RAM, in bytes by structure.
///
/// Two columns: `papers` counts structures at packed sizes, as the papers count them; `all` counts every index, link
/// and hash besides, named `index.*`, and buffers, named `buffer.*`.
#[derive(Clone, Debug, Default)]
pub struct RamLedger {
    papers: Vec<(&'static str, u64)>,
    extra: Vec<(&'static str, u64)>,
}

impl RamLedger {
    /// A structure of the design itself, counted in both columns.
    pub fn structure(&mut self, name: &'static str, bytes: u64) {
        debug_assert!(!name.starts_with("index.") && !name.starts_with("buffer."), "{name}");
        enter(&mut self.papers, name, bytes);
    }

    /// An index, link or buffer that papers do not count; `name` says which kind by its prefix.
    pub fn index(&mut self, name: &'static str, bytes: u64) {
        debug_assert!(name.starts_with("index.") || name.starts_with("buffer."), "{name}");
        enter(&mut self.extra, name, bytes);
    }

    /// Adds what another ledger has, by name.
    pub(crate) fn add(&mut self, other: &Self) {
        for (all, each) in [(&mut self.papers, &other.papers), (&mut self.extra, &other.extra)] {
            each.iter().for_each(|(name, bytes)| enter(all, name, *bytes));
        }
    }

    /// The papers' column: structures with their bytes.
    pub fn papers(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.papers.iter().copied()
    }

    /// The whole: structures, then indexes and buffers, with their bytes.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.papers.iter().chain(&self.extra).copied()
    }

    /// Bytes of the papers' column.
    pub fn papers_total(&self) -> u64 {
        self.papers().map(|(_, b)| b).sum()
    }

    /// Bytes of everything.
    pub fn all_total(&self) -> u64 {
        self.all().map(|(_, b)| b).sum()
    }
}

/// A structure whose name is there already is added to it.
fn enter(column: &mut Vec<(&'static str, u64)>, name: &'static str, bytes: u64) {
    match column.iter_mut().find(|(of, _)| *of == name) {
        Some((_, sum)) => *sum += bytes,
        None => column.push((name, bytes)),
    }
}
