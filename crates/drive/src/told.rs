//! The hints that an oracle's drive gives its FTL, made before the run.

use phelsuma_ftl::Hint;

/// The hints that a drive gives its FTL.
pub(crate) enum Told {
    /// By logical page.
    Classes(Vec<u8>),
    /// By write.
    Deaths(Lifetimes),
}

impl Told {
    /// The hint for the host's next write of a page, which is `page`.
    pub(crate) fn next(&mut self, page: u32) -> Hint {
        match self {
            Self::Classes(classes) => classes.get(page as usize).map_or(Hint::None, |class| Hint::Class(*class)),
            Self::Deaths(lifetimes) => lifetimes.next(),
        }
    }
}

/// How long each page written lives, in pages written.
#[derive(Default)]
pub(crate) struct Lifetimes {
    /// By write; 0 where the page stays.
    pub(crate) of_writes: Vec<u32>,
    told: usize,
}

impl Lifetimes {
    fn next(&mut self) -> Hint {
        let lifetime = self.of_writes.get(self.told).copied().unwrap_or(0);
        self.told += 1;
        if lifetime == 0 { Hint::NEVER } else { Hint::Death(lifetime.into()) }
    }
}
