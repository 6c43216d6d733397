//! The translation pages on flash: the directory's (GeckoFTL appendix C, step 2), and those that were replaced since
//! Gecko's buffer was flushed last (appendix C.2.2).

use super::blocks_information::Found;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::Page;

/// A version of a translation page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    pub(super) page: Page,
    /// When it was synchronized, in program order.
    pub(super) synchronized: u64,
    /// When this copy was programmed.
    seq: u64,
}

impl Version {
    fn order(&self) -> (u64, u64) {
        (self.synchronized, self.seq)
    }
}

/// The versions of every translation page that matter.
pub(super) struct TranslationPages {
    frozen: u64,
    /// By translation page: the newest that the last flush had heard of.
    before: Vec<Option<Version>>,
    /// Those since: which translation page, and the version.
    since: Vec<(u32, Version)>,
}

impl TranslationPages {
    /// Of a table of so many pages; the last flush had heard of everything up to `frozen`.
    pub(super) fn new(translation_pages: u32, frozen: u64) -> Self {
        Self { frozen, before: vec![None; translation_pages as usize], since: Vec::new() }
    }

    pub(super) fn note(&mut self, found: &Found) {
        let Some(before) = self.before.get_mut(found.spare.key as usize) else { return };
        let version = Version { page: found.page, synchronized: found.spare.version, seq: found.spare.seq };
        if version.synchronized > self.frozen {
            self.since.push((found.spare.key, version));
        } else if before.is_none_or(|other| other.order() < version.order()) {
            *before = Some(version);
        }
    }

    /// Puts the versions since the last flush in order, the later of two copies of one standing for both.
    pub(super) fn sort(&mut self) {
        self.since
            .sort_unstable_by_key(|(part, version)| (*part, version.synchronized, core::cmp::Reverse(version.seq)));
        self.since.dedup_by_key(|(part, version)| (*part, version.synchronized));
    }

    /// The newest version of each translation page that there is.
    pub(super) fn newest(&self) -> Vec<(u32, Page)> {
        let mut newest: Vec<Option<Page>> = self.before.iter().map(|v| v.map(|v| v.page)).collect();
        for (part, version) in &self.since {
            newest[*part as usize] = Some(version.page);
        }
        newest.into_iter().zip(0..).filter_map(|(page, part)| Some((part, page?))).collect()
    }

    /// Every version since the last flush with the one before it, if there was one.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (u32, Option<Version>, Version)> + '_ {
        self.since.iter().enumerate().map(|(at, (part, version))| {
            let in_chain = at.checked_sub(1).map(|at| self.since[at]).filter(|(other, _)| other == part);
            (*part, in_chain.map_or(self.before[*part as usize], |(_, version)| Some(version)), *version)
        })
    }

    /// The pages that another recovery would need before Gecko's buffer is flushed.
    pub(super) fn needed(&self) -> impl Iterator<Item = Page> + '_ {
        self.replaced().flat_map(|(_, before, version)| before.into_iter().chain([version])).map(|version| version.page)
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.before.capacity() * size_of::<Option<Version>>() + self.since.capacity() * size_of::<(u32, Version)>())
            as u64
    }
}
